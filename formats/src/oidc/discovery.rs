//! An issuer's own description (OpenID Connect Discovery): where its keys are, and where people log in.
//!
//! It must say the issuer's name to the letter, else it is another issuer's. Whether the addresses in it may be asked is for
//! the adapter.

use serde::Deserialize;

/// The longest description. Real ones have 2 to 8 KiB.
const MAX_BYTES: usize = 256 << 10;
/// How a verifier is hashed. We use no other way.
const S256: &str = "S256";

/// What an issuer says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    pub jwks_uri: String,
    /// None if nobody can log in there with a browser.
    pub authorization_endpoint: Option<String>,
    pub token_endpoint: Option<String>,
    pub end_session_endpoint: Option<String>,
    pub client_auth: ClientAuth,
}

/// How a client with a secret proves that it has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    /// In the `Authorization` header: what every issuer takes that says nothing else.
    Basic,
    /// Among the fields of the request.
    Post,
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    jwks_uri: String,
    #[serde(default)]
    authorization_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint: Option<String>,
    #[serde(default)]
    end_session_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl Discovery {
    pub const MAX_BYTES: usize = MAX_BYTES;

    /// Reads the description of this issuer. The error says what is wrong with it, after its address.
    pub fn read(bytes: &[u8], issuer: &str) -> Result<Self, String> {
        if bytes.len() > MAX_BYTES {
            return Err(format!("has more than {MAX_BYTES} bytes"));
        }
        let document: Document = serde_json::from_slice(bytes).map_err(|error| {
            let position = (error.line(), error.column());
            format!(
                "is not an issuer's description (line {}, column {}): {}",
                position.0,
                position.1,
                problem(&error)
            )
        })?;
        if document.issuer != issuer {
            return Err(format!(
                "is of the issuer {:?}; write that as --oidc-issuer, to the letter, if it is the one you mean",
                document.issuer
            ));
        }
        // An issuer that lists methods without S256 would ignore the challenge.
        let methods = &document.code_challenge_methods_supported;
        let has_pkce = methods
            .as_ref()
            .is_none_or(|methods| methods.iter().any(|method| method == S256));
        let ways = document
            .token_endpoint_auth_methods_supported
            .unwrap_or_default();
        let takes = |way: &str| ways.iter().any(|known| known == way);
        let client_auth = match !takes("client_secret_basic") && takes("client_secret_post") {
            true => ClientAuth::Post,
            false => ClientAuth::Basic,
        };
        Ok(Self {
            jwks_uri: document.jwks_uri,
            authorization_endpoint: document.authorization_endpoint.filter(|_| has_pkce),
            token_endpoint: document.token_endpoint.filter(|_| has_pkce),
            end_session_endpoint: document.end_session_endpoint,
            client_auth,
        })
    }
}

/// Without the position, which is told already.
fn problem(error: &serde_json::Error) -> String {
    let full = error.to_string();
    let end = full.rfind(" at line ").unwrap_or(full.len());
    full[..end].to_owned()
}
