//! Cached answers: clusters that answer a sheet's questions alike share one answer.
//!
//! Positions are rotations of one number. So a channel with twenty open windows has about twenty kinds of clusters per
//! platform, and nearly every request finds its kind here. An answer owns its small pieces and shares the large ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::HeaderValue;
use towpath_formats::graph::sheet::{Answers, Sheet};

/// The most kinds of clusters for one sheet. Beyond that, the sheet starts again from empty.
const MAX_KINDS: usize = 512;
/// The most memory of all cached answers of a snapshot.
const MAX_BYTES: usize = 8 << 20;
/// The approximate overhead of a cached answer.
const OVERHEAD: usize = 512;

/// The answer for one kind of clusters.
pub(crate) struct CachedAnswer {
    pub(crate) tag: HeaderValue,
    pub(crate) length: HeaderValue,
    pub(crate) chunks: Arc<[Bytes]>,
    pub(crate) bytes: usize,
}

/// A sheet and its cached answers.
pub(crate) struct CachedSheet {
    pub(crate) sheet: Sheet,
    kinds: ArcSwap<HashMap<Answers, Arc<CachedAnswer>>>,
    held: AtomicUsize,
    /// … and of all cached answers of the snapshot.
    budget: Arc<AtomicUsize>,
}

impl CachedSheet {
    pub(crate) fn new(sheet: Sheet, budget: Arc<AtomicUsize>) -> Self {
        Self {
            sheet,
            kinds: ArcSwap::default(),
            held: AtomicUsize::new(0),
            budget,
        }
    }

    /// The answer for clusters of this kind.
    pub(crate) fn answer(&self, answers: Answers) -> Arc<CachedAnswer> {
        if let Some(ready) = self.kinds.load().get(&answers) {
            return ready.clone();
        }
        let ready = Arc::new(self.put_together(&answers));
        self.keep(answers, &ready);
        ready
    }

    fn put_together(&self, answers: &Answers) -> CachedAnswer {
        let body = self.sheet.body(answers);
        CachedAnswer {
            tag: HeaderValue::from_str(&self.sheet.entity_tag(answers))
                .expect("a tag fits a header"),
            length: HeaderValue::from(body.length),
            chunks: body.chunks.into(),
            bytes: usize::try_from(body.length).expect("a body fits into memory"),
        }
    }

    fn keep(&self, answers: Answers, ready: &Arc<CachedAnswer>) {
        let room = self.budget.load(Ordering::Relaxed) + self.own_bytes(ready) <= MAX_BYTES;
        self.kinds.rcu(|kinds| {
            let mut kinds = if room && kinds.len() < MAX_KINDS {
                (**kinds).clone()
            } else {
                HashMap::new()
            };
            kinds.insert(answers.clone(), ready.clone());
            kinds
        });
        // Counted anew from what is kept, so that a race between two threads leaves no error behind.
        self.hold(
            self.kinds
                .load()
                .values()
                .map(|ready| self.own_bytes(ready))
                .sum(),
        );
    }

    fn hold(&self, bytes: usize) {
        let before = self.held.swap(bytes, Ordering::Relaxed);
        self.budget.fetch_add(bytes, Ordering::Relaxed);
        self.budget.fetch_sub(before, Ordering::Relaxed);
    }

    /// The memory that only this answer uses.
    fn own_bytes(&self, ready: &CachedAnswer) -> usize {
        ready.bytes.saturating_sub(self.sheet.common_bytes()) + OVERHEAD
    }
}

impl Drop for CachedSheet {
    fn drop(&mut self) {
        self.hold(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use towpath_core::cluster::ClusterId;
    use towpath_core::finding::Place;
    use towpath_core::graph::Graph;
    use towpath_core::version::Arch;
    use towpath_formats::SourceFile;
    use towpath_formats::graph::sheet::{Client, Encoding, compile};
    use towpath_formats::graph::{data, releases};

    /// A channel with ten open windows.
    fn sheet(now: Timestamp) -> Sheet {
        let versions: String = (0..10)
            .map(|n| format!("- {{name: 4.9.{n}, start: '2026-01-01T{n:02}:00Z'}}\n"))
            .collect();
        let channels = format!(
            "channels: [{{name: c, phasedRollouts: [{{duration: P9D}}]}}]\nversions:\n{versions}"
        );
        let file = |path: &str, text: &str| SourceFile {
            path: path.into(),
            bytes: text.as_bytes().into(),
        };
        let (data, _) =
            data::read(&[file("version", "2.0.0"), file("channels/c.yaml", &channels)]).unwrap();
        let nodes: Vec<String> = (0..10)
            .map(|n| format!("{{\"version\":\"4.9.{n}\",\"payload\":\"p\"}}"))
            .collect();
        let graph = format!(
            "{{\"nodes\":[{}],\"edges\":[[0,1],[0,2],[0,3],[0,4],[0,5],[0,6],[0,7],[0,8]]}}",
            nodes.join(",")
        );
        let (releases, _) = releases::read(&Place::file("r"), graph.as_bytes()).unwrap();
        compile(
            &Graph::build(data, releases).0,
            "c",
            &Arch::default(),
            now,
            Encoding::Identity,
        )
    }

    #[test]
    fn clusters_of_one_kind_share_an_answer_and_it_is_the_right_one() {
        let now: Timestamp = "2026-01-05T00:00Z".parse().unwrap();
        let budget = Arc::new(AtomicUsize::new(0));
        let ready = CachedSheet::new(sheet(now), budget.clone());
        for number in 0..2000 {
            let id = ClusterId::new(&format!("cluster-{number}")).unwrap();
            let answers = ready.sheet.answers(Client {
                id: Some(&id),
                platform: None,
                groups: None,
                now,
            });
            let expected = ready.sheet.body(&answers).chunks.concat();
            let answer = ready.answer(answers);
            assert_eq!(
                (answer.chunks.concat(), answer.bytes),
                (expected.clone(), expected.len())
            );
        }
        let kinds = ready.kinds.load().len();
        assert!(
            (2..=16).contains(&kinds),
            "the ends of eight windows divide the circle into at most sixteen parts: {kinds}"
        );
        assert!(budget.load(Ordering::Relaxed) > kinds * OVERHEAD);
        drop(ready);
        assert_eq!(budget.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn without_room_answers_are_put_together_each_time() {
        let now: Timestamp = "2026-01-05T00:00Z".parse().unwrap();
        let ready = CachedSheet::new(sheet(now), Arc::new(AtomicUsize::new(MAX_BYTES)));
        for number in 0..100 {
            let id = ClusterId::new(&format!("cluster-{number}")).unwrap();
            ready.answer(ready.sheet.answers(Client {
                id: Some(&id),
                platform: None,
                groups: None,
                now,
            }));
            assert_eq!(ready.kinds.load().len(), 1);
        }
    }
}
