//! Bars: what a figure must reach. They are collected, so that everything is printed before anything fails.

use crate::Outcome;

/// The bars that were missed so far.
#[derive(Debug, Default)]
pub(crate) struct Bars {
    missed: Vec<String>,
}

impl Bars {
    /// Says whether a figure is large enough, in a word for a table.
    pub(crate) fn at_least(&mut self, what: &str, figure: f64, bar: f64) -> String {
        self.note(
            figure >= bar,
            format!("{what}: {figure:.3} is below {bar}"),
            format!(">= {bar}"),
        )
    }

    /// Says whether a figure is small enough, in a word for a table.
    pub(crate) fn at_most(&mut self, what: &str, figure: f64, bar: f64) -> String {
        self.note(
            figure <= bar,
            format!("{what}: {figure:.3} is above {bar}"),
            format!("<= {bar}"),
        )
    }

    /// Requests that failed: none may.
    pub(crate) fn no_failures(&mut self, what: &str, failures: &[String]) -> String {
        self.note(
            failures.is_empty(),
            format!("{what}: {}", failures.join(", ")),
            "none fails".to_owned(),
        )
    }

    /// The bars that were missed, one sentence each.
    pub(crate) fn missed(&self) -> &[String] {
        &self.missed
    }

    /// Good if no bar was missed.
    pub(crate) fn outcome(&self) -> Outcome {
        if self.missed.is_empty() {
            Outcome::Good
        } else {
            Outcome::Bad
        }
    }

    fn note(&mut self, met: bool, sentence: String, bar: String) -> String {
        if met {
            return format!("{bar} met");
        }
        self.missed.push(sentence);
        format!("{bar} MISSED")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_met_by_the_figure_that_it_names() {
        let mut bars = Bars::default();
        assert_eq!(bars.at_least("speed", 0.9, 0.9), ">= 0.9 met");
        assert_eq!(bars.at_most("p99", 2.0, 2.0), "<= 2 met");
        assert_eq!(bars.no_failures("requests", &[]), "none fails met");
        assert_eq!(bars.outcome(), Outcome::Good);
    }

    #[test]
    fn missed_bars_are_remembered() {
        let mut bars = Bars::default();
        assert_eq!(bars.at_least("speed", 0.89, 0.9), ">= 0.9 MISSED");
        assert_eq!(bars.at_most("p99", 2.1, 2.0), "<= 2 MISSED");
        assert_eq!(
            bars.missed(),
            ["speed: 0.890 is below 0.9", "p99: 2.100 is above 2"]
        );
        assert_eq!(bars.outcome(), Outcome::Bad);
    }
}
