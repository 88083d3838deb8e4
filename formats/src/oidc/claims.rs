//! The claims of a token: one JSON object in which each name stands once.

use jiff::Timestamp;
use serde_json::Value;

use super::jwt::JwtProblem;
use crate::read::Unique;

/// The most claims in a token. Real ones have twenty.
const MAX_CLAIMS: usize = 200;

/// What an issuer says in a token. Only [`super::Unverified::verify`] hands it out.
#[derive(Debug)]
pub struct JwtClaims {
    fields: Unique<Value>,
}

impl JwtClaims {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, JwtProblem> {
        let wrong = || JwtProblem::malformed("its claims are not JSON with each name once");
        let fields: Unique<Value> = serde_json::from_slice(bytes).map_err(|_| wrong())?;
        match fields.0.len() <= MAX_CLAIMS {
            true => Ok(Self { fields }),
            false => Err(JwtProblem::Malformed(format!(
                "it has more than {MAX_CLAIMS} claims"
            ))),
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.fields.0.get(name).filter(|value| !value.is_null())
    }

    /// A claim that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.value(name).and_then(Value::as_str)
    }

    /// For whom the token is: one name or several. Empty if the claim is something else.
    pub(super) fn audiences(&self) -> Vec<&str> {
        texts(self.value("aud")).unwrap_or_default()
    }

    /// A time: whole seconds since 1970.
    pub(super) fn time(&self, name: &str) -> Result<Option<Timestamp>, JwtProblem> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let time = value
            .as_i64()
            .and_then(|seconds| Timestamp::from_second(seconds).ok());
        let wrong = || JwtProblem::Malformed(format!("its {name:?} is no time in whole seconds"));
        time.map(Some).ok_or_else(wrong)
    }
}

/// One text, or a list of nothing but texts.
pub(super) fn texts(value: Option<&Value>) -> Option<Vec<&str>> {
    match value? {
        Value::String(one) => Some(vec![one]),
        Value::Array(several) => several.iter().map(Value::as_str).collect(),
        _ => None,
    }
}
