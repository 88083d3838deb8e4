//! The real incidents: what the watch would have made of each, as a table and as a page of the docs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use super::lines::Line;
use super::percent;
use crate::bench::bars::Bars;
use crate::bench::table::Table;

/// How many there are, and how many of them stable clusters were offered before they were declared.
const INCIDENTS: usize = 132;
const OFFERED_FIRST: usize = 98;
/// A class with so many attempts must be found.
const LARGE_CLASS: f64 = 2_000.0;

/// All replays, and what became of good releases.
pub(super) struct Replay<'a> {
    by_name: BTreeMap<&'a str, Vec<&'a Line>>,
    good: &'a Line,
}

impl<'a> Replay<'a> {
    pub(super) fn of(lines: &'a [Line]) -> anyhow::Result<Self> {
        let mut by_name: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
        for line in lines {
            if let Some(name) = line.text_if_any("incident") {
                by_name.entry(name).or_default().push(line);
            }
        }
        let good = lines
            .iter()
            .find(|line| line.number_if_any("good").is_some());
        let offered = by_name
            .values()
            .filter(|runs| runs[0].text_if_any("entered").is_some());
        let offered = offered.count();
        ensure!(
            by_name.len() == INCIDENTS && offered == OFFERED_FIRST,
            "there are {} incidents, {offered} of them declared after a release was in stable; expected {INCIDENTS} and {OFFERED_FIRST}",
            by_name.len()
        );
        Ok(Self {
            by_name,
            good: good.context("there is no line of good releases")?,
        })
    }

    /// The sums, held to their bars.
    pub(super) fn table(&self, bars: &mut Bars) -> Table {
        let all: Vec<&Line> = self.by_name.values().flatten().copied().collect();
        let is = |name: &'static str| move |line: &&&Line| line.flag(name).unwrap_or(false);
        let large = |line: &&&Line| line.number_if_any("clusters") >= Some(LARGE_CLASS);
        let found = all.iter().filter(is("found"));
        let of_large: Vec<&&Line> = all.iter().filter(large).collect();
        let found_of_large = of_large.iter().filter(|line| is("found")(line)).count();
        let halts = found.count();
        let whole = all.iter().filter(is("isWholeClassHalted")).count();
        let false_halts = self.good.number_if_any("halted").unwrap_or(f64::NAN);
        let missed: Vec<&&Line> = all.iter().filter(|line| !is("found")(line)).collect();
        let inconclusive =
            |line: &&&&Line| line.text_if_any("answerForClass") == Some("inconclusive");
        let of_scope: Vec<&&&Line> = missed
            .iter()
            .filter(|line| is("isClassAScope")(line))
            .collect();
        let inconclusive_of_scope = of_scope.iter().filter(|line| inconclusive(line)).count();
        let wrong: f64 = all
            .iter()
            .filter_map(|line| line.number_if_any("wrongGoOns"))
            .sum();

        let mut table = Table::new(["", "of", "count", "part", "bar"]);
        let mut row = |what: &str, of: usize, count: usize, bar: Option<f64>| {
            let part = count as f64 / of.max(1) as f64;
            let bar = bar.map(|bar| bars.at_least(what, part, bar));
            table.row([
                what.to_owned(),
                of.to_string(),
                count.to_string(),
                percent(part),
                bar.unwrap_or_default(),
            ]);
        };
        row(
            "replays with a class of 2,000 or more that are found",
            of_large.len(),
            found_of_large,
            Some(0.99),
        );
        row(
            "other replays that are found",
            all.len() - of_large.len(),
            halts - found_of_large,
            None,
        );
        row(
            "halts of a release with an incident, in which all who are hit are held back",
            halts + false_halts as usize,
            whole,
            Some(0.95),
        );
        row(
            "not found: the class is a scope, and its answer is inconclusive",
            of_scope.len(),
            inconclusive_of_scope,
            Some(1.0),
        );
        row(
            "not found: the class is no scope; the narrowest scope around it is inconclusive",
            missed.len() - of_scope.len(),
            missed.iter().filter(inconclusive).count() - inconclusive_of_scope,
            None,
        );
        row(
            "scopes that all fail at 5 %, and may not go on",
            all.len(),
            all.len() - wrong as usize,
            Some(1.0),
        );
        for named in [true, false] {
            let halts: Vec<&&Line> = all
                .iter()
                .filter(|line| is("found")(line) && is("isNamed")(line) == named)
                .collect();
            let whose = if named {
                "the risk names the class"
            } else {
                "the class is drawn"
            };
            for scope_is in ["exact", "wider", "part", "elsewhere"] {
                let count = halts
                    .iter()
                    .filter(|line| line.text_if_any("scopeIs") == Some(scope_is))
                    .count();
                row(
                    &format!("first halts, {whose}: scope {scope_is}"),
                    halts.len(),
                    count,
                    None,
                );
            }
        }
        let good = self.good.number_if_any("good").unwrap_or(f64::NAN);
        row(
            "good releases that are halted",
            good as usize,
            false_halts as usize,
            None,
        );
        table
    }

    /// The page with one row for each incident.
    pub(super) fn write(&self, page: &Path) -> anyhow::Result<()> {
        let mut text = HEAD.to_owned();
        let mut rows: Vec<(&str, String)> = Vec::new();
        for (name, runs) in &self.by_name {
            rows.push((runs[0].text("declared")?, row(name, runs)?));
        }
        rows.sort();
        for (_, row) in rows {
            text += &row;
        }
        fs::write(page, text).with_context(|| format!("{} cannot be written", page.display()))
    }
}

const HEAD: &str = "# The real incidents

`cargo xtask bench feedback --part incidents --page docs/incidents.md` writes this page. It needs the real data
([feedback.md](feedback.md#the-real-incidents) says what was replayed, how, and what follows).

- **release**: the first release with the risk that stable clusters were offered before it was declared; else the first that the
  risk was declared for.
- **in stable**: when that release entered a stable channel. A dash: not before the risk was declared.
- **days**: so long it was in stable until the risk was declared.
- **class**: whom the risk names; *(drawn)* where it names a condition that no report tells. *Some releases* are those that its
  pattern finds.
- **clusters**: how many of the 10,000 are in the class (median of five fleets).
- **found**: in how many of five replays the watch halts the release.
- **halt for**: the scope of the first halt, in most replays.
- **exposed**: how many of 10,000 clusters had begun when the risk was declared in reality, without a window as it was and with one
  of 48 h; and when the watch halts (median of the replays that are found).
- **after**: so many hours after the start of the window the watch halts (median).

| risk | release | in stable | declared | days | class | clusters | found | halt for | exposed when declared | in a window | exposed at the halt | after |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

fn row(name: &str, runs: &[&Line]) -> anyhow::Result<String> {
    let first = runs[0];
    let day = |text: &str| text.get(..10).unwrap_or(text).to_owned();
    let found: Vec<&&Line> = runs
        .iter()
        .filter(|line| line.flag("found").unwrap_or(false))
        .collect();
    let middle = |name: &str| {
        let mut numbers: Vec<f64> = runs
            .iter()
            .filter_map(|line| line.number_if_any(name))
            .collect();
        numbers.sort_by(f64::total_cmp);
        numbers.get(numbers.len().saturating_sub(1) / 2).copied()
    };
    let shown = |number: Option<f64>, places: usize| {
        number.map_or("–".to_owned(), |number| format!("{number:.places$}"))
    };
    let class = match first.flag("isNamed")? {
        true => first.text("class")?.to_owned(),
        false => format!("{} *(drawn)*", first.text("class")?),
    };
    let cells = [
        name.to_owned(),
        first.text("release")?.to_owned(),
        first.text_if_any("entered").map_or("–".to_owned(), day),
        day(first.text("declared")?),
        shown(first.number_if_any("daysOnOffer"), 1),
        class,
        shown(middle("clusters"), 0),
        format!("{} of {}", found.len(), runs.len()),
        most_usual(&found),
        shown(first.number_if_any("exposedWhenDeclared"), 0),
        shown(first.number_if_any("exposedWhenDeclaredInWindow"), 0),
        shown(middle("exposedWhenHalted"), 0),
        shown(middle("haltedAfterHours"), 1),
    ];
    Ok(format!("| {} |\n", cells.join(" | ")))
}

fn most_usual(found: &[&&Line]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in found {
        *counts
            .entry(line.text_if_any("scope").unwrap_or("–"))
            .or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map_or("–".to_owned(), |(scope, _)| scope.to_owned())
}
