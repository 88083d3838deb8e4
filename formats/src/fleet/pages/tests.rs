//! Pages of a fleet that changes between them.

use std::sync::Arc;

use towpath_core::finding::Place;
use towpath_core::fleet::{FleetInput, dispatch};

use super::*;
use crate::SourceFile;
use crate::fleet::{cluster_list, policy};

const NOW: &str = "2026-11-16T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().expect("a time")
}

/// Clusters of two organisations with these numbers. All of them wait: none runs the version that is to soak.
fn fleet(numbers: impl Iterator<Item = usize>) -> (FleetPlanner, Decision) {
    let policy = |name: &str| {
        let text = format!(
            "name: {name}\norgId: {name}\nupgradePolicyDefaults:\n- name: all\n  matchLabels: {{}}\n  upgradePolicy: {{workloads: [web], schedule: '* * * * *', conditions: {{soakDays: 3}}}}\n"
        );
        SourceFile {
            path: format!("{name}.yaml"),
            bytes: Arc::from(text.into_bytes()),
        }
    };
    let read = policy::read(&[policy("a"), policy("b")]);
    assert!(
        read.findings
            .iter()
            .all(|finding| finding.code == "no-first-cluster"),
        "{:?}",
        read.findings
    );
    let cluster = |number: usize| {
        let organisation = if number.is_multiple_of(2) { "a" } else { "b" };
        json!({
            "id": format!("id-{number:05}"), "name": format!("c{number}"), "organisation": organisation,
            "version": "4.20.1", "availableUpgrades": ["4.20.2"], "lastSeen": NOW, "versionSince": NOW,
        })
    };
    let list = json!({"clusters": numbers.map(cluster).collect::<Vec<_>>()}).to_string();
    let (list, findings) = cluster_list::read(&Place::file("list"), list.as_bytes(), now());
    assert_eq!(findings, []);
    let input = FleetInput {
        policy: read.policy,
        clusters: list.clusters,
        ..FleetInput::default()
    };
    dispatch(input, now())
}

fn clusters(page: &Value) -> Vec<String> {
    let lists = ["starts", "waiting"].map(|list| page[list].as_array().expect("a list"));
    lists
        .into_iter()
        .flatten()
        .map(|one| one["cluster"].as_str().expect("an id").to_owned())
        .collect()
}

fn next(page: &Value) -> Option<Cursor> {
    page["next"]
        .as_str()
        .map(|next| cursor::read(next).expect("a cursor of ours"))
}

#[test]
fn whoever_stays_is_on_exactly_one_page_whatever_becomes_of_the_others() {
    let before = fleet((0..60).filter(|number| number % 10 != 3));
    // Half way, every tenth has come and another tenth has gone.
    let later = fleet((0..60).filter(|number| number % 10 != 6));
    let (mut seen, mut pages) = (Vec::new(), 0);
    let mut filter = Filter {
        limit: Some(7),
        ..Filter::default()
    };
    loop {
        let (desk, decision) = if pages < 4 { &before } else { &later };
        let page = plan(desk, decision, None, &filter).expect("a page");
        assert!(clusters(&page).len() <= 7, "{page}");
        seen.extend(clusters(&page));
        pages += 1;
        filter.after = next(&page);
        if filter.after.is_none() {
            break;
        }
    }
    assert!(pages >= 8, "{pages}");
    for number in (0..60).filter(|number| ![3, 6].contains(&(number % 10))) {
        let id = format!("id-{number:05}");
        assert_eq!(
            seen.iter().filter(|one| **one == id).count(),
            1,
            "{id} in {seen:?}"
        );
    }
}

#[test]
fn all_pages_together_are_the_whole_plan() {
    let (desk, decision) = fleet(0..300);
    let whole = shown::plan(&desk, &Filter::default().plan(&desk, &decision), None, None);
    let mut filter = Filter {
        limit: Some(100),
        ..Filter::default()
    };
    let mut seen = Vec::new();
    while let page = plan(&desk, &decision, None, &filter).expect("a page")
        && let Some(cursor) = {
            seen.extend(clusters(&page));
            next(&page)
        }
    {
        filter.after = Some(cursor);
    }
    let mut expected = clusters(&whole);
    expected.sort();
    seen.sort();
    assert_eq!((seen.len(), seen), (300, expected));
}

#[test]
fn a_page_looks_at_so_many_clusters_and_no_more() {
    let (desk, decision) = fleet(0..MAX_LOOKED_AT + 5);
    let nobody = Filter {
        held_by: Some("pin".into()),
        ..Filter::default()
    };
    let page = plan(&desk, &decision, None, &nobody).expect("a page");
    assert_eq!(clusters(&page), [""; 0]);
    let rest = plan(
        &desk,
        &decision,
        None,
        &Filter {
            after: next(&page),
            ..nobody
        },
    )
    .expect("a page");
    assert_eq!((clusters(&rest).len(), next(&rest)), (0, None));
}

#[test]
fn rows_follow_each_other_too() {
    let (desk, decision) = fleet(0..2 * MAX_NAMES + 20);
    let mut filter = Filter {
        limit: Some(1),
        ..Filter::default()
    };
    for (organisation, is_last) in [("a", false), ("b", true)] {
        let rows = [
            status(&desk, &decision, &filter),
            history(&desk, &filter, now()),
        ]
        .map(|rows| rows.expect("a page"));
        for page in &rows {
            assert_eq!(
                (
                    &page["entries"][0]["organisation"],
                    page["entries"].as_array().map(Vec::len)
                ),
                (&json!(organisation), Some(1))
            );
            assert_eq!(page["next"].is_null(), is_last);
        }
        let row = &rows[1]["entries"][0];
        assert_eq!(
            (
                row["clusters"].as_array().map(Vec::len),
                &row["clustersLeftOut"]
            ),
            (Some(MAX_NAMES), &json!(10))
        );
        let after_history = Filter {
            after: next(&rows[1]),
            ..filter.clone()
        };
        if !is_last {
            assert_eq!(
                history(&desk, &after_history, now()).expect("a page")["entries"][0]["organisation"],
                "b"
            );
        }
        filter.after = next(&rows[0]);
        if filter.after.is_some() {
            // The cursor of one list is none of the other's, though both have three names.
            assert!(history(&desk, &filter, now()).is_err());
            filter.after = None;
            filter.organisation = Some("b".into());
        }
    }
    let foreign = Filter {
        after: Some(Cursor(vec!["x".to_owned()])),
        ..Filter::default()
    };
    for page in [
        plan(&desk, &decision, None, &foreign),
        status(&desk, &decision, &foreign),
        forecast(Outlook::default(), &foreign),
    ] {
        assert!(page.is_err_and(|error| error.contains("leave it out")));
    }
}
