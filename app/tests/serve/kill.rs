//! Killed at any moment of a refresh: the next start, with every source down, serves the last good graph or the new one, whole.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use towpath_testing_services::{Towpath, example};

const TIMES: u64 = 100;
const SEED: u64 = 0x70A7;

/// Puts the number of the turn into two files of the graph data, and shows all of it at once.
fn write_turn(folder: &Path, turn: u64) {
    let (data, link) = (folder.join(format!("data-{turn}")), folder.join("link"));
    fs::create_dir_all(data.join("raw")).expect("a folder");
    fs::create_dir_all(data.join("channels")).expect("a folder");
    fs::create_dir_all(data.join("blocked-edges")).expect("a folder");
    let from = folder.join("graph-data");
    fs::copy(from.join("version"), data.join("version")).expect("a copy");
    for file in fs::read_dir(from.join("channels"))
        .expect("channels")
        .flatten()
    {
        fs::copy(file.path(), data.join("channels").join(file.file_name())).expect("a copy");
    }
    let risk = format!(
        "to: 4.20.1\nfrom: .*\nname: Turn{turn}\nurl: https://example.com\nmessage: m\nmatchingRules: [{{type: Always}}]\n"
    );
    fs::write(data.join("blocked-edges/turn.yaml"), risk).expect("a block");
    let metadata = format!("{{\"4.20.0\": {{\"turn\": \"{turn}\"}}}}");
    fs::write(data.join("raw/metadata.json"), metadata).expect("metadata");
    symlink(&data, &link).expect("a link");
    fs::rename(&link, folder.join("current")).expect("shown at once");
}

/// The turn of the graph that is served, as either file tells it.
fn turns(towpath: &Towpath) -> BTreeSet<String> {
    let graph = towpath.graph("channel=fast-4.20");
    let nodes = graph["nodes"].as_array().expect("nodes");
    let of_nodes = nodes
        .iter()
        .filter_map(|node| node["metadata"]["turn"].as_str().map(str::to_owned));
    let groups = graph["conditionalEdges"].as_array().expect("groups");
    let names = groups
        .iter()
        .flat_map(|group| group["risks"].as_array().expect("risks"));
    let of_risks =
        names.filter_map(|risk| Some(risk["name"].as_str()?.strip_prefix("Turn")?.to_owned()));
    of_nodes.chain(of_risks).collect()
}

#[test]
fn killed_a_hundred_times_it_never_serves_nothing_nor_a_mixture() {
    let folder = tempfile::tempdir().expect("a folder");
    example(folder.path());
    let at = |name: &str| folder.path().join(name);
    let text = |name: &str| at(name).to_str().expect("UTF-8").to_owned();
    let (data, releases, state) = (text("current"), text("releases.json"), text("state"));
    let options = [
        "--graph-data",
        &data,
        "--releases",
        &releases,
        "--state",
        &state,
        "--poll-every",
        "3600s",
    ];
    write_turn(folder.path(), 0);
    let first = Towpath::serve(&options);
    first.until("it is ready", |t| t.get("/readyz").status == 200);
    first.until("it was kept", |_| at("state/current").exists());
    drop(first);

    let (mut last, mut chance, mut moved) = (0, SEED, 0);
    for turn in 1..=TIMES {
        // Every source is down.
        fs::remove_file(at("current")).expect("the data goes");
        fs::rename(at("releases.json"), at("away.json")).expect("the releases go");
        let towpath = Towpath::serve(&options);
        towpath.until("it serves what was kept", |t| {
            t.get("/readyz").status == 200
        });
        let served = turns(&towpath);
        assert_eq!(served.len(), 1, "turn {turn}: a mixture of {served:?}");
        let served: u64 = served
            .first()
            .and_then(|text| text.parse().ok())
            .expect("a number");
        assert!(
            served == last || served == turn - 1,
            "turn {turn}: {served} is neither {last} nor the one before"
        );
        moved += u64::from(served != last);
        last = served;
        // They come back with something new, and it is killed somewhere on the way.
        fs::rename(at("away.json"), at("releases.json")).expect("the releases come back");
        write_turn(folder.path(), turn);
        towpath.signal(Signal::HUP);
        let began = Instant::now();
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_micros((chance >> 33) % 600_000);
        match turn % 10 {
            0 => towpath.until("the new graph is served", |t| {
                turns(t).contains(&turn.to_string())
            }),
            1 => {}
            _ => {
                while began.elapsed() < moment {
                    std::hint::spin_loop();
                }
            }
        }
        towpath.signal(Signal::KILL);
    }
    println!(
        "killed {TIMES} times; the next start had the new graph {moved} times, and the one before otherwise"
    );
    assert!(moved > 0, "no kill came after a new graph was kept");
}
