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
        let mut sums = Sums::new(bars);
        let all: Vec<&Line> = self.by_name.values().flatten().copied().collect();
        let (large, small): (Vec<&Line>, Vec<&Line>) = all.iter().partition(|line| is_large(line));
        let is_found = |line: &&&Line| is(line, "found");
        let what = "replays with a class of 2,000 or more that are found";
        sums.part(
            what,
            large.len(),
            large.iter().filter(is_found).count(),
            Some(0.99),
        );
        let found = small.iter().filter(is_found).count();
        sums.part("other replays that are found", small.len(), found, None);
        self.halts(&all, &mut sums);
        not_found(&all, &mut sums);
        scopes(&all, &mut sums);
        sums.table
    }

    /// Whom the halts are for.
    fn halts(&self, all: &[&Line], sums: &mut Sums<'_>) {
        let count = |name: &str| self.good.number_if_any(name).unwrap_or(f64::NAN) as usize;
        let (good, false_halts) = (count("good"), count("halted"));
        let halts = all.iter().filter(|line| is(line, "found")).count();
        let right = all.iter().filter(|line| is(line, "isWholeClassHalted"));
        let what = "halts that are right: of a release with an incident, for all who are hit";
        sums.part(what, halts + false_halts, right.count(), Some(0.95));
        sums.part("good releases that are halted", good, false_halts, None);
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

/// Shares of all, in a table.
struct Sums<'b> {
    table: Table,
    bars: &'b mut Bars,
}

impl<'b> Sums<'b> {
    fn new(bars: &'b mut Bars) -> Self {
        let table = Table::new(["", "of", "count", "part", "bar"]);
        Self { table, bars }
    }

    fn part(&mut self, what: &str, of: usize, count: usize, bar: Option<f64>) {
        // Nobody of nobody is all of them.
        let part = if of == 0 {
            1.0
        } else {
            count as f64 / of as f64
        };
        let bar = bar.map(|bar| self.bars.at_least(what, part, bar));
        self.table.row([
            what.to_owned(),
            of.to_string(),
            count.to_string(),
            percent(part),
            bar.unwrap_or_default(),
        ]);
    }
}

fn is(line: &Line, name: &str) -> bool {
    line.flag(name).unwrap_or(false)
}

fn is_large(line: &Line) -> bool {
    line.number_if_any("clusters") >= Some(LARGE_CLASS)
}

/// A class that is not found is inconclusive, and nobody is told to go on where 5 % fail.
fn not_found(all: &[&Line], sums: &mut Sums<'_>) {
    let missed = all.iter().filter(|line| !is(line, "found"));
    let (scopes, others): (Vec<&Line>, Vec<&Line>) =
        missed.copied().partition(|line| is(line, "isClassAScope"));
    let inconclusive = |lines: &[&Line]| {
        let answers = lines
            .iter()
            .filter_map(|line| line.text_if_any("answerForClass"));
        answers.filter(|answer| *answer == "inconclusive").count()
    };
    let what = "not found, and the class is a scope: it is inconclusive";
    sums.part(what, scopes.len(), inconclusive(&scopes), Some(1.0));
    let what = "not found, and the class is no scope: the narrowest around it is inconclusive";
    sums.part(what, others.len(), inconclusive(&others), None);
    let wrong = |line: &&&Line| line.number_if_any("wrongGoOns") != Some(0.0);
    let right = all.len() - all.iter().filter(wrong).count();
    let what = "replays in which no scope goes on that fails at 5 % throughout";
    sums.part(what, all.len(), right, Some(1.0));
}

/// How the scopes of first halts compare with the classes that are hit.
fn scopes(all: &[&Line], sums: &mut Sums<'_>) {
    for (whose, is_named) in [("named", true), ("drawn", false)] {
        let halts = all
            .iter()
            .filter(|line| is(line, "found") && is(line, "isNamed") == is_named);
        let halts: Vec<&&Line> = halts.collect();
        for scope_is in ["exact", "wider", "part", "elsewhere"] {
            let is_so = |line: &&&&Line| line.text_if_any("scopeIs") == Some(scope_is);
            let what = format!("first halts where the class is {whose}: the scope is {scope_is}");
            sums.part(&what, halts.len(), halts.iter().filter(is_so).count(), None);
        }
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
- **clusters**: how many of the 10,000 are in the class in the fleet that was drawn.
- **found**: in how many of the replays the watch halts the release.
- **halt for**: the scope of the first halt.
- **exposed**: how many of 10,000 clusters had begun when the risk was declared in reality, without a window as it was and with one
  of 48 h; and when the watch halts.
- **after**: so many hours after the start of the window the watch halts.

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
