//! From the text of a finding's code back to the static name that programs compare.

/// Every name that a finding about policy can have.
const CODES: [&str; 30] = [
    "bad-exclusion",
    "bad-json",
    "bad-limit",
    "bad-name",
    "bad-number",
    "bad-pattern",
    "bad-schedule",
    "bad-time",
    "bad-time-zone",
    "bad-version",
    "bad-window",
    "bad-yaml",
    "duplicate-cluster",
    "duplicate-field",
    "duplicate-organisation",
    "duplicate-risk",
    "duplicate-sector",
    "limit-without-mutex",
    "missing-field",
    "no-first-cluster",
    "one-sided-inheritance",
    "sector-loop",
    "too-large",
    "two-policies",
    "unknown-field",
    "unknown-mutex",
    "unknown-organisation",
    "unknown-sector",
    "unknown-workload",
    "wrong-kind",
];

/// The code of that name. One that a later version has written is a problem of the policy, whichever.
pub(super) fn of(name: &str) -> &'static str {
    CODES
        .into_iter()
        .find(|code| *code == name)
        .unwrap_or("policy")
}
