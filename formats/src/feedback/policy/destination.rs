//! Where proposed halts go: a directory, a webhook, or a branch of a git repository.

use crate::read::{Node, Reader, Record, shown};

const PLACES: [&str; 3] = ["directory", "webhook", "branch"];
const OF_BRANCH: [&str; 6] = ["repository", "base", "prefix", "folder", "name", "email"];
/// The longest name of a branch, in bytes.
const MAX_BRANCH_BYTES: usize = 200;

/// Where a proposed halt goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalDestination {
    /// Files of graph data are written into this directory.
    Directory(String),
    /// They are posted to this address.
    Webhook(String),
    /// Each is committed to a branch of its own.
    Branch(BranchDestination),
}

/// A git repository, and how proposals look in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchDestination {
    /// `https://…`, `file://…` or `http://…`.
    pub repository: String,
    /// The branch that people merge to; HEAD for the default branch.
    pub base: String,
    /// A halt's branch is `PREFIX/RELEASE-halted`.
    pub prefix: String,
    /// The folder with the graph data; empty for the whole repository.
    pub folder: String,
    /// Who commits.
    pub name: String,
    pub email: String,
}

pub(super) fn read(reader: &mut Reader, node: &Node) -> Option<ProposalDestination> {
    let record = reader.record(node, "propose", &PLACES)?;
    let given = PLACES.map(|name| record.get(name));
    match given {
        [Some(node), None, None] => {
            let path = reader.name(node, "directory")?;
            Some(ProposalDestination::Directory(path.to_owned()))
        }
        [None, Some(node), None] => webhook(reader, node),
        [None, None, Some(node)] => branch(reader, node).map(ProposalDestination::Branch),
        _ => {
            let problem = "a proposal goes to exactly one place";
            let remedy = "write `directory`, `webhook` or `branch`";
            reader.error("bad-value", node, problem, remedy);
            None
        }
    }
}

fn webhook(reader: &mut Reader, node: &Node) -> Option<ProposalDestination> {
    let url = reader.name(node, "webhook")?;
    let is_address = url.starts_with("https://") || url.starts_with("http://");
    if !is_address {
        not_an_address(reader, node, url, "begin it with https://");
        return None;
    }
    Some(ProposalDestination::Webhook(url.to_owned()))
}

fn branch(reader: &mut Reader, node: &Node) -> Option<BranchDestination> {
    let record = reader.record(node, "a branch for proposals", &OF_BRANCH)?;
    let Some(place) = record.get("repository") else {
        let problem = "nothing says which repository the branch is in";
        let remedy =
            "add `repository:` with an address, as in https://git.example.com/graph-data.git";
        reader.error("missing-field", node, problem, remedy);
        return None;
    };
    let repository = reader.name(place, "repository")?;
    let schemes = ["https://", "http://", "file://"];
    if !schemes.iter().any(|scheme| repository.starts_with(scheme)) {
        let remedy = "begin it with https:// or file://";
        not_an_address(reader, place, repository, remedy);
        return None;
    }
    let repository = repository.to_owned();
    let base = branch_name(reader, &record, "base", "HEAD")?;
    let prefix = branch_name(reader, &record, "prefix", "towpath")?;
    let folder = match record.get("folder") {
        None => String::new(),
        Some(node) => folder(reader, node)?,
    };
    Some(BranchDestination {
        repository,
        base,
        prefix,
        folder,
        name: of_person(reader, &record, "name", "Towpath")?,
        email: of_person(reader, &record, "email", "towpath@localhost")?,
    })
}

fn not_an_address(reader: &mut Reader, node: &Node, text: &str, remedy: &str) {
    let problem = format!("{:?} is not an address", shown(text));
    reader.error("bad-value", node, problem, remedy);
}

/// A name that git takes for a branch and for nothing else.
fn branch_name(
    reader: &mut Reader,
    record: &Record<'_>,
    field: &'static str,
    usual: &str,
) -> Option<String> {
    let Some(node) = record.get(field) else {
        return Some(usual.to_owned());
    };
    let text = reader.name(node, field)?;
    if !is_branch(text) {
        let problem = format!("{:?} is not the name of a branch", shown(text));
        let remedy = "write letters, digits, `.`, `_` and `-`, and `/` between parts";
        reader.error("bad-name", node, problem, remedy);
        return None;
    }
    Some(text.to_owned())
}

fn is_branch(text: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.ends_with('.')
            && !part.ends_with(".lock")
            && !part.contains("..")
            && part.chars().all(is_fine)
    };
    text.len() <= MAX_BRANCH_BYTES && text.split('/').all(is_part)
}

fn folder(reader: &mut Reader, node: &Node) -> Option<String> {
    let text = reader.name(node, "folder")?;
    let folder = text.trim_matches('/');
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    if !folder.is_empty() && !folder.split('/').all(is_part) {
        let problem = format!("{:?} is no folder of a repository", shown(text));
        let remedy = "write its path from the top, as in graph-data";
        reader.error("bad-name", node, problem, remedy);
        return None;
    }
    Some(folder.to_owned())
}

/// A part of who commits. git takes these characters for its own.
fn of_person(
    reader: &mut Reader,
    record: &Record<'_>,
    field: &'static str,
    usual: &str,
) -> Option<String> {
    let Some(node) = record.get(field) else {
        return Some(usual.to_owned());
    };
    let text = reader.name(node, field)?;
    if text.contains(['<', '>']) || text.trim().is_empty() {
        let problem = format!("{:?} cannot be the {field} of a commit", shown(text));
        reader.error("bad-name", node, problem, "leave out < and >");
        return None;
    }
    Some(text.trim().to_owned())
}
