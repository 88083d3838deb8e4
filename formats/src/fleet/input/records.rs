//! The stored JSON, field by field.
//!
//! It mirrors the domain because core does not know serde, and because stored entries must keep
//! their bytes when a domain type changes. serde's remote derive would copy fields for us. But its
//! readers cannot share names, versions and patterns, so a replay of a large fleet would need far
//! more memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towpath_core::{finding, fleet as core, version};

use super::parts::sorted;
use super::stored::{Join, Parallel, Risk, Stored, Tables, Text, ThePart, store_all};

/// Objects: their fields are named and ordered as in the JSON, and each keeps the field of that name.
macro_rules! objects {
    ($($room:ident::$domain:ident as $name:ident {
        $($(#[$attribute:meta])* $field:ident: $wire:ty,)+
    })+) => {$(
        #[derive(Serialize, Deserialize)]
        pub(super) struct $name<'a> {
            $($(#[$attribute])* $field: $wire,)+
        }

        impl<'a> Stored<'a, $room::$domain> for $name<'a> {
            fn store(from: &'a $room::$domain, tables: &Tables<'a>) -> Self {
                Self { $($field: Stored::store(&from.$field, tables)),+ }
            }
            fn restore(self, join: &mut Join) -> Result<$room::$domain, String> {
                Ok($room::$domain { $($field: self.$field.restore(join)?),+ })
            }
        }
    )+};
}

/// Lists of a fixed length: the fields have no names in the JSON.
macro_rules! rows {
    ($($room:ident::$domain:ident as ($($field:ident: $wire:ty),+);)+) => {$(
        impl<'a> Stored<'a, $room::$domain> for ($($wire),+) {
            fn store(from: &'a $room::$domain, tables: &Tables<'a>) -> Self {
                ($(Stored::store(&from.$field, tables)),+)
            }
            fn restore(self, join: &mut Join) -> Result<$room::$domain, String> {
                let ($($field),+) = self;
                Ok($room::$domain { $($field: $field.restore(join)?),+ })
            }
        }
    )+};
}

pub(super) type Place<'a> = (Text<'a>, u32, u32);

rows! {
    finding::Place as (file: Text<'a>, line: u32, column: u32);
    core::LeftAlone as (integration: Text<'a>, origin: Place<'a>);
    core::NodePool as (id: Text<'a>, version: Text<'a>);
}

objects! {
    core::Organisation as Organisation {
        id: Text<'a>,
        name: Text<'a>,
        environment: Option<Text<'a>>,
        blocked_versions: Vec<Text<'a>>,
        sectors: BTreeMap<Text<'a>, Sector<'a>>,
        clusters: Vec<ClusterPolicy<'a>>,
        defaults: Vec<PolicyDefault<'a>>,
        inherits_from: Vec<Text<'a>>,
        shared_mutexes: Vec<Text<'a>>,
        disabled: bool,
        origin: Place<'a>,
    }

    finding::Finding as Finding {
        #[serde(rename = "error")]
        severity: bool,
        place: Place<'a>,
        code: Text<'a>,
        problem: Text<'a>,
        remedy: Text<'a>,
    }

    core::Sector as Sector {
        name: Text<'a>,
        depends_on: Vec<Text<'a>>,
        max_parallel: Option<Parallel>,
        max_failures: Option<u32>,
        straggler_days: Option<u32>,
        origin: Place<'a>,
    }

    core::ClusterPolicy as ClusterPolicy {
        name: Text<'a>,
        id: Option<Text<'a>>,
        /// Its number in the table.
        policy: usize,
        /// The integration that is disabled for it, and where.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_alone: Option<(Text<'a>, Place<'a>)>,
        problems: Vec<Finding<'a>>,
        origin: Place<'a>,
    }

    core::PolicyDefault as PolicyDefault {
        name: Text<'a>,
        match_labels: BTreeMap<Text<'a>, Text<'a>>,
        /// Its number in the table.
        policy: usize,
        problems: Vec<Finding<'a>>,
        origin: Place<'a>,
    }

    core::UpgradePolicy as Policy {
        workloads: Vec<Text<'a>>,
        schedule: Option<Text<'a>>,
        soak_days: Option<u32>,
        mutexes: Vec<Text<'a>>,
        sector: Option<Text<'a>>,
        blocked_versions: Vec<Text<'a>>,
        gate_approvals: Vec<Text<'a>>,
        windows: Vec<Window<'a>>,
        exclusions: Vec<Exclusion<'a>>,
        needs_approval: bool,
        pin: Option<Text<'a>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<Text<'a>>,
        accepted_risks: Vec<Risk<'a>>,
        /// Only said where one is wanted. Before there were such, none was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preflight: Option<Text<'a>>,
    }

    core::MaintenanceWindow as Window {
        begins: Text<'a>,
        lasts: Text<'a>,
        time_zone: Text<'a>,
    }

    core::Exclusion as Exclusion {
        from: Text<'a>,
        until: Text<'a>,
        time_zone: Text<'a>,
        why: Option<Text<'a>>,
    }

    core::ClusterState as Cluster {
        id: Text<'a>,
        name: Text<'a>,
        #[serde(skip)]
        organisation: ThePart,
        version: Text<'a>,
        going_to: Option<Text<'a>>,
        version_since: Text<'a>,
        last_seen: Text<'a>,
        /// Why it is not healthy; none: it is.
        #[serde(rename = "unhealthy")]
        health: Option<Text<'a>>,
        channel: Option<Text<'a>>,
        arch: Text<'a>,
        platform: Option<Text<'a>>,
        labels: BTreeMap<Text<'a>, Text<'a>>,
        /// Node pools and their versions; none: it is no hosted control plane.
        #[serde(rename = "pools")]
        product: Option<Vec<(Text<'a>, Text<'a>)>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sts: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wif: Option<bool>,
        /// Their number in the table.
        offers: usize,
        acknowledged_gates: Vec<Text<'a>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        available_channels: Option<Vec<Text<'a>>>,
        /// Only said of those that are not bound. Before there were such, all were.
        #[serde(rename = "unbound", default, skip_serializing_if = "std::ops::Not::not")]
        binding: bool,
    }

    core::Upgrade as Upgrade {
        id: i64,
        cluster: Text<'a>,
        pool: Option<Text<'a>>,
        from: Text<'a>,
        to: Text<'a>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<Text<'a>>,
        state: Text<'a>,
        owner: Text<'a>,
        start_at: Text<'a>,
        changed_at: Text<'a>,
        failures: u32,
        note: Option<Text<'a>>,
    }

    core::SoakSum as Soak {
        #[serde(skip)]
        organisation: ThePart,
        workload: Text<'a>,
        version: Text<'a>,
        seconds: i64,
    }

    core::Approval as Approval {
        #[serde(skip)]
        organisation: ThePart,
        cluster: Option<Text<'a>>,
        version: Text<'a>,
        by: Text<'a>,
        at: Text<'a>,
    }

    core::WithdrawnApproval as WithdrawnApproval {
        organisation: Text<'a>,
        cluster: Option<Text<'a>>,
        version: Text<'a>,
        by: Text<'a>,
        at: Text<'a>,
        why: Text<'a>,
    }

    core::WithdrawnAcknowledgement as WithdrawnAcknowledgement {
        cluster: Text<'a>,
        gate: Text<'a>,
        by: Text<'a>,
        at: Text<'a>,
        why: Text<'a>,
    }

    core::CancelledUpgrade as CancelledUpgrade {
        cluster: Text<'a>,
        pool: Option<Text<'a>>,
        version: Text<'a>,
        by: Text<'a>,
        at: Text<'a>,
        why: Text<'a>,
    }

    core::Preflight as Preflight {
        cluster: Text<'a>,
        version: Text<'a>,
        from: Text<'a>,
        id: Text<'a>,
        by: Text<'a>,
        state: Text<'a>,
        why: Text<'a>,
        risks: Vec<Text<'a>>,
        at: Text<'a>,
    }

    core::VersionGate as Gate {
        id: Text<'a>,
        version_prefix: Text<'a>,
        label: Text<'a>,
    }

    core::Pause as Pause {
        organisation: Option<Text<'a>>,
        sector: Option<Text<'a>>,
        by: Text<'a>,
        at: Text<'a>,
        why: Text<'a>,
    }

    core::Minimum as Minimum {
        version: Option<Text<'a>>,
        of_workload: BTreeMap<Text<'a>, Text<'a>>,
    }

    version::MinorRow as MinorColumns {
        next: Vec<Text<'a>>,
        skips: Vec<Text<'a>>,
        kubernetes: Option<Text<'a>>,
        kubelet_skew: Option<u8>,
        hosted_kubelet_skew: Option<u8>,
        is_eus: bool,
        unverified: Vec<Text<'a>>,
    }
}

/// What people have taken back; every list sorted.
#[derive(Serialize, Deserialize)]
pub(super) struct TakenBack<'a> {
    approvals: Vec<WithdrawnApproval<'a>>,
    acknowledgements: Vec<WithdrawnAcknowledgement<'a>>,
    upgrades: Vec<CancelledUpgrade<'a>>,
}

impl<'a> Stored<'a, core::TakenBack> for TakenBack<'a> {
    fn store(from: &'a core::TakenBack, tables: &Tables<'a>) -> Self {
        Self {
            approvals: store_all(sorted(&from.approvals), tables),
            acknowledgements: store_all(sorted(&from.acknowledgements), tables),
            upgrades: store_all(sorted(&from.upgrades), tables),
        }
    }
    fn restore(self, join: &mut Join) -> Result<core::TakenBack, String> {
        Ok(core::TakenBack {
            approvals: self.approvals.restore(join)?,
            acknowledgements: self.acknowledgements.restore(join)?,
            upgrades: self.upgrades.restore(join)?,
        })
    }
}

/// The table of minor versions: the columns of each.
impl<'a> Stored<'a, version::Minors> for BTreeMap<Text<'a>, MinorColumns<'a>> {
    fn store(from: &'a version::Minors, tables: &Tables<'a>) -> Self {
        Stored::store(from.rows(), tables)
    }
    fn restore(self, join: &mut Join) -> Result<version::Minors, String> {
        let rows: BTreeMap<version::Minor, version::MinorRow> = Stored::restore(self, join)?;
        Ok(version::Minors::new(rows))
    }
}
