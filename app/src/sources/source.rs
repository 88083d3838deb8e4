//! The state of one source: the copy in use, the next copy, and what is wrong.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{Block, GraphData, Releases};
use towpath_core::intake::{
    Allowances, AllowedOnce, Comparison, CopyChange, CopyObjection, Counting, Coverage, Judgement,
    Measure, RecentMaxima, Summary, WithdrawnReleases, judge,
};
use towpath_core::signatures::GraphSeal;
use towpath_formats::SourceFile;
use towpath_formats::graph::platforms::Platforms;
use towpath_formats::graph::upstream::Upstream;
use towpath_web::{ChangedWindows, SourceProblem, SourceReads, WindowChanges};

use super::address::SourceSpec;
use super::reader::SourceReading;
use super::stricter::StricterParts;

/// A source, and what is known of it.
pub(super) struct Source {
    pub(super) spec: SourceSpec,
    /// The copy that is served.
    pub(super) good: Option<SourceCopy>,
    /// What will be good once a graph has been made of it.
    pub(super) next: Option<SourceCopy>,
    pub(super) problem: Option<SourceProblem>,
    /// The signature of the copy in use does not count any more.
    pub(super) seal_ended: Option<SourceProblem>,
    pub(super) reads: SourceReads,
    /// The most that it had lately.
    pub(super) highs: RecentMaxima,
    /// The images of what it had lately and has no more.
    pub(super) vanished: WithdrawnReleases,
    /// How many releases of the copy in use are verified, where that counts.
    pub(super) verified: Option<usize>,
    /// What copies that were not taken block.
    pub(super) stricter: StricterParts,
    /// What they blocked until a copy was taken of which no graph has been made yet.
    superseded: Option<StricterParts>,
    /// What the newest copy says that is not used: while it stays the same, nobody has to understand it again.
    unused: Option<(String, CopyReading)>,
    /// The digest of the copy that was refused, while nothing else has come.
    refused: Option<String>,
    allowed_once: Option<AllowedOnce>,
    /// What the newest copy of other channels did to windows, or would do.
    pub(super) changed_windows: Option<ChangedWindows>,
    pub(super) window_changes: WindowChanges,
}

/// What there is to say about the windows of a copy that was read.
pub(super) enum WindowCheck {
    /// Its channels are those of the copy in use, or there is nothing to compare them with.
    Same,
    /// What presubmit has against them, and whether that is held against the copy.
    Compared {
        findings: Vec<Finding>,
        refuse: bool,
    },
}

/// A copy that can be used.
#[derive(Clone)]
pub(super) struct SourceCopy {
    /// Dropped where nobody will ask for them again.
    pub(super) files: Vec<SourceFile>,
    pub(super) digest: String,
    pub(super) parsed: CopyContent,
    pub(super) warnings: Vec<Finding>,
    /// What its reader had to say when it last read it.
    pub(super) told: Vec<Finding>,
    pub(super) summary: Summary,
    /// When we got it.
    pub(super) taken_at: Timestamp,
    pub(super) last_good: Timestamp,
    /// What later copies are measured by.
    pub(super) counting: Counting,
    /// Who signed it, if somebody has to.
    pub(super) seal: Option<GraphSeal>,
}

/// What a copy is, or why it cannot be used.
pub(super) type CopyReading = Result<SourceCopy, Vec<Finding>>;

/// What a copy says.
#[derive(Clone)]
pub(super) enum CopyContent {
    GraphData(GraphData),
    Releases(Releases),
    Upstream(Upstream),
    Platforms(Platforms),
}

/// What became of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyOutcome {
    Changed,
    Unchanged,
    Failed,
}

impl Source {
    /// One that has not been read.
    pub(super) fn new(spec: &SourceSpec) -> Self {
        Self {
            spec: spec.clone(),
            good: None,
            next: None,
            problem: None,
            seal_ended: None,
            reads: SourceReads::default(),
            highs: RecentMaxima::default(),
            vanished: WithdrawnReleases::default(),
            verified: None,
            stricter: StricterParts::default(),
            superseded: None,
            unused: None,
            refused: None,
            allowed_once: None,
            changed_windows: None,
            window_changes: WindowChanges::default(),
        }
    }

    /// The newest copy, be it that no graph has been made of it yet.
    pub(super) fn newest(&self) -> Option<&SourceCopy> {
        self.next.as_ref().or(self.good.as_ref())
    }

    /// What the copy that was refused is allowed, or the next one if none was.
    pub(super) fn allow_once(&mut self, allowed: &[CopyObjection], now: Timestamp) {
        let every = SignedDuration::try_from(self.spec.every).unwrap_or(SignedDuration::MAX);
        self.allowed_once = Some(AllowedOnce::new(
            allowed,
            self.refused.as_deref(),
            every,
            now,
        ));
    }

    /// Takes note that it is as it was, if these files are those of the newest copy.
    pub(super) fn confirm(
        &mut self,
        digest: &str,
        read: &SourceReading,
        now: Timestamp,
    ) -> Option<CopyOutcome> {
        let same = self
            .next
            .as_mut()
            .or(self.good.as_mut())
            .filter(|newest| newest.digest == digest)?;
        same.last_good = now;
        // The same files may be signed again, by another key.
        same.seal.clone_from(&read.seal);
        if same.files.is_empty() {
            // Should what was kept of it be lost, here it is.
            same.files = read.files.clone();
        }
        // The same files can come with other words: what a reader left out now, or what nobody has told us since a restart.
        if same.told != read.warnings {
            let retold = SourceCopy {
                files: read.files.clone(),
                told: read.warnings.clone(),
                ..same.clone()
            };
            self.next = Some(retold);
        }
        if self.good.as_ref().is_some_and(|good| good.digest == digest) {
            self.note(now);
        }
        (self.problem, self.refused, self.unused) = (None, None, None);
        // What was refused is gone from the source.
        self.changed_windows.take_if(|changed| !changed.taken);
        self.reads.unchanged += 1;
        Some(CopyOutcome::Unchanged)
    }

    /// What is known of a copy that was read before and is not used.
    pub(super) fn understood(
        &mut self,
        digest: &str,
        read: &SourceReading,
        now: Timestamp,
    ) -> Option<CopyReading> {
        let (_, understood) = self.unused.take_if(|(known, _)| known == digest)?;
        Some(understood.map(|copy| SourceCopy {
            files: read.files.clone(),
            told: read.warnings.clone(),
            summary: copy.summary.clone().made_at(read.made_at),
            seal: read.seal.clone(),
            taken_at: now,
            last_good: now,
            ..copy
        }))
    }

    /// The stricter parts that belong to the copy which is served.
    pub(super) fn parts_in_use(&self) -> &StricterParts {
        self.superseded.as_ref().unwrap_or(&self.stricter)
    }

    /// The copy that new ones are measured by: what is served; before anything is, what was kept.
    pub(super) fn in_use(&self) -> Option<&SourceCopy> {
        self.good.as_ref().or(self.next.as_ref())
    }

    /// What the newest copy says, if it was refused.
    pub(super) fn refused(&self) -> Option<&CopyContent> {
        self.unused
            .as_ref()
            .and_then(|(_, understood)| understood.as_ref().ok())
            .map(|copy| &copy.parsed)
    }

    /// Adds what a copy that was not taken blocks.
    pub(super) fn add_stricter(&mut self, refused: Vec<(Block, SourceFile)>, now: Timestamp) {
        let in_force = match self
            .next
            .as_ref()
            .or(self.good.as_ref())
            .map(|good| &good.parsed)
        {
            Some(CopyContent::GraphData(data)) => data.blocks.as_slice(),
            _ => &[],
        };
        let no_room = self.stricter.add(in_force, refused, now);
        if let Some(problem) = &mut self.problem {
            problem.findings.extend(no_room);
        }
    }

    /// Takes a copy, or refuses it. `verified` says what is left of one after verification, which must not shrink either; `coverage` what its blocks do, `windows` what becomes of windows.
    pub(super) fn judge(
        &mut self,
        copy: SourceCopy,
        mut allow: Allowances,
        verified: impl Fn(&CopyContent) -> Summary,
        coverage: Option<Coverage>,
        windows: WindowCheck,
        now: Timestamp,
    ) -> CopyOutcome {
        let is_known = self.refused.as_ref() == Some(&copy.digest);
        let windows = self.as_first_told(windows, is_known);
        let held_windows: &[Finding] = match &windows {
            WindowCheck::Compared {
                findings,
                refuse: true,
            } => findings,
            WindowCheck::Compared { refuse: false, .. } | WindowCheck::Same => &[],
        };
        allow.allowed.extend(
            self.allowed_once
                .iter()
                .flat_map(|once| once.of(&copy.digest, now)),
        );
        let largest = self.highs.largest(now);
        let in_use = self.good.as_ref().or(self.next.as_ref());
        let judgement = in_use.map_or(Judgement::Taken(Counting::GoesOn), |before| {
            let change = before
                .parsed
                .with_blocks(self.parts_in_use().blocks())
                .change(&copy.parsed);
            let measured = |copy: &SourceCopy| {
                let mut summary = copy.summary.clone();
                summary.counts.extend(verified(&copy.parsed).counts);
                summary
            };
            let (mut before, mut after) = (measured(before), measured(&copy));
            before.payloads = self.vanished.beside(&before.payloads, now);
            if let Some(coverage) = coverage {
                before = before.with_coverage(coverage.blocks_before, coverage.edges_before);
                // Edges that are new under blocks do not make up for others that are not any more.
                let stay = coverage
                    .edges_before
                    .saturating_sub(coverage.edges_loosened);
                after = after.with_coverage(coverage.blocks_after, stay);
            }
            let (before, after) = (&before, &after);
            judge(
                &self.spec.name,
                &Comparison {
                    before,
                    largest: &largest,
                    after,
                    change,
                    coverage,
                    windows: held_windows,
                },
                &allow,
            )
        });
        match judgement {
            Judgement::Refused(findings) => {
                self.note_windows(windows, false, is_known, now);
                self.reads.refused += 1;
                self.refused = Some(copy.digest.clone());
                self.unused = Some((
                    copy.digest.clone(),
                    Ok(SourceCopy {
                        files: Vec::new(),
                        ..copy
                    }),
                ));
                self.problem(findings, now);
                CopyOutcome::Failed
            }
            Judgement::Taken(counting) => {
                self.reads.changed += 1;
                (self.problem, self.refused, self.unused, self.allowed_once) =
                    (None, None, None, None);
                if let Some(before) = in_use {
                    self.vanished
                        .note(&before.summary.payloads, &copy.summary.payloads, now);
                }
                self.note_windows(windows, true, is_known, now);
                self.next = Some(SourceCopy { counting, ..copy });
                // They come back if no graph can be made of it.
                let stricter = std::mem::take(&mut self.stricter);
                self.superseded.get_or_insert(stricter);
                CopyOutcome::Changed
            }
        }
    }

    /// Of a copy that is refused again, what was said the first time: shares grow, and the log has one line for each copy.
    fn as_first_told(&self, windows: WindowCheck, is_known: bool) -> WindowCheck {
        let told = self.changed_windows.as_ref().filter(|_| is_known);
        match (windows, told) {
            (WindowCheck::Compared { findings, refuse }, Some(told)) if !findings.is_empty() => {
                WindowCheck::Compared {
                    findings: told.findings.clone(),
                    refuse,
                }
            }
            (windows, _) => windows,
        }
    }

    /// Takes note of what a copy does to windows; of one that is refused again and again, once.
    fn note_windows(&mut self, windows: WindowCheck, taken: bool, is_known: bool, now: Timestamp) {
        let WindowCheck::Compared { findings, .. } = windows else {
            return;
        };
        let before = self.changed_windows.take();
        if findings.is_empty() {
            return;
        }
        match (taken, is_known) {
            (true, _) => self.window_changes.taken += 1,
            (false, false) => self.window_changes.refused += 1,
            (false, true) => {}
        }
        let at = match before {
            Some(before) if is_known && !taken => before.at,
            _ => now,
        };
        self.changed_windows = Some(ChangedWindows {
            at,
            taken,
            findings,
        });
    }

    /// A graph was made of its newest copy, and is served. Of graph data, `coverage` says what the blocks of the copy before and of this one do now.
    pub(super) fn promote(
        &mut self,
        verified: impl Fn(&CopyContent) -> Summary,
        coverage: Option<Coverage>,
        now: Timestamp,
    ) {
        if let (Some(good), Some(coverage)) = (&mut self.good, coverage) {
            // There are other edges than when it was counted.
            let counted = good
                .summary
                .counts
                .get(&Measure::Covered)
                .copied()
                .unwrap_or(0);
            self.highs
                .rescale(Measure::Covered, counted, coverage.edges_before);
            good.summary = good
                .summary
                .clone()
                .with_coverage(coverage.blocks_before, coverage.edges_before);
        }
        let Some(mut next) = self.next.take() else {
            return;
        };
        self.superseded = None;
        if let Some(coverage) = coverage {
            next.summary = next
                .summary
                .with_coverage(coverage.blocks_after, coverage.edges_after);
        }
        if let Counting::StartsAnew(measures) = &next.counting {
            self.highs.forget(measures);
        }
        self.vanished.forget(&next.summary.payloads);
        self.verified = count_of(&verified(&next.parsed));
        self.good = Some(SourceCopy {
            counting: Counting::GoesOn,
            ..next
        });
        self.note(now);
    }

    /// No graph could be made of its newest copy.
    pub(super) fn demote(&mut self, now: Timestamp) {
        self.next = None;
        if let Some(stricter) = self.superseded.take() {
            self.stricter = stricter;
        }
        self.broke(now);
    }

    /// Other signatures count now than before.
    pub(super) fn verified(&mut self, verified: impl Fn(&CopyContent) -> Summary, now: Timestamp) {
        let Some(in_use) = self.good.as_ref().or(self.next.as_ref()) else {
            return;
        };
        let count = count_of(&verified(&in_use.parsed));
        if count < self.verified {
            // It is not the copy that has less: a key is gone. Later copies are not to be refused for it.
            self.highs.forget(&[Measure::Verified].into());
        }
        self.verified = count;
        self.note(now);
    }

    /// Takes note of what the copy in use amounts to.
    fn note(&mut self, now: Timestamp) {
        let Some(good) = &self.good else { return };
        self.highs.note(&good.summary, now);
        match self.verified {
            Some(count) => self.highs.note(&Summary::of_verified(count), now),
            // Should somebody count again, it begins then.
            None => self.highs.forget(&[Measure::Verified].into()),
        }
    }

    /// It could be read, and not be understood.
    pub(super) fn not_understood(
        &mut self,
        digest: String,
        findings: Vec<Finding>,
        now: Timestamp,
    ) -> CopyOutcome {
        self.unused = Some((digest, Err(findings.clone())));
        self.failed(findings, now)
    }

    /// It could not be read, or not understood.
    pub(super) fn failed(&mut self, findings: Vec<Finding>, now: Timestamp) -> CopyOutcome {
        self.reads.failed += 1;
        self.problem(findings, now);
        CopyOutcome::Failed
    }

    /// It is not signed by somebody whose signature counts. Nothing of it is used.
    pub(super) fn not_signed(&mut self, finding: Finding, now: Timestamp) -> CopyOutcome {
        self.reads.refused += 1;
        self.problem(vec![finding], now);
        CopyOutcome::Failed
    }

    /// Takes note of what is wrong with the seal of the newest copy, if anything is.
    pub(super) fn seal_judged(&mut self, ended: Option<Finding>, now: Timestamp) {
        let since = self.seal_ended.as_ref().map_or(now, |before| before.since);
        self.seal_ended = ended.map(|finding| SourceProblem {
            since,
            findings: vec![finding],
        });
    }

    /// A copy of it made us stumble.
    pub(super) fn broke(&mut self, now: Timestamp) {
        let problem = "making a graph of it ended in a mistake of towpath's own";
        let remedy = "the log has the details; please report them with the graph data";
        self.failed(
            vec![Finding::error(
                "internal",
                Place::file(self.spec.name.clone()),
                problem,
                remedy,
            )],
            now,
        );
    }

    /// What is wrong with it now: the seal of the copy in use first, because nothing is recommended by it.
    pub(super) fn problem_now(&self) -> Option<SourceProblem> {
        match (&self.seal_ended, &self.problem) {
            (Some(ended), Some(problem)) => Some(SourceProblem {
                since: ended.since,
                findings: [ended.findings.clone(), problem.findings.clone()].concat(),
            }),
            (one, other) => one.as_ref().or(other.as_ref()).cloned(),
        }
    }

    fn problem(&mut self, findings: Vec<Finding>, now: Timestamp) {
        let since = self.problem.as_ref().map_or(now, |before| before.since);
        self.problem = Some(SourceProblem { since, findings });
    }
}

impl CopyContent {
    /// The releases that it declares, if it does.
    pub(super) fn releases(&self) -> Option<&Releases> {
        match self {
            Self::Releases(releases) => Some(releases),
            Self::Upstream(upstream) => Some(&upstream.releases),
            Self::GraphData(_) | Self::Platforms(_) => None,
        }
    }

    /// In few numbers.
    pub(super) fn summary(&self) -> Summary {
        match self {
            Self::GraphData(data) => Summary::of_graph_data(data),
            Self::Releases(releases) => Summary::of_releases(releases),
            Self::Upstream(Upstream { releases, channels }) => {
                let data = GraphData {
                    channels: channels.clone(),
                    ..GraphData::default()
                };
                let mut summary = Summary::of_releases(releases);
                summary.counts.extend(Summary::of_graph_data(&data).counts);
                summary
            }
            Self::Platforms(platforms) => Summary::of_platforms(platforms.len()),
        }
    }

    /// The same, with more blocks.
    fn with_blocks<'a>(&self, blocks: impl Iterator<Item = &'a Block>) -> Cow<'_, Self> {
        match self {
            Self::GraphData(data) => {
                let mut data = data.clone();
                data.blocks.extend(blocks.cloned());
                Cow::Owned(Self::GraphData(data))
            }
            Self::Releases(_) | Self::Upstream(_) | Self::Platforms(_) => Cow::Borrowed(self),
        }
    }

    /// What another copy changes beside this one.
    fn change(&self, after: &Self) -> CopyChange {
        match (self, after) {
            (Self::GraphData(before), Self::GraphData(after)) => {
                CopyChange::of_graph_data(before, after)
            }
            (Self::Releases(before), Self::Releases(after)) => {
                CopyChange::of_releases(before, after)
            }
            (Self::Upstream(before), Self::Upstream(after)) => CopyChange::of_service(
                (&before.releases, &before.channels),
                (&after.releases, &after.channels),
            ),
            _ => CopyChange::UNKNOWN,
        }
    }
}

fn count_of(verified: &Summary) -> Option<usize> {
    verified.counts.get(&Measure::Verified).copied()
}
