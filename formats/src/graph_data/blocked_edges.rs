//! Blocked edges: one file, one block.
//!
//! A file without `matchingRules` and without `clusters` stops the edge for everybody. What a file says about
//! exposure (`clusters`, `matchingRules`) narrows or softens it, and only what we understand does.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::MapAccess;
use serde_json::Value;
use serde_saphyr::Spanned;
use towpath_core::cluster::Platform;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{Audience, Block, MatchingRule, Pattern, Risk};
use towpath_core::version::ReleaseName;

use super::channels_v1::release_name;
use crate::cincinnati;
use crate::yaml::{self, Fields, Record, at};

/// Patterns by their text: a few hundred stand in thousands of files.
pub(super) type Patterns = BTreeMap<String, Pattern>;

#[derive(Debug, Default)]
struct BlockFile {
    to: Option<Spanned<String>>,
    from: Option<Spanned<String>>,
    url: Option<Spanned<String>>,
    name: Option<Spanned<String>>,
    message: Option<Spanned<String>>,
    fixed_in: Option<Spanned<String>>,
    /// For the tooling that copies a block to the next release.
    auto_extend: Option<Spanned<String>>,
    matching_rules: Option<Spanned<Vec<Spanned<Value>>>>,
    clusters: Option<Spanned<Value>>,
}

impl Record for BlockFile {
    const WHAT: &'static str = "a block";

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: &mut A,
    ) -> Result<bool, A::Error> {
        match name {
            "to" => self.to = Some(value.next_value()?),
            "from" => self.from = Some(value.next_value()?),
            "url" => self.url = Some(value.next_value()?),
            "name" => self.name = Some(value.next_value()?),
            "message" => self.message = Some(value.next_value()?),
            "fixedIn" => self.fixed_in = Some(value.next_value()?),
            "autoExtend" => self.auto_extend = Some(value.next_value()?),
            "matchingRules" => self.matching_rules = Some(value.next_value()?),
            "clusters" => self.clusters = Some(value.next_value()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

pub(super) fn read(
    place: &Place,
    bytes: &[u8],
    patterns: &mut Patterns,
    findings: &mut Vec<Finding>,
) -> Option<Block> {
    let file: Fields<BlockFile> = yaml::read(place, bytes)
        .map_err(|finding| findings.push(finding))
        .ok()?;
    let mut reader = Reader {
        place,
        findings,
        unended_line: yaml::unended_line(bytes),
    };
    let unknown = reader.unknown_fields(&file);
    let file = file.known;
    let to = reader
        .required("to", "<version>", file.to.as_ref())
        .and_then(|to| release_name(place, to, reader.findings));
    let from = reader
        .required("from", "<regular expression>", file.from.as_ref())
        .and_then(|from| reader.pattern(from, patterns));
    if let Some(fixed_in) = &file.fixed_in
        && let Err(error) = ReleaseName::parse(&fixed_in.value)
    {
        let place = at(place, fixed_in.defined);
        reader.findings.push(Finding::warning(
            "bad-fixed-in",
            place,
            error.to_string(),
            "name the first release without the problem",
        ));
    }
    let risk = reader.risk(&file)?;
    let stops = match (&file.clusters, unknown) {
        (Some(clusters), None) => Some(reader.audience(clusters)?),
        (None, _) if risk.is_none() => Some(Audience::Everybody),
        (None, None) => None,
        // What narrows or softens the block may be misspelt; who it is for is not known.
        (_, Some(unknown)) => Some(Audience::NotUnderstood(unknown)),
    };
    Some(Block {
        to: to?,
        from: from?,
        stops,
        risk,
        origin: place.at(1, 0),
    })
}

/// Writes a block as a file that [`read`] understands.
pub fn write(block: &Block) -> String {
    let mut file = serde_json::Map::new();
    file.insert("to".to_owned(), block.to.to_string().into());
    file.insert("from".to_owned(), block.from.as_str().into());
    if let Some(risk) = &block.risk {
        let Value::Object(mut risk) = cincinnati::risk(risk) else {
            unreachable!("a risk is a mapping")
        };
        // Others' risks can lack what a block must have.
        for field in ["name", "url", "message"] {
            if risk
                .get(field)
                .and_then(Value::as_str)
                .is_none_or(str::is_empty)
            {
                risk.insert(field.to_owned(), "unknown".into());
            }
        }
        file.append(&mut risk);
    }
    match &block.stops {
        Some(Audience::Platforms(platforms)) => {
            let names: Vec<&str> = platforms.iter().map(Platform::as_str).collect();
            file.insert(
                "clusters".to_owned(),
                serde_json::json!({ "platforms": names }),
            );
        }
        // Without `clusters` and without a risk it is for everybody.
        Some(Audience::Everybody | Audience::NotUnderstood(_) | Audience::Disputed(_)) => {
            file.retain(|field, _| field == "to" || field == "from");
        }
        None => {}
    }
    format!("{}\n", Value::Object(file))
}

struct Reader<'a> {
    place: &'a Place,
    findings: &'a mut Vec<Finding>,
    unended_line: Option<&'a str>,
}

impl Reader<'_> {
    fn error(
        &mut self,
        code: &'static str,
        place: Place,
        problem: impl Into<String>,
        remedy: &str,
    ) {
        self.findings
            .push(Finding::error(code, place, problem, remedy));
    }

    /// What is said of fields that a block does not have; none if there are none.
    fn unknown_fields(&mut self, file: &Fields<BlockFile>) -> Option<String> {
        for field in &file.unknown {
            let problem = format!(
                "a block has no field {:?}; the edge is blocked for every cluster",
                field.value
            );
            let place = at(self.place, field.defined);
            self.findings.push(Finding::warning(
                "unknown-field",
                place,
                problem,
                "correct its name, or remove it",
            ));
        }
        let names: Vec<&str> = file
            .unknown
            .iter()
            .map(|field| field.value.as_str())
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "the block has a field that this towpath does not know ({})",
                names.join(", ")
            )
        })
    }

    fn required<'f>(
        &mut self,
        name: &str,
        example: &str,
        value: Option<&'f Spanned<String>>,
    ) -> Option<&'f Spanned<String>> {
        if value.is_none() {
            self.error(
                "missing-field",
                self.place.clone(),
                format!("the block has no `{name}`"),
                &format!("add `{name}: {example}`"),
            );
        }
        value
    }

    fn pattern(&mut self, from: &Spanned<String>, patterns: &mut Patterns) -> Option<Pattern> {
        if let Some(known) = patterns.get(&from.value) {
            return Some(known.clone());
        }
        if patterns.len() >= super::MAX_PATTERNS {
            let problem = format!(
                "there are more than {} different patterns in all blocks",
                super::MAX_PATTERNS
            );
            self.error(
                "too-many-patterns",
                at(self.place, from.defined),
                problem,
                "write patterns that serve many blocks",
            );
            return None;
        }
        match Pattern::new(&from.value) {
            Ok(pattern) => {
                patterns.insert(from.value.clone(), pattern.clone());
                Some(pattern)
            }
            Err(e) => {
                let problem = format!("`from` is not a regular expression that we take: {e}");
                self.error(
                    "bad-regex",
                    at(self.place, from.defined),
                    problem,
                    "correct it; `.*` means every release",
                );
                None
            }
        }
    }

    /// `Some(None)`: no risk is declared. `None`: one is, wrongly.
    fn risk(&mut self, file: &BlockFile) -> Option<Option<Risk>> {
        let Some(rules) = &file.matching_rules else {
            return Some(None);
        };
        if rules.value.is_empty() {
            let remedy = "say when the risk applies (`- type: Always`), or remove the field to block the edge for everybody";
            self.error(
                "no-matching-rules",
                at(self.place, rules.defined),
                "`matchingRules` is empty",
                remedy,
            );
            return None;
        }
        let matching_rules: Vec<_> = rules
            .value
            .iter()
            .map(|rule| self.matching_rule(rule))
            .collect();
        let texts = [
            ("name", &file.name),
            ("url", &file.url),
            ("message", &file.message),
        ];
        let [name, url, message] = texts.map(|(field, value)| {
            let text = value
                .as_ref()
                .map(|text| yaml::without_added_break(&text.value, self.unended_line).to_owned());
            let text = text.filter(|text| !text.is_empty());
            if text.is_none() {
                let problem = format!("the block has `matchingRules` and no `{field}`");
                self.error(
                    "missing-field",
                    self.place.clone(),
                    problem,
                    "clients refuse a risk without name, url and message: add it",
                );
            }
            text
        });
        Some(Some(Risk {
            name: name?,
            url: url?,
            message: message?,
            matching_rules: matching_rules.into_iter().collect::<Option<_>>()?,
        }))
    }

    fn matching_rule(&mut self, rule: &Spanned<Value>) -> Option<MatchingRule> {
        let read = cincinnati::read_matching_rule(&rule.value).map(|rule| match rule {
            MatchingRule::PromQl(query) => MatchingRule::PromQl(
                yaml::without_added_break(&query, self.unended_line).to_owned(),
            ),
            other => other,
        });
        if let Ok(MatchingRule::Other(_)) = read {
            let problem = "clients know the types Always and PromQL, and skip this rule; where no rule decides, they do not recommend the edge";
            let place = at(self.place, rule.defined);
            self.findings.push(Finding::warning(
                "unknown-matching-rule",
                place,
                problem,
                "use one of them, also as a last rule",
            ));
        }
        read.map_err(|problem| {
            self.error(
                "bad-matching-rule",
                at(self.place, rule.defined),
                problem,
                "write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`",
            )
        })
        .ok()
    }

    /// Whom the block stops. A property that we do not know could mean anybody, so it stops everybody.
    fn audience(&mut self, clusters: &Spanned<Value>) -> Option<Audience> {
        let place = at(self.place, clusters.defined);
        let Some(properties) = clusters.value.as_object() else {
            self.error(
                "bad-clusters",
                place,
                "`clusters` is not a mapping",
                "write `clusters: {platforms: [<platform>]}`",
            );
            return None;
        };
        let platforms = match properties.get("platforms") {
            Some(list) => self.platforms(&place, list)?,
            None => BTreeSet::new(),
        };
        let unknown: Vec<&str> = properties
            .keys()
            .map(String::as_str)
            .filter(|name| *name != "platforms")
            .collect();
        let what = match (unknown.as_slice(), platforms.is_empty()) {
            ([], false) => return Some(Audience::Platforms(platforms)),
            ([], true) => "`clusters` names no clusters".to_owned(),
            (names, _) => format!(
                "`clusters` has a property that this towpath does not know ({})",
                names.join(", ")
            ),
        };
        let remedy = "list the platforms, or remove `clusters`; until then the edge is blocked for every cluster";
        self.findings.push(Finding::warning(
            "clusters-not-understood",
            place,
            what.clone(),
            remedy,
        ));
        Some(Audience::NotUnderstood(what))
    }

    fn platforms(&mut self, place: &Place, list: &Value) -> Option<BTreeSet<Platform>> {
        let wrong = |what: String| {
            Finding::error(
                "bad-platforms",
                place.clone(),
                what,
                "write `platforms: [AWS, BareMetal]`",
            )
        };
        let Some(names) = list.as_array() else {
            self.findings
                .push(wrong("`clusters.platforms` is not a list".to_owned()));
            return None;
        };
        let mut platforms = BTreeSet::new();
        for name in names {
            match name.as_str().and_then(Platform::new) {
                Some(platform) => drop(platforms.insert(platform)),
                None => {
                    self.findings.push(wrong(format!(
                        "{name} in `clusters.platforms` is not the name of a platform"
                    )));
                    return None;
                }
            }
        }
        Some(platforms)
    }
}
