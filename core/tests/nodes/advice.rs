//! The adviser: what is told of a DaemonSet, and which lever works where.

use expect_test::{Expect, expect};
use towpath_core::duration::{MaxUnavailable, Parameters};
use towpath_core::nodes::{DaemonOwner, DaemonSetFacts, UpdateStrategy, advise};
use towpath_core::version::Minor;

/// `people shop/agent 250 nodes at 1 ports 9100`, `operator openshift-multus/multus 250 nodes at 10%`.
fn set(line: &str) -> DaemonSetFacts {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |word: &str| {
        let at = words.iter().position(|other| *other == word)?;
        words.get(at + 1).copied()
    };
    let amount = |word: &str| after(word).and_then(MaxUnavailable::read);
    let number = |word: &str| after(word).map(|text| text.parse::<u32>().unwrap());
    let (namespace, name) = words[1].split_once('/').unwrap();
    let desired: u32 = words[2].parse().unwrap();
    DaemonSetFacts {
        namespace: namespace.into(),
        name: name.into(),
        owner: match words[0] {
            "people" => DaemonOwner::People,
            _ => DaemonOwner::Operator(namespace.into()),
        },
        strategy: match words.contains(&"ondelete") {
            true => UpdateStrategy::OnDelete,
            false => UpdateStrategy::Rolling {
                max_unavailable: amount("at"),
                max_surge: amount("surge"),
            },
        },
        desired,
        updated: number("updated").unwrap_or(desired),
        unavailable: number("unavailable").unwrap_or(0),
        min_ready_seconds: number("wait").unwrap_or(0),
        host_ports: number("port").into_iter().collect(),
        pulled_always: after("pulls").map(Into::into).into_iter().collect(),
        in_waves: words.contains(&"waves"),
    }
}

fn check(kubernetes: Option<(u64, u64)>, lines: &str, expected: Expect) {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let sets: Vec<DaemonSetFacts> = lines.map(set).collect();
    let kubernetes = kubernetes.map(|(major, minor)| Minor::new(major, minor));
    let advice = advise(&sets, kubernetes, &Parameters::usual());
    let mut told = String::new();
    for one in &advice.sets {
        let seconds = one
            .seconds
            .map_or_else(|| "?".to_owned(), |seconds| seconds.to_string());
        told += &format!(
            "{}: {seconds} s, {} s by tenths\n",
            one.set.full_name(),
            one.by_tenths
        );
        for reason in &one.reasons {
            told += &format!("  {} {}\n", reason.code().name, reason.text());
        }
    }
    for reason in &advice.together {
        told += &format!("{} {}\n", reason.code().name, reason.text());
    }
    told += &format!("settle something: {}\n", advice.objects());
    expected.assert_eq(&told);
}

#[test]
fn people_are_told_what_helps_and_operators_are_left_alone() {
    check(
        Some((1, 29)),
        "people shop/agent 250 at 1
         operator openshift-multus/multus 250 at 1
         operator openshift-dns/dns-default 250 at 10%",
        expect![[r#"
            openshift-multus/multus: 4800 s, 600 s by tenths
              OperatorRollsSlowly DaemonSet openshift-multus/multus is set by openshift-multus, and replaces 1 pod at once on 250 nodes: about 1 h 20 min of each update that changes it, and with 10 % at once 10 min
            shop/agent: 4800 s, 600 s by tenths
              DaemonSetRollsSlowly DaemonSet shop/agent replaces 1 pod at once on 250 nodes: each of its updates takes about 1 h 20 min, and with 10 % at once 10 min
              DaemonSetCanSurge DaemonSet shop/agent could start each new pod before the old one goes, so that no node is without it
              ImageCanBePulledAhead each of 250 nodes pulls the new image of DaemonSet shop/agent after its old pod has gone
            openshift-dns/dns-default: 600 s, 600 s by tenths
            settle something: true
        "#]],
    );
}

#[test]
fn surge_needs_a_newer_kubernetes_and_no_ports() {
    for (kubernetes, line) in [
        (Some((1, 21)), "people a/b 250 at 10%"),
        (Some((1, 22)), "people a/b 250 at 10%"),
        (None, "people a/b 250 at 10%"),
        (Some((1, 29)), "people a/b 250 at 10% port 9100"),
        (Some((1, 29)), "people a/b 250 surge 10%"),
        (Some((1, 29)), "people a/b 250 surge 10% port 9100"),
        // What is over in a minute is left alone.
        (Some((1, 29)), "people a/b 3 at 1"),
    ] {
        let sets = [set(line)];
        let kubernetes = kubernetes.map(|(major, minor)| Minor::new(major, minor));
        let advice = advise(&sets, kubernetes, &Parameters::usual());
        let surge: Vec<&str> = advice.sets[0]
            .reasons
            .iter()
            .map(|reason| reason.code().name)
            .filter(|name| name.contains("Surge"))
            .collect();
        let expected: &[&str] = match line {
            "people a/b 250 surge 10%" | "people a/b 3 at 1" => &[],
            "people a/b 250 surge 10% port 9100" => &["SurgeNeedsPortsTwice"],
            _ if kubernetes == Some(Minor::new(1, 22)) => &["DaemonSetCanSurge"],
            _ => &["DaemonSetCannotSurge"],
        };
        assert_eq!(surge, expected, "{line} on {kubernetes:?}");
    }
}

#[test]
fn what_waits_for_deletes_can_opt_in_to_waves() {
    check(
        Some((1, 20)),
        "people shop/agent 250 ondelete updated 40
         people shop/probe 250 ondelete updated 40 waves
         operator openshift-sdn/sdn 250 ondelete updated 40",
        expect![[r#"
            openshift-sdn/sdn: ? s, 600 s by tenths
              OperatorWaitsForDeletes DaemonSet openshift-sdn/sdn has updateStrategy OnDelete, and openshift-sdn decides when its pods go: 210 of 250 nodes have an older one
            shop/agent: ? s, 600 s by tenths
              DaemonSetWaitsForDeletes DaemonSet shop/agent has updateStrategy OnDelete: 210 of 250 nodes keep an older pod until somebody deletes it
              ImageCanBePulledAhead each of 250 nodes pulls the new image of DaemonSet shop/agent after its old pod has gone
            shop/probe: ? s, 600 s by tenths
              ImageCanBePulledAhead each of 250 nodes pulls the new image of DaemonSet shop/probe after its old pod has gone
            settle something: true
        "#]],
    );
}

#[test]
fn several_of_people_can_go_side_by_side() {
    check(
        Some((1, 20)),
        "people shop/agent 100 at 10%
         people shop/probe 50 at 2 wait 30
         people shop/small 3 at 1 pulls registry.example/a:latest
         operator openshift-dns/dns-default 100 at 10% updated 30 unavailable 10",
        expect![[r#"
            shop/probe: 1336 s, 618 s by tenths
              DaemonSetRollsSlowly DaemonSet shop/probe replaces 2 pods at once on 50 nodes: each of its updates takes about 22 min, and with 10 % at once 10 min
              DaemonSetCannotSurge DaemonSet shop/probe cannot use maxSurge: it needs Kubernetes 1.22, and the cluster has 1.20
              ImageCanBePulledAhead each of 50 nodes pulls the new image of DaemonSet shop/probe after its old pod has gone
            openshift-dns/dns-default: 413 s, 413 s by tenths
              DaemonSetInRollout DaemonSet openshift-dns/dns-default is in the middle of a rollout: 30 of 100 nodes have the newest pod; 10 have none that is available, and the next node waits for them
            shop/agent: 413 s, 413 s by tenths
              DaemonSetCannotSurge DaemonSet shop/agent cannot use maxSurge: it needs Kubernetes 1.22, and the cluster has 1.20
              ImageCanBePulledAhead each of 100 nodes pulls the new image of DaemonSet shop/agent after its old pod has gone
            shop/small: 58 s, 58 s by tenths
              DaemonSetAsksARegistry each start of a pod of DaemonSet shop/small asks a registry for registry.example/a:latest (imagePullPolicy: Always)
            DaemonSetsCanGoSideBySide DaemonSets shop/probe, shop/agent, shop/small are set by people: one after the other they take about 30 min, and side by side 22 min
            settle something: true
        "#]],
    );
}
