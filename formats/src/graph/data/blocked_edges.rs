//! Blocked edges: one file, one block.
//!
//! A file without `matchingRules` and `clusters` stops the edge for everybody. These two fields
//! narrow or soften the block, but only if we understand them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use towpath_core::cluster::Platform;
use towpath_core::graph::{Audience, Block, MatchingRule, Pattern, Risk};
use towpath_core::version::ReleaseName;

use super::channels_v1::release_name;
use super::halt;
use super::schema::Schema;
use crate::graph::cincinnati;
use crate::graph::promql::CheckedQueries;
use crate::read::{Node, Reader, Record};

/// What was checked already: a few hundred patterns and queries stand in thousands of files.
#[derive(Default)]
pub(super) struct Checked {
    /// Patterns by their text.
    pub(super) patterns: BTreeMap<String, Pattern>,
    queries: CheckedQueries,
}

const FIELDS: [&str; 10] = [
    "to",
    "from",
    "url",
    "name",
    "message",
    "fixedIn",
    // For the tooling that copies a block to the next release.
    "autoExtend",
    "matchingRules",
    "clusters",
    "halt",
];

pub(super) fn read(
    reader: &mut Reader,
    node: &Node,
    schema: Schema,
    checked: &mut Checked,
) -> Option<Block> {
    let record = reader.open_record(node, "a block")?;
    let unknown = unknown_fields(reader, record);
    let to = required(reader, record, "to", "<version>");
    let to = to.and_then(|(node, _)| release_name(reader, node));
    let from = required(reader, record, "from", "<regular expression>");
    let from = from.and_then(|from| pattern(reader, from, &mut checked.patterns));
    reader.given_text(record, "autoExtend");
    if let Some((node, fixed_in)) = reader.given_text(record, "fixedIn")
        && let Err(error) = ReleaseName::parse(fixed_in)
    {
        let remedy = "name the first release without the problem";
        reader.warning("bad-fixed-in", node, error.to_string(), remedy);
    }
    let clusters = record.given("clusters");
    let clusters = clusters.map(|node| (node, reader.json(node)));
    let risk = risk(reader, record, &mut checked.queries)?;
    let stops = match (clusters, unknown) {
        (Some((node, clusters)), None) => Some(audience(reader, node, &clusters?, schema)?),
        (None, _) if risk.is_none() => Some(Audience::Everybody),
        // A halt always stops somebody.
        (None, None) if record.given("halt").is_some() => Some(Audience::Everybody),
        (None, None) => None,
        // What narrows or softens the block may be misspelt; who it is for is not known.
        (_, Some(unknown)) => Some(Audience::NotUnderstood(unknown)),
    };
    let halt = match record.given("halt") {
        Some(node) => {
            let why = reader.given_text(record, "message").map(|(_, why)| why);
            let halt = halt::read(reader, node, why, (from.as_ref(), stops.as_ref()))?;
            Some(Arc::new(halt))
        }
        None => None,
    };
    Some(Block {
        to: to?,
        from: from?,
        stops,
        risk,
        halt,
        origin: reader.place.at(1, 0),
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

/// What is said of fields that a block does not have; none if there are none.
fn unknown_fields(reader: &mut Reader, record: Record<'_>) -> Option<String> {
    let unknown = || record.unknown(&FIELDS);
    for field in unknown() {
        let problem = format!(
            "a block has no field {:?}; the edge is blocked for every cluster",
            field.text
        );
        let remedy = "correct its name, or remove it";
        reader.note_field("unknown-field", field, problem, remedy);
    }
    let names: Vec<&str> = unknown().map(|field| &*field.text).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the block has a field that this towpath does not know ({})",
            names.join(", ")
        )
    })
}

fn required<'n>(
    reader: &mut Reader,
    record: Record<'n>,
    name: &str,
    example: &str,
) -> Option<(&'n Node, &'n str)> {
    let given = reader.given_text(record, name);
    if given.is_none() {
        let (place, problem) = (reader.place.clone(), format!("the block has no `{name}`"));
        reader.missing(&place, problem, &format!("add `{name}: {example}`"));
    }
    given
}

fn pattern(
    reader: &mut Reader,
    (node, from): (&Node, &str),
    patterns: &mut BTreeMap<String, Pattern>,
) -> Option<Pattern> {
    if let Some(known) = patterns.get(from) {
        return Some(known.clone());
    }
    if patterns.len() >= super::MAX_PATTERNS {
        let problem = format!(
            "there are more than {} different patterns in all blocks",
            super::MAX_PATTERNS
        );
        let remedy = "write patterns that serve many blocks";
        reader.error("too-many-patterns", node, problem, remedy);
        return None;
    }
    match Pattern::new(from) {
        Ok(pattern) => {
            patterns.insert(from.to_owned(), pattern.clone());
            Some(pattern)
        }
        Err(e) => {
            let problem = format!("`from` is not a regular expression that towpath accepts: {e}");
            let remedy = "correct it; `.*` means every release";
            reader.error("bad-regex", node, problem, remedy);
            None
        }
    }
}

/// `Some(None)`: no risk is declared. `None`: one is, wrongly.
fn risk(
    reader: &mut Reader,
    record: Record<'_>,
    queries: &mut CheckedQueries,
) -> Option<Option<Risk>> {
    let texts = ["name", "url", "message"].map(|name| (name, reader.given_text(record, name)));
    let Some(rules) = record.given("matchingRules") else {
        return Some(None);
    };
    let list = match rules.is_nothing() {
        true => &[],
        false => reader.list(rules, "matchingRules", usize::MAX),
    };
    if list.is_empty() {
        let problem = "`matchingRules` is empty";
        let remedy = "say when the risk applies (`- type: Always`), or remove the field to block the edge for everybody";
        reader.error("no-matching-rules", rules, problem, remedy);
        return None;
    }
    let matching_rules: Vec<_> = list
        .iter()
        .map(|rule| matching_rule(reader, rule, queries))
        .collect();
    let [name, url, message] = texts.map(|(field, text)| {
        let text = text.map(|(_, text)| reader.to_the_letter(text).to_owned());
        let text = text.filter(|text| !text.is_empty());
        if text.is_none() {
            let place = reader.place.clone();
            let problem = format!("the block has `matchingRules` and no `{field}`");
            let remedy = "clients refuse a risk without name, url and message: add it";
            reader.missing(&place, problem, remedy);
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

fn matching_rule(
    reader: &mut Reader,
    node: &Node,
    queries: &mut CheckedQueries,
) -> Option<MatchingRule> {
    let read = cincinnati::read_matching_rule(&reader.json(node)?, queries);
    if let Ok(MatchingRule::Other(_)) = read {
        let problem = "clients know the types Always and PromQL, and skip this rule; where no rule decides, they do not recommend the edge";
        let remedy = "use one of them, also as a last rule";
        reader.warning("unknown-matching-rule", node, problem.to_owned(), remedy);
    }
    match read {
        Ok(MatchingRule::PromQl(query)) => Some(MatchingRule::PromQl(
            reader.to_the_letter(&query).to_owned(),
        )),
        Ok(MatchingRule::Unparsable(query)) => Some(MatchingRule::Unparsable(
            reader.to_the_letter(&query).to_owned(),
        )),
        Ok(rule) => Some(rule),
        Err(problem) => {
            let remedy = "write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`";
            reader.error("bad-matching-rule", node, problem, remedy);
            None
        }
    }
}

/// The clusters that the block stops. An unknown property could mean anybody, so it stops
/// everybody.
fn audience(
    reader: &mut Reader,
    node: &Node,
    clusters: &Value,
    schema: Schema,
) -> Option<Audience> {
    let Some(properties) = clusters.as_object() else {
        let remedy = "write `clusters: {platforms: [<platform>]}`";
        reader.error("bad-clusters", node, "`clusters` is not a mapping", remedy);
        return None;
    };
    let platforms = match properties.get("platforms") {
        Some(list) => platforms(list)
            .map_err(|problem| {
                let remedy = "write `platforms: [AWS, BareMetal]`";
                reader.error("bad-platforms", node, problem, remedy);
            })
            .ok()?,
        None => BTreeSet::new(),
    };
    if schema == Schema::V1_0 {
        let what = "schema 1.0.0 has no `clusters`, and those who read it block the edge for every cluster, as this towpath does";
        let remedy = "write 1.1.0 into the file `version`, or remove `clusters`";
        reader.warning("clusters-not-understood", node, what.to_owned(), remedy);
        return Some(Audience::NotUnderstood(
            "schema 1.0.0 has no `clusters`".to_owned(),
        ));
    }
    let strange: Vec<&str> = platforms
        .iter()
        .filter(|platform| !platform.is_known())
        .map(Platform::as_str)
        .collect();
    if !strange.is_empty() {
        let problem = format!(
            "`clusters.platforms` names what is not a platform of OpenShift ({})",
            strange.join(", ")
        );
        let remedy = format!(
            "correct it; there are {}; until then the edge is blocked for every cluster",
            Platform::KNOWN.join(", ")
        );
        reader.warning("unknown-platform", node, problem.clone(), &remedy);
        return Some(Audience::NotUnderstood(problem));
    }
    let names = properties.keys().map(String::as_str);
    let unknown: Vec<&str> = names.filter(|name| *name != "platforms").collect();
    let what = match (unknown.as_slice(), platforms.is_empty()) {
        ([], false) => return Some(Audience::Platforms(platforms)),
        ([], true) => "`clusters` names no clusters".to_owned(),
        (names, _) => format!(
            "`clusters` has a property that this towpath does not know ({})",
            names.join(", ")
        ),
    };
    let remedy = "list the platforms, or remove `clusters`; until then the edge is blocked for every cluster";
    reader.warning("clusters-not-understood", node, what.clone(), remedy);
    Some(Audience::NotUnderstood(what))
}

fn platforms(list: &Value) -> Result<BTreeSet<Platform>, String> {
    let names = list
        .as_array()
        .ok_or("`clusters.platforms` is not a list")?;
    let platform = |name: &Value| {
        let platform = name.as_str().and_then(Platform::new);
        platform
            .ok_or_else(|| format!("{name} in `clusters.platforms` is not the name of a platform"))
    };
    names.iter().map(platform).collect()
}
