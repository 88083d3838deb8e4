//! Sectors: their declarations, and whether their dependencies make sense.
//!
//! A mistake in a sector holds back its clusters. A loop or a missing dependency also holds back
//! every sector that depends on it, even indirectly: nobody knows what must come before them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{Name, Parallel, Sector};

use super::known::SharedValues;
use super::organisation::without_effect;
use crate::read::{Node, Reader, Value, whole};

/// The most sectors of an organisation.
pub const MAX_SECTORS: usize = 1_000;
/// The most dependencies of a sector.
const MAX_DEPENDENCIES: usize = 100;
/// How many problems of its sector a cluster is told.
const MAX_TOLD: usize = 8;

const FIELDS: [&str; 5] = [
    "name",
    "maxParallelUpgrades",
    "dependencies",
    "maxFailures",
    "stragglerDays",
];

/// The sectors of an organisation, and what is wrong with each.
#[derive(Debug, Default)]
pub(super) struct Sectors {
    pub(super) sectors: BTreeMap<Name, Sector>,
    pub(super) problems: BTreeMap<Name, Vec<Finding>>,
}

/// Reads `sectors`. All findings go to the reader; those of a sector stand with it too.
pub(super) fn read(reader: &mut Reader, known: &mut SharedValues, node: &Node) -> Sectors {
    let mut found = Sectors::default();
    let mut dependencies: Vec<(Name, Name, Place)> = Vec::new();
    for entry in reader.list(node, "sectors", MAX_SECTORS) {
        let mut of_entry = Reader::new(&reader.place);
        let sector = sector(&mut of_entry, known, entry, &mut dependencies);
        if let Some(sector) = sector {
            if let Some(first) = found.sectors.get(&sector.name) {
                let problem = format!(
                    "sector {:?} is declared here and at {}",
                    &*sector.name, first.origin
                );
                of_entry.error("duplicate-sector", entry, problem, "keep one of them");
            }
            found.tell(&sector.name, &of_entry.findings);
            found.sectors.entry(sector.name.clone()).or_insert(sector);
        }
        reader.findings.append(&mut of_entry.findings);
    }
    let followers = followers(&found.sectors);
    for (name, dependency, place) in dependencies {
        if !found.sectors.contains_key(&dependency) {
            let problem = format!(
                "sector {:?} depends on {:?}, and there is no such sector",
                &*name, &*dependency
            );
            let finding = Finding::error(
                "unknown-sector",
                place,
                problem,
                "correct the name, or declare the sector",
            );
            found.tell_all(&followers, [&name], &finding);
            reader.findings.push(finding);
        }
    }
    for members in loops(&found.sectors) {
        let finding = loop_finding(&found.sectors, &members);
        found.tell_all(&followers, &members, &finding);
        reader.findings.push(finding);
    }
    found
}

impl Sectors {
    fn tell(&mut self, sector: &Name, findings: &[Finding]) {
        // A note holds nobody.
        if !findings.iter().any(Finding::is_error) {
            return;
        }
        let told = self.problems.entry(sector.clone()).or_default();
        told.extend(
            findings
                .iter()
                .filter(|finding| finding.is_error())
                .take(MAX_TOLD.saturating_sub(told.len()))
                .cloned(),
        );
    }

    /// Tells these sectors, and all that come to them by way of their dependencies.
    fn tell_all<'s>(
        &mut self,
        followers: &BTreeMap<Name, Vec<Name>>,
        sectors: impl IntoIterator<Item = &'s Name>,
        finding: &Finding,
    ) {
        let mut open: Vec<&Name> = sectors.into_iter().collect();
        let mut seen: BTreeSet<&Name> = open.iter().copied().collect();
        while let Some(sector) = open.pop() {
            self.tell(sector, std::slice::from_ref(finding));
            open.extend(
                followers
                    .get(sector)
                    .into_iter()
                    .flatten()
                    .filter(|next| seen.insert(next)),
            );
        }
    }
}

fn sector(
    reader: &mut Reader,
    known: &mut SharedValues,
    node: &Node,
    dependencies: &mut Vec<(Name, Name, Place)>,
) -> Option<Sector> {
    let record = reader.record(node, "a sector", &FIELDS)?;
    let name = reader.required(record, "name", "add `name: <sector>`")?;
    let name = known.name(reader.name(name, "a sector's name")?);
    let mut sector = Sector {
        name: name.clone(),
        depends_on: Vec::new(),
        max_parallel: None,
        max_failures: None,
        straggler_days: None,
        origin: reader.at(node),
    };
    if let Some(node) = record.get("dependencies") {
        for entry in reader.list(node, "dependencies", MAX_DEPENDENCIES) {
            let Some(dependency) = dependency(reader, known, entry) else {
                continue;
            };
            if !sector.depends_on.contains(&dependency) {
                dependencies.push((name.clone(), dependency.clone(), reader.at(entry)));
                sector.depends_on.push(dependency);
            }
        }
    }
    if let Some(node) = record.get("maxParallelUpgrades") {
        sector.max_parallel = parallel(reader, node);
    }
    if let Some(node) = record.get("maxFailures") {
        sector.max_failures = reader.count(node, "maxFailures", 1..=1_000_000);
    }
    if let Some(node) = record.get("stragglerDays") {
        sector.straggler_days = reader.count(node, "stragglerDays", 1..=3_650);
    }
    Some(sector)
}

/// `{name: stage}`, or just `stage`.
fn dependency(reader: &mut Reader, known: &mut SharedValues, node: &Node) -> Option<Name> {
    if let Value::Text(_) = node.value {
        return reader
            .name(node, "a sector's name")
            .map(|name| known.name(name));
    }
    let record = reader.record(node, "a dependency", &["name", "ocm"])?;
    let why = "the sector is looked for in this organisation";
    without_effect(reader, record, "ocm", why);
    let name = reader.required(record, "name", "add `name: <sector>`")?;
    reader
        .name(name, "a sector's name")
        .map(|name| known.name(name))
}

/// `2`, `"2"` or `"50%"`.
fn parallel(reader: &mut Reader, node: &Node) -> Option<Parallel> {
    let limit = match &node.value {
        Value::Whole(number) => u32::try_from(*number).ok().map(Parallel::Count),
        Value::Text(text) => match text.strip_suffix('%') {
            Some(percent) => whole(percent)
                .filter(|percent| *percent <= 100)
                .map(Parallel::Percent),
            None => whole(text).map(Parallel::Count),
        },
        _ => None,
    };
    let fits = limit.filter(|limit| !matches!(limit, Parallel::Count(0) | Parallel::Percent(0)));
    if fits.is_none() {
        let problem = format!("{} is not a limit of parallel upgrades", node.kind());
        reader.error(
            "bad-limit",
            node,
            problem,
            "write a number from 1 on, or a share from \"1%\" to \"100%\"",
        );
    }
    fits
}

/// Which sectors name a sector as their dependency.
fn followers(sectors: &BTreeMap<Name, Sector>) -> BTreeMap<Name, Vec<Name>> {
    let mut followers: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
    for sector in sectors.values() {
        for dependency in &sector.depends_on {
            followers
                .entry(dependency.clone())
                .or_default()
                .push(sector.name.clone());
        }
    }
    followers
}

/// Groups of sectors that all depend on each other, or on themselves.
fn loops(sectors: &BTreeMap<Name, Sector>) -> Vec<BTreeSet<Name>> {
    let mut search = Search {
        sectors,
        numbers: BTreeMap::new(),
        path: Vec::new(),
        loops: Vec::new(),
    };
    for name in sectors.keys() {
        search.visit(name);
    }
    search.loops
}

/// Tarjan's search for strongly connected components. As deep as there are sectors, which are limited.
struct Search<'s> {
    sectors: &'s BTreeMap<Name, Sector>,
    numbers: BTreeMap<&'s Name, usize>,
    path: Vec<&'s Name>,
    loops: Vec<BTreeSet<Name>>,
}

impl<'s> Search<'s> {
    /// The lowest number on the path that can be reached from here.
    fn visit(&mut self, name: &'s Name) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.numbers.len();
        self.numbers.insert(name, number);
        let depth = self.path.len();
        self.path.push(name);
        let mut lowest = number;
        let sectors = self.sectors;
        for dependency in sectors
            .get(name)
            .into_iter()
            .flat_map(|sector| &sector.depends_on)
        {
            if let Some((dependency, _)) = sectors.get_key_value(dependency) {
                lowest = lowest.min(self.visit(dependency));
            }
        }
        if lowest < number {
            return lowest;
        }
        let members: BTreeSet<Name> = self.path.drain(depth..).cloned().collect();
        // Done with: no later search comes back by way of them.
        for member in &members {
            if let Some((member, _)) = sectors.get_key_value(member) {
                self.numbers.insert(member, usize::MAX);
            }
        }
        let depends_on_itself = || {
            sectors
                .get(name)
                .is_some_and(|sector| sector.depends_on.contains(name))
        };
        if members.len() > 1 || depends_on_itself() {
            self.loops.push(members);
        }
        usize::MAX
    }
}

/// Names the shortest loop through the first of its members.
fn loop_finding(sectors: &BTreeMap<Name, Sector>, members: &BTreeSet<Name>) -> Finding {
    let first = members.first().cloned().unwrap_or_else(|| "".into());
    let mut came_from: BTreeMap<&Name, &Name> = BTreeMap::new();
    let mut open = VecDeque::from([&first]);
    'search: while let Some(sector) = open.pop_front() {
        for next in sectors
            .get(sector)
            .into_iter()
            .flat_map(|sector| &sector.depends_on)
        {
            if members.contains(next) && !came_from.contains_key(next) {
                came_from.insert(next, sector);
                open.push_back(next);
            }
            if *next == first {
                break 'search;
            }
        }
    }
    let mut path = vec![&first];
    let mut here = &first;
    while let Some(before) = came_from.get(here).filter(|_| path.len() <= members.len()) {
        path.push(before);
        here = before;
        if *here == first {
            break;
        }
    }
    let path: Vec<&str> = path.iter().rev().map(|name| &***name).collect();
    let place = sectors
        .get(&first)
        .map_or_else(|| Place::file(""), |sector| sector.origin.clone());
    let problem = format!(
        "sectors depend on each other in a loop: {}",
        path.join(" -> ")
    );
    Finding::error(
        "sector-loop",
        place,
        problem,
        "remove one of these dependencies",
    )
}
