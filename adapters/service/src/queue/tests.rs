//! The queue keeps what was pushed, in order and within bounds, even if the process dies at any moment.

use std::fs;

use super::*;
use crate::folder::written;

const STATE: &[u8] = br#"{"organisation": "o", "version": "4.20.1"}"#;
const OUTCOME: &[u8] = br#"{"organisation": "o", "version": "4.20.1",
    "updates": [{"to": "4.20.1", "outcome": "completed", "startedAt": "2026-05-12T10:00:00Z"}]}"#;

fn ids(queue: &Queue) -> Vec<&str> {
    queue.waiting.values().map(|queued| &*queued.id).collect()
}

fn reopened(folder: &Path) -> (Queue, Vec<Finding>) {
    Queue::open(folder, Bounds::default()).unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name != "lock");
    names.sort();
    names
}

/// The folder as it is now, as if the process had died.
fn copied(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in files(folder) {
        fs::copy(folder.join(&name), copy.path().join(&name)).unwrap();
    }
    copy
}

#[test]
fn what_waits_is_sent_in_order_and_once() {
    let folder = tempfile::tempdir().unwrap();
    for mut queue in [
        Queue::in_memory(Bounds::default()),
        reopened(folder.path()).0,
    ] {
        for id in ["b", "a", "ü/.. x", "a"] {
            assert_eq!(queue.push(id, STATE), []);
        }
        assert_eq!(ids(&queue), ["b", "a", "ü/.. x"]);
        let first = queue.oldest().unwrap().clone();
        assert_eq!((&*first.id, &*first.bytes), ("b", STATE));
        queue.done("b");
        queue.done("b");
        assert_eq!((ids(&queue), queue.len()), (vec!["a", "ü/.. x"], 2));
    }
    let (mut queue, findings) = reopened(folder.path());
    assert_eq!((ids(&queue), findings), (vec!["a", "ü/.. x"], vec![]));
    queue.push("c", STATE);
    assert_eq!(
        ids(&queue),
        ["a", "ü/.. x", "c"],
        "what comes after a restart comes after what was before it"
    );
    ["a", "ü/.. x", "c"].iter().for_each(|id| queue.done(id));
    assert!(queue.is_empty() && files(folder.path()).is_empty());
}

#[test]
fn no_other_user_reads_what_waits() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (mut queue, _) = reopened(folder.path());
    queue.push("a", STATE);
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(
            entry.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{:?}",
            entry.path()
        );
    }
}

#[test]
fn when_there_is_no_room_states_go_first_and_outcomes_last() {
    let folder = tempfile::tempdir().unwrap();
    let bounds = Bounds {
        reports: 3,
        bytes: 1 << 20,
    };
    let (mut queue, _) = Queue::open(folder.path(), bounds).unwrap();
    for (id, bytes) in [("o1", OUTCOME), ("s1", STATE), ("o2", OUTCOME)] {
        assert_eq!(queue.push(id, bytes), []);
    }
    let told = queue.push("s2", STATE);
    assert_eq!((ids(&queue), told.len()), (vec!["o1", "o2", "s2"], 1));
    assert!(
        told[0]
            .problem
            .contains("1 unsent reports were dropped, 0 of them"),
        "{told:?}"
    );
    queue.push("o3", OUTCOME);
    queue.push("s3", STATE);
    assert_eq!(
        ids(&queue),
        ["o1", "o2", "o3"],
        "there is room for outcomes alone"
    );
    let told = queue.push("o4", OUTCOME);
    assert!(
        told[0]
            .problem
            .contains("1 of them with an update's outcome; the first is o1"),
        "{told:?}"
    );
    drop(queue);
    let (queue, findings) = Queue::open(folder.path(), bounds).unwrap();
    assert_eq!(
        (ids(&queue), findings),
        (vec!["o2", "o3", "o4"], vec![]),
        "what was dropped stays so"
    );
}

#[test]
fn bytes_are_bounded_too() {
    let mut queue = Queue::in_memory(Bounds {
        reports: 100,
        bytes: OUTCOME.len() + 2 * STATE.len(),
    });
    for (id, bytes) in [("s1", STATE), ("o1", OUTCOME), ("s2", STATE)] {
        assert_eq!(queue.push(id, bytes), []);
    }
    assert_eq!(queue.push("s3", STATE).len(), 1);
    assert_eq!(ids(&queue), ["o1", "s2", "s3"]);
    queue.done("o1");
    assert_eq!(queue.push("s4", STATE), [], "what was sent makes room");
}

#[test]
fn a_folder_with_more_than_fits_is_cut_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (mut queue, _) = reopened(folder.path());
    (0..5).for_each(|n| assert_eq!(queue.push(&format!("s{n}"), STATE), []));
    drop(queue);
    let (queue, findings) = Queue::open(
        folder.path(),
        Bounds {
            reports: 2,
            bytes: 1 << 20,
        },
    )
    .unwrap();
    assert_eq!(
        (ids(&queue), findings.len(), files(folder.path()).len()),
        (vec!["s3", "s4"], 1, 2)
    );
}

#[test]
fn killed_at_any_step_each_report_is_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let (mut queue, _) = reopened(folder.path());
    queue.push("a", STATE);
    // While b is written beside its place.
    let whole = written("b", OUTCOME);
    for cut in [0, 1, whole.len() / 2, whole.len()] {
        let died = copied(folder.path());
        fs::write(
            died.path().join(format!("{:020}.report.new", 1)),
            &whole[..cut],
        )
        .unwrap();
        let (mut again, findings) = reopened(died.path());
        assert_eq!((ids(&again), findings), (vec!["a"], vec![]), "cut at {cut}");
        again.push("b", OUTCOME);
        assert_eq!(ids(&again), ["a", "b"]);
    }
    // In its place: there. Then while both are sent, one after the other.
    queue.push("b", OUTCOME);
    let expected: [&[&str]; 3] = [&["a", "b"], &["b"], &[]];
    for (step, expected) in expected.into_iter().enumerate() {
        let died = copied(folder.path());
        let (again, findings) = reopened(died.path());
        assert_eq!(
            (ids(&again), findings),
            (expected.to_vec(), vec![]),
            "step {step}"
        );
        let oldest = queue.oldest().map(|queued| queued.id.clone());
        oldest.iter().for_each(|id| queue.done(id));
    }
}

#[test]
fn what_is_broken_is_set_aside_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let whole = written("x", STATE);
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    put(&format!("{:020}.report", 3), &written("good", STATE));
    for cut in 0..whole.len() {
        put(&format!("{:020}.report", 100 + cut), &whole[..cut]);
    }
    for name in ["rubbish.report", "3.report", "18446744073709551615.report"] {
        put(name, &whole);
    }
    put("notes.txt", b"of somebody else's");
    put(&format!("{:020}.report", 50), &vec![b' '; 1 << 20]);
    let (mut queue, findings) = reopened(folder.path());
    assert_eq!((ids(&queue), findings.len()), (vec!["good"], 11));
    assert!(
        findings
            .iter()
            .all(|finding| finding.code == "broken-report"),
        "{findings:?}"
    );
    let broken = files(folder.path())
        .iter()
        .filter(|name| name.ends_with(".report.broken"))
        .count();
    assert_eq!(broken, whole.len() + 4, "none is lost");
    assert!(
        files(folder.path()).contains(&"notes.txt".to_owned()),
        "what is not ours is left alone"
    );
    assert_eq!(queue.push("new", STATE), []);
    drop(queue);
    let (queue, findings) = reopened(folder.path());
    assert_eq!(
        (ids(&queue), findings),
        (vec!["good", "new"], vec![]),
        "told once"
    );
}

#[test]
fn a_disk_that_takes_nothing_leaves_them_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (mut queue, _) = reopened(folder.path());
    fs::remove_dir_all(folder.path()).unwrap();
    let told = queue.push("a", STATE);
    assert_eq!((ids(&queue), told[0].code), (vec!["a"], "unwritable-queue"));
    queue.done("a");
    assert!(queue.is_empty());
}

#[test]
fn a_folder_is_used_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let first = reopened(folder.path());
    assert!(
        Queue::open(folder.path(), Bounds::default())
            .unwrap_err()
            .problem
            .contains("another towpath uses it")
    );
    drop(first);
    reopened(folder.path());
}

#[test]
fn what_cannot_be_sent_is_not_queued() {
    let mut queue = Queue::in_memory(Bounds::default());
    for (id, bytes) in [
        ("", STATE.to_vec()),
        ("a\nb", STATE.to_vec()),
        ("a", vec![b' '; report::MAX_BYTES + 1]),
    ] {
        assert_eq!(queue.push(id, &bytes)[0].code, "bad-report");
    }
    assert!(queue.is_empty());
}
