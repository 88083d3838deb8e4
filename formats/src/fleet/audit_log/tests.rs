//! What whoever verifies a log is told about what somebody did to it.

use jiff::{SignedDuration, Timestamp};
use towpath_core::fleet::log_head::{NO_HASH, entry_hash};
use towpath_core::fleet::{LogHead, SignedHead};

use super::export::{self, ExportReader, WholeEntry};
use super::heads::{FollowedLog, HeadsVerdict, judge};
use super::keys::{LogKey, LogSigner};

const OURS: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
const THEIRS: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINFJiRufzjkTfNv9azQVtmi/Hxq8QjysGT1q5lqmc/Ko\n-----END PRIVATE KEY-----\n";

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

/// Entries of a log, a minute apart, whose bodies begin with this text.
struct Log {
    entries: Vec<([u8; 32], [u8; 32], String)>,
    /// What was pruned of it.
    pruned: i64,
}

impl Log {
    fn of(count: i64, text: &str) -> Self {
        let mut log = Self {
            entries: Vec::new(),
            pruned: 0,
        };
        log.go_on(count, text);
        log
    }

    fn go_on(&mut self, count: i64, text: &str) {
        for _ in 0..count {
            let sequence = self.entries.len() as i64 + 1;
            let prev = self.entries.last().map_or(NO_HASH, |(_, hash, _)| *hash);
            let body = format!("{text} {sequence}");
            let nanoseconds = at(sequence).as_nanosecond() as i64;
            let hash = entry_hash(&prev, sequence, nanoseconds, &[], body.as_bytes());
            self.entries.push((prev, hash, body));
        }
    }

    fn hash(&self, sequence: i64) -> [u8; 32] {
        self.entries[sequence as usize - 1].1
    }

    fn head(&self, signer: &LogSigner, sequence: i64, minute: i64) -> SignedHead {
        signer.sign(LogHead {
            sequence,
            hash: self.hash(sequence),
            pruned: self.pruned,
            at: at(minute),
        })
    }

    fn followed(&self) -> FollowedLog {
        let numbers = (self.pruned + 1)..=(self.entries.len() as i64);
        FollowedLog {
            pruned: (self.pruned > 0).then(|| (self.pruned, self.hash(self.pruned), at(20))),
            entries: numbers.map(|n| (n, (self.hash(n), at(n)))).collect(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let entry = |(number, (prev, hash, body)): (usize, &([u8; 32], [u8; 32], String))| {
            let sequence = number as i64 + 1;
            let entry = WholeEntry {
                sequence,
                at: at(sequence),
                input: &[],
                body: body.as_bytes(),
                prev,
                hash,
            };
            export::entry(entry).unwrap().to_string()
        };
        self.entries.iter().enumerate().map(entry).collect()
    }
}

fn verdict(log: &FollowedLog, heads: &[SignedHead], keys: &[LogKey]) -> HeadsVerdict {
    judge(log, heads, keys, SignedDuration::from_mins(5))
}

fn told(log: &Log, heads: &[SignedHead], keys: &[LogKey]) -> String {
    verdict(&log.followed(), heads, keys).problems.join("\n")
}

#[test]
fn a_log_that_is_as_it_was_signed_verifies_and_one_that_is_not_says_exactly_why() {
    let (ours, theirs) = (
        LogSigner::read(OURS).unwrap(),
        LogSigner::read(THEIRS).unwrap(),
    );
    let keys = &[ours.public()];
    let log = Log::of(9, "as it was");
    let heads = [log.head(&ours, 4, 4), log.head(&ours, 8, 9)];
    let good = verdict(&log.followed(), &heads, keys);
    assert_eq!(
        (good.verified, good.unsigned, good.problems),
        (2, 1, vec![])
    );
    assert_eq!(good.newest, Some(heads[1].head));

    let cut = Log::of(5, "as it was");
    let expected = "the log ends at entry 5, and its head was entry 8 at 1970-01-01 00:09Z: what came after entry 5 was cut off";
    assert_eq!(told(&cut, &heads, keys), expected);

    let mut replaced = Log::of(5, "as it was");
    replaced.go_on(4, "another end");
    let expected = "entry 8 is another one than the one that was signed at 1970-01-01 00:09Z: that part of the log was replaced";
    assert_eq!(told(&replaced, &heads, keys), expected);

    let again = Log::of(9, "made again");
    let forged = [again.head(&theirs, 8, 9)];
    assert!(told(&again, &forged, keys).contains("which is none of the public keys"));
    // Under our key's name.
    let mut forged = again.head(&theirs, 8, 9);
    forged.key = ours.name().to_owned();
    let expected = "the signature of the head at entry 8 of 1970-01-01 00:09Z is wrong: it was changed, or forged";
    assert_eq!(told(&again, &[forged], keys), expected);
    assert!(told(&again, &heads, keys).contains("entry 4 is another one"));

    assert!(told(&log, &[], keys).starts_with("no head of this log is signed"));
    // The newest signatures were removed: what came after the rest has none for too long.
    let mut longer = Log::of(9, "as it was");
    longer.go_on(6, "more");
    let expected = "the log goes on to entry 15 at 1970-01-01 00:15Z, and the newest signature is of entry 8 at 1970-01-01 00:09Z: 7 entries have none";
    assert_eq!(told(&longer, &heads, keys), expected);
}

#[test]
fn what_pruning_leaves_verifies_and_what_somebody_else_removes_does_not() {
    let ours = LogSigner::read(OURS).unwrap();
    let keys = &[ours.public()];
    let mut log = Log::of(9, "as it was");
    let old = [log.head(&ours, 2, 2), log.head(&ours, 9, 18)];
    log.pruned = 3;
    // Pruned at 20, after the last signature.
    assert_eq!(told(&log, &old, keys), "");
    let after = [old[1].clone(), log.head(&ours, 9, 21)];
    assert_eq!(told(&log, &after, keys), "");
    // The signature of 21 knows of three entries that were pruned, and now there are five.
    log.pruned = 5;
    let expected = "entries 4 to 5 are gone, and the head that was signed at 1970-01-01 00:21Z says that they were there: somebody else than the service removed them";
    assert_eq!(told(&log, &after, keys), expected);
    // The head at the checkpoint itself vouches for the checkpoint's hash.
    let at_checkpoint = log.head(&ours, 5, 21);
    assert_eq!(
        told(&log, &[at_checkpoint, log.head(&ours, 9, 21)], keys),
        ""
    );
}

#[test]
fn an_old_key_counts_up_to_its_end_and_a_new_one_goes_on() {
    let (old, new) = (
        LogSigner::read(OURS).unwrap(),
        LogSigner::read(THEIRS).unwrap(),
    );
    let log = Log::of(9, "as it was");
    let heads = [log.head(&old, 4, 4), log.head(&new, 9, 9)];
    let mut ended: LogKey = old.public();
    ended.until = Some(at(5));
    let keys = [ended, new.public()];
    assert_eq!(told(&log, &heads, &keys), "");
    let late = [log.head(&old, 9, 9)];
    assert!(told(&log, &late, &keys).contains("which ended at 1970-01-01 00:05Z"));
    // Whoever has the old key changes what it once signed: the new key's heads say so.
    let again = Log::of(9, "made again");
    let forged = [again.head(&old, 4, 4), heads[1].clone()];
    assert!(told(&again, &forged, &keys).contains("entry 9 is another one"));
}

#[test]
fn an_export_is_followed_line_by_line() {
    let ours = LogSigner::read(OURS).unwrap();
    let log = Log::of(4, "as it was");
    let head = export::head(&log.head(&ours, 4, 4)).to_string();
    let read = |lines: &[String]| {
        let mut reader = ExportReader::default();
        for line in lines {
            reader.take(line)?;
        }
        Ok::<ExportReader, String>(reader)
    };
    let mut lines = log.lines();
    lines.push(head.clone());
    let whole = read(&lines).unwrap();
    assert_eq!(whole.problems, [""; 0]);
    let good = verdict(&whole.log, &whole.heads, &[ours.public()]);
    assert_eq!((good.verified, good.problems), (1, vec![]));

    let pruned = export::pruned(2, &log.hash(2), at(9)).to_string();
    let rest = [vec![pruned], log.lines()[2..].to_vec(), vec![head]].concat();
    let rest = read(&rest).unwrap();
    assert_eq!(rest.problems, [""; 0]);
    assert_eq!(rest.log.entries.len(), 2);

    let mut changed = log.lines();
    changed[1] = changed[1].replace("as it was", "as it wasn't");
    let changed = read(&changed).unwrap().problems;
    assert_eq!(changed, ["entry 2 was changed: its hash does not match"]);
    let mut missing = log.lines();
    missing.remove(1);
    assert_eq!(read(&missing).unwrap().problems, ["entry 2 is missing"]);
    for (line, expected) in [
        ("{}", "line 1: it is no line of a whole log"),
        ("nonsense", "line 1"),
    ] {
        let error = read(&[line.to_owned()]).err().unwrap();
        assert!(error.contains(expected), "{error}");
    }
}
