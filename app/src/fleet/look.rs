//! Commands that look at a fleet: each gathers facts, makes one pure call, and prints the result. They change nothing.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{
    AgentUpdate, ClusterState, Decision, Filter, FleetInput, FleetPlanner, coverage, find_cluster,
    rings_without_clusters,
};
use towpath_core::graph::Graph;
use towpath_core::simulate::{Outlook, forecast_days};
use towpath_core::version::Version;
use towpath_formats::findings;
use towpath_formats::fleet::cluster_list::untold;
use towpath_formats::fleet::text::Expectations;
use towpath_formats::fleet::{clusters, json, text};
use towpath_formats::words::counted;
use towpath_store::StoreAddress;

use super::args::{ClusterArgs, Filters, FleetArgs, FleetPartArgs, FleetReadArgs, HistoryOutput};
use super::facts::{self, Files, FleetReading, StoredFleet};
use super::hands::{hands_of, read_into};
use super::progress::Progress;
use super::{DEFAULT_STORE, OpenStore, open};
use crate::cli::{print, terminal_width};
use crate::config::{self, ServeOptions, Settings};
use crate::example::Origin;
use crate::minors;
use crate::terminal::aside;

/// How far EXPECTED looks, unless somebody says otherwise, …
const EXPECTED_DAYS: u32 = 14;
/// … and for how many cluster-days at most, so that `plan` of a large fleet does not take a minute.
const EXPECTED_CLUSTER_DAYS: usize = 140_000;

/// Everything about a fleet at one instant.
pub(super) struct Picture {
    pub(super) planner: FleetPlanner,
    pub(super) decision: Decision,
    pub(super) input: FleetInput,
    graph: Option<Graph>,
    findings: Vec<Finding>,
    /// How many entries of the list cannot be read: their clusters are in no answer.
    left_out: usize,
    /// How many clusters an API tells too little of.
    not_understood: usize,
    pub(super) origin: Origin,
}

impl FleetArgs {
    pub(super) fn settings(&self) -> anyhow::Result<Settings> {
        self.settings_with(ServeOptions::default())
    }

    /// What was typed here, and more that was typed elsewhere.
    pub(super) fn settings_with(&self, more: ServeOptions) -> anyhow::Result<Settings> {
        let typed = ServeOptions {
            fleet: self.fleet.clone(),
            clusters: self.clusters.clone(),
            store: self.store.clone(),
            store_password_file: self.store_password_file.clone(),
            sources: self.sources.options.clone(),
            minors: self.minors.path(),
            now: self.now,
            ..self.hands.options(more)
        };
        config::settings(typed, self.sources.config.as_deref())
    }

    /// What is in force for somebody who looks, and whose fleet that is.
    fn fleet(&self) -> anyhow::Result<(Settings, Origin)> {
        let settings = self.settings()?;
        let named = [
            ("--clusters", self.clusters.is_some()),
            ("--store", self.store.is_some()),
            ("--ocm", self.hands.ocm.is_some()),
            ("--acm", self.hands.acm.is_some()),
            ("--graph-data", !settings.sources.is_example()),
        ];
        let named = named.iter().find(|(_, is_named)| *is_named);
        let origin = match (&settings.fleet, named) {
            (Some(_), _) => Origin::Named,
            (None, None) => Origin::Example,
            (None, Some((flag, _))) => {
                bail!("{flag} needs a fleet; add --fleet DIR")
            }
        };
        origin.tell_how("name your own with --fleet");
        Ok((settings, origin))
    }

    /// The fleet, and the part of it that is asked about. Its names are those of clusters that have a policy.
    pub(super) async fn part(&self, filters: &Filters) -> anyhow::Result<(Picture, Filter)> {
        let (picture, filter) = self.part_of_all(filters).await?;
        filter.check_names(&picture.planner)?;
        Ok((picture, filter))
    }

    /// The same, with names that nobody has checked.
    async fn part_of_all(&self, filters: &Filters) -> anyhow::Result<(Picture, Filter)> {
        let (filter, picture) = (filters.filter()?, self.picture().await?);
        if !picture.is_whole() {
            warn(&picture.findings);
        }
        if picture.not_understood > 0 {
            let told = counted(picture.not_understood, "cluster");
            let remedy =
                "nothing starts there, and who comes later waits (`towpath fleet lint` shows why)";
            aside(
                None,
                &format!("{told} cannot be read from the API; {remedy}"),
            );
        }
        if picture.left_out > 0 {
            let problem = match picture.left_out {
                1 => "1 entry of the list cannot be read, so its cluster is".to_owned(),
                more => format!("{more} entries of the list cannot be read, so their clusters are"),
            };
            let remedy = "correct the list (`towpath fleet lint` shows where)";
            aside(None, &format!("{problem} not in this answer; {remedy}"));
        }
        Ok((picture, filter))
    }

    pub(super) async fn picture(&self) -> anyhow::Result<Picture> {
        let (settings, origin) = self.fleet()?;
        let now = settings.now.unwrap_or_else(Timestamp::now);
        let mut read = reading(&settings, now).await?;
        let known = self.known(&settings, now).await?;
        let graph = facts::graph(&settings, now)?;
        let minors = minors::of(settings.minors.as_deref())?;
        let input = facts::input(&read, &known, graph.as_ref(), &minors, now);
        if input.clusters.is_empty() {
            warn(&read.findings);
            bail!(
                "no cluster is known, neither from a list nor from the store; name a list (--clusters FILE), import one (`towpath fleet import FILE`), or let clusters report to `towpath serve --fleet DIR`"
            );
        }
        let mut planner = FleetPlanner::new(input.clone());
        let decision = planner.pass(now);
        let fleet = settings.fleet.as_ref();
        let gone = fleet.and_then(|fleet| facts::list_is_gone(&read, &known, &fleet.policy));
        let vain = fleet.and_then(|fleet| {
            facts::channels_in_vain(&read, graph.as_ref(), &input.clusters, &fleet.policy)
        });
        let mut findings = std::mem::take(&mut read.findings);
        if let Some(list) = self.own_list(&settings) {
            findings.extend(untold(&read.list, &Place::from(list)));
        }
        findings.extend(coverage(&input.policy, &input.clusters));
        findings.extend(gone);
        findings.extend(vain);
        let rings =
            |graph| rings_without_clusters(graph, &input.policy, &input.clusters, |_| false);
        findings.extend(graph.as_ref().map(rings).unwrap_or_default());
        findings.sort();
        Ok(Picture {
            planner,
            decision,
            input,
            graph,
            findings,
            left_out: read.list.left_out.len() + read.list.unread,
            not_understood: read.list.not_understood.len(),
            origin,
        })
    }

    /// The list that the clusters come from, if they come from one that somebody wrote.
    fn own_list<'s>(&self, settings: &'s Settings) -> Option<&'s Path> {
        let fleet = settings.fleet.as_ref()?;
        fleet.clusters.as_deref().filter(|_| fleet.hands.is_none())
    }

    /// What the store knows of the fleet, if there is one.
    async fn known(&self, settings: &Settings, now: Timestamp) -> anyhow::Result<StoredFleet> {
        match self.store_at_hand(settings) {
            Some(address) => Ok(StoredFleet::read(&*open(address).await?, now).await?),
            None => Ok(StoredFleet::default()),
        }
    }

    /// What became of a cluster's updates, as far as it had told the store when it was in this state.
    async fn agent_updates(&self, state: &ClusterState) -> anyhow::Result<Vec<AgentUpdate>> {
        match self.store_at_hand(&self.settings()?) {
            Some(address) => Ok(open(address)
                .await?
                .agent_updates(&state.id, state.last_seen)
                .await?),
            None => Ok(Vec::new()),
        }
    }

    /// That store, opened.
    pub(super) async fn store_opened(&self) -> anyhow::Result<Option<OpenStore>> {
        match self.store_at_hand(&self.settings()?) {
            Some(address) => Ok(Some(open(address).await?)),
            None => Ok(None),
        }
    }

    /// The store that was named, or the default one if it is there.
    fn store_at_hand(&self, settings: &Settings) -> Option<StoreAddress> {
        let fleet = settings.fleet.as_ref()?;
        let is_there = || Path::new(DEFAULT_STORE.trim_start_matches("sqlite:")).exists();
        (fleet.store.is_some() || is_there()).then(|| fleet.store_address())
    }
}

/// What the files say, and the API that manages the clusters if one is named.
async fn reading(settings: &Settings, now: Timestamp) -> anyhow::Result<FleetReading> {
    let mut raw = files(settings).read_raw(now)?;
    let named = settings
        .fleet
        .as_ref()
        .and_then(|fleet| fleet.hands.as_ref());
    if let Some(mut hands) = hands_of(named)? {
        let findings = read_into(&mut *hands, now, &mut raw.list).await?;
        raw.findings.extend(findings);
        (raw.has_list, raw.has_hands) = (true, true);
    }
    Ok(raw.finish())
}

fn files(settings: &Settings) -> Files {
    match &settings.fleet {
        Some(fleet) => Files::new(&fleet.policy, fleet.clusters.as_deref()),
        None => Files::example(),
    }
}

impl Picture {
    /// Whether the answer is about all clusters, as they are. Exit 1 if not.
    pub(super) fn is_whole(&self) -> bool {
        self.left_out + self.not_understood == 0
    }

    /// What will start over a number of days, in the clusters that are meant.
    fn outlook(&self, filter: &Filter, days: u32) -> anyhow::Result<Outlook> {
        let now = self.decision.at;
        let mut progress = Progress::new(now, days);
        let mut tell = |at| progress.tell(at);
        let (input, graph) = (self.input.clone(), self.graph.as_ref());
        let outlook = forecast_days(input, graph, now, days, &mut tell)?;
        progress.end();
        Ok(outlook.about(&filter.names(&self.planner, now)))
    }

    /// How far EXPECTED looks.
    fn days_ahead(&self, asked: Option<u32>) -> u32 {
        let most = EXPECTED_CLUSTER_DAYS / self.input.clusters.len().max(1);
        let most = u32::try_from(most.max(1)).unwrap_or(EXPECTED_DAYS);
        asked.unwrap_or(EXPECTED_DAYS.min(most))
    }
}

pub(super) async fn plan(
    days: Option<u32>,
    FleetPartArgs {
        filters,
        read: FleetReadArgs { look, output },
        ..
    }: FleetPartArgs,
) -> anyhow::Result<bool> {
    let (picture, filter) = look.part(&filters).await?;
    if picture.is_whole() {
        warn(&picture.findings);
    }
    let Picture {
        planner, decision, ..
    } = &picture;
    let plan = filter.plan(planner, decision);
    let days = picture.days_ahead(days);
    let outlook = match days {
        0 => None,
        days => Some(picture.outlook(&filter, days)?),
    };
    let outlook = outlook.as_ref();
    let expected = outlook.map(|outlook| Expectations { outlook, days });
    output.print(
        picture.origin,
        || text::plan(planner, &plan, expected, filters.room()),
        || json::plan(planner, &plan, outlook, filter.limit),
    )?;
    Ok(picture.is_whole())
}

pub(super) async fn status(
    FleetPartArgs {
        filters,
        read: FleetReadArgs { look, output },
        ..
    }: FleetPartArgs,
) -> anyhow::Result<bool> {
    let (picture, filter) = look.part(&filters).await?;
    let rows = filter.status(&picture.planner, &picture.decision);
    let shown = &rows[..filter.limit.unwrap_or(rows.len()).min(rows.len())];
    let text = || text::status(&rows, filters.room());
    output.print(picture.origin, text, || json::status(shown))?;
    Ok(picture.is_whole())
}

pub(super) async fn clusters(args: ClusterArgs) -> anyhow::Result<bool> {
    let FleetPartArgs { filters, read, .. } = &args.part;
    let (picture, filter) = read.look.part_of_all(filters).await?;
    let filter = args.narrowed(filter);
    filter.check_names_of_all(&picture.planner)?;
    let page = |rows: usize| {
        let (planner, decision) = (&picture.planner, &picture.decision);
        filter.cluster_page(planner, decision, args.sort.into(), None, rows)
    };
    let room = filters.room();
    read.output.print(
        picture.origin,
        || clusters::text(&page(clusters::rows_of_text(room)), room),
        || clusters::json(&page(filter.limit.unwrap_or(usize::MAX))),
    )?;
    Ok(picture.is_whole())
}

pub(super) async fn why(
    cluster: &str,
    to: Option<&Version>,
    FleetReadArgs { look, output }: FleetReadArgs,
) -> anyhow::Result<bool> {
    let picture = look.picture().await?;
    let Picture {
        planner, decision, ..
    } = &picture;
    let member = find_cluster(planner, cluster)?;
    let why = match to {
        Some(to) => planner.why_not(member, to, decision.at),
        None => planner.why(member, decision.at),
    };
    let state = planner.roster().cluster(member);
    let updates = look.agent_updates(state).await?;
    output.print(
        picture.origin,
        || text::why(planner, decision, member, &why, &updates),
        || {
            let told = json::why(planner, decision, member, &why);
            let told = json::with_updates(told, Some(&updates));
            json::with_preflights(told, planner.roster().preflights(&state.id))
        },
    )?;
    Ok(to.is_none_or(|to| planner.starts_to(decision, member, to)))
}

pub(super) async fn history(
    FleetPartArgs {
        filters,
        read: FleetReadArgs { look, output },
        ..
    }: FleetPartArgs<HistoryOutput>,
) -> anyhow::Result<bool> {
    let (picture, filter) = look.part(&filters).await?;
    let rows = filter.history(&picture.planner, picture.decision.at);
    print(&match output.form {
        HistoryOutput::Json => picture.origin.mark(json::history(&rows)),
        HistoryOutput::Markdown => text::history_markdown(&rows),
        HistoryOutput::Text => text::history(&rows, terminal_width()),
    })?;
    Ok(picture.is_whole())
}

pub(super) async fn forecast(
    days: u32,
    FleetPartArgs {
        filters,
        read: FleetReadArgs { look, output },
        ..
    }: FleetPartArgs,
) -> anyhow::Result<bool> {
    let (picture, filter) = look.part(&filters).await?;
    let outlook = picture.outlook(&filter, days)?;
    let text = || text::forecast(&outlook, days, filters.room());
    output.print(picture.origin, text, || {
        json::forecast(&outlook, filter.limit)
    })?;
    Ok(picture.is_whole())
}

pub(super) async fn lint(FleetReadArgs { look, output }: FleetReadArgs) -> anyhow::Result<bool> {
    let (settings, origin) = look.fleet()?;
    let now = settings.now.unwrap_or_else(Timestamp::now);
    let mut read = reading(&settings, now).await?;
    let known = look.known(&settings, now).await?;
    let minors = minors::of(settings.minors.as_deref())?;
    let input = facts::input(&read, &known, None, &minors, now);
    read.findings
        .extend(coverage(&input.policy, &input.clusters));
    read.findings.sort();
    let text = || text::lint(&read.policy, &read.findings);
    output.print(origin, text, || findings::json(&read.findings))?;
    Ok(!read.findings.iter().any(Finding::is_error))
}

/// What is wrong with the files, and whom no policy finds, is said beside the answer.
fn warn(findings: &[Finding]) {
    // Nothing is left to be done if even that cannot be said.
    let _ = write!(std::io::stderr(), "{}", text::warnings(findings));
}
