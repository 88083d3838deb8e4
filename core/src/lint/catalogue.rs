//! The catalogue: every code that a finding about graph data can have, what it means, and what to
//! do.
//!
//! The manual, reports that list their rules, and people who filter findings use it. It has the
//! reader's codes as well as those of the checks. A test compares it with the sources and with
//! `docs/lint.md`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingKind {
    pub code: &'static str,
    pub level: Level,
    pub meaning: &'static str,
    pub remedy: &'static str,
}

/// How bad findings of a kind are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Errors, always.
    Error,
    /// Warnings, always.
    Warning,
    /// Errors of lint. The service warns, and blocks the edges that they are about for everybody.
    ErrorInLint,
    /// Errors in channels of schema 2.0.0, where they could show an edge too early; warnings elsewhere.
    ErrorIn2,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::ErrorInLint => "error; `serve` warns",
            Self::ErrorIn2 => "error in channels of 2.0.0, else warning",
        }
    }
}

/// The kind of that code.
pub fn find(code: &str) -> Option<&'static FindingKind> {
    CATALOGUE
        .binary_search_by_key(&code, |kind| kind.code)
        .ok()
        .map(|at| &CATALOGUE[at])
}

const fn error(code: &'static str, meaning: &'static str, remedy: &'static str) -> FindingKind {
    FindingKind {
        code,
        level: Level::Error,
        meaning,
        remedy,
    }
}

const fn warning(code: &'static str, meaning: &'static str, remedy: &'static str) -> FindingKind {
    FindingKind {
        code,
        level: Level::Warning,
        meaning,
        remedy,
    }
}

const fn error_in_lint(
    code: &'static str,
    meaning: &'static str,
    remedy: &'static str,
) -> FindingKind {
    FindingKind {
        code,
        level: Level::ErrorInLint,
        meaning,
        remedy,
    }
}

const fn error_in_2(
    code: &'static str,
    meaning: &'static str,
    remedy: &'static str,
) -> FindingKind {
    FindingKind {
        code,
        level: Level::ErrorIn2,
        meaning,
        remedy,
    }
}

pub const CATALOGUE: &[FindingKind] = &[
    error(
        "bad-channel-name",
        "A channel's name has other characters than lower-case letters, digits, `-` and `.`.",
        "Rename it.",
    ),
    error(
        "bad-clusters",
        "`clusters` of a block is not a mapping.",
        "Write `clusters: {platforms: [AWS]}`.",
    ),
    error(
        "bad-duration",
        "A duration cannot be read, or is longer than 366 days.",
        "Write it as in `P2D` or `PT48H`.",
    ),
    error(
        "bad-edge-edit",
        "An edge edit in `raw/metadata.json` cannot be read.",
        "Write a comma list of versions, or a regular expression for `remove_regex`.",
    ),
    warning(
        "bad-feeder",
        "`feeder` has something that promotion tooling does not understand. The service ignores it.",
        "Correct it.",
    ),
    warning(
        "bad-fixed-in",
        "`fixedIn` is not a version.",
        "Name the first release without the problem.",
    ),
    error(
        "bad-halt",
        "The section `halt` of a block cannot be read, or is for other clusters than the block.",
        "Correct it, or remove the section. The block holds without it.",
    ),
    error(
        "bad-json",
        "`raw/metadata.json` cannot be read.",
        "Correct the file.",
    ),
    error(
        "bad-matching-rule",
        "A matching rule has no `type`, or a PromQL rule has no query.",
        "Write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`.",
    ),
    error(
        "bad-platforms",
        "`clusters.platforms` is not a list of names.",
        "Write `platforms: [AWS, BareMetal]`.",
    ),
    error_in_lint(
        "bad-promql",
        "A PromQL query cannot be parsed, or is empty. The edge is blocked for every cluster.",
        "Correct the query.",
    ),
    error(
        "bad-ramp",
        "A ramp is neither `linear` nor `exponential`, or `stages` are no rising shares of the fleet, or stand beside a ramp.",
        "Use one of them; write stages as in `[0.5%, 5%, 40%]`.",
    ),
    error(
        "bad-regex",
        "`from` is not a regular expression that towpath accepts.",
        "Correct it; `.*` means every release.",
    ),
    warning(
        "bad-release-url",
        "The url of a release has blanks around it, or cannot be parsed. Clients refuse a whole graph for it, so it is served trimmed, or not at all.",
        "Correct it where the release is made.",
    ),
    error(
        "bad-replacement",
        "A release replaces one that is not an earlier release of its file.",
        "Name a release of this file with an earlier start.",
    ),
    error(
        "bad-ring",
        "A ring, or its turn in a rule, contradicts itself, says too little, or counts months.",
        "Give it a name, and one `sector` or `label`; in rules with rings count weeks, days and hours.",
    ),
    error_in_lint(
        "bad-risk-name",
        "A risk's name cannot be the reason of a condition. Clusters could not store any of their updates, so the edge is blocked for every cluster.",
        "Use letters and digits, as in `SlowNodeStart`.",
    ),
    error(
        "bad-risk-url",
        "A risk's url is not an https address. If it is no URI at all, the edge is blocked for every cluster.",
        "Write `url: https://…`.",
    ),
    error(
        "bad-rule",
        "A rollout rule, or `held` and `locked` of a release, contradict themselves or name too little.",
        "Name a release with `to`; give `duration` or `held`, not both.",
    ),
    error(
        "bad-time",
        "A time cannot be read.",
        "Write it as in `2020-05-12T00:00Z`.",
    ),
    warning(
        "bad-tombstone",
        "A tombstone is not a version. The service ignores it.",
        "Write it as in `4.9.7` or `4.9.7+amd64`.",
    ),
    error(
        "bad-version",
        "A version cannot be read.",
        "Write it as in `4.9.7` or `4.9.7+amd64`.",
    ),
    error(
        "bad-yaml",
        "A file cannot be read as YAML, or a value is of the wrong kind.",
        "Correct it; what looks like a number needs quotes.",
    ),
    warning(
        "clusters-not-understood",
        "`clusters` has a property that this towpath does not know, or none, or `version` says 1.0.0, which has no `clusters`; the edge is blocked for every cluster.",
        "List the platforms, or remove `clusters`.",
    ),
    warning(
        "duplicate-block",
        "Two files declare the same block: the same `to`, `from`, risk and clusters.",
        "Remove one of them, or correct `to` and `from`.",
    ),
    error(
        "duplicate-channel",
        "Two files, or two entries of one, declare the same channel.",
        "Declare each channel once.",
    ),
    error(
        "duplicate-rule",
        "A channel has two rollout rules with the same criterion.",
        "Keep one of them.",
    ),
    error_in_2(
        "duplicate-version",
        "A channel lists a release twice.",
        "Remove one of them.",
    ),
    warning(
        "empty-ring",
        "Nobody that the service knows is in a ring, so nobody goes first by it (`serve` and the fleet's commands say so; lint does not know any cluster).",
        "Correct the sector or the label, or say who is in it.",
    ),
    warning(
        "fixed-and-declared",
        "A release is said to have the fix (`fixedIn`), and a file declares the risk for it, or for a later one of its minor.",
        "Correct `fixedIn`, or remove the risk there.",
    ),
    warning(
        "idle-tombstone",
        "A release has a tombstone and is not in the channel.",
        "Remove the tombstone, or list the release.",
    ),
    warning(
        "misleading-file-name",
        "A file's name does not have the release that it blocks, or the channel that it declares.",
        "Correct the content, or rename the file.",
    ),
    error(
        "misplaced-file",
        "A file stands where it would have no effect.",
        "Move it, rename it to *.yaml, or remove it.",
    ),
    error(
        "missing-field",
        "A required field is missing, or has nothing after its colon.",
        "Add it.",
    ),
    error_in_lint(
        "never-matching-pattern",
        "`from` matches no release, so the block has no effect.",
        "Correct it; it may match anywhere in a version with its architecture, as in `4.9.7+amd64`.",
    ),
    error(
        "newer-field",
        "A field came with schema 2.1.0, and `version` says 2.0.0. A service that knows only 2.0.0 would read it otherwise.",
        "Upgrade every service first, then write 2.1.0 into `version`.",
    ),
    error(
        "no-channels",
        "There are no channels.",
        "Point at the right folder.",
    ),
    error(
        "no-known-rule",
        "A risk has only rules of types that clients do not know; the edge is recommended to nobody.",
        "Add `type: Always` or a PromQL rule.",
    ),
    error(
        "no-matching-rules",
        "`matchingRules` is empty: it could mean always or never.",
        "Say when the risk applies, or remove the field.",
    ),
    error(
        "not-an-overlay",
        "An overlay has a file that is no block.",
        "Keep `version` and `blocked-edges/`, and move the rest to the graph data.",
    ),
    error(
        "not-promoted",
        "A release is in stable and not in fast, or in fast and not in candidate, or is there earlier.",
        "Promote it in that order.",
    ),
    error(
        "other-schema",
        "A file of channels is of another schema than `version` says.",
        "Write all channels in one schema.",
    ),
    error(
        "release-leaves",
        "A release that clusters find in a channel would leave it, or not be there before its new `start`: clusters that run it would get VersionNotFound (with `--base`).",
        "Keep it in the channel, with a `start` that is past; to stop a rollout, block its edges; if it is meant, pass `--allow-window-change`.",
    ),
    error(
        "ring-order",
        "A ring would at some time have a smaller share than a later ring or everybody else, so who hides their ring could gain by it.",
        "Let rings that come first begin and end first, and grow no slower.",
    ),
    warning(
        "risk-behind-block",
        "A risk is on an edge that another file stops for everybody; no cluster sees it.",
        "Keep one of them, or narrow `from`.",
    ),
    error(
        "risk-differs",
        "A risk has another url, message or rules than in its other files. Clients tell risks by name.",
        "Write the same in all its files, or give it another name.",
    ),
    warning(
        "risk-ends",
        "A release has a risk, the next release of its minor does not, and no file has `fixedIn`.",
        "Add `fixedIn`, or declare the risk for the next release too.",
    ),
    warning(
        "risk-name-style",
        "A risk's name is not CamelCase.",
        "Use letters and digits, as in `SlowNodeStart`.",
    ),
    warning(
        "rollout-blind",
        "A window is too fast for a fleet of this size: before a tenth of it has a release, a watch would not see that one update in five fails (with `--fleet-size`).",
        "Make it longer, use `ramp: exponential` or `stages`, or bring feedback sooner.",
    ),
    error(
        "rollout-jumps",
        "A change of a window, of `locked` or of a block would show an edge to more of the fleet at once than allowed (with `--base`).",
        "Keep start, rules and ramp as they were. After a block, give the release a new `start`. If it is meant, pass `--allow-window-change`.",
    ),
    error(
        "rollout-loses",
        "A change of a rollout that is under way would take back edges that clusters have been shown (with `--base`).",
        "Keep start, rules and ramp as they were; to stop a rollout, block its edges; if it is meant, pass `--allow-window-change`.",
    ),
    error(
        "rollout-starts-late",
        "A release that nobody has been shown begins with a window that is well under way or over, so more of the fleet than allowed gain it at once (with `--base`).",
        "Set `start` to when the change will be merged; if it is meant, pass `--allow-window-change`.",
    ),
    warning(
        "rollout-too-short",
        "A window is shorter than four times the feedback latency: too many have a bad release before a block arrives (with `--base`).",
        "Make it longer, or bring feedback sooner.",
    ),
    error(
        "rule-without-release",
        "A rollout rule names a release that its file does not list, so it would hold or delay nothing.",
        "Correct the version, or list the release.",
    ),
    warning(
        "tombstone-promoted",
        "A release has a tombstone in a channel and is in the channel that is fed from it.",
        "Do not promote it; if clusters run it already, leave it there and remove the tombstone.",
    ),
    error(
        "too-large",
        "There are too many files.",
        "Point at the graph data alone.",
    ),
    error(
        "too-many-patterns",
        "All blocks together have more than 2,000 different patterns.",
        "Write patterns that serve many blocks.",
    ),
    warning(
        "unchecked-promql",
        "A PromQL query is too long, or too deeply nested, to be checked.",
        "Write a simpler one.",
    ),
    error(
        "unknown-channel",
        "`starts` of a release names a channel that its file does not declare.",
        "Name a channel of the same file.",
    ),
    warning(
        "unknown-criterion",
        "A rollout rule has a criterion that this towpath does not know. The rule matches nothing.",
        "Use `minor` or `patch`, or remove the rule.",
    ),
    error_in_2(
        "unknown-field",
        "A field is not known: misspelt, or of a later schema. A block with one stops every cluster.",
        "Correct its name, or remove it.",
    ),
    warning(
        "unknown-matching-rule",
        "A matching rule is of a type that clients do not know; they skip it.",
        "Use Always or PromQL, also as a last rule.",
    ),
    error_in_lint(
        "unknown-platform",
        "`clusters.platforms` names what is not a platform of OpenShift; the edge is blocked for every cluster.",
        "Correct the name; docs/graph-data.md lists all of them.",
    ),
    warning(
        "unknown-release",
        "A channel, a block or `fixedIn` names a release that does not exist (with `--releases`).",
        "Correct the version, or wait until it is published.",
    ),
    error(
        "unknown-ring",
        "A rule names a ring that its channel does not list.",
        "Correct the name, or list it under the channel's `rings`.",
    ),
    error(
        "unknown-schema",
        "`version` is missing, or names a schema that this towpath does not read.",
        "Write 1.0.0, 1.1.0, 2.0.0 or 2.1.0 data.",
    ),
    warning(
        "unreachable-rule",
        "A matching rule stands after `type: Always`, so clients never reach it.",
        "Put `Always` last, or remove it.",
    ),
    warning(
        "unused-ring",
        "No rule of the channel says when a ring goes, so its clusters go with others.",
        "Name it under `rings` of a rule, or remove it.",
    ),
    warning(
        "versions-out-of-order",
        "A channel's versions do not ascend.",
        "Keep versions in ascending order.",
    ),
];
