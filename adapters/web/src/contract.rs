//! What the reference service lets its operators set about graph requests: another path prefix, and parameters that every
//! request must have.

/// The built-in prefix of graph requests.
pub(crate) const GRAPH_PREFIX: &str = "/api/upgrades_info";

/// The longest prefix, and the most parameters.
const MAX_BYTES: usize = 256;
/// What clusters can send with a graph request.
const PARAMS: [&str; 5] = ["channel", "arch", "version", "id", "platform"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientContract {
    prefix: Option<String>,
    mandatory: Vec<String>,
}

impl ClientContract {
    /// Answers graphs under this prefix too, such as `/updates`.
    pub fn under(self, prefix: &str) -> Result<Self, String> {
        let inside = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        let is_path = prefix.starts_with('/')
            && prefix.len() <= MAX_BYTES
            && !prefix.ends_with('/')
            && !prefix.contains("//")
            && prefix.chars().all(inside);
        match is_path {
            true => Ok(Self {
                prefix: Some(prefix.to_owned()),
                ..self
            }),
            false => Err(format!(
                "{prefix:?} is not a path; write it as in /updates, without a slash at its end"
            )),
        }
    }

    /// Refuses graph requests without these parameters, given as a list with commas.
    pub fn with_mandatory(self, names: &str) -> Result<Self, String> {
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        match names.iter().find(|name| !PARAMS.contains(*name)) {
            Some(wrong) => Err(format!(
                "{wrong:?} is no parameter that clusters send, so all of them would be refused; there are {}",
                PARAMS.join(", ")
            )),
            None => Ok(Self {
                mandatory: names.into_iter().map(str::to_owned).collect(),
                ..self
            }),
        }
    }

    pub(crate) fn prefix(&self) -> Option<&str> {
        self.prefix.as_deref()
    }

    pub(crate) fn mandatory(&self) -> &[String] {
        &self.mandatory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_prefix_or_a_parameter_is_refused() {
        for good in ["/updates", "/a/b-c.d"] {
            assert!(ClientContract::default().under(good).is_ok(), "{good}");
        }
        for bad in ["", "/", "updates", "/updates/", "/a//b", "/a?b", "/a b"] {
            assert!(ClientContract::default().under(bad).is_err(), "{bad}");
        }
        let of = |names: &str| ClientContract::default().with_mandatory(names);
        assert_eq!(of("id, arch").unwrap().mandatory(), ["id", "arch"]);
        for bad in ["", "id,", "a b", "a=b", "arhc"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
