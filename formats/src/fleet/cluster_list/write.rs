//! A list as JSON: what [`super::read`] reads comes out again.

use serde_json::{Map, Value, json};
use towpath_core::cluster::Fact;
use towpath_core::fleet::{ClusterState, Health, Minimum, Product, SoakSum, Upgrade, VersionGate};

use super::{ClusterList, ListedOrganisation};

const SECONDS_PER_DAY: f64 = 86_400.0;

/// The whole list. Empty parts are written too, as `[]`.
pub fn json(list: &ClusterList) -> Value {
    let inherited = list.inherited.iter();
    json!({
        "organisations": list.organisations.iter().map(organisation).collect::<Vec<_>>(),
        "clusters": list.clusters.iter().map(cluster).collect::<Vec<_>>(),
        "versionGates": list.gates.iter().map(gate).collect::<Vec<_>>(),
        "upgrades": list.upgrades.iter().map(upgrade).collect::<Vec<_>>(),
        "inherited": inherited.map(|(id, lowest)| (id.to_string(), minimum(lowest))).collect::<Map<_, _>>(),
        "soak": list.soak.iter().map(soak).collect::<Vec<_>>(),
    })
}

fn organisation(organisation: &ListedOrganisation) -> Value {
    json!({"id": &*organisation.id, "name": &*organisation.name, "labels": organisation.labels})
}

fn cluster(state: &ClusterState) -> Value {
    let mut fields = Map::new();
    let mut add = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    add("id", state.id.as_str().into());
    add("name", (&*state.name).into());
    add("organisation", (&*state.organisation).into());
    add("version", state.version.to_string().into());
    if let Some(to) = &state.going_to {
        add("goingTo", to.to_string().into());
    }
    add("versionSince", state.version_since.to_string().into());
    add("lastSeen", state.last_seen.to_string().into());
    match &state.health {
        Health::Healthy => add("healthy", true.into()),
        Health::Unhealthy { why } => {
            add("healthy", false.into());
            add("unhealthyReason", (&**why).into());
        }
    }
    if let Some(channel) = &state.channel {
        add("channel", channel.to_string().into());
    }
    add("arch", state.arch.to_string().into());
    if let Fact::Known(platform) = &state.platform {
        add("platform", platform.to_string().into());
    }
    add("labels", json!(state.labels));
    if let Product::HostedControlPlane { pools } = &state.product {
        let pools = pools
            .iter()
            .map(|pool| json!({"id": &*pool.id, "version": pool.version.to_string()}));
        add("hostedControlPlane", true.into());
        add("nodePools", pools.collect());
    }
    for (name, fact) in [("sts", &state.sts), ("wif", &state.wif)] {
        if let Fact::Known(fact) = fact {
            add(name, (*fact).into());
        }
    }
    add(
        "availableUpgrades",
        state
            .offers
            .iter()
            .map(|offer| offer.version.to_string())
            .collect(),
    );
    add(
        "acknowledgedGates",
        state
            .acknowledged_gates
            .iter()
            .map(|gate| gate.to_string())
            .collect(),
    );
    fields.into()
}

fn gate(gate: &VersionGate) -> Value {
    json!({"id": &*gate.id, "versionPrefix": &*gate.version_prefix, "label": &*gate.label})
}

fn upgrade(upgrade: &Upgrade) -> Value {
    let mut value = json!({
        "cluster": upgrade.cluster.as_str(),
        "from": upgrade.from.to_string(),
        "to": upgrade.to.to_string(),
        "state": upgrade.state.code(),
        "startAt": upgrade.start_at.to_string(),
    });
    if let Some(pool) = &upgrade.pool {
        value["nodePool"] = (&**pool).into();
    }
    value
}

fn minimum(minimum: &Minimum) -> Value {
    let of_workload = minimum.of_workload.iter();
    let of_workload =
        of_workload.map(|(workload, version)| (workload.to_string(), version.to_string().into()));
    let mut value = json!({"ofWorkload": of_workload.collect::<Map<String, Value>>()});
    if let Some(version) = &minimum.version {
        value["version"] = version.to_string().into();
    }
    value
}

fn soak(sum: &SoakSum) -> Value {
    json!({
        "organisation": &*sum.organisation,
        "workload": &*sum.workload,
        "version": sum.version.to_string(),
        "days": sum.seconds as f64 / SECONDS_PER_DAY,
    })
}
