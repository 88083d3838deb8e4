//! Sums up the output of test binaries: how many tests passed, and which took longest.

use std::fmt;
use std::time::Duration;

/// How many of the slowest are named.
const SLOWEST: usize = 10;

#[derive(Debug, Default)]
pub(super) struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
    times: Vec<(Duration, String)>,
    bad_binaries: Vec<String>,
}

impl Tally {
    /// Takes a line of a test binary's output.
    pub(super) fn hear(&mut self, binary: &str, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.add(counts);
        } else if let Some((time, name)) = timed(line) {
            self.times.push((time, format!("{binary} {name}")));
        }
    }

    /// A binary ended. Without times for its tests, it counts as a whole.
    pub(super) fn ended(&mut self, binary: &str, well: bool, whole: Option<Duration>) {
        if !well {
            self.bad_binaries.push(binary.to_owned());
        }
        self.times
            .extend(whole.map(|time| (time, format!("{binary}, all of its tests"))));
    }

    pub(super) fn is_good(&self) -> bool {
        self.bad_binaries.is_empty() && self.passed > 0
    }

    /// `ok. 3 passed; 0 failed; 1 ignored; …`
    fn add(&mut self, counts: &str) {
        let words: Vec<&str> = counts.split([' ', ';']).collect();
        for pair in words.windows(2) {
            let number: u64 = pair[0].parse().unwrap_or(0);
            match pair[1] {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut slowest: Vec<&(Duration, String)> = self.times.iter().collect();
        slowest.sort_by(|one, other| other.cmp(one));
        writeln!(f, "\nThe slowest:")?;
        for (time, name) in slowest.iter().take(SLOWEST) {
            writeln!(f, "{:>8.1} s  {name}", time.as_secs_f64())?;
        }
        for binary in &self.bad_binaries {
            writeln!(f, "failed: {binary}")?;
        }
        let Self {
            passed,
            failed,
            skipped,
            ..
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// `test a::b ... ok <1.234s>`
fn timed(line: &str) -> Option<(Duration, &str)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, time) = rest.strip_suffix("s>")?.rsplit_once('<')?;
    let seconds = time.parse().ok()?;
    Some((Duration::try_from_secs_f64(seconds).ok()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_harnesses_are_added_up() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test rules::soak ... ok <0.120s>",
            "test rules::mutex - should panic ... ok <12.034s>",
            "test later ... ignored, needs a cluster",
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 12.15s",
        ] {
            tally.hear("core/rules", line);
        }
        tally.ended("core/rules", true, None);
        tally.hear("app/real_data", "test graphs ... FAILED");
        tally.hear(
            "app/real_data",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 3.00s",
        );
        tally.ended("app/real_data", false, Some(Duration::from_secs(3)));
        assert!(!tally.is_good());
        let told = tally.to_string();
        let lines: Vec<&str> = told.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "",
                "The slowest:",
                "12.0 s  core/rules rules::mutex - should panic",
                "3.0 s  app/real_data, all of its tests",
                "0.1 s  core/rules rules::soak",
                "failed: app/real_data",
                "3 passed, 1 failed, 1 skipped"
            ]
        );
    }

    #[test]
    fn a_run_in_which_nothing_passed_is_not_good() {
        let mut tally = Tally::default();
        tally.ended("core/rules", true, None);
        assert!(!tally.is_good());
        tally.hear(
            "core/rules",
            "test result: ok. 1 passed; 0 failed; 0 ignored",
        );
        assert!(tally.is_good());
    }

    #[test]
    fn a_binary_that_dies_without_a_word_is_named() {
        let mut tally = Tally::default();
        tally.ended("core/rules", false, None);
        assert!(tally.to_string().contains("failed: core/rules"));
    }

    #[test]
    fn the_slowest_ten_and_no_more() {
        let mut tally = Tally::default();
        for seconds in 0..20 {
            tally.hear("x", &format!("test t{seconds} ... ok <{seconds}.0s>"));
        }
        let told = tally.to_string();
        assert_eq!(told.matches(" s  x t").count(), SLOWEST);
        assert!(told.contains("t19") && told.contains("t10") && !told.contains("t9\n"));
    }
}
