//! From JSON values to domain values. An invalid value is an error: we wrote it, so something has
//! changed it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::graph::rules::RECORDED;
use towpath_core::graph::{ChannelName, Pattern, Share};
use towpath_core::verdict::{Answer, Reason, Value, Verdict, code_named};
use towpath_core::version::{Arch, Version};
use towpath_core::{finding, fleet as core};

use super::wire::{self, Part, Rest, Text};
use super::{codes, sort};

const FINAL_IN_FIRST_FORMAT: [&str; 5] = [
    "HardBlock",
    "BlockNotUnderstood",
    "PlatformBlocked",
    "PlatformUnknown",
    "PayloadDisputed",
];

/// Puts the parts together again.
pub(super) fn join(
    parts: BTreeMap<String, Part<'_>>,
    rest: Rest<'_>,
) -> Result<core::FleetInput, String> {
    let mut join = Join::default();
    let mut input = core::FleetInput::default();
    for (id, part) in parts {
        join.part(id, part, &mut input)?;
    }
    for upgrade in rest.upgrades {
        input.upgrades.push(join.upgrade(upgrade)?);
    }
    input.gates = rest.gates.into_iter().map(|gate| join.gate(gate)).collect();
    input.pauses = rest
        .pauses
        .into_iter()
        .map(|pause| join.pause(pause))
        .collect::<Result<_, _>>()?;
    for (id, minimum) in rest.inherited {
        input
            .inherited
            .insert(join.name(&id), join.minimum(minimum)?);
    }
    sort(&mut input);
    Ok(input)
}

/// Texts that were read before: names, versions, patterns and schedules are shared.
#[derive(Default)]
struct Join {
    names: BTreeSet<core::Name>,
    files: BTreeSet<Arc<str>>,
    versions: BTreeMap<String, Version>,
    patterns: BTreeMap<String, Pattern>,
    schedules: BTreeMap<String, core::Schedule>,
}

impl Join {
    fn part(
        &mut self,
        id: String,
        part: Part<'_>,
        input: &mut core::FleetInput,
    ) -> Result<(), String> {
        let id = self.name(&id);
        let policies: Vec<core::UpgradePolicy> = part
            .policies
            .into_iter()
            .map(|policy| self.policy(policy))
            .collect::<Result<_, _>>()?;
        if let Some(organisation) = part.organisation {
            let organisation = self.organisation(organisation, &policies)?;
            input.policy.organisations.insert(id.clone(), organisation);
        }
        let mut offers: Vec<Arc<[core::Offer]>> = Vec::new();
        for list in part.offers {
            offers.push(
                list.into_iter()
                    .map(|offer| self.offer(offer))
                    .collect::<Result<_, _>>()?,
            );
        }
        for cluster in part.clusters {
            input.clusters.push(self.cluster(cluster, &id, &offers)?);
        }
        for upgrade in part.upgrades {
            input.upgrades.push(self.upgrade(upgrade)?);
        }
        for soak in part.soak {
            input.soak.push(core::SoakSum {
                organisation: id.clone(),
                workload: self.name(&soak.workload),
                version: self.version(&soak.version)?,
                seconds: soak.seconds,
            });
        }
        for approval in part.approvals {
            input.approvals.push(core::Approval {
                organisation: id.clone(),
                cluster: approval.cluster.map(|name| self.name(&name)),
                version: self.version(&approval.version)?,
                by: self.name(&approval.by),
                at: parse(&approval.at)?,
            });
        }
        Ok(())
    }

    fn name(&mut self, text: &str) -> core::Name {
        shared(&mut self.names, text)
    }

    fn names<C: FromIterator<core::Name>>(&mut self, texts: Vec<Text<'_>>) -> C {
        texts.into_iter().map(|text| self.name(&text)).collect()
    }

    fn version(&mut self, text: &str) -> Result<Version, String> {
        remembered(&mut self.versions, text, |text| {
            text.parse::<Version>().map_err(|error| error.to_string())
        })
    }

    fn schedule(&mut self, text: &str) -> Result<core::Schedule, String> {
        remembered(&mut self.schedules, text, parse)
    }

    fn patterns(&mut self, texts: Vec<Text<'_>>) -> Result<Vec<Pattern>, String> {
        let pattern = |text: &str| Pattern::new(text).map_err(|error| format!("{text:?}: {error}"));
        texts
            .into_iter()
            .map(|text| remembered(&mut self.patterns, &text, pattern))
            .collect()
    }

    fn place(&mut self, (file, line, column): wire::Place<'_>) -> finding::Place {
        finding::Place {
            file: shared(&mut self.files, &file),
            line,
            column,
        }
    }

    fn findings(&mut self, from: Vec<wire::Finding<'_>>) -> Vec<finding::Finding> {
        let severity = |error| {
            if error {
                finding::Severity::Error
            } else {
                finding::Severity::Warning
            }
        };
        let finding = |from: wire::Finding<'_>| finding::Finding {
            severity: severity(from.error),
            place: self.place(from.place),
            code: codes::of(&from.code),
            problem: from.problem.into_owned(),
            remedy: from.remedy.into_owned(),
        };
        from.into_iter().map(finding).collect()
    }

    fn organisation(
        &mut self,
        from: wire::Organisation<'_>,
        policies: &[core::UpgradePolicy],
    ) -> Result<core::Organisation, String> {
        let policy = |number: usize| numbered(policies, number, "policy");
        let mut clusters = Vec::with_capacity(from.clusters.len());
        for entry in from.clusters {
            clusters.push(core::ClusterPolicy {
                name: Arc::from(&*entry.name),
                id: entry.id.map(|id| cluster_id(&id)).transpose()?,
                policy: policy(entry.policy)?,
                left_alone: entry
                    .left_alone
                    .map(|(integration, origin)| core::LeftAlone {
                        integration: self.name(&integration),
                        origin: self.place(origin),
                    }),
                problems: self.findings(entry.problems),
                origin: self.place(entry.origin),
            });
        }
        let mut defaults = Vec::with_capacity(from.defaults.len());
        for entry in from.defaults {
            defaults.push(core::PolicyDefault {
                name: self.name(&entry.name),
                match_labels: labels(entry.match_labels),
                policy: policy(entry.policy)?,
                problems: self.findings(entry.problems),
                origin: self.place(entry.origin),
            });
        }
        let sectors = from
            .sectors
            .into_iter()
            .map(|(name, sector)| (self.name(&name), self.sector(sector)))
            .collect();
        Ok(core::Organisation {
            id: self.name(&from.id),
            name: self.name(&from.name),
            environment: from.environment.map(|name| self.name(&name)),
            blocked_versions: self.patterns(from.blocked_versions)?,
            sectors,
            clusters,
            defaults,
            inherits_from: self.names(from.inherits_from),
            shared_mutexes: self.names(from.shared_mutexes),
            disabled: from.disabled,
            origin: self.place(from.origin),
        })
    }

    fn sector(&mut self, from: wire::Sector<'_>) -> core::Sector {
        core::Sector {
            name: self.name(&from.name),
            depends_on: self.names(from.depends_on),
            max_parallel: from.max_parallel.map(|limit| match limit {
                wire::Parallel::Count(count) => core::Parallel::Count(count),
                wire::Parallel::Percent(percent) => core::Parallel::Percent(percent),
            }),
            max_failures: from.max_failures,
            straggler_days: from.straggler_days,
            origin: self.place(from.origin),
        }
    }

    fn policy(&mut self, from: wire::Policy<'_>) -> Result<core::UpgradePolicy, String> {
        Ok(core::UpgradePolicy {
            workloads: self.names(from.workloads),
            schedule: from.schedule.map(|text| self.schedule(&text)).transpose()?,
            soak_days: from.soak_days,
            mutexes: self.names(from.mutexes),
            sector: from.sector.map(|name| self.name(&name)),
            blocked_versions: self.patterns(from.blocked_versions)?,
            gate_approvals: self.names(from.gate_approvals),
            windows: from
                .windows
                .into_iter()
                .map(|window| self.window(window))
                .collect::<Result<_, _>>()?,
            exclusions: from
                .exclusions
                .into_iter()
                .map(|entry| self.exclusion(entry))
                .collect::<Result<_, _>>()?,
            needs_approval: from.needs_approval,
            pin: from.pin.map(|text| self.version(&text)).transpose()?,
            accepted_risks: self.names(from.accepted_risks),
        })
    }

    fn window(&mut self, from: wire::Window<'_>) -> Result<core::MaintenanceWindow, String> {
        Ok(core::MaintenanceWindow {
            begins: self.schedule(&from.begins)?,
            lasts: parse(&from.lasts)?,
            time_zone: parse(&from.time_zone)?,
        })
    }

    fn exclusion(&mut self, from: wire::Exclusion<'_>) -> Result<core::Exclusion, String> {
        Ok(core::Exclusion {
            from: parse(&from.from)?,
            until: parse(&from.until)?,
            time_zone: parse(&from.time_zone)?,
            why: from.why.map(|why| self.name(&why)),
        })
    }

    fn cluster(
        &mut self,
        from: wire::Cluster<'_>,
        organisation: &core::Name,
        offers: &[Arc<[core::Offer]>],
    ) -> Result<core::ClusterState, String> {
        let channel = |name: Text<'_>| {
            ChannelName::new(&name).ok_or_else(|| format!("{name:?} is no channel"))
        };
        let platform =
            |name: Text<'_>| Platform::new(&name).ok_or_else(|| format!("{name:?} is no platform"));
        Ok(core::ClusterState {
            id: cluster_id(&from.id)?,
            name: Arc::from(&*from.name),
            organisation: organisation.clone(),
            binding: if from.unbound {
                core::Binding::Unbound
            } else {
                core::Binding::Bound
            },
            version: self.version(&from.version)?,
            going_to: from.going_to.map(|text| self.version(&text)).transpose()?,
            version_since: parse(&from.version_since)?,
            last_seen: parse(&from.last_seen)?,
            health: match from.unhealthy {
                None => core::Health::Healthy,
                Some(why) => core::Health::Unhealthy {
                    why: self.name(&why),
                },
            },
            channel: from.channel.map(channel).transpose()?,
            arch: Arch::new(self.name(&from.arch)),
            platform: Fact::from(from.platform.map(platform).transpose()?),
            labels: labels(from.labels),
            product: match from.pools {
                None => core::Product::Standalone,
                Some(pools) => core::Product::HostedControlPlane {
                    pools: self.pools(pools)?,
                },
            },
            sts: from.sts.into(),
            wif: from.wif.into(),
            offers: numbered(offers, from.offers, "list of offers")?,
            acknowledged_gates: self.names(from.acknowledged_gates),
        })
    }

    fn pools(&mut self, from: Vec<(Text<'_>, Text<'_>)>) -> Result<Vec<core::NodePool>, String> {
        let pool = |(id, version): (Text<'_>, Text<'_>)| {
            Ok(core::NodePool {
                id: self.name(&id),
                version: self.version(&version)?,
            })
        };
        from.into_iter().map(pool).collect()
    }

    fn offer(&mut self, from: wire::Offer<'_>) -> Result<core::Offer, String> {
        let objection = match (from.objection, from.hold) {
            (Some(objection), _) => Some(Box::new(self.objection(objection)?)),
            (None, Some(hold)) => Some(Box::new(self.first_format(hold)?)),
            (None, None) => None,
        };
        Ok(core::Offer {
            version: self.version(&from.version)?,
            objection,
        })
    }

    fn objection(&mut self, from: wire::Objection<'_>) -> Result<core::GraphObjection, String> {
        let until = from.until.map(|until| parse(&until)).transpose()?;
        let reasons = from.reasons.into_iter().map(reason);
        let verdict = Verdict {
            answer: match from.is_no {
                true => Answer::Refuse,
                false => Answer::Wait { until },
            },
            reasons: reasons.collect::<Result<_, _>>()?,
        };
        Ok(core::GraphObjection {
            verdict,
            risks: self.names(from.risks),
        })
    }

    /// The first format has a reason's code and sentence, and says nothing of the answer: these codes, and a risk, were a no.
    fn first_format(&mut self, from: wire::OfferHold<'_>) -> Result<core::GraphObjection, String> {
        let until = from.until.map(|until| parse(&until)).transpose()?;
        let recorded = |(code, sentence): (Text<'_>, Text<'_>)| {
            RECORDED.because([("code", (&*code).into()), ("text", (&*sentence).into())])
        };
        let is_no = |(code, _): &(Text<'_>, Text<'_>)| FINAL_IN_FIRST_FORMAT.contains(&&**code);
        let answer = match from.reasons.iter().any(is_no) || !from.risks.is_empty() {
            true => Answer::Refuse,
            false => Answer::Wait { until },
        };
        let verdict = Verdict {
            answer,
            reasons: from.reasons.into_iter().map(recorded).collect(),
        };
        Ok(core::GraphObjection {
            verdict,
            risks: self.names(from.risks),
        })
    }

    fn upgrade(&mut self, from: wire::Upgrade<'_>) -> Result<core::Upgrade, String> {
        let state = core::UpgradeState::of_code(&from.state)
            .ok_or_else(|| format!("{:?} is no state", from.state))?;
        let owner = core::Owner::of_code(&from.owner)
            .ok_or_else(|| format!("{:?} is no owner", from.owner))?;
        Ok(core::Upgrade {
            id: core::UpgradeId(from.id),
            cluster: cluster_id(&from.cluster)?,
            pool: from.pool.map(|pool| self.name(&pool)),
            from: self.version(&from.from)?,
            to: self.version(&from.to)?,
            state,
            owner,
            start_at: parse(&from.start_at)?,
            changed_at: parse(&from.changed_at)?,
            failures: from.failures,
            note: from.note.map(|note| self.name(&note)),
        })
    }

    fn gate(&mut self, from: wire::GateEntry<'_>) -> core::VersionGate {
        core::VersionGate {
            id: self.name(&from.id),
            version_prefix: self.name(&from.version_prefix),
            label: self.name(&from.label),
        }
    }

    fn pause(&mut self, from: wire::Pause<'_>) -> Result<core::Pause, String> {
        Ok(core::Pause {
            organisation: from.organisation.map(|name| self.name(&name)),
            sector: from.sector.map(|name| self.name(&name)),
            by: self.name(&from.by),
            at: parse(&from.at)?,
            why: self.name(&from.why),
        })
    }

    fn minimum(&mut self, from: wire::Minimum<'_>) -> Result<core::Minimum, String> {
        let version = from.version.map(|text| self.version(&text)).transpose()?;
        let mut of_workload = BTreeMap::new();
        for (workload, text) in from.of_workload {
            of_workload.insert(self.name(&workload), self.version(&text)?);
        }
        Ok(core::Minimum {
            version,
            of_workload,
        })
    }
}

fn shared(known: &mut BTreeSet<Arc<str>>, text: &str) -> Arc<str> {
    if let Some(name) = known.get(text) {
        return name.clone();
    }
    let name: Arc<str> = text.into();
    known.insert(name.clone());
    name
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

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}

fn cluster_id(text: &str) -> Result<ClusterId, String> {
    ClusterId::as_recorded(text).ok_or_else(|| format!("{text:?} is no cluster's id"))
}

fn labels(from: BTreeMap<Text<'_>, Text<'_>>) -> core::Labels {
    from.into_iter()
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

fn reason(from: wire::Reason<'_>) -> Result<Reason, String> {
    let code = code_named(&from.code);
    let code = code.ok_or_else(|| format!("there is no reason {:?}", from.code))?;
    let facts = from
        .facts
        .into_iter()
        .map(|(name, from)| Ok((name.into_owned(), value(from)?)));
    let reason = code.recorded(facts.collect::<Result<_, String>>()?);
    let reason =
        reason.ok_or_else(|| format!("a reason {:?} has facts that none has", from.code))?;
    let until = from.until.map(|until| parse(&until)).transpose()?;
    let reason = reason.until(until);
    Ok(match from.place {
        Some((file, line, column)) => reason.at(&finding::Place::file(&*file).at(line, column)),
        None => reason,
    })
}

fn value(from: wire::FactValue<'_>) -> Result<Value, String> {
    Ok(match from {
        wire::FactValue::Text(text) => (&*text).into(),
        wire::FactValue::Number(number) => Value::Number(number),
        wire::FactValue::Seconds(seconds) => Value::Seconds(seconds),
        wire::FactValue::Time(time) => Value::Time(parse(&time)?),
        wire::FactValue::Share(parts) => Value::Share(Share::of_parts(parse(&parts)?)),
        wire::FactValue::List(values) => {
            Value::List(values.into_iter().map(value).collect::<Result<_, _>>()?)
        }
    })
}
