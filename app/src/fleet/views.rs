//! Views of the fleet that the page has too: sectors, the matrix, the calendar, what people decided, one cluster whole. They only look.

use anyhow::anyhow;
use jiff::Timestamp;
use towpath_core::fleet::{AgendaQuestion, Filter, MatrixBy, PersonAct, origin_of};
use towpath_formats::fleet::cluster::{self, Records, Subject};
use towpath_formats::fleet::{agenda, matrix, pipeline, standing};
use towpath_web::FleetAnswer;

use super::args::{ActsArgs, By, FleetPartArgs, FleetReadArgs};
use super::look::Picture;
use super::{answers, cluster_answer};
use crate::terminal::room;

pub(super) async fn sectors(
    FleetPartArgs {
        filters,
        read: FleetReadArgs { look, output },
        ..
    }: FleetPartArgs,
) -> anyhow::Result<bool> {
    let (picture, filter) = look.part(&filters).await?;
    let Picture {
        planner, decision, ..
    } = &picture;
    let rows = |most: Option<usize>| {
        let most = most.unwrap_or(usize::MAX);
        filter.pipeline(planner, decision, None, most).0
    };
    output.print(
        picture.origin,
        || pipeline::text(&rows(filter.limit), filters.room()),
        || pipeline::json(&rows(filter.limit), decision),
    )?;
    Ok(picture.is_whole())
}

pub(super) async fn matrix(
    by: By,
    FleetPartArgs {
        filters,
        read: FleetReadArgs { look, output },
        ..
    }: FleetPartArgs,
) -> anyhow::Result<bool> {
    let (picture, filter) = look.part(&filters).await?;
    let (by, at) = (MatrixBy::from(by), picture.decision.at);
    let rows = |most: usize| filter.matrix(&picture.planner, by, None, most, at);
    output.print(
        picture.origin,
        || {
            let (told, has_more) = rows(filter.limit.unwrap_or(matrix::MAX_ROWS));
            matrix::text(&told, by, has_more, filters.room())
        },
        || matrix::json(&rows(filter.limit.unwrap_or(usize::MAX)).0, at),
    )?;
    Ok(picture.is_whole())
}

pub(super) async fn calendar(
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    FleetPartArgs {
        filters,
        read: FleetReadArgs { look, output },
        ..
    }: FleetPartArgs,
) -> anyhow::Result<bool> {
    let (picture, filter) = look.part(&filters).await?;
    let at = picture.decision.at;
    let span = answers::calendar_span(from, until, at).map_err(problem)?;
    let question = AgendaQuestion {
        from: span[0],
        until: span[1],
        after: None,
        limit: filter.limit.unwrap_or(usize::MAX),
    };
    let policy = &picture.input.policy;
    let (rows, _) = filter.agenda(&picture.planner, policy, &question, at);
    output.print(
        picture.origin,
        || agenda::text(&rows, filters.room()),
        || agenda::json(&rows, span),
    )?;
    Ok(picture.is_whole())
}

/// The sentence of an answer that a service would give.
fn problem(answer: FleetAnswer) -> anyhow::Error {
    match answer {
        FleetAnswer::Refused { sentence, .. } => anyhow!(sentence),
        other => anyhow!("{other:?}"),
    }
}

pub(super) async fn acts(args: ActsArgs) -> anyhow::Result<bool> {
    let FleetReadArgs { look, output } = &args.read;
    let picture = look.picture().await?;
    let filter = args.filter();
    filter.check_names(&picture.planner)?;
    let mut acts: Vec<PersonAct> = match look.store_opened().await? {
        Some(store) => store.acts().await?,
        None => Vec::new(),
    };
    acts.retain(|act| !args.standing || act.ended.is_none());
    let mut acts = standing::meant(acts, &picture.planner, &filter)?;
    let all = acts.len();
    acts.truncate(filter.limit.unwrap_or(all));
    output.print(
        picture.origin,
        || standing::text(&acts, &picture.planner, room()),
        || standing::json(&acts, &picture.planner),
    )?;
    Ok(picture.is_whole())
}

pub(super) async fn show(
    name: &str,
    FleetReadArgs { look, output }: FleetReadArgs,
) -> anyhow::Result<bool> {
    let picture = look.picture().await?;
    let (member, state) = cluster_answer::found(&picture.planner, name)?;
    let mut records = match look.store_opened().await? {
        Some(store) => cluster_answer::records(&store, &state.id, state.last_seen).await?,
        None => Records::default(),
    };
    let concerned = Filter {
        cluster: Some(state.id.to_string()),
        ..Filter::default()
    };
    let acts = std::mem::take(&mut records.acts);
    records.acts = standing::meant(acts, &picture.planner, &concerned).unwrap_or_default();
    let subject = Subject {
        desk: &picture.planner,
        decision: &picture.decision,
        state,
        member,
        place: origin_of(&picture.input.policy, state),
    };
    output.print(
        picture.origin,
        || cluster::text(subject, Some(&records), room()),
        || cluster::json(subject, Some(&records)),
    )?;
    Ok(picture.is_whole())
}
