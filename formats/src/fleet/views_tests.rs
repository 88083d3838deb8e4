//! The views of the example's fleet: sectors, the matrix, the calendar, clusters, and what people decided. Pages go on where the last
//! one ended.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::finding::Place;
use towpath_core::fleet::{
    ActKind, ClusterSort, Cursor, Decision, Filter, FleetInput, FleetPlanner, FleetPolicy,
    MatrixBy, PersonAct, Said, dispatch,
};

use super::standing;
use super::{agenda, cluster_list, clusters, cursor, matrix, pipeline, policy};
use crate::SourceFile;

const ORGANISATION: &[u8] = include_bytes!("../../../examples/fleet/organisation.yaml");
const LIST: &[u8] = include_bytes!("../../../examples/fleet/clusters.json");

/// A Monday at noon.
fn noon() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().expect("a time")
}

/// The example's fleet, and a cluster that no policy is about.
fn example() -> (FleetPlanner, Decision, FleetPolicy) {
    let file = SourceFile {
        path: "organisation.yaml".into(),
        bytes: Arc::from(ORGANISATION),
    };
    let policy = policy::read(&[file]).policy;
    let (mut list, _) = cluster_list::read(&Place::file("list"), LIST, noon());
    let mut stray = list.clusters[0].clone();
    (stray.id, stray.name) = (
        towpath_core::cluster::ClusterId::new("5712a9").expect("an id"),
        "Stray".into(),
    );
    stray.last_seen = "2026-11-01T12:00:00Z".parse().expect("a time");
    list.clusters.push(stray);
    let input = FleetInput {
        policy: policy.clone(),
        clusters: list.clusters,
        soak: list.soak,
        ..FleetInput::default()
    };
    let (planner, decision) = dispatch(input, noon());
    (planner, decision, policy)
}

fn names(page: &Value, list: &str) -> Vec<String> {
    let rows = page[list].as_array().expect("a list").iter();
    rows.map(|row| row["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// All pages of so many entries.
fn walked(limit: usize, list: &str, page: impl Fn(&Filter) -> Value) -> Vec<Value> {
    let mut filter = Filter {
        limit: Some(limit),
        ..Filter::default()
    };
    let mut all = Vec::new();
    for _ in 0..100 {
        let page = page(&filter);
        let rows = page[list].as_array().expect("a list").clone();
        assert!(rows.len() <= limit, "{page}");
        all.extend(rows);
        match page["next"].as_str() {
            Some(next) => filter.after = cursor::read(next),
            None => return all,
        }
    }
    panic!("there is no end of pages");
}

#[test]
fn sectors_are_in_the_order_of_the_pipeline_and_say_when_soak_is_enough() {
    let (planner, decision, _) = example();
    let page = pipeline::page(&planner, &decision, &Filter::default()).expect("a page");
    let sectors = page["organisations"][0]["sectors"]
        .as_array()
        .expect("sectors");
    let named: Vec<&str> = sectors
        .iter()
        .filter_map(|one| one["sector"].as_str())
        .collect();
    assert_eq!(named, ["stage", "production"]);
    let production = &sectors[1];
    assert_eq!(production["dependsOn"], json!(["stage"]));
    assert_eq!(production["clusters"], 3);
    assert_eq!(production["versions"], json!({"4.20.1": 1, "4.20.2": 2}));
    let soak = production["soaking"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|one| one["version"] == "4.20.4" && one["workload"] == "web")
        .expect("web waits for 4.20.4")
        .clone();
    // 2.25 of 4 days, and stage-eu alone adds to it.
    let expected = json!({
        "version": "4.20.4", "workload": "web", "haveSeconds": 194_400, "needSeconds": 345_600,
        "adding": 1, "waiting": 2, "expected": "2026-11-18T06:00:00Z",
    });
    assert_eq!(soak, expected);
    assert_eq!(production["heldBy"]["approval"], 1, "{production}");
    let text = pipeline::text(
        &Filter::default().pipeline(&planner, &decision, None, 9).0,
        crate::room::Room::default(),
    );
    assert!(text.contains("4.20.4 web 2.25/4 d until"), "{text}");
}

#[test]
fn the_matrix_counts_everybody_once_and_tells_what_each_cluster_may_take() {
    let (planner, _, _) = example();
    for by in [MatrixBy::Organisation, MatrixBy::Sector] {
        let page = matrix::page(&planner, by, &Filter::default(), noon()).expect("a page");
        let rows = page["rows"].as_array().expect("rows");
        let sum: u64 = rows.iter().filter_map(|row| row["clusters"].as_u64()).sum();
        assert_eq!(sum, 5, "{page}");
        for row in rows {
            let counts = row["counts"].as_array().expect("counts");
            assert_eq!(
                counts.len(),
                page["versions"].as_array().map_or(0, Vec::len)
            );
        }
    }
    let whole = matrix::page(&planner, MatrixBy::Cluster, &Filter::default(), noon());
    let whole = whole.expect("a page");
    assert_eq!(whole["versions"][0], "4.21.0-rc.1", "highest first");
    let shop = &whole["rows"].as_array().expect("rows")[1];
    assert_eq!(shop["name"], "shop-eu");
    // Blocked, to soak, to soak, starts now, what it runs, and what is below it.
    assert_eq!(
        shop["cells"],
        json!(["no", "wait", "wait", "yes", "runs", null])
    );
    for limit in [1, 2, 5] {
        let rows = walked(limit, "rows", |filter| {
            matrix::page(&planner, MatrixBy::Cluster, filter, noon()).expect("a page")
        });
        assert_eq!(json!(rows), whole["rows"]);
    }
}

#[test]
fn the_calendar_has_schedules_and_windows_as_spans() {
    let (planner, _, policy) = example();
    let until = "2026-11-19T00:00:00Z".parse().expect("a time");
    let page = |filter: &Filter| {
        agenda::page(&planner, &policy, filter, [noon(), until], noon()).expect("a page")
    };
    let whole = page(&Filter::default());
    let calendars = whole["calendars"].as_array().expect("a list");
    assert_eq!(calendars.len(), 3, "{whole}");
    let named = |name: &str| {
        let is_it = |one: &&Value| {
            one["names"]
                .as_array()
                .is_some_and(|all| all.contains(&name.into()))
        };
        calendars.iter().find(is_it).expect("a calendar")
    };
    let always = named("stage-us");
    let (spans, clusters) = (&always["spans"], &always["clusters"]);
    assert_eq!(
        (spans.as_array().map(Vec::len), clusters),
        (Some(1), &json!(3))
    );
    assert_eq!(spans[0]["from"], "2026-11-16T12:00:00Z");
    assert_eq!(spans[0]["until"], "2026-11-18T23:59:00Z");
    let bank = named("bank");
    let told: Vec<(&str, &str, &str)> = bank["spans"]
        .as_array()
        .expect("spans")
        .iter()
        .map(|span| {
            let text = |name: &str| span[name].as_str().expect("a text");
            (text("kind"), text("from"), text("until"))
        })
        .collect();
    let expected = [
        ("window", "2026-11-17T00:00:00Z", "2026-11-17T04:00:00Z"),
        ("schedule", "2026-11-17T03:00:00Z", "2026-11-17T03:00:00Z"),
        ("window", "2026-11-18T00:00:00Z", "2026-11-18T04:00:00Z"),
        ("schedule", "2026-11-18T03:00:00Z", "2026-11-18T03:00:00Z"),
    ];
    assert_eq!(told, expected);
    assert_eq!(bank["nextStart"], "2026-11-17T03:00:00Z");
    let place = bank["place"].as_str().expect("a place");
    assert!(place.starts_with("organisation.yaml:"), "{place}");
    assert_eq!(json!(walked(1, "calendars", page)), whole["calendars"]);
}

#[test]
fn clusters_are_searched_and_sorted_and_each_is_on_one_page() {
    let (planner, decision, _) = example();
    let page =
        |filter: &Filter, sort| clusters::page(&planner, &decision, filter, sort).expect("a page");
    let whole = page(&Filter::default(), ClusterSort::Organisation);
    assert_eq!(
        (&whole["total"], &whole["matching"]),
        (&json!(6), &json!(6))
    );
    let everybody: BTreeSet<String> = names(&whole, "clusters").into_iter().collect();
    for sort in ClusterSort::ALL {
        let expected = names(&page(&Filter::default(), sort), "clusters");
        for limit in [1, 4, 6] {
            let rows = walked(limit, "clusters", |filter| page(filter, sort));
            let seen = names(&json!({ "clusters": rows }), "clusters");
            assert_eq!(seen, expected, "{sort:?} {limit}");
        }
        assert_eq!(expected.into_iter().collect::<BTreeSet<_>>(), everybody);
    }
    let first = |sort| names(&page(&Filter::default(), sort), "clusters")[0].clone();
    assert_eq!(first(ClusterSort::Seen), "Stray", "the longest silent");
    assert_eq!(first(ClusterSort::Version), "bank", "the lowest");
    let found = |filter: Filter| names(&page(&filter, ClusterSort::Name), "clusters");
    let search = |part: &str| Filter {
        search: Some(part.into()),
        ..Filter::default()
    };
    assert_eq!(found(search("STRAY")), ["Stray"]);
    assert_eq!(found(search("0005")), ["bank"], "in the id");
    assert_eq!(found(search("nobody")), [""; 0]);
    let silent = Filter {
        silent_since: Some("2026-11-10T00:00:00Z".parse().expect("a time")),
        ..Filter::default()
    };
    assert_eq!(found(silent), ["Stray"]);
    let held = Filter {
        held_by: Some("approval".into()),
        ..Filter::default()
    };
    assert_eq!(found(held), ["bank"]);
    let filter = Filter {
        after: Some(Cursor(
            ["name", "a", "b", "c", "d"].map(str::to_owned).into(),
        )),
        ..Filter::default()
    };
    let other = clusters::page(&planner, &decision, &filter, ClusterSort::Seen);
    assert!(other.is_err(), "a cursor of another order");
}

/// The index of what holds whom says what the rules say of each cluster.
#[test]
fn a_page_says_of_each_cluster_what_why_says() {
    let (planner, decision, _) = example();
    let page = clusters::page(&planner, &decision, &Filter::default(), ClusterSort::Name);
    for row in page.expect("a page")["clusters"]
        .as_array()
        .expect("a list")
    {
        let Some(member) = planner
            .roster()
            .find(row["cluster"].as_str().expect("an id"))
        else {
            assert_eq!(row["noPolicy"]["code"], "NotSelected");
            continue;
        };
        let held = planner.held_by(member, noon());
        let held: Vec<&str> = held.iter().map(|rule| rule.name()).collect();
        assert_eq!(row["heldBy"], json!(held), "{row}");
        if let Some(start) = planner.start_of(&decision, member) {
            assert_eq!(row["expected"], start.at.to_string(), "{row}");
            assert_eq!(row["answer"], "yes");
        }
    }
}

#[test]
fn what_people_decided_is_newest_first_and_of_those_who_are_asked_about() {
    let (planner, _, _) = example();
    let at = |text: &str| -> Timestamp { text.parse().expect("a time") };
    let said = |by: &str, hour: u32| Said {
        by: by.into(),
        known_by: "token".into(),
        at: at(&format!("2026-11-16T{hour:02}:00:00Z")),
        why: "INC-1".into(),
    };
    let act = |what: ActKind, hour: u32, ended: Option<Said>| PersonAct {
        what,
        said: said("ann", hour),
        ended,
    };
    let pause = |organisation: Option<&str>, hour: u32| {
        let what = ActKind::Pause {
            organisation: organisation.map(Into::into),
            sector: Some("production".into()),
        };
        act(what, hour, None)
    };
    let approval = |cluster: Option<&str>| {
        let what = ActKind::Approval {
            organisation: "acme".into(),
            name: cluster.map(Into::into),
            version: "4.20.4".parse().expect("a version"),
        };
        act(what, 10, cluster.map(|_| said("bob", 12)))
    };
    let acts: Vec<PersonAct> = vec![
        pause(None, 9),
        pause(Some("acme"), 11),
        approval(None),
        approval(Some("bank")),
    ];
    let told = |filter: Filter| {
        let meant = standing::meant(acts.clone(), &planner, &filter).expect("they are known");
        standing::page(&meant, &planner, &filter).expect("a page")
    };
    let kinds = |page: &Value| -> Vec<String> {
        let acts = page["acts"].as_array().expect("a list").iter();
        acts.map(|act| act["kind"].as_str().expect("a kind").to_owned())
            .collect()
    };
    let all = told(Filter::default());
    assert_eq!(kinds(&all), ["pause", "approval", "approval", "pause"]);
    assert_eq!(all["acts"][0]["why"], "INC-1");
    assert_eq!(all["acts"][0]["knownBy"], "token");
    assert_eq!(all["acts"][0]["ended"], Value::Null);
    let withdrawn = json!({
        "by": "bob", "knownBy": "token", "at": "2026-11-16T12:00:00Z", "why": "INC-1",
    });
    assert_eq!(all["acts"][2]["ended"], withdrawn);
    let text = standing::text(&acts[3..], &planner, crate::room::Room::default());
    let expected = "withdrawn 2026-11-16 12:00Z by bob: INC-1";
    assert!(text.contains(expected), "{text}");
    let of = |cluster: &str| Filter {
        cluster: Some(cluster.into()),
        ..Filter::default()
    };
    assert_eq!(kinds(&told(of("stage-eu"))), ["approval"], "of all of acme");
    assert_eq!(kinds(&told(of("bank"))).len(), 4);
    let unknown = standing::meant(acts.clone(), &planner, &of("nobody"));
    assert!(unknown.is_err());
    for limit in 1..=4 {
        assert_eq!(json!(walked(limit, "acts", told_of(&told))), all["acts"]);
    }
}

fn told_of(told: &impl Fn(Filter) -> Value) -> impl Fn(&Filter) -> Value {
    move |filter| told(filter.clone())
}
