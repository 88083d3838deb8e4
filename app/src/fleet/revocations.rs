//! Tokens that were revoked, in the store: to list them, to add one, and to tell the service that checks tokens.
//!
//! One number in the store says whether they have changed. It is asked for every second. While the store is away, the list that
//! was read last stays in force.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use towpath_core::access::{Revocation, Revoked};
use towpath_formats::access::revoked;
use towpath_store::{RevocationMark, Store, StoreError};
use towpath_web::{FleetAnswer, FleetForm, RevokeWhich, Service};

use super::acts::NotDone;

/// How often the store is asked whether revocations have changed.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// All are read again after this time, whatever the number says: a restored database may have any.
const CONFIRM_EVERY: Duration = Duration::from_secs(60);

/// What somebody wants revoked, as of now.
pub(crate) fn wanted(which: RevokeWhich, by: &str, why: &str, now: Timestamp) -> Revocation {
    let revoked = match which {
        RevokeWhich::Serial(serial) => Revoked::Serial(serial.into()),
        RevokeWhich::Person(name) => Revoked::Person {
            name: name.into(),
            made_before: now,
        },
    };
    Revocation {
        revoked,
        by: by.into(),
        at: now,
        why: why.into(),
    }
}

pub(super) async fn list(store: &Store, form: FleetForm) -> Result<FleetAnswer, FleetAnswer> {
    let (_, all) = store.revocations().await.map_err(NotDone::Store)?;
    Ok(match form {
        FleetForm::Json => FleetAnswer::Json(revoked::json(&all).to_string()),
        FleetForm::Text { .. } | FleetForm::Markdown => FleetAnswer::Text(revoked::text(&all)),
    })
}

pub(super) async fn revoke(
    store: &Store,
    revocation: &Revocation,
    form: FleetForm,
) -> Result<FleetAnswer, FleetAnswer> {
    store.revoke(revocation).await.map_err(NotDone::Store)?;
    let (by, what) = (&*revocation.by, &revocation.revoked);
    tracing::warn!(by, ?what, "tokens were revoked over HTTP");
    let one = std::slice::from_ref(revocation);
    Ok(match form {
        FleetForm::Json => FleetAnswer::Json(revoked::json(one).to_string()),
        FleetForm::Text { .. } | FleetForm::Markdown => {
            FleetAnswer::Text(format!("{}\n", revoked::sentence(what)))
        }
    })
}

/// Tells the service which tokens are revoked whenever that has changed, for ever.
pub(super) async fn follow(store: &Store, service: &Service) {
    let mut known: Option<(RevocationMark, Instant)> = None;
    let mut has_failed = false;
    loop {
        match look(store, service, known).await {
            Ok(now) => (known, has_failed) = (Some(now), false),
            Err(error) => {
                if !has_failed {
                    tracing::warn!(
                        "which tokens are revoked could not be read: {error}; the list that was read last stays in force"
                    );
                }
                (known, has_failed) = (None, true);
            }
        }
        tokio::time::sleep(POLL_EVERY).await;
    }
}

async fn look(
    store: &Store,
    service: &Service,
    known: Option<(RevocationMark, Instant)>,
) -> Result<(RevocationMark, Instant), StoreError> {
    if let Some((mark, at)) = known
        && at.elapsed() < CONFIRM_EVERY
        && store.revocation_mark().await? == mark
    {
        return Ok((mark, at));
    }
    let (mark, all) = store.revocations().await?;
    let all = all.into_iter().map(|one| one.revoked);
    service.set_revoked_in_store(all.collect());
    Ok((mark, Instant::now()))
}
