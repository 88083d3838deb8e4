//! Compiling: from the rules to a sheet.
//!
//! The graph's view says what blocks mean for each kind of client, and which edges and windows
//! there are. Nothing is decided here. What a cluster may see is a gate, and edges behind one gate
//! become one piece.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use towpath_core::cluster::Platform;
use towpath_core::graph::model::BlockSetId;
use towpath_core::graph::{
    ChannelView, Edge, Epoch, Graph, ReleaseId, RiskId, StandingRules, client_classes,
    named_platforms,
};
use towpath_core::version::Arch;

use super::piece::{Encoding, Piece};
use super::{EdgeGroup, Gate, GatedItem, Groups, List, Question, Sheet};
use crate::graph::cincinnati;

/// Compiles the sheet of a channel and architecture that is good at `now`. What does not exist has an empty one.
pub fn compile(
    graph: &Graph,
    channel: &str,
    arch: &Arch,
    now: Timestamp,
    encoding: Encoding,
) -> Sheet {
    let view = ChannelView::named(graph, channel, arch, now);
    Compiler::new(graph, view, now).sheet(encoding)
}

struct Compiler<'a> {
    graph: &'a Graph,
    view: ChannelView<'a>,
    now: Timestamp,
    entered: Vec<ReleaseId>,
    /// How each of them is written in an edge: by its place among the nodes, and by its version.
    written: Vec<NodeText>,
    epoch: Epoch,
}

struct NodeText {
    index: String,
    version: String,
}

/// The edges of one list: those everybody sees, and those behind gates.
#[derive(Default)]
struct EdgeList {
    everybody: Vec<Edge>,
    gated: BTreeMap<Gate, Vec<Edge>>,
}

impl<'a> Compiler<'a> {
    fn new(graph: &'a Graph, view: ChannelView<'a>, now: Timestamp) -> Self {
        let entered: Vec<ReleaseId> = view.releases().collect();
        let written = entered.iter().enumerate().map(|(index, id)| NodeText {
            index: index.to_string(),
            version: cincinnati::quoted(&graph.release(*id).version.to_string()),
        });
        let written = written.collect();
        Self {
            graph,
            view,
            now,
            entered,
            written,
            epoch: view.epoch_of_releases(),
        }
    }

    fn sheet(mut self, encoding: Encoding) -> Sheet {
        let edges = self.windows();
        let platforms = self.platforms(&edges);
        let questions = edges.iter().filter_map(|(_, question)| question.clone());
        let questions: BTreeSet<Question> = questions.collect();
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
        let mut edges = Vec::new();
        for one in self.view.edges() {
            let windows = self.view.windows(&one);
            // Nobody is offered it.
            if windows.are_held() {
                continue;
            }
            for window in windows.all() {
                self.epoch.cut(window.end, self.now);
            }
            let question = (!windows.are_over(self.now)).then_some(Question {
                windows,
                rotation: one.to.rotation,
            });
            edges.push((one.edge, question));
        }
        edges
    }

    /// The platforms that blocks on these edges name.
    fn platforms(&self, edges: &[(Edge, Option<Question>)]) -> Vec<Platform> {
        let sets: BTreeMap<_, Edge> = edges.iter().map(|(edge, _)| (edge.blocks, *edge)).collect();
        named_platforms(sets.values().flat_map(|edge| self.graph.blocks_on(*edge)))
    }

    /// Sorts the edges into lists by the risks they carry, and within a list by who sees them.
    fn lists(
        &self,
        edges: &[(Edge, Option<Question>)],
        questions: &[Question],
        platforms: &[Platform],
    ) -> BTreeMap<Vec<RiskId>, EdgeList> {
        let rules = StandingRules::new(self.graph, client_classes(platforms));
        let everyone = u64::MAX >> (64 - rules.classes().count());
        let mut judged: BTreeMap<_, (u64, Vec<RiskId>)> = BTreeMap::new();
        let mut lists: BTreeMap<Vec<RiskId>, EdgeList> = [(Vec::new(), EdgeList::default())].into();
        for (edge, question) in edges {
            let (seen_by, risks) = judged
                .entry(edge.blocks)
                .or_insert_with(|| seen_by(&rules, edge.blocks));
            if *seen_by == 0 {
                continue;
            }
            let list = lists.entry(risks.clone()).or_default();
            let question = question.as_ref().map(|question| {
                questions
                    .binary_search(question)
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

    /// Puts the pieces in the order in which they are sent. What everybody sees is in one piece, which is large; JSON
    /// does not mind in what order an object's fields come.
    fn assemble(&self, lists: &BTreeMap<Vec<RiskId>, EdgeList>, parts: Parts) -> Sheet {
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
        let groups = Groups { followed, groups };
        let asks_for_rings = questions.iter().any(|one| one.windows.all().len() > 1);
        let rings = self.view.rings().filter(|_| asks_for_rings);
        Sheet {
            epoch: self.epoch,
            encoding,
            digest,
            rings: rings.cloned().collect(),
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
    fn everybody(&self, groups: &[(&Vec<RiskId>, &EdgeList)], edges: &[Edge]) -> String {
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
        for (at, id) in self.entered.iter().enumerate() {
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
        list: &EdgeList,
        gates: &[Gate],
        followed: bool,
    ) -> EdgeGroup {
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
        EdgeGroup {
            first,
            further,
            edges,
            close,
        }
    }

    fn written(&self, id: ReleaseId) -> &NodeText {
        &self.written[self
            .entered
            .binary_search(&id)
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

    fn list(
        &mut self,
        list: &EdgeList,
        gates: &[Gate],
        write: impl Fn(&mut String, &Edge),
    ) -> List {
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

/// Which kinds of clients are offered an edge with these blocks, a bit each, and with what risks. Risks never depend on the kind.
fn seen_by(rules: &StandingRules<'_>, blocks: BlockSetId) -> (u64, Vec<RiskId>) {
    let mut seen_by = 0;
    let mut risks = Vec::new();
    for (bit, verdict) in rules.verdicts(blocks).enumerate() {
        if let Some(weighed) = verdict.risks() {
            seen_by |= 1 << bit;
            risks = weighed.to_vec();
        }
    }
    (seen_by, risks)
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
