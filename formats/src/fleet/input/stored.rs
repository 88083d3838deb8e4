//! JSON values that keep domain values, and the way there and back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::finding::Severity;
use towpath_core::fleet as core;
use towpath_core::graph::{ChannelName, Pattern};
use towpath_core::version::{Arch, Minor, MinorFact, Version};

use super::codes;

pub(super) type Text<'a> = Cow<'a, str>;

/// A JSON value that keeps a `Domain` value. Reading is an error where we cannot have written it: something has changed it.
pub(super) trait Stored<'a, Domain>: Sized {
    fn store(from: &'a Domain, tables: &Tables<'a>) -> Self;
    fn restore(self, join: &mut Join) -> Result<Domain, String>;
}

/// What many clusters of an organisation share, sorted: each is stored once, and its number is its place.
#[derive(Default)]
pub(super) struct Tables<'a> {
    pub(super) policies: Vec<&'a core::UpgradePolicy>,
    pub(super) offers: Vec<&'a Arc<[core::Offer]>>,
}

/// What was read before. Names, versions, patterns and schedules are shared: one for each text.
#[derive(Default)]
pub(super) struct Join {
    /// Of the part that is read, as the tables.
    pub(super) organisation: core::Name,
    pub(super) policies: Vec<core::UpgradePolicy>,
    pub(super) offers: Vec<Arc<[core::Offer]>>,
    names: BTreeSet<core::Name>,
    versions: BTreeMap<String, Version>,
    patterns: BTreeMap<String, Pattern>,
    schedules: BTreeMap<String, core::Schedule>,
}

impl Join {
    pub(super) fn name(&mut self, text: &str) -> core::Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name: core::Name = text.into();
        self.names.insert(name.clone());
        name
    }
}

pub(super) fn store_all<'a, D: 'a, W: Stored<'a, D>, C: FromIterator<W>>(
    from: impl IntoIterator<Item = &'a D>,
    tables: &Tables<'a>,
) -> C {
    from.into_iter()
        .map(|from| W::store(from, tables))
        .collect()
}

pub(super) fn restore_all<'a, D, W: Stored<'a, D>, C: FromIterator<D>>(
    from: impl IntoIterator<Item = W>,
    join: &mut Join,
) -> Result<C, String> {
    from.into_iter().map(|from| from.restore(join)).collect()
}

impl<'a, D: 'a, W: Stored<'a, D>> Stored<'a, Vec<D>> for Vec<W> {
    fn store(from: &'a Vec<D>, tables: &Tables<'a>) -> Self {
        store_all(from, tables)
    }
    fn restore(self, join: &mut Join) -> Result<Vec<D>, String> {
        restore_all(self, join)
    }
}

impl<'a, D: 'a, W: Stored<'a, D>> Stored<'a, Arc<[D]>> for Vec<W> {
    fn store(from: &'a Arc<[D]>, tables: &Tables<'a>) -> Self {
        store_all(&**from, tables)
    }
    fn restore(self, join: &mut Join) -> Result<Arc<[D]>, String> {
        restore_all(self, join)
    }
}

impl<'a, D: Ord + 'a, W: Stored<'a, D>> Stored<'a, BTreeSet<D>> for Vec<W> {
    fn store(from: &'a BTreeSet<D>, tables: &Tables<'a>) -> Self {
        store_all(from, tables)
    }
    fn restore(self, join: &mut Join) -> Result<BTreeSet<D>, String> {
        restore_all(self, join)
    }
}

impl<'a, D: 'a, W: Stored<'a, D>> Stored<'a, Option<D>> for Option<W> {
    fn store(from: &'a Option<D>, tables: &Tables<'a>) -> Self {
        from.as_ref().map(|from| W::store(from, tables))
    }
    fn restore(self, join: &mut Join) -> Result<Option<D>, String> {
        self.map(|from| from.restore(join)).transpose()
    }
}

impl<'a, D: 'a, W: Stored<'a, D>> Stored<'a, Fact<D>> for Option<W> {
    fn store(from: &'a Fact<D>, tables: &Tables<'a>) -> Self {
        match from {
            Fact::Known(from) => Some(W::store(from, tables)),
            Fact::Unknown => None,
        }
    }
    fn restore(self, join: &mut Join) -> Result<Fact<D>, String> {
        Ok(Fact::from(self.map(|from| from.restore(join)).transpose()?))
    }
}

impl<'a, K, V, D, W> Stored<'a, BTreeMap<K, V>> for BTreeMap<D, W>
where
    K: Ord + 'a,
    V: 'a,
    D: Ord + Stored<'a, K>,
    W: Stored<'a, V>,
{
    fn store(from: &'a BTreeMap<K, V>, tables: &Tables<'a>) -> Self {
        from.iter()
            .map(|(name, value)| (D::store(name, tables), W::store(value, tables)))
            .collect()
    }
    fn restore(self, join: &mut Join) -> Result<BTreeMap<K, V>, String> {
        self.into_iter()
            .map(|(name, value)| Ok((name.restore(join)?, value.restore(join)?)))
            .collect()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Parallel {
    Count(u32),
    Percent(u32),
}

/// An accepted risk: a name alone, as before there was more to say, or with its reason, owner and end.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Risk<'a> {
    Name(Text<'a>),
    Entry {
        name: Text<'a>,
        reason: Option<Text<'a>>,
        owner: Option<Text<'a>>,
        /// A time, or `fixed`; none: it has no end.
        until: Option<Text<'a>>,
    },
}

/// What is stored for an acceptance that ends with the fix.
const FIXED: &str = "fixed";

impl<'a> Stored<'a, core::AcceptedRisk> for Risk<'a> {
    fn store(from: &'a core::AcceptedRisk, tables: &Tables<'a>) -> Self {
        let until = match &from.until {
            core::RiskEnd::Open => None,
            core::RiskEnd::At(end) => Some(said(end)),
            core::RiskEnd::Fixed => Some(text(FIXED)),
        };
        match (&from.reason, &from.owner, until) {
            (None, None, None) => Self::Name(text(&from.name)),
            (reason, owner, until) => Self::Entry {
                name: text(&from.name),
                reason: Stored::store(reason, tables),
                owner: Stored::store(owner, tables),
                until,
            },
        }
    }

    fn restore(self, join: &mut Join) -> Result<core::AcceptedRisk, String> {
        let (name, reason, owner, until) = match self {
            Self::Name(name) => return Ok(core::AcceptedRisk::named(join.name(&name))),
            Self::Entry {
                name,
                reason,
                owner,
                until,
            } => (name, reason, owner, until),
        };
        let until = match until.as_deref() {
            None => core::RiskEnd::Open,
            Some(FIXED) => core::RiskEnd::Fixed,
            Some(end) => core::RiskEnd::At(parse(end)?),
        };
        Ok(core::AcceptedRisk {
            name: join.name(&name),
            reason: reason.restore(join)?,
            owner: owner.restore(join)?,
            until,
        })
    }
}

/// The organisation that is the part's: nothing is stored of it.
#[derive(Default)]
pub(super) struct ThePart;

/// A table of the simple ones: the domain's type as JSON's, there and back.
macro_rules! values {
    ($($domain:ty as $wire:ty: $store:expr, $restore:expr;)+) => {$(
        impl<'a> Stored<'a, $domain> for $wire {
            fn store(from: &'a $domain, tables: &Tables<'a>) -> Self {
                let store: fn(&'a $domain, &Tables<'a>) -> Self = $store;
                store(from, tables)
            }
            fn restore(self, join: &mut Join) -> Result<$domain, String> {
                let restore: fn(Self, &mut Join) -> Result<$domain, String> = $restore;
                restore(self, join)
            }
        }
    )+};
}

values! {
    bool as bool: |from, _| *from, |from, _| Ok(from);
    u8 as u8: |from, _| *from, |from, _| Ok(from);
    u32 as u32: |from, _| *from, |from, _| Ok(from);
    i64 as i64: |from, _| *from, |from, _| Ok(from);
    core::UpgradeId as i64: |id, _| id.0, |id, _| Ok(core::UpgradeId(id));
    Severity as bool:
        |severity, _| *severity == Severity::Error,
        |error, _| Ok(if error { Severity::Error } else { Severity::Warning });
    core::Binding as bool:
        |binding, _| !binding.is_bound(),
        |unbound, _| Ok(if unbound { core::Binding::Unbound } else { core::Binding::Bound });
    core::Parallel as Parallel:
        |limit, _| match *limit {
            core::Parallel::Count(count) => Self::Count(count),
            core::Parallel::Percent(percent) => Self::Percent(percent),
        },
        |limit, _| Ok(match limit {
            Self::Count(count) => core::Parallel::Count(count),
            Self::Percent(percent) => core::Parallel::Percent(percent),
        });

    core::Name as ThePart: |_, _| Self, |_, join| Ok(join.organisation.clone());
    core::Name as Text<'a>: |name, _| text(name), |text, join| Ok(join.name(&text));
    String as Text<'a>: |from, _| text(from), |text, _| Ok(text.into_owned());
    &'static str as Text<'a>: |code, _| text(code), |code, _| Ok(codes::of(&code));
    Arch as Text<'a>: |arch, _| text(arch.as_str()), |text, join| Ok(Arch::new(join.name(&text)));
    ClusterId as Text<'a>:
        |id, _| text(id.as_str()),
        |text, _| is_one(ClusterId::as_recorded(&text), &text, "cluster's id");
    ChannelName as Text<'a>:
        |channel, _| text(channel.as_str()),
        |text, _| is_one(ChannelName::new(&text), &text, "channel");
    Platform as Text<'a>:
        |platform, _| text(platform.as_str()),
        |text, _| is_one(Platform::new(&text), &text, "platform");
    core::UpgradeState as Text<'a>:
        |state, _| text(state.code()),
        |text, _| is_one(core::UpgradeState::of_code(&text), &text, "state");
    core::PreflightState as Text<'a>:
        |state, _| text(state.code()),
        |text, _| is_one(core::PreflightState::of_code(&text), &text, "state");
    core::PreflightDemand as Option<Text<'a>>:
        |demand, _| match demand {
            core::PreflightDemand::None => None,
            demand => Some(text(demand.code())),
        },
        |demand, _| match demand {
            None => Ok(core::PreflightDemand::None),
            Some(text) => is_one(core::PreflightDemand::of_code(&text), &text, "demand"),
        };
    core::Owner as Text<'a>:
        |owner, _| text(owner.code()),
        |text, _| is_one(core::Owner::of_code(&text), &text, "owner");
    Timestamp as Text<'a>: |time, _| said(time), |text, _| parse(&text);
    DateTime as Text<'a>: |time, _| said(time), |text, _| parse(&text);
    SignedDuration as Text<'a>: |length, _| said(length), |text, _| parse(&text);
    core::Zone as Text<'a>: |zone, _| text(zone.name()), |text, _| parse(&text);
    core::Schedule as Text<'a>:
        |schedule, _| text(schedule.as_str()),
        |text, join| remembered(&mut join.schedules, &text, parse);
    Pattern as Text<'a>:
        |pattern, _| text(pattern.as_str()),
        |text, join| remembered(&mut join.patterns, &text, |text| {
            Pattern::new(text).map_err(|error| format!("{text:?}: {error}"))
        });
    Minor as Text<'a>:
        |minor, _| said(minor),
        |text, _| is_one(Minor::parse(&text), &text, "minor version");
    MinorFact as Text<'a>:
        |fact, _| text(fact.name()),
        |text, _| is_one(MinorFact::ALL.into_iter().find(|fact| fact.name() == text), &text, "fact");
    Version as Text<'a>:
        |version, _| said(version),
        |text, join| remembered(&mut join.versions, &text, |text| {
            text.parse::<Version>().map_err(|error| error.to_string())
        });

    core::Health as Option<Text<'a>>:
        |health, _| match health {
            core::Health::Healthy => None,
            core::Health::Unhealthy { why } => Some(text(why)),
        },
        |why, join| Ok(match why {
            None => core::Health::Healthy,
            Some(why) => core::Health::Unhealthy { why: join.name(&why) },
        });
    core::Product as Option<Vec<(Text<'a>, Text<'a>)>>:
        |product, tables| match product {
            core::Product::Standalone => None,
            core::Product::HostedControlPlane { pools } => Some(store_all(pools, tables)),
        },
        |pools, join| Ok(match pools {
            None => core::Product::Standalone,
            Some(pools) => core::Product::HostedControlPlane { pools: pools.restore(join)? },
        });
    core::UpgradePolicy as usize:
        |policy, tables| tables.policies.binary_search(&policy).unwrap_or_default(),
        |number, join| numbered(&join.policies, number, "policy");
    Arc<[core::Offer]> as usize:
        |offers, tables| tables.offers.binary_search(&offers).unwrap_or_default(),
        |number, join| numbered(&join.offers, number, "list of offers");
}

pub(super) fn text(text: &str) -> Text<'_> {
    Cow::Borrowed(text)
}

pub(super) fn said(value: &impl ToString) -> Text<'static> {
    Cow::Owned(value.to_string())
}

pub(super) fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}

fn is_one<T>(value: Option<T>, text: &str, what: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("{text:?} is no {what}"))
}

fn remembered<T: Clone>(
    known: &mut BTreeMap<String, T>,
    text: &str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, String> {
    if let Some(value) = known.get(text) {
        return Ok(value.clone());
    }
    let value = read(text)?;
    known.insert(text.to_owned(), value.clone());
    Ok(value)
}

fn numbered<T: Clone>(table: &[T], number: usize, what: &str) -> Result<T, String> {
    table
        .get(number)
        .cloned()
        .ok_or_else(|| format!("there is no {what} {number}"))
}
