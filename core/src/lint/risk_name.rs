//! The name of a risk becomes the reason of a condition on ClusterVersion, and must be valid
//! there.
//!
//! The API server refuses a whole status with an invalid reason. Then the cluster hears of no
//! other update either. CamelCase is only a custom, so breaking it is a warning.

use super::{Field, Subject};
use crate::finding::Finding;
use crate::graph::servable::is_reason;

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let named = subject
        .data
        .blocks
        .iter()
        .filter_map(|block| Some((block, block.risk.as_ref()?.name.as_str())));
    let finding = |(block, name)| {
        let place = subject.place(block, Field::Name);
        match Fit::of(name) {
            Fit::CamelCase => None,
            Fit::Reason => {
                let problem = format!("the risk's name {name} is not CamelCase");
                Some(Finding::warning(
                    "risk-name-style",
                    place,
                    problem,
                    "use letters and digits, as in SlowNodeStart",
                ))
            }
            Fit::Nowhere => {
                let shown: String = name.chars().take(80).collect();
                let problem = format!(
                    "the risk's name {shown:?} cannot be the reason of a condition; clusters could not store it"
                );
                Some(Finding::error(
                    "bad-risk-name",
                    place,
                    problem,
                    "use letters and digits, as in SlowNodeStart",
                ))
            }
        }
    };
    named.filter_map(finding).collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Fit {
    CamelCase,
    /// As the reason of a condition.
    Reason,
    Nowhere,
}

impl Fit {
    fn of(name: &str) -> Self {
        let reason = is_reason(name);
        let camel_case = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric());
        match (reason, camel_case) {
            (true, true) => Self::CamelCase,
            (true, false) => Self::Reason,
            (false, _) => Self::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_a_condition() {
        for (name, fit) in [
            ("SlowStart", Fit::CamelCase),
            ("RHSB2023001", Fit::CamelCase),
            ("slowStart", Fit::Reason),
            ("DTK_4_16_58_KernelMismatch", Fit::Reason),
            ("Slow:Start", Fit::Reason),
            ("Slow:", Fit::Nowhere),
            ("Slow Start", Fit::Nowhere),
            ("Slow-Start", Fit::Nowhere),
            ("4Slow", Fit::Nowhere),
            ("Langsämer", Fit::Nowhere),
        ] {
            assert_eq!(Fit::of(name), fit, "{name}");
        }
    }
}
