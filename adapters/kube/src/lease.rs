//! Leader election: of several agents, only the holder of the Lease acts.
//!
//! The protocol is the one that Kubernetes' own components use. An agent may take a Lease that it has seen unchanged
//! for a whole term. It never compares clocks of different machines: the times in the Lease are only for people.
//! Every write names the resource version that was read, so when two agents try at once, the API refuses one.
//!
//! A holder that was paused may still believe that it leads. So it checks the time in [`Leadership::Held`] before it
//! acts. Its writes also name a resource version, which the next holder has changed.

use std::time::Duration;

use jiff::{Timestamp, Unit};
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::answer::within;
use crate::cluster::Cluster;
use crate::count::Verb;
use crate::error::KubeError;
use crate::resource::{Call, LEASES};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseTerms {
    pub namespace: String,
    pub name: String,
    /// Our identity, different for each agent.
    pub holder: String,
    /// How long a Lease lasts without renewal, in whole seconds.
    pub term: Duration,
}

#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Wall-clock time, written into the Lease. It may jump.
    pub now: Timestamp,
    /// Monotonic time. Decisions use this one.
    pub running: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leadership {
    /// We lead until this monotonic time.
    Held {
        /// As [`Clock::running`].
        until: Duration,
    },
    /// Another agent leads, or none yet.
    Other {
        /// The holder that the Lease names.
        holder: String,
    },
}

/// Takes and renews a Lease.
#[derive(Debug)]
pub struct Elector {
    terms: LeaseTerms,
    /// The Lease as last seen, and since when it is unchanged.
    seen: Option<(String, Duration)>,
    /// The Lease as we last wrote it. While nobody changes it, a renewal is one request.
    written: Option<DynamicObject>,
}

impl Elector {
    /// Starts without a known Lease.
    pub fn new(terms: LeaseTerms) -> Self {
        Self {
            terms,
            seen: None,
            written: None,
        }
    }

    /// Takes the Lease, renews it, or waits for it, with one or two requests. Call it a few times in each term.
    pub async fn try_to_hold(
        &mut self,
        cluster: &Cluster,
        clock: Clock,
    ) -> Result<Leadership, KubeError> {
        let api = LEASES.api(&cluster.client, Some(&self.terms.namespace));
        let limit = cluster.settings.request;
        if let Some(ours) = self.written.take() {
            let renewed = self.object(&Lease::of(&ours), Some(&ours), clock.now);
            match self.write(&api, Verb::Update, limit, renewed, clock).await {
                // Somebody has changed it, or taken it away: look.
                Ok(Leadership::Other { .. }) | Err(KubeError::NotFound { .. }) => {}
                held_or_failed => return held_or_failed,
            }
        }
        let there = within(limit, &self.call(Verb::Get), api.get_opt(&self.terms.name)).await?;
        let lease = match &there {
            Some(object) => Lease::of(object),
            None => Lease::default(),
        };
        match self.judge(&lease, clock.running) {
            Move::Wait => Ok(Leadership::Other {
                holder: lease.holder,
            }),
            Move::Create => {
                self.write(
                    &api,
                    Verb::Create,
                    limit,
                    self.object(&lease, None, clock.now),
                    clock,
                )
                .await
            }
            Move::Take | Move::Renew => {
                self.write(
                    &api,
                    Verb::Update,
                    limit,
                    self.object(&lease, there.as_ref(), clock.now),
                    clock,
                )
                .await
            }
        }
    }

    /// Gives the Lease back, so that nobody waits for its end. Does nothing if it is not ours.
    pub async fn give_back(&mut self, cluster: &Cluster, clock: Clock) -> Result<(), KubeError> {
        let api = LEASES.api(&cluster.client, Some(&self.terms.namespace));
        let limit = cluster.settings.request;
        let there = within(limit, &self.call(Verb::Get), api.get_opt(&self.terms.name)).await?;
        let Some(object) = there.filter(|object| Lease::of(object).holder == self.terms.holder)
        else {
            return Ok(());
        };
        let mut free = self.object(&Lease::of(&object), Some(&object), clock.now);
        free["spec"]["holderIdentity"] = "".into();
        let given = self.write(&api, Verb::Update, limit, free, clock).await;
        self.written = None;
        given.map(|_| ())
    }

    /// Decides what to do about a Lease. Pure, except that it remembers since when the Lease is unchanged.
    fn judge(&mut self, lease: &Lease, running: Duration) -> Move {
        let is_same = self
            .seen
            .as_ref()
            .is_some_and(|(version, _)| *version == lease.resource_version);
        if !is_same {
            self.seen = Some((lease.resource_version.clone(), running));
        }
        let since = self.seen.as_ref().map_or(running, |(_, since)| *since);
        let term = lease.term.unwrap_or(self.terms.term);
        match lease {
            Lease {
                resource_version, ..
            } if resource_version.is_empty() => Move::Create,
            Lease { holder, .. } if *holder == self.terms.holder => Move::Renew,
            Lease { holder, .. } if holder.is_empty() => Move::Take,
            _ if running.saturating_sub(since) > term => Move::Take,
            _ => Move::Wait,
        }
    }

    async fn write(
        &mut self,
        api: &Api<DynamicObject>,
        verb: Verb,
        limit: Duration,
        object: Value,
        clock: Clock,
    ) -> Result<Leadership, KubeError> {
        let call = self.call(verb);
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|error| KubeError::unanswered(&call, &error))?;
        let written = match verb {
            Verb::Create => within(limit, &call, api.create(&PostParams::default(), &object)).await,
            _ => {
                within(
                    limit,
                    &call,
                    api.replace(&self.terms.name, &PostParams::default(), &object),
                )
                .await
            }
        };
        match written {
            // Counted from before the request was sent: nobody can have seen it earlier.
            Ok(written) => {
                self.written = Some(written);
                Ok(Leadership::Held {
                    until: clock.running + self.terms.term,
                })
            }
            // Somebody else was quicker; the next call sees who.
            Err(KubeError::Answer { code: 409, .. }) => Ok(Leadership::Other {
                holder: String::new(),
            }),
            Err(problem) => Err(problem),
        }
    }

    fn object(&self, lease: &Lease, there: Option<&DynamicObject>, now: Timestamp) -> Value {
        let is_ours = lease.holder == self.terms.holder;
        let time = micro_seconds(now);
        let acquired = lease
            .acquired
            .clone()
            .filter(|_| is_ours)
            .unwrap_or_else(|| time.clone());
        json!({
            "apiVersion": LEASES.api_version(),
            "kind": LEASES.kind,
            "metadata": {
                "name": self.terms.name,
                "namespace": self.terms.namespace,
                "resourceVersion": there.and_then(|object| object.metadata.resource_version.clone()),
            },
            "spec": {
                "holderIdentity": self.terms.holder,
                "leaseDurationSeconds": self.terms.term.as_secs(),
                "acquireTime": acquired,
                "renewTime": time,
                "leaseTransitions": lease.transitions + i64::from(!is_ours && there.is_some()),
            },
        })
    }

    fn call(&self, verb: Verb) -> Call<'_> {
        Call::new(verb, &LEASES)
            .of(&self.terms.name)
            .within(Some(&self.terms.namespace))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    Create,
    Take,
    Renew,
    Wait,
}

/// A Lease as it was read.
#[derive(Debug, Default)]
struct Lease {
    resource_version: String,
    holder: String,
    term: Option<Duration>,
    acquired: Option<String>,
    transitions: i64,
}

impl Lease {
    fn of(object: &DynamicObject) -> Self {
        let spec = |name: &str| object.data.get("spec").and_then(|spec| spec.get(name));
        let text = |name: &str| spec(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            resource_version: object.metadata.resource_version.clone().unwrap_or_default(),
            holder: text("holderIdentity").unwrap_or_default(),
            term: spec("leaseDurationSeconds")
                .and_then(Value::as_u64)
                .map(Duration::from_secs),
            acquired: text("acquireTime"),
            transitions: spec("leaseTransitions")
                .and_then(Value::as_i64)
                .unwrap_or(0),
        }
    }
}

/// Kubernetes' MicroTime format.
fn micro_seconds(time: Timestamp) -> String {
    format!("{:.6}", time.round(Unit::Microsecond).unwrap_or(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: Duration = Duration::from_secs(30);

    fn elector() -> Elector {
        Elector::new(LeaseTerms {
            namespace: "n".into(),
            name: "l".into(),
            holder: "me".into(),
            term: TERM,
        })
    }

    fn lease(version: &str, holder: &str) -> Lease {
        Lease {
            resource_version: version.into(),
            holder: holder.into(),
            term: Some(TERM),
            ..Lease::default()
        }
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_is_free_is_taken_and_what_is_ours_renewed() {
        assert_eq!(elector().judge(&Lease::default(), at(5)), Move::Create);
        assert_eq!(elector().judge(&lease("1", ""), at(5)), Move::Take);
        assert_eq!(elector().judge(&lease("1", "me"), at(5)), Move::Renew);
    }

    #[test]
    fn another_holder_is_waited_for_until_a_term_has_passed_without_a_change() {
        let mut elector = elector();
        assert_eq!(elector.judge(&lease("1", "other"), at(100)), Move::Wait);
        assert_eq!(elector.judge(&lease("1", "other"), at(130)), Move::Wait);
        assert_eq!(elector.judge(&lease("2", "other"), at(131)), Move::Wait);
        assert_eq!(elector.judge(&lease("2", "other"), at(161)), Move::Wait);
        assert_eq!(elector.judge(&lease("2", "other"), at(162)), Move::Take);
    }

    #[test]
    fn times_have_six_digits() {
        assert_eq!(
            micro_seconds(Timestamp::UNIX_EPOCH),
            "1970-01-01T00:00:00.000000Z"
        );
    }
}
