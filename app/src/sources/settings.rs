//! Validates the options of sources and fills in the defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail};
use towpath_core::intake::{Ages, CopyObjection};
use towpath_core::signatures::SignaturePolicy;
use towpath_core::version::Version;
use towpath_formats::timespan::TimeSpan;
use towpath_sources::{HttpAccess, without_credentials};

use super::address::{Intervals, Location, Role, SourceSpec};
use super::seals::SealStores;
use super::{
    Access, Needs, SealSettings, SignatureSettings, SourceSettings, WindowGuard, update_service,
};
use crate::cli::failure;
use crate::config::{DAY, SECOND, ServeOptions, SignatureOption, YEAR, within, written};

/// The most sources of releases.
const MAX_SOURCES: usize = 16;
const POLL_EVERY: TimeSpan = TimeSpan::seconds(30);
const REFRESH_EVERY: TimeSpan = TimeSpan::seconds(300);
/// A new image with graph data is served within a minute: it may have an urgent block.
const GRAPH_DATA_IMAGE_EVERY: TimeSpan = TimeSpan::seconds(30);
/// An overlay is read at least this often.
const OVERLAY_EVERY: Duration = Duration::from_secs(30);
const DEGRADED_AFTER: TimeSpan = TimeSpan::seconds(900);

impl ServeOptions {
    pub(crate) fn intervals(&self) -> anyhow::Result<Intervals> {
        let local = self.poll_every.unwrap_or(POLL_EVERY);
        let remote = self.refresh_every.unwrap_or(REFRESH_EVERY);
        let graph_data_image = self.refresh_every.unwrap_or(GRAPH_DATA_IMAGE_EVERY);
        Ok(Intervals {
            local: within("pollEvery", local, SECOND..=DAY)?.unsigned(),
            remote: within("refreshEvery", remote, SECOND..=DAY)?.unsigned(),
            graph_data_image: graph_data_image.unsigned(),
        })
    }

    pub(crate) fn source_settings(
        &self,
        intervals: Intervals,
        needs: Needs,
    ) -> anyhow::Result<SourceSettings> {
        let degraded = self.degraded_after.unwrap_or(DEGRADED_AFTER);
        let degraded = within("degradedAfter", degraded, SECOND..=YEAR)?;
        let closed = self.sources.closed_after.unwrap_or(DAY);
        let closed = within("closedAfter", closed, TimeSpan::ZERO..=YEAR)?;
        let specs = self.specs(intervals, needs)?;
        let seals = self.seal_settings(&specs)?;
        Ok(SourceSettings {
            allow: self.allowances(&specs)?,
            windows: self.window_guard()?,
            specs,
            state: self.sources.state.clone(),
            ages: Ages {
                degraded_after: degraded.signed(),
                closed_after: closed.unless_zero(),
            },
            max_shrink_percent: within(
                "maxShrinkPercent",
                self.sources.max_shrink_percent.unwrap_or(10),
                0..=100,
            )?,
            access: Access {
                seals: seals.as_ref().map(SealStores::of),
                ..self.access()?
            },
            signatures: self.signature_settings()?,
            seals,
        })
    }

    fn signature_settings(&self) -> anyhow::Result<Option<SignatureSettings>> {
        let (stores, keyring) = (
            self.sources.signatures.clone().unwrap_or_default(),
            self.sources.keyring.clone().unwrap_or_default(),
        );
        let policy = match (self.sources.signature_policy, keyring.is_empty()) {
            (Some(SignatureOption::Off), _) | (None, true) => return Ok(None),
            (Some(_), true) => bail!("no keyring to check signatures with; add --keyring FILE"),
            (Some(SignatureOption::Warn), false) => SignaturePolicy::Warn,
            (Some(SignatureOption::Require) | None, false) => SignaturePolicy::Require,
        };
        if stores.is_empty() {
            bail!("no signature store; add --signatures STORE");
        }
        Ok(Some(SignatureSettings {
            policy,
            stores,
            keyring,
        }))
    }

    fn seal_settings(&self, specs: &[SourceSpec]) -> anyhow::Result<Option<SealSettings>> {
        let own = self.sources.graph_data_keyring.clone().unwrap_or_default();
        if !self.sources.require_signed_graph_data.unwrap_or(false) {
            if !own.is_empty() {
                bail!("--graph-data-keyring needs --require-signed-graph-data");
            }
            return Ok(None);
        }
        let has_own_keyring = !own.is_empty();
        let keyring = match has_own_keyring {
            true => own,
            false => self.sources.keyring.clone().unwrap_or_default(),
        };
        if keyring.is_empty() {
            bail!(
                "--require-signed-graph-data: no keyring to check signatures with; add --keyring FILE or --graph-data-keyring FILE"
            );
        }
        let seals = SealSettings {
            keyring,
            stores: self.sources.signatures.clone().unwrap_or_default(),
            has_own_keyring,
        };
        seals.check(specs)?;
        Ok(Some(seals))
    }

    fn specs(&self, intervals: Intervals, needs: Needs) -> anyhow::Result<Vec<SourceSpec>> {
        let plain_http = self.sources.plain_http.unwrap_or(false);
        let parse = |role, text: &str, name: &str| {
            SourceSpec::parse(role, text, name, intervals, plain_http)
        };
        let releases = self.sources.releases.clone().unwrap_or_default();
        within(
            "the number of sources of releases",
            releases.len(),
            0..=MAX_SOURCES,
        )?;
        let mut specs = self.update_service(intervals, needs)?;
        let is_update_service = !specs.is_empty();
        if let Some(text) = &self.sources.graph_data {
            specs.push(parse(Role::GraphData, text, "graph-data")?);
        }
        if let Some(text) = &self.sources.overlay {
            let intervals = Intervals {
                local: intervals.local.min(OVERLAY_EVERY),
                remote: intervals.remote.min(OVERLAY_EVERY),
                graph_data_image: intervals.graph_data_image.min(OVERLAY_EVERY),
            };
            let spec = SourceSpec::parse(Role::Overlay, text, "overlay", intervals, plain_http)?;
            if spec.every > OVERLAY_EVERY {
                bail!(
                    "--overlay: a halt must be served within a minute; read it every 30s or more often"
                );
            }
            specs.push(spec);
        }
        for (number, text) in releases.iter().enumerate() {
            let name = if number == 0 {
                "releases".to_owned()
            } else {
                format!("releases-{}", number + 1)
            };
            specs.push(parse(Role::Releases, text, &name)?);
        }
        let has_channels = |spec: &SourceSpec| matches!(spec.location, Location::Upstream { .. });
        match (self.sources.graph_data.is_some(), releases.is_empty()) {
            _ if is_update_service => {}
            (false, true) => {
                let example = |role, name| SourceSpec::example(role, name, intervals);
                specs.push(example(Role::GraphData, "graph-data"));
                specs.push(example(Role::Releases, "releases"));
            }
            (true, true) if needs != Needs::GraphData => {
                bail!("--graph-data has channels and blocks but no releases; add --releases WHERE")
            }
            (false, false)
                if needs == Needs::GraphData
                    || needs == Needs::GraphDataAndReleases && !specs.iter().any(has_channels) =>
            {
                bail!("--releases has releases but no channels; add --graph-data WHERE")
            }
            _ => {}
        }
        if let Some(path) = &self.platforms {
            specs.push(parse(
                Role::Platforms,
                &path.display().to_string(),
                "platforms",
            )?);
        }
        let names: BTreeSet<&str> = specs.iter().map(|spec| &*spec.name).collect();
        match names.len() == specs.len() {
            true => Ok(specs),
            false => bail!("two sources have the same name; rename one with #name=…"),
        }
    }

    /// The two sources that an `UpdateService` names.
    fn update_service(
        &self,
        intervals: Intervals,
        needs: Needs,
    ) -> anyhow::Result<Vec<SourceSpec>> {
        let Some(file) = &self.sources.update_service else {
            return Ok(Vec::new());
        };
        let named = [
            ("--graph-data", self.sources.graph_data.is_some()),
            ("--releases", self.sources.releases.is_some()),
        ];
        if let Some((flag, _)) = named.iter().find(|(_, is_given)| *is_given) {
            bail!(
                "--update-service {} names graph data and releases; leave out {flag}, or give both flags instead of it",
                file.display()
            );
        }
        update_service::read(file).map_err(|findings| failure(&findings))?;
        let spec = |role, name, every| SourceSpec::update_service(role, file, name, every);
        let mut specs = vec![spec(
            Role::GraphData,
            "graph-data",
            intervals.graph_data_image,
        )];
        if needs != Needs::GraphData {
            specs.push(spec(Role::Releases, "releases", intervals.remote));
        }
        Ok(specs)
    }

    fn allowances(
        &self,
        specs: &[SourceSpec],
    ) -> anyhow::Result<BTreeMap<String, BTreeSet<CopyObjection>>> {
        let mut allow: BTreeMap<String, BTreeSet<CopyObjection>> = BTreeMap::new();
        for text in self.sources.allow.iter().flatten() {
            let parts = text
                .split_once(':')
                .and_then(|(what, source)| Some((CopyObjection::named(what)?, source)));
            let (objection, source) = parts.with_context(|| {
                format!("--allow {text:?}: write empty:SOURCE, shrink:SOURCE, back:SOURCE, payload:SOURCE or window:SOURCE")
            })?;
            allow
                .entry(source.to_owned())
                .or_default()
                .insert(objection);
            let is_example = specs.iter().any(|spec| spec.location == Location::Example);
            if !is_example && !specs.iter().any(|spec| *spec.name == *source) {
                let names: Vec<&str> = specs.iter().map(|spec| &*spec.name).collect();
                bail!(
                    "--allow {text:?}: no such source; the sources are {}",
                    names.join(", ")
                );
            }
        }
        Ok(allow)
    }

    fn window_guard(&self) -> anyhow::Result<WindowGuard> {
        let release = |text: &String| {
            let wrong = || format!("--allow-window-change {text:?}: write a version, as in 4.20.4");
            text.parse::<Version>().with_context(wrong)
        };
        let releases = self.allow_window_change.iter().flatten().map(release);
        Ok(WindowGuard {
            refuse: self.sources.refuse_changed_windows.unwrap_or(false),
            allowed_releases: releases.collect::<Result<_, _>>()?,
        })
    }

    fn access(&self) -> anyhow::Result<Access> {
        let ca = self.sources.ca_file.as_ref().map(|path| {
            std::fs::read(path)
                .with_context(|| format!("--ca-file {}: it cannot be read", path.display()))
        });
        let http = HttpAccess {
            ca: ca.transpose()?,
            plain_http: self.sources.plain_http.unwrap_or(false),
        };
        Ok(Access {
            http,
            ca_file: self.sources.ca_file.clone(),
            registry_auth_file: self.sources.registry_auth_file.clone(),
            seals: None,
        })
    }
}

impl fmt::Display for SignatureSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stores: Vec<String> = self
            .stores
            .iter()
            .map(|store| without_credentials(store))
            .collect();
        let keyring: Vec<String> = self
            .keyring
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let policy = if self.policy == SignaturePolicy::Warn {
            "warn"
        } else {
            "require"
        };
        writeln!(
            f,
            "signatures: {stores:?}\nkeyring: {keyring:?}\nsignaturePolicy: {policy}"
        )
    }
}

/// As lines of a file that would bring it about, without what is secret.
impl fmt::Display for SourceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |role: Role| {
            self.specs
                .iter()
                .filter(move |spec| spec.role == role)
                .map(SourceSpec::shown)
        };
        if self.is_example() {
            writeln!(
                f,
                "# graphData, releases: not given, so the built-in example is served"
            )?;
        } else if let Some(file) = self.update_service() {
            writeln!(f, "updateService: {:?}", file.display().to_string())?;
        } else {
            of(Role::GraphData).try_for_each(|text| writeln!(f, "graphData: {text:?}"))?;
            match of(Role::Releases).collect::<Vec<_>>().as_slice() {
                [one] => writeln!(f, "releases: {one:?}")?,
                many => writeln!(f, "releases: {many:?}")?,
            }
        }
        of(Role::Overlay)
            .filter(|text| !text.is_empty())
            .try_for_each(|text| writeln!(f, "overlay: {text:?}"))?;
        of(Role::Platforms).try_for_each(|text| writeln!(f, "platforms: {text:?}"))?;
        self.state
            .iter()
            .try_for_each(|state| writeln!(f, "state: {:?}", state.display().to_string()))?;
        writeln!(f, "degradedAfter: {}", written(self.ages.degraded_after))?;
        let closed = self.ages.closed_after.unwrap_or_default();
        writeln!(f, "closedAfter: {}", written(closed))?;
        writeln!(f, "maxShrinkPercent: {}", self.max_shrink_percent)?;
        let allowed = |(source, all): (&String, &BTreeSet<CopyObjection>)| {
            all.iter()
                .map(|objection| format!("{}:{source}", objection.name()))
                .collect::<Vec<_>>()
        };
        let allowed: Vec<String> = self.allow.iter().flat_map(allowed).collect();
        if !allowed.is_empty() {
            writeln!(f, "allow: {allowed:?}")?;
        }
        writeln!(f, "refuseChangedWindows: {}", self.windows.refuse)?;
        let releases = &self.windows.allowed_releases;
        if !releases.is_empty() {
            let names: Vec<String> = releases.iter().map(ToString::to_string).collect();
            writeln!(f, "allowWindowChange: {names:?}")?;
        }
        self.access
            .ca_file
            .iter()
            .try_for_each(|path| writeln!(f, "caFile: {:?}", path.display().to_string()))?;
        let auth_file = self.access.registry_auth_file.iter();
        auth_file
            .map(|path| path.display().to_string())
            .try_for_each(|path| writeln!(f, "registryAuthFile: {path:?}"))?;
        self.signatures
            .iter()
            .try_for_each(|signatures| signatures.fmt(f))?;
        writeln!(f, "requireSignedGraphData: {}", self.seals.is_some())?;
        if let Some(seals) = &self.seals {
            let files = seals.keyring.iter();
            let files: Vec<String> = files.map(|path| path.display().to_string()).collect();
            match (seals.has_own_keyring, self.signatures.is_some()) {
                (true, _) => writeln!(f, "graphDataKeyring: {files:?}")?,
                (false, true) => {}
                (false, false) => writeln!(f, "keyring: {files:?}\nsignaturePolicy: off")?,
            }
        }
        writeln!(f, "plainHttp: {}", self.access.http.plain_http)
    }
}
