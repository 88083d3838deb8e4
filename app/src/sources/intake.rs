//! The newest good copy of each source, and the graph made of all of them.
//!
//! A new copy replaces the old one when it can be read, no check refuses it, and a graph was made of it. Until then the old one stays.
//! A graph is made of all sources or not at all: an edge of one source may have a risk that only another source knows.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use towpath_core::change::{PresubmitOptions, shown_otherwise};
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{
    Block, ChannelName, Graph, GraphData, Releases, StaleCause, StaleSource,
};
use towpath_core::hex;
use towpath_core::intake::{
    Ages, Allowances, CopyObjection, Counting, Coverage, Freshness, Summary, Supply, next_change,
    stricter_edges, unite,
};
use towpath_core::signatures::{
    PayloadDigest, SignaturePolicy, Verdicts, leave_out, mark, verified_summary, wanted,
};
use towpath_formats::SourceFile;
use towpath_formats::graph::platforms::Platforms;
use towpath_formats::graph::{data, platforms, releases, upstream};
use towpath_formats::sources::copy::{self, KeptCopy};
use towpath_sources::Copy;
use towpath_web::{ChangedWindows, SealHealth, Snapshot, SourceHealth};

use super::SourceSettings;
use super::address::{Edges, Location, Role, SourceSpec};
use super::reader::SourceReading;
use super::seals;
use super::source::{CopyContent, CopyOutcome, CopyReading, Source, SourceCopy, WindowCheck};
use super::stricter::StricterParts;
use crate::signatures::{KeyringReread, Keys};

/// All sources, and what is known of each.
pub(crate) struct Intake {
    sources: Vec<Source>,
    settings: SourceSettings,
    memory: data::Memory,
    /// What was read of overlays: apart, because a reader remembers one set of files.
    overlays: BTreeMap<usize, data::Memory>,
    /// What is known of signatures.
    verdicts: Verdicts,
    /// Whose signatures count for graph data, if it has to be signed.
    keys: Option<Keys>,
}

impl Intake {
    /// Nothing has been read.
    pub(crate) fn new(settings: &SourceSettings) -> Self {
        let sources = settings.specs.iter().map(Source::new).collect();
        let memory = data::Memory::default();
        Self {
            sources,
            settings: settings.clone(),
            memory,
            overlays: BTreeMap::new(),
            verdicts: Verdicts::new(),
            keys: None,
        }
    }

    /// One whose graph data has to be signed by these keys.
    pub(crate) fn with_keys(self, keys: Option<Keys>) -> Self {
        Self { keys, ..self }
    }

    /// Reads the keyring for graph data again. A broken one never takes the place of a good one.
    pub(crate) fn read_keyring_again(&mut self, now: Timestamp) -> Vec<Finding> {
        match self.keys.as_mut().map(|keys| keys.read_again(now)) {
            Some(KeyringReread::Broken(findings) | KeyringReread::Changed(findings)) => findings,
            Some(KeyringReread::Same) | None => Vec::new(),
        }
    }

    /// Judges the seals of the copies in use again: a key may be gone, or a signature over.
    pub(crate) fn judge_seals(&mut self, now: Timestamp) {
        let Some(keys) = &self.keys else { return };
        for source in &mut self.sources {
            let ended = source
                .newest()
                .filter(|_| source.spec.is_sealed())
                .and_then(|copy| {
                    seals::judge_again(&source.spec, copy.seal.as_ref(), keys.keyring(), now)
                });
            source.seal_judged(ended, now);
        }
    }

    /// Judges the seal of what was read, where it has to have one.
    pub(super) fn judge_seal(
        &self,
        spec: &SourceSpec,
        read: &mut SourceReading,
        now: Timestamp,
    ) -> Result<(), Finding> {
        match &self.keys {
            Some(keys) if spec.is_sealed() => seals::judge(spec, read, keys.keyring(), now),
            _ => Ok(()),
        }
    }

    /// Takes up what was kept before a restart. What cannot be used any more is told.
    pub(crate) fn restore(&mut self, copies: Vec<Copy>, now: Timestamp) -> Vec<Finding> {
        let mut findings = Vec::new();
        for Copy { kept, files } in copies {
            let is_it = |source: &Source| {
                *source.spec.name == *kept.source
                    && source.spec.location.identity() == kept.location
            };
            // A source that is configured no more, or elsewhere, has no use for it.
            let Some(at) = self.sources.iter().position(is_it) else {
                continue;
            };
            let read = SourceReading {
                made_at: kept.made_at.map(|at| at.min(now)),
                seal: kept.seal.clone(),
                ..SourceReading::of(files)
            };
            let spec = &self.sources[at].spec;
            let keys = self.keys.as_ref().filter(|_| spec.is_sealed());
            let not_signed = keys
                .and_then(|keys| seals::judge_again(spec, kept.seal.as_ref(), keys.keyring(), now));
            let read = match not_signed {
                // What it blocks is not known to be meant, either. What later copies are measured by stays.
                Some(finding) => {
                    let source = &mut self.sources[at];
                    (source.highs, source.vanished) = (kept.highs, kept.vanished);
                    findings.push(finding);
                    continue;
                }
                None => read,
            };
            match self.parse(at, read, kept.digest, kept.last_good.min(now)) {
                Ok(good) => {
                    let source = &mut self.sources[at];
                    (source.next, source.highs) = (Some(good), kept.highs);
                    (source.vanished, source.verified) = (kept.vanished, kept.verified);
                    let memory = &mut self.memory;
                    let read =
                        |file: &SourceFile| memory.read_blocks(std::slice::from_ref(file)).pop();
                    let (stricter, wrong) =
                        StricterParts::restored(kept.stricter, kept.discarded, read);
                    source.stricter = stricter;
                    findings.extend(wrong);
                }
                Err(wrong) => findings.extend(wrong),
            }
        }
        findings
    }

    /// What becomes of releases that are not signed.
    fn policy(&self) -> SignaturePolicy {
        self.settings
            .signatures
            .as_ref()
            .map_or(SignaturePolicy::Off, |signatures| signatures.policy)
    }

    /// The payloads whose signatures matter.
    pub(crate) fn payloads(&self) -> BTreeSet<PayloadDigest> {
        let of = |good: &SourceCopy| match &good.parsed {
            CopyContent::Releases(releases) => wanted(self.policy(), releases),
            CopyContent::Upstream(upstream) => wanted(self.policy(), &upstream.releases),
            CopyContent::GraphData(_) | CopyContent::Platforms(_) => BTreeSet::new(),
        };
        self.sources
            .iter()
            .filter_map(Source::newest)
            .flat_map(of)
            .collect()
    }

    /// Takes in what is known of signatures now.
    pub(crate) fn verified(&mut self, verdicts: Verdicts, now: Timestamp) {
        self.verdicts = verdicts;
        let (policy, verdicts) = (self.policy(), &self.verdicts);
        self.sources
            .iter_mut()
            .for_each(|source| source.verified(|parsed| verified(policy, parsed, verdicts), now));
    }

    /// Whether a copy of this source cannot be judged before somebody has looked at signatures: there is one that it would have to be compared with.
    pub(crate) fn needs_verdicts(&self, source: usize) -> bool {
        let in_use = self.sources[source].newest();
        in_use.is_some_and(|good| {
            matches!(
                good.parsed,
                CopyContent::Releases(_) | CopyContent::Upstream(_)
            )
        })
    }

    /// What the copy of a source that was refused is allowed, or its next one if none was.
    pub(crate) fn allow_once(&mut self, source: usize, allowed: &[CopyObjection], now: Timestamp) {
        self.sources[source].allow_once(allowed, now);
    }

    /// Takes in what was read of a source.
    pub(crate) fn take(
        &mut self,
        source: usize,
        outcome: Result<SourceReading, Finding>,
        now: Timestamp,
    ) -> CopyOutcome {
        let mut read = match outcome {
            Ok(read) => read,
            Err(finding) => return self.sources[source].failed(vec![finding], now),
        };
        let spec = self.sources[source].spec.clone();
        if let Err(finding) = self.judge_seal(&spec, &mut read, now) {
            return self.sources[source].not_signed(finding, now);
        }
        if !read.unread.is_empty() {
            let unread = std::mem::take(&mut read.unread);
            let taken = self.sources[source].failed(unread, now);
            self.take_stricter(source, &read.files, now);
            return taken;
        }
        // A clock that is fast somewhere must not make every later copy look old.
        read.made_at = read.made_at.map(|at| at.min(now));
        let digest = copy::digest_of_files(&read.files);
        if let Some(same) = self.sources[source].confirm(&digest, &read, now) {
            return same;
        }
        let (allow, files) = (self.allowances(source), read.files.clone());
        let understood = match self.sources[source].understood(&digest, &read, now) {
            Some(before) => before,
            None => self.parse(source, read, digest.clone(), now),
        };
        let taken = match understood {
            Ok(copy) => {
                let coverage = self.coverage(source, &copy.parsed);
                let windows = self.window_check(source, &copy, now);
                let (policy, verdicts) = (self.policy(), &self.verdicts);
                self.sources[source].judge(
                    copy,
                    allow,
                    |parsed| verified(policy, parsed, verdicts),
                    coverage,
                    windows,
                    now,
                )
            }
            Err(findings) => self.sources[source].not_understood(digest, findings, now),
        };
        if taken == CopyOutcome::Failed {
            self.take_stricter(source, &files, now);
        }
        taken
    }

    /// Takes what a copy that was not taken blocks all the same.
    fn take_stricter(&mut self, source: usize, files: &[SourceFile], now: Timestamp) {
        let named = |block: Block, bytes: std::sync::Arc<[u8]>| {
            let path = block.origin.file.to_string();
            (block, SourceFile { path, bytes })
        };
        let this = &self.sources[source];
        let blocks: Vec<(Block, SourceFile)> = match (this.spec.role, this.in_use(), this.refused())
        {
            // What is compared with nothing takes the place of nothing.
            (_, None, _) | (Role::Platforms, ..) => return,
            (Role::GraphData | Role::Overlay, Some(_), _) => {
                let bytes: BTreeMap<&str, _> = files
                    .iter()
                    .map(|file| (file.path.as_str(), &file.bytes))
                    .collect();
                let with_file =
                    |block: Block| Some((bytes.get(&*block.origin.file).copied()?.clone(), block));
                let blocks = self
                    .memory
                    .read_blocks(files)
                    .into_iter()
                    .filter_map(with_file);
                blocks.map(|(bytes, block)| named(block, bytes)).collect()
            }
            (Role::Releases, Some(in_use), Some(refused)) => {
                let (Some(in_use), Some(refused)) = (in_use.parsed.releases(), refused.releases())
                else {
                    return;
                };
                let (elsewhere, percent) = (
                    self.offering(Some(source)),
                    self.settings.max_shrink_percent,
                );
                let blocks = match this.spec.edges {
                    Edges::Offered => stricter_edges(in_use, refused, &elsewhere, percent),
                    Edges::LeftOut => Vec::new(),
                };
                let written = |block: Block| {
                    let bytes = data::write_block(&block).into_bytes().into();
                    named(block, bytes)
                };
                blocks.into_iter().map(written).collect()
            }
            (Role::Releases, Some(_), None) => return,
        };
        self.sources[source].add_stricter(blocks, now);
    }

    /// Discards stricter parts of a source by name; says how many there were.
    pub(crate) fn discard_stricter(&mut self, source: usize, names: &[String]) -> usize {
        self.sources[source].stricter.discard(names)
    }

    /// The newest copies of sources that offer edges, but for one source's.
    fn offering(&self, but: Option<usize>) -> Vec<&Releases> {
        let others = self
            .sources
            .iter()
            .enumerate()
            .filter(|(number, _)| Some(*number) != but);
        let offering = others.filter(|(_, source)| source.spec.edges == Edges::Offered);
        offering
            .filter_map(|(_, source)| source.newest()?.parsed.releases())
            .collect()
    }

    /// What the blocks of a copy do, beside those in force; none if it is no graph data, or the first.
    fn coverage(&self, source: usize, after: &CopyContent) -> Option<Coverage> {
        let this = &self.sources[source];
        match (&this.in_use()?.parsed, after) {
            (CopyContent::GraphData(before), CopyContent::GraphData(after)) => {
                let before: Vec<&Block> = before
                    .blocks
                    .iter()
                    .chain(this.parts_in_use().blocks())
                    .collect();
                let after: Vec<&Block> = after.blocks.iter().collect();
                Some(Coverage::of(&before, &after, &self.offering(None)))
            }
            _ => None,
        }
    }

    /// What a copy does to the windows that clusters are in, were it served now. Both sides have the new copy's blocks and
    /// metadata: a block that comes or goes changes no window, and no other check may depend on this one.
    fn window_check(&self, source: usize, after: &SourceCopy, now: Timestamp) -> WindowCheck {
        let (Some(before), CopyContent::GraphData(new)) =
            (self.sources[source].in_use(), &after.parsed)
        else {
            return WindowCheck::Same;
        };
        let CopyContent::GraphData(old) = &before.parsed else {
            return WindowCheck::Same;
        };
        if channel_files(before).eq(channel_files(after)) {
            return WindowCheck::Same;
        }
        let old = GraphData {
            channels: old.channels.clone(),
            ..new.clone()
        };
        let graph = |data: &GraphData| {
            let (data, releases, _) = self.parts(Some(data));
            Graph::build(data, releases).0
        };
        let options = PresubmitOptions {
            allowed_releases: self.settings.windows.allowed_releases.clone(),
            ..PresubmitOptions::default()
        };
        WindowCheck::Compared {
            findings: shown_otherwise(&graph(&old), &graph(new), now, &options),
            refuse: self.settings.windows.refuse,
        }
    }

    /// What the blocks of the copy that was served do now, and those of the one that is served from now on.
    fn promoted_coverage(&self, source: &Source) -> Option<Coverage> {
        let blocks = |good: &SourceCopy| match &good.parsed {
            CopyContent::GraphData(data) => Some(data.blocks.clone()),
            _ => None,
        };
        let after = blocks(source.newest()?)?;
        let before = source.good.as_ref().and_then(blocks);
        let after: Vec<&Block> = after.iter().collect();
        let before: Vec<&Block> = before
            .as_ref()
            .map_or_else(|| after.clone(), |before| before.iter().collect());
        Some(Coverage::of(&before, &after, &self.offering(None)))
    }

    /// What is always allowed.
    fn allowances(&self, source: usize) -> Allowances {
        if self.sources[source].spec.role == Role::Overlay {
            // Whoever removes a file from an overlay means it. One that is gone as a whole has no `version`, and is not read.
            return Allowances {
                max_shrink_percent: 100,
                allowed: CopyObjection::ALL.into(),
            };
        }
        let allowed = self
            .settings
            .allow
            .get(&*self.sources[source].spec.name)
            .cloned()
            .unwrap_or_default();
        Allowances {
            max_shrink_percent: self.settings.max_shrink_percent,
            allowed,
        }
    }

    fn parse(
        &mut self,
        source: usize,
        read: SourceReading,
        digest: String,
        last_good: Timestamp,
    ) -> CopyReading {
        let spec = &self.sources[source].spec;
        let SourceReading {
            files,
            made_at,
            warnings: told,
            answers,
            unread: _,
            signed: _,
            seal,
        } = read;
        let (parsed, warnings) = match (&spec.location, spec.role, files.first()) {
            (Location::Upstream { .. }, ..) => {
                let answers = answers.unwrap_or_else(|| upstream::read(&files));
                answers.map(|(read, warnings)| (CopyContent::Upstream(read), warnings))?
            }
            (_, Role::GraphData, _) => {
                let (read, warnings) = self.read_graph_data(&files)?;
                (CopyContent::GraphData(read), warnings)
            }
            (_, Role::Overlay, _) => {
                let memory = self.overlays.entry(source).or_default();
                let (mut read, warnings) = memory.read_overlay(&files)?;
                for block in &mut read.blocks {
                    // Its files may be named as those of the graph data are.
                    block.origin.file = format!("{}:{}", spec.name, block.origin.file).into();
                }
                (CopyContent::GraphData(read), warnings)
            }
            (_, Role::Releases, Some(file)) => {
                let place = Place::file(file.path.as_str());
                releases::read(&place, &file.bytes)
                    .map(|(read, warnings)| (CopyContent::Releases(read), warnings))?
            }
            (_, Role::Platforms, Some(file)) => {
                let place = Place::file(file.path.as_str());
                platforms::read(&place, &file.bytes)
                    .map(|(read, warnings)| (CopyContent::Platforms(read), warnings))?
            }
            (_, Role::Releases | Role::Platforms, None) => {
                let place = Place::file(spec.name.clone());
                return Err(vec![Finding::error(
                    "unreadable",
                    place,
                    "it has no file",
                    "give it one",
                )]);
            }
        };
        let summary = parsed.summary().made_at(made_at);
        let (taken_at, counting) = (last_good, Counting::GoesOn);
        Ok(SourceCopy {
            files,
            digest,
            parsed,
            warnings,
            told,
            summary,
            taken_at,
            last_good,
            counting,
            seal,
        })
    }

    /// What files of graph data say: a service that tells of channels leaves less to say.
    pub(super) fn read_graph_data(
        &mut self,
        files: &[SourceFile],
    ) -> Result<(GraphData, Vec<Finding>), Vec<Finding>> {
        match self.settings.has_upstream() {
            true => self.memory.read_beside_channels(files),
            false => self.memory.read(files),
        }
    }

    /// Whether there is a copy of every source.
    pub(crate) fn is_complete(&self) -> bool {
        self.has_all(|_| true)
    }

    /// Whether there is a copy of every source of such a role.
    pub(super) fn has_all(&self, is_meant: impl Fn(Role) -> bool) -> bool {
        let mut meant = self
            .sources
            .iter()
            .filter(|source| is_meant(source.spec.role));
        meant.all(|source| source.newest().is_some())
    }

    /// Whether the graph that is served is made of a copy of every source.
    pub(crate) fn is_promoted(&self) -> bool {
        self.sources.iter().all(|source| source.good.is_some())
    }

    /// Whether a copy waits for a graph to be made of it.
    pub(crate) fn has_news(&self) -> bool {
        self.sources.iter().any(|source| source.next.is_some())
    }

    /// The graph of the newest copies, and what there is to say about it.
    pub(crate) fn graph(&self) -> (Graph, Vec<Finding>) {
        let (data, releases, mut findings) = self.parts(None);
        let (graph, built) = Graph::build(data, releases);
        findings.extend(built);
        (graph, findings)
    }

    /// What a graph is made of, and what there is to say about it; with other graph data than that of the source, if there is some.
    pub(super) fn parts(&self, instead: Option<&GraphData>) -> (GraphData, Releases, Vec<Finding>) {
        let (mut data, mut channels, mut supplies, mut findings) = (
            instead.cloned().unwrap_or_default(),
            Vec::new(),
            Vec::new(),
            Vec::new(),
        );
        for source in &self.sources {
            let Some(good) = source.newest() else {
                continue;
            };
            findings.extend(good.told.iter().chain(&good.warnings).cloned());
            let supply = |releases: &Releases| {
                let edges = match source.spec.edges {
                    Edges::Offered => releases.edges.clone(),
                    Edges::LeftOut => Vec::new(),
                };
                let releases = Releases {
                    releases: releases.releases.clone(),
                    edges,
                };
                Supply {
                    source: source.spec.name.clone(),
                    releases,
                }
            };
            match &good.parsed {
                CopyContent::GraphData(_)
                    if instead.is_some() && source.spec.role == Role::GraphData => {}
                CopyContent::GraphData(declared) => {
                    data.channels.extend(declared.channels.iter().cloned());
                    data.blocks.extend(declared.blocks.iter().cloned());
                    data.metadata.extend(declared.metadata.iter().cloned());
                }
                CopyContent::Releases(declared) => supplies.push(supply(declared)),
                CopyContent::Upstream(upstream) => {
                    supplies.push(supply(&upstream.releases));
                    channels.extend(upstream.channels.iter().cloned());
                }
                CopyContent::Platforms(_) => {}
            }
        }
        data.blocks = self.with_stricter(data.blocks);
        findings.extend(mark(self.policy(), &mut supplies, &self.verdicts));
        let united = unite(supplies);
        let mut known: BTreeSet<ChannelName> = data
            .channels
            .iter()
            .map(|channel| channel.name.clone())
            .collect();
        // A channel that we define ourselves is ours, whatever others hold in theirs; of two others', the first's.
        data.channels.extend(
            channels
                .into_iter()
                .filter(|channel| known.insert(channel.name.clone())),
        );
        data.blocks.extend(united.blocks);
        findings.extend(united.findings);
        (data, leave_out(self.policy(), united.releases), findings)
    }

    /// Blocks, with what copies that were not taken block.
    fn with_stricter(&self, mut blocks: Vec<Block>) -> Vec<Block> {
        let stricter = self
            .sources
            .iter()
            .flat_map(|source| source.stricter.blocks());
        blocks.extend(stricter.cloned());
        blocks
    }

    /// The snapshot of the newest copies, with warnings.
    pub(crate) fn snapshot(&self, now: Timestamp) -> (Snapshot, Vec<Finding>) {
        let (graph, warnings) = self.graph();
        let (mut lookup, mut files, mut modified_at) = (Platforms::new(), Vec::new(), now);
        let mut overlaid = Vec::new();
        for (source, good) in self
            .sources
            .iter()
            .filter_map(|source| Some((source, source.newest()?)))
        {
            match &good.parsed {
                CopyContent::Platforms(platforms) => lookup = platforms.clone(),
                CopyContent::GraphData(_) if source.spec.role == Role::Overlay => {
                    // Who has us for a source gets what holds here.
                    overlaid.extend(overlay_files(&source.spec.name, &good.files));
                    overlaid.extend(source.stricter.files());
                }
                CopyContent::GraphData(_) => {
                    (files, modified_at) = (
                        good.files.clone(),
                        good.summary.made_at.unwrap_or(good.taken_at),
                    );
                    // Who has us for a source gets what holds here.
                    files.extend(source.stricter.files());
                }
                CopyContent::Releases(_) | CopyContent::Upstream(_) => {}
            }
        }
        if !files.is_empty() {
            files.extend(overlaid);
        }
        let graph = graph.with_stale(self.stale(now));
        (
            Snapshot::new(graph, lookup, self.digest(now), now).with_graph_data(files, modified_at),
            warnings,
        )
    }

    /// A name for these very copies, and for whether anything is recommended by them.
    pub(crate) fn digest(&self, now: Timestamp) -> String {
        let mut hash = Sha256::new();
        for source in &self.sources {
            let digest = source
                .newest()
                .map(|good| good.digest.as_str())
                .unwrap_or_default();
            for field in [&*source.spec.name, digest]
                .into_iter()
                .chain(source.stricter.digests())
            {
                hash.update((field.len() as u64).to_be_bytes());
                hash.update(field.as_bytes());
            }
        }
        for (payload, verdict) in self
            .verdicts
            .iter()
            .filter(|_| self.policy() != SignaturePolicy::Off)
        {
            hash.update(format!("{payload} {}\n", verdict.code()).as_bytes());
        }
        let mut name = hex::encode(&hash.finalize()[..16]);
        for stale in self.stale(now) {
            name.push_str(match stale.cause {
                StaleCause::TooOld => "-without-",
                StaleCause::NotSigned => "-unsigned-",
            });
            name.push_str(&stale.source);
        }
        name
    }

    /// The sources that are too old to recommend anything by, and those whose signature does not count any more.
    pub(super) fn stale(&self, now: Timestamp) -> Vec<StaleSource> {
        let of = |source: &Source| {
            let last_good = source.newest()?.last_good;
            let is_closed =
                Freshness::of(last_good, now, &self.ages_of(source)) == Freshness::Closed;
            let cause = match (&source.seal_ended, is_closed) {
                (Some(_), _) => StaleCause::NotSigned,
                (None, true) => StaleCause::TooOld,
                (None, false) => return None,
            };
            Some(StaleSource {
                source: source.spec.name.clone(),
                last_good,
                cause,
            })
        };
        self.sources.iter().filter_map(of).collect()
    }

    /// When a source becomes too old, if nothing is read until then.
    pub(crate) fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        self.sources
            .iter()
            .filter_map(|source| {
                next_change(source.newest()?.last_good, now, &self.ages_of(source))
            })
            .min()
    }

    /// A graph was made of the newest copies, and is served.
    pub(crate) fn promote(&mut self, now: Timestamp) {
        let coverages: Vec<Option<Coverage>> = self
            .sources
            .iter()
            .map(|source| self.promoted_coverage(source))
            .collect();
        let (policy, verdicts) = (self.policy(), &self.verdicts);
        for (source, coverage) in self.sources.iter_mut().zip(coverages) {
            source.promote(|parsed| verified(policy, parsed, verdicts), coverage, now);
        }
    }

    /// No graph could be made of the newest copies, by a mistake of our own; those before stay.
    pub(crate) fn demote(&mut self, now: Timestamp) {
        (self.memory, self.overlays) = (data::Memory::default(), BTreeMap::new());
        for source in self
            .sources
            .iter_mut()
            .filter(|source| source.next.is_some())
        {
            source.demote(now);
        }
    }

    /// A copy of this source could not be taken in, by a mistake of our own; the others have no part in it.
    pub(crate) fn broke(&mut self, source: usize, now: Timestamp) {
        (self.memory, self.overlays) = (data::Memory::default(), BTreeMap::new());
        self.sources[source].broke(now);
    }

    /// What is to be kept on disk: the copies of which the graph is made that is served.
    pub(crate) fn copies(&self) -> Vec<Copy> {
        let copy = |source: &Source| {
            let good = source.good.as_ref()?;
            let (stricter, discarded) = source.parts_in_use().kept();
            let kept = KeptCopy {
                source: source.spec.name.to_string(),
                location: source.spec.location.identity(),
                digest: good.digest.clone(),
                last_good: good.last_good,
                made_at: good.summary.made_at,
                highs: source.highs.clone(),
                vanished: source.vanished.clone(),
                verified: source.verified,
                stricter,
                discarded,
                seal: good.seal.clone(),
            };
            Some(Copy {
                kept,
                files: good.files.clone(),
            })
        };
        self.sources
            .iter()
            .filter(|source| source.spec.location != Location::Example)
            .filter_map(copy)
            .collect()
    }

    /// Forgets the bytes that nobody will ask for: they can be larger than what was made of them.
    pub(crate) fn forget_bytes(&mut self) {
        for source in self
            .sources
            .iter_mut()
            .filter(|source| !source.spec.role.is_files())
        {
            source
                .good
                .iter_mut()
                .for_each(|good| good.files = Vec::new());
        }
    }

    /// Everything that is wrong now.
    pub(crate) fn problems(&self) -> Vec<Finding> {
        let problems = self
            .sources
            .iter()
            .flat_map(|source| source.problem.iter().chain(&source.seal_ended));
        let mut findings: Vec<Finding> = problems
            .flat_map(|problem| problem.findings.iter().cloned())
            .collect();
        let keyring = self.keys.as_ref().and_then(|keys| keys.health().problem);
        findings.extend(keyring.into_iter().flat_map(|problem| problem.findings));
        findings.sort();
        findings.dedup();
        findings
    }

    /// How the sources are, for whoever is on call.
    pub(crate) fn health(&self) -> Vec<SourceHealth> {
        let of = |source: &Source| SourceHealth {
            name: source.spec.name.clone(),
            kind: source.spec.location.kind(),
            location: source.spec.location.to_string(),
            last_success: source.newest().map(|good| good.last_good),
            problem: source.problem_now(),
            seal: self.seal_health(source),
            reads: source.reads,
            stricter: source.stricter.health(),
            changed_windows: source.changed_windows.clone(),
            window_changes: source.window_changes,
            ages: self.ages_of(source),
        };
        self.sources.iter().map(of).collect()
    }

    fn seal_health(&self, source: &Source) -> Option<SealHealth> {
        let keys = self.keys.as_ref().filter(|_| source.spec.is_sealed())?;
        Some(SealHealth {
            seal: source.newest().and_then(|copy| copy.seal.clone()),
            counts: source.seal_ended.is_none(),
            keyring: keys.health(),
        })
    }

    /// Losing a store must not stop graphs: its halts are never too old.
    fn ages_of(&self, source: &Source) -> Ages {
        let ages = self.settings.ages;
        match source.spec.location {
            Location::Halts(_) => Ages {
                closed_after: None,
                ..ages
            },
            _ => ages,
        }
    }

    /// The stricter parts in force: the names of source and part.
    pub(crate) fn stricter(&self) -> BTreeSet<(String, String)> {
        let of = |source: &Source| {
            let name = source.spec.name.to_string();
            source
                .stricter
                .health()
                .into_iter()
                .map(move |part| (name.clone(), part.name))
                .collect::<Vec<_>>()
        };
        self.sources.iter().flat_map(of).collect()
    }

    /// What the newest copies do to windows, by source.
    pub(crate) fn changed_windows(&self) -> BTreeMap<String, ChangedWindows> {
        let of = |source: &Source| {
            let changed = source.changed_windows.clone()?;
            Some((source.spec.name.to_string(), changed))
        };
        self.sources.iter().filter_map(of).collect()
    }

    /// How fresh each source is, by name.
    pub(crate) fn freshness(&self, now: Timestamp) -> BTreeMap<String, Freshness> {
        let of = |source: &Source| {
            let freshness = Freshness::of(source.newest()?.last_good, now, &self.ages_of(source));
            Some((source.spec.name.to_string(), freshness))
        };
        self.sources.iter().filter_map(of).collect()
    }
}

/// The blocks of an overlay, under names that no file of the graph data has.
fn overlay_files<'a>(
    name: &'a str,
    files: &'a [SourceFile],
) -> impl Iterator<Item = SourceFile> + 'a {
    let renamed = move |file: &SourceFile| {
        let rest = file.path.strip_prefix("blocked-edges/")?;
        Some(SourceFile {
            path: format!("blocked-edges/{name}-{rest}"),
            bytes: file.bytes.clone(),
        })
    };
    files.iter().filter_map(renamed)
}

#[cfg(test)]
mod tests;

/// What decides about channels in a copy of graph data.
fn channel_files(copy: &SourceCopy) -> impl Iterator<Item = (&str, &[u8])> {
    let mut files: Vec<(&str, &[u8])> = copy
        .files
        .iter()
        .map(|file| (file.path.as_str(), &*file.bytes))
        .filter(|(path, _)| *path == "version" || path.starts_with("channels/"))
        .collect();
    files.sort_unstable();
    files.into_iter()
}

/// What is left of a copy after verification; nothing to compare where unverified releases stay.
fn verified(policy: SignaturePolicy, parsed: &CopyContent, verdicts: &Verdicts) -> Summary {
    match parsed {
        CopyContent::Releases(releases) => verified_summary(policy, releases, verdicts),
        CopyContent::Upstream(upstream) => verified_summary(policy, &upstream.releases, verdicts),
        CopyContent::GraphData(_) | CopyContent::Platforms(_) => Summary::default(),
    }
}
