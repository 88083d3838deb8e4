//! Proposed halts as branches of a real git repository: one commit, through restarts and whichever replica proposes.

use std::path::Path;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use towpath_testing_services::Towpath;

use crate::fleet::Fleet;

const BRANCH: &str = "halts/4.20.4-halted";
const FILE: &str = "data/blocked-edges/4.20.4-halted.yaml";

/// A bare repository, and what git prints of it.
struct Bare<'a>(&'a Path);

impl Bare<'_> {
    fn make(&self) {
        std::fs::create_dir(self.0).expect("a folder");
        self.git(&["init", "-q", "--bare", "-b", "main"]);
        let empty = self.git(&["hash-object", "-t", "tree", "-w", "/dev/null"]);
        self.commit(empty.trim(), "main");
    }

    /// A commit of that tree on a branch.
    fn commit(&self, tree: &str, branch: &str) {
        let commit = self.git(&["commit-tree", "-m", "x", tree]);
        self.git(&["update-ref", &format!("refs/heads/{branch}"), commit.trim()]);
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.0).args(arguments);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "t");
            command.env(format!("GIT_{who}_EMAIL"), "t@example.com");
        }
        let done = command.output().expect("git runs");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
        String::from_utf8(done.stdout).expect("text")
    }

    fn branches(&self) -> String {
        self.git(&[
            "for-each-ref",
            "--format=%(refname:short) %(objectname)",
            "refs/heads/halts",
        ])
    }
}

/// Three of ten updates to 4.20.4 fail, in every organisation.
fn outcomes() -> String {
    let now = Timestamp::now();
    let line = |number: i64| {
        let started = now - SignedDuration::from_hours(9) + SignedDuration::from_mins(number);
        let end = if number % 10 < 3 {
            "failedAt"
        } else {
            "completedAt"
        };
        let line = json!({
            "cluster": format!("silent-{number}"), "organisation": format!("org{}", number % 4),
            "from": "4.20.3", "to": "4.20.4", "startedAt": started.to_string(),
            end: (started + SignedDuration::from_mins(70)).to_string(),
        });
        format!("{line}\n")
    };
    (0..120).map(line).collect()
}

/// A fleet whose policy proposes to branches of that repository.
fn proposing(bare: &str) -> Fleet {
    let fleet = Fleet::new();
    fleet.write("outcomes.jsonl", &outcomes());
    let repository = fleet.path(bare);
    let repository = repository.display();
    fleet.write(
        "feedback.yaml",
        &format!(
            "default: {{mode: propose}}\npropose: {{branch: {{repository: \"file://{repository}\", base: main, prefix: halts, folder: data}}}}\n"
        ),
    );
    fleet
}

fn replica(fleet: &Fleet) -> Towpath {
    let [feedback, outcomes] = ["feedback.yaml", "outcomes.jsonl"].map(|name| {
        let path = fleet.path(name);
        path.to_str().expect("UTF-8").to_owned()
    });
    let more = ["--feedback", &feedback, "--outcomes", &outcomes];
    fleet.serve(&fleet.sqlite(), &more)
}

#[test]
fn a_halt_is_proposed_as_one_branch_through_restarts_and_replicas() {
    let fleet = proposing("bare.git");
    let path = fleet.path("bare.git");
    let bare = Bare(&path);
    // The repository comes late: what fails is tried again.
    let (one, other) = (replica(&fleet), replica(&fleet));
    one.until("the watch says halt", |t| {
        let watch = t.get("/api/v1/fleet/watch?version=4.20.4");
        watch.status == 200 && watch.json()["releases"][0]["answer"] == "halt"
    });
    bare.make();
    one.until("the branch is pushed", |_| !bare.branches().is_empty());
    let pushed = bare.branches();
    assert!(
        pushed.starts_with(BRANCH) && pushed.lines().count() == 1,
        "{pushed}"
    );
    let shown = bare.git(&["show", "--format=%an%n%B", "--name-only", BRANCH]);
    for part in [
        "Towpath",
        "Halt 4.20.4 for all clusters",
        "36 of 120 failed",
        "Towpath-Halt: ",
        FILE,
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let text = bare.git(&["show", &format!("{BRANCH}:{FILE}")]);
    assert!(
        text.contains("to: 4.20.4\n") && text.contains("by: \"watch\""),
        "{text}"
    );
    assert_eq!(
        bare.git(&["rev-parse", &format!("{BRANCH}^")]),
        bare.git(&["rev-parse", "main"])
    );
    one.until("it is told", |t| {
        let told = t
            .get("/api/v1/fleet/watch?version=4.20.4&format=text")
            .text();
        told.contains("The halt was proposed as graph data, unless")
    });
    // Others take over, and people delete the branch: nobody proposes it again.
    drop((one, other));
    bare.git(&["update-ref", "-d", &format!("refs/heads/{BRANCH}")]);
    let (third, fourth) = (replica(&fleet), replica(&fleet));
    for towpath in [&third, &fourth] {
        towpath.until("it watches", |t| {
            let metrics = t.get("/metrics").text();
            metrics.contains("towpath_watch_releases{answer=\"halt\"} 1")
        });
    }
    third.until("one of them acts", |t| {
        let acts = |t: &Towpath| {
            t.get("/metrics")
                .text()
                .contains("towpath_watch_is_watcher 1")
        };
        acts(t) || acts(&fourth)
    });
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(bare.branches(), "");
}

#[test]
fn a_branch_with_other_content_is_left_and_reported() {
    let fleet = proposing("taken.git");
    let path = fleet.path("taken.git");
    let bare = Bare(&path);
    bare.make();
    let empty = bare.git(&["rev-parse", "main^{tree}"]);
    bare.commit(empty.trim(), BRANCH);
    let before = bare.branches();
    let towpath = replica(&fleet);
    let line = towpath.log_line("could not be proposed");
    let said = line.to_string();
    assert!(
        said.contains("is there with other content; it is left as it is"),
        "{said}"
    );
    assert_eq!(bare.branches(), before);
}
