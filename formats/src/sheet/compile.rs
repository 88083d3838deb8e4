//! Compiling: from the rules to a sheet.
//!
//! The standing rules are asked about each set of blocks once per platform; windows come from the channel. Neither is
//! decided here. What a cluster may see is a gate, and edges behind one gate become one piece.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use towpath_core::domain::{
    Answer, Arch, Audience, Channel, ChannelName, Cluster, Edge, Fact, Graph, Membership, Platform,
    ReleaseId, RiskId, Situation,
};
use towpath_core::rules::{Policy, Rule};

use super::piece::{Encoding, Piece};
use super::{Gate, GatedItem, Group, Groups, List, Question, Sheet};
use crate::cincinnati;

/// Compiles the sheet of a channel and architecture that is good at `now`. What does not exist has an empty one.
pub fn compile(
    graph: &Graph,
    channel: &str,
    arch: &Arch,
    now: Timestamp,
    encoding: Encoding,
) -> Sheet {
    let empty = Channel::empty(ChannelName::new("none").expect("a valid name"));
    let channel = graph.channel(channel).unwrap_or(&empty);
    Compiler::new(graph, channel, arch, now).sheet(encoding)
}

struct Compiler<'a> {
    graph: &'a Graph,
    channel: &'a Channel,
    arch: &'a Arch,
    now: Timestamp,
    /// The members that have entered.
    entered: Vec<(ReleaseId, Membership)>,
    /// How each of them is written in an edge: by its place among the nodes, and by its version.
    written: Vec<Written>,
    epoch: Epoch,
}

struct Written {
    index: String,
    version: String,
}

/// The edges of one list: those everybody sees, and those behind gates.
#[derive(Default)]
struct Listed {
    everybody: Vec<Edge>,
    gated: BTreeMap<Gate, Vec<Edge>>,
}

impl<'a> Compiler<'a> {
    fn new(graph: &'a Graph, channel: &'a Channel, arch: &'a Arch, now: Timestamp) -> Self {
        let members = graph.members(channel, arch);
        let entered: Vec<_> = members
            .iter()
            .filter(|(_, place)| place.start <= now)
            .copied()
            .collect();
        let mut epoch = Epoch::around(now);
        for (id, place) in members {
            epoch.event(place.start);
            graph
                .release(*id)
                .channels
                .iter()
                .for_each(|(_, since)| epoch.event(*since));
        }
        let written = entered.iter().enumerate().map(|(index, (id, _))| Written {
            index: index.to_string(),
            version: cincinnati::quoted(&graph.release(*id).version.to_string()),
        });
        let written = written.collect();
        Self {
            graph,
            channel,
            arch,
            now,
            entered,
            written,
            epoch,
        }
    }

    fn sheet(mut self, encoding: Encoding) -> Sheet {
        let edges = self.windows();
        let platforms = self.platforms(&edges);
        let questions: BTreeSet<Question> =
            edges.iter().filter_map(|(_, question)| *question).collect();
        let questions: Vec<Question> = questions.into_iter().collect();
        let lists = self.lists(&edges, &questions, &platforms);
        let gates: BTreeSet<Gate> = lists
            .values()
            .flat_map(|list| list.gated.keys().copied())
            .collect();
        let gates: Vec<Gate> = gates.into_iter().collect();
        self.assemble(
            &lists,
            Parts {
                questions,
                platforms,
                gates,
                encoding,
            },
        )
    }

    /// Every edge between members that have entered, and whether its window is still a question.
    fn windows(&mut self) -> Vec<(Edge, Option<Question>)> {
        let place = |id: ReleaseId| {
            self.entered
                .binary_search_by_key(&id, |(id, _)| *id)
                .ok()
                .map(|at| &self.entered[at].1)
        };
        let mut edges = Vec::new();
        for (from, from_place) in &self.entered {
            let from_version = &self.graph.release(*from).version;
            for edge in self.graph.edges_from(*from) {
                let Some(to_place) = place(edge.to) else {
                    continue;
                };
                let window = self.channel.window(
                    (from_version, from_place),
                    (&self.graph.release(edge.to).version, to_place),
                );
                self.epoch.event(window.end);
                let question = (!window.is_over(self.now)).then_some(Question {
                    window,
                    rotation: to_place.rotation,
                });
                edges.push((*edge, question));
            }
        }
        edges
    }

    /// The platforms that blocks on these edges name.
    fn platforms(&self, edges: &[(Edge, Option<Question>)]) -> Vec<Platform> {
        let sets: BTreeMap<_, Edge> = edges.iter().map(|(edge, _)| (edge.blocks, *edge)).collect();
        let blocks = sets.values().flat_map(|edge| self.graph.blocks_on(*edge));
        let named = blocks.filter_map(|block| match &block.stops {
            Some(Audience::Platforms(platforms)) => Some(platforms),
            _ => None,
        });
        named
            .flatten()
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// Sorts the edges into lists by the risks they carry, and within a list by who sees them.
    fn lists(
        &self,
        edges: &[(Edge, Option<Question>)],
        questions: &[Question],
        platforms: &[Platform],
    ) -> BTreeMap<Vec<RiskId>, Listed> {
        let classes = self.platform_classes(platforms);
        let everyone = u64::MAX >> (64 - classes.len());
        let policy = Policy::standing();
        let mut judged: BTreeMap<_, (u64, Vec<RiskId>)> = BTreeMap::new();
        let mut lists: BTreeMap<Vec<RiskId>, Listed> = [(Vec::new(), Listed::default())].into();
        for (edge, question) in edges {
            // Standing rules look at the edge's blocks and the cluster alone, so equal sets have equal verdicts.
            let (seen_by, risks) = judged
                .entry(edge.blocks)
                .or_insert_with(|| self.judge(&policy, *edge, &classes));
            if *seen_by == 0 {
                continue;
            }
            let list = lists.entry(risks.clone()).or_default();
            let question = question.map(|question| {
                questions
                    .binary_search(&question)
                    .expect("every question was collected") as u32
            });
            match (question, *seen_by == everyone) {
                (None, true) => list.everybody.push(*edge),
                (question, _) => list
                    .gated
                    .entry(Gate {
                        question,
                        platforms: *seen_by,
                    })
                    .or_default()
                    .push(*edge),
            }
        }
        lists
    }

    /// A cluster of each platform, one of none of them, and one of an unknown platform.
    fn platform_classes(&self, platforms: &[Platform]) -> Vec<Cluster> {
        let cluster = |platform| Cluster {
            platform,
            ..Cluster::anonymous(self.channel.name.clone(), self.arch.clone())
        };
        let mut classes: Vec<Cluster> = platforms
            .iter()
            .map(|platform| cluster(Fact::Known(platform.clone())))
            .collect();
        classes.push(cluster(Fact::Known(another_than(platforms))));
        classes.push(cluster(Fact::Unknown));
        classes
    }

    /// Which classes are offered an edge with these blocks, and with what risks. Risks never depend on the class.
    fn judge(&self, policy: &Policy, edge: Edge, classes: &[Cluster]) -> (u64, Vec<RiskId>) {
        let mut seen_by = 0;
        let mut risks = BTreeSet::new();
        for (bit, cluster) in classes.iter().enumerate() {
            let verdict = policy.judge(
                edge,
                &Situation {
                    graph: self.graph,
                    cluster,
                    now: self.now,
                },
            );
            seen_by |= u64::from(verdict.is_offered()) << bit;
            if let Answer::RecommendUnless(named) = verdict.answer {
                risks.extend(named);
            }
        }
        (seen_by, risks.into_iter().collect())
    }

    /// Puts the pieces in the order in which they are sent. What everybody sees is in one piece, which is large; JSON
    /// does not mind in what order an object's fields come.
    fn assemble(&self, lists: &BTreeMap<Vec<RiskId>, Listed>, parts: Parts) -> Sheet {
        let mut texts = Texts {
            digest: Sha256::new(),
            encoding: parts.encoding,
        };
        let front = texts.piece("{\"version\":1,\"conditionalEdges\":[".to_owned());
        let groups = || lists.iter().filter(|(risks, _)| !risks.is_empty());
        let whole: Vec<_> = groups().filter(|(_, list)| list.gated.is_empty()).collect();
        let gated = groups().filter(|(_, list)| !list.gated.is_empty());
        let followed = !whole.is_empty();
        let groups = gated
            .map(|(risks, list)| self.group(&mut texts, risks, list, &parts.gates, followed))
            .collect();
        let plain = &lists[&Vec::new()];
        let everybody = texts.piece(self.everybody(&whole, &plain.everybody));
        let edges = texts.list(plain, &parts.gates, |list, edge| self.indexed(list, edge));
        let tail = texts.piece("]}".to_owned());
        let digest = texts.finish(&parts);
        let Parts {
            questions,
            platforms,
            gates,
            encoding,
        } = parts;
        let Epoch { from, until, .. } = self.epoch;
        let groups = Groups { followed, groups };
        Sheet {
            from,
            until,
            encoding,
            digest,
            questions,
            platforms,
            gates,
            front,
            groups,
            everybody,
            edges,
            tail,
        }
    }

    /// The groups that everybody sees whole, all nodes, and the edges that everybody sees.
    fn everybody(&self, groups: &[(&Vec<RiskId>, &Listed)], edges: &[Edge]) -> String {
        let mut text = String::new();
        for (at, (risks, list)) in groups.iter().enumerate() {
            text.push_str(if at == 0 {
                "{\"edges\":["
            } else {
                ",{\"edges\":["
            });
            text.push_str(&joined(&list.everybody, |list, edge| {
                self.named(list, edge)
            }));
            text.push_str("],\"risks\":[");
            text.push_str(&cincinnati::risks(self.graph, risks));
            text.push_str("]}");
        }
        text.push_str("],\"nodes\":[");
        for (at, (id, _)) in self.entered.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push_str(&cincinnati::node(self.graph.release(*id), self.now));
        }
        text.push_str("],\"edges\":[");
        text.push_str(&joined(edges, |list, edge| self.indexed(list, edge)));
        text
    }

    fn group(
        &self,
        texts: &mut Texts,
        risks: &[RiskId],
        list: &Listed,
        gates: &[Gate],
        followed: bool,
    ) -> Group {
        let open = format!(
            "{{\"edges\":[{}",
            joined(&list.everybody, |list, edge| self.named(list, edge))
        );
        let (first, further) = texts.with_and_without_comma(open);
        let edges = texts.list(list, gates, |list, edge| self.named(list, edge));
        let comma = if followed { "," } else { "" };
        let close = texts.piece(format!(
            "],\"risks\":[{}]}}{comma}",
            cincinnati::risks(self.graph, risks)
        ));
        Group {
            first,
            further,
            edges,
            close,
        }
    }

    fn written(&self, id: ReleaseId) -> &Written {
        &self.written[self
            .entered
            .binary_search_by_key(&id, |(id, _)| *id)
            .expect("edges are between members")]
    }

    fn indexed(&self, list: &mut String, edge: &Edge) {
        let parts = [
            "[",
            &self.written(edge.from).index,
            ",",
            &self.written(edge.to).index,
            "]",
        ];
        parts.iter().for_each(|part| list.push_str(part));
    }

    fn named(&self, list: &mut String, edge: &Edge) {
        let (from, to) = (
            &self.written(edge.from).version,
            &self.written(edge.to).version,
        );
        let parts = ["{\"from\":", from, ",\"to\":", to, "}"];
        parts.iter().for_each(|part| list.push_str(part));
    }
}

/// What the questions are, apart from the pieces.
struct Parts {
    questions: Vec<Question>,
    platforms: Vec<Platform>,
    gates: Vec<Gate>,
    encoding: Encoding,
}

/// Makes pieces, and a digest of all that was made.
struct Texts {
    digest: Sha256,
    encoding: Encoding,
}

impl Texts {
    fn piece(&mut self, text: String) -> Piece {
        self.digest.update((text.len() as u64).to_be_bytes());
        self.digest.update(text.as_bytes());
        Piece::new(text, self.encoding)
    }

    fn with_and_without_comma(&mut self, text: String) -> (Piece, Piece) {
        let further = Piece::new(format!(",{text}"), self.encoding);
        (self.piece(text), further)
    }

    fn list(&mut self, list: &Listed, gates: &[Gate], write: impl Fn(&mut String, &Edge)) -> List {
        let mut items = Vec::with_capacity(list.gated.len());
        for (gate, edges) in &list.gated {
            let gate = gates.binary_search(gate).expect("every gate was collected");
            // A tag names the gates that are open; what stands behind which must be part of it.
            self.digest.update((gate as u64).to_be_bytes());
            let (first, further) = self.with_and_without_comma(joined(edges, &write));
            items.push(GatedItem {
                gate,
                first,
                further,
            });
        }
        List {
            started: !list.everybody.is_empty(),
            items,
        }
    }

    /// Which gates an answer opened names its body only together with the pieces that are behind them.
    fn finish(self, parts: &Parts) -> u64 {
        let digest = self
            .digest
            .chain_update((parts.gates.len() as u64).to_be_bytes())
            .finalize();
        u64::from_be_bytes(digest[..8].try_into().expect("SHA-256 has 32 bytes"))
    }
}

/// The span of time around an instant in which nothing enters and nothing ends.
struct Epoch {
    now: Timestamp,
    from: Timestamp,
    until: Timestamp,
}

impl Epoch {
    fn around(now: Timestamp) -> Self {
        Self {
            now,
            from: Timestamp::MIN,
            until: Timestamp::MAX,
        }
    }

    fn event(&mut self, at: Timestamp) {
        if at <= self.now {
            self.from = self.from.max(at);
        } else {
            self.until = self.until.min(at);
        }
    }
}

/// A platform that is none of these.
fn another_than(platforms: &[Platform]) -> Platform {
    let names = (0..).map(|n| Platform::new(&format!("other-{n}")).expect("a well-formed name"));
    names
        .into_iter()
        .find(|name| !platforms.contains(name))
        .expect("there are more names than platforms")
}

/// The edges as a list without its brackets.
fn joined(edges: &[Edge], write: impl Fn(&mut String, &Edge)) -> String {
    let mut list = String::with_capacity(edges.len() * 12);
    for (at, edge) in edges.iter().enumerate() {
        if at > 0 {
            list.push(',');
        }
        write(&mut list, edge);
    }
    list
}
