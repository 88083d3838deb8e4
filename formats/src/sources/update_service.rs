//! `UpdateService` objects of Red Hat's update service operator: which images to serve.
//!
//! ```yaml
//! apiVersion: updateservice.operator.openshift.io/v1
//! kind: UpdateService
//! metadata: {name: service}
//! spec:
//!   replicas: 2
//!   releases: registry.example.com/ocp/release
//!   graphDataImage: registry.example.com/ocp/graph-data:latest
//! ```
//!
//! The object itself, or a list as `oc get updateservices -o yaml` prints it. One graph is served, so there is one object.
//! What the operator writes (`status`) is not looked at; a field of `spec` that nobody knows is refused.

use towpath_core::finding::{Finding, Place};

use super::oci::{ImageName, Repository};
use crate::SourceFile;
use crate::read::{Node, Reader, shown};

/// The largest file of such objects.
const MAX_BYTES: usize = 1 << 20;
const API_VERSION: &str = "updateservice.operator.openshift.io/v1";
/// The most objects of a list: more than one are told by name, and that is enough.
const MAX_OBJECTS: usize = 100;
const FIELDS: [&str; 3] = ["replicas", "releases", "graphDataImage"];

/// What one object asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateService {
    pub name: String,
    /// The repository with the release images.
    pub releases: Repository,
    pub graph_data: ImageName,
    /// How many pods the operator runs. Nobody but the operator can do that.
    pub replicas: u32,
}

/// Reads the one object of a file.
pub fn read(file: &SourceFile) -> Result<UpdateService, Vec<Finding>> {
    let place = Place::file(file.path.as_str());
    let limit = (
        "file",
        MAX_BYTES,
        "leave out everything but the UpdateService",
    );
    Reader::whole(&place, &file.bytes, limit, only_object)
}

fn only_object(reader: &mut Reader, node: &Node) -> Option<UpdateService> {
    let kind = node.get("kind").and_then(Node::as_text).unwrap_or_default();
    if !matches!(kind, "List" | "UpdateServiceList") {
        return object(reader, node);
    }
    let items = node.get("items");
    let items = items.map_or(&[][..], |items| reader.list(items, "items", MAX_OBJECTS));
    match items {
        [one] => object(reader, one),
        [] => {
            let problem = "there is no UpdateService in this list";
            let remedy = "write one UpdateService into the file";
            reader.error("no-update-service", node, problem, remedy);
            None
        }
        [_, second, ..] => {
            let problem = format!("there are {} objects in this list", items.len());
            let remedy =
                "keep one UpdateService in the file, and start a Towpath for each of the others";
            reader.error("many-update-services", second, problem, remedy);
            None
        }
    }
}

fn object(reader: &mut Reader, node: &Node) -> Option<UpdateService> {
    let record = reader.open_record(node, "an UpdateService")?;
    is_text(reader, node, "apiVersion", API_VERSION)?;
    is_text(reader, node, "kind", "UpdateService")?;
    let name = record.get("metadata").and_then(|data| data.get("name"));
    let name = name.map(|name| reader.name(name, "the name of an object"));
    let help = "write spec.releases, spec.graphDataImage and spec.replicas";
    let spec = reader.required(record, "spec", help)?;
    let spec = reader.record(spec, "the spec of an UpdateService", &FIELDS)?;
    let [replicas, releases, graph_data] = FIELDS.map(|field| reader.required(spec, field, help));
    let replicas = replicas.and_then(|node| reader.count(node, "replicas", 1..=u32::MAX));
    let releases = releases.and_then(|node| {
        let text = reader.text(node, "releases")?;
        named(reader, node, Repository::parse(text))
    });
    let graph_data = graph_data.and_then(|node| {
        let text = reader.text(node, "graphDataImage")?;
        named(reader, node, ImageName::parse(text))
    });
    Some(UpdateService {
        name: name.unwrap_or(Some(""))?.to_owned(),
        releases: releases?,
        graph_data: graph_data?,
        replicas: replicas?,
    })
}

/// Of another kind, or another version of it, nobody knows what its fields mean.
fn is_text(reader: &mut Reader, node: &Node, field: &str, wanted: &str) -> Option<()> {
    let found = node.get(field).and_then(Node::as_text);
    if found == Some(wanted) {
        return Some(());
    }
    let problem = match found {
        Some(found) => format!("{field} is {:?}, and not {wanted:?}", shown(found)),
        None => format!("it has no `{field}`"),
    };
    let remedy = "give an UpdateService, as `oc get updateservice NAME -o yaml` prints it";
    let at = node.get(field).unwrap_or(node);
    reader.error("not-an-update-service", at, problem, remedy);
    None
}

fn named<T, E: std::fmt::Display>(
    reader: &mut Reader,
    node: &Node,
    parsed: Result<T, E>,
) -> Option<T> {
    let told = |error: E| {
        let remedy = "name registry and repository, as the operator takes them";
        reader.error("bad-name", node, error.to_string(), remedy);
    };
    parsed.map_err(told).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "apiVersion: updateservice.operator.openshift.io/v1
kind: UpdateService
metadata: {name: service, namespace: openshift-update-service, uid: 1-2-3}
spec:
  replicas: 2
  releases: registry.example.com:5000/ocp/release
  graphDataImage: registry.example.com/ocp/graph-data:latest
status: {policyEngineURI: \"https://x\"}
";

    fn told(text: &str) -> String {
        match read(&SourceFile::new("us.yaml", text.as_bytes().to_vec())) {
            Ok(read) => format!("{} {} {}", read.replicas, read.releases, read.graph_data),
            Err(findings) => {
                let told = findings.iter().map(ToString::to_string);
                told.collect::<Vec<_>>().join("\n")
            }
        }
    }

    #[test]
    fn an_object_and_a_list_of_one_say_the_same() {
        let said =
            "2 registry.example.com:5000/ocp/release registry.example.com/ocp/graph-data:latest";
        assert_eq!(told(ONE), said);
        let item = ONE.trim_end().replace('\n', "\n  ");
        for kind in ["List", "UpdateServiceList"] {
            let list = format!("apiVersion: v1\nkind: {kind}\nmetadata: {{}}\nitems:\n- {item}\n");
            assert_eq!(told(&list), said);
        }
        let digest = format!("graph-data@sha256:{}", "a".repeat(64));
        let pinned = ONE.replace("graph-data:latest", &digest);
        assert!(told(&pinned).ends_with(&digest), "{}", told(&pinned));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_place() {
        let item = ONE.trim_end().replace('\n', "\n  ");
        let two = format!("kind: List\nitems:\n- {item}\n- {item}\n");
        let cases = [
            (two, "us.yaml:11:3: there are 2 objects in this list"),
            (
                "kind: List\nitems: []\n".into(),
                "there is no UpdateService in this list",
            ),
            (
                ONE.replace("/v1", "/v2"),
                "us.yaml:1:13: apiVersion is \"updateservice.operator.openshift.io/v2\"",
            ),
            (
                ONE.replace("kind: UpdateService", "kind: Cincinnati"),
                "us.yaml:2:7: kind is \"Cincinnati\"",
            ),
            (
                ONE.replace("replicas: 2", "replicas: 0"),
                "write a number from 1",
            ),
            (
                ONE.replace("  releases:", "  registry: x\n  releases:"),
                "has no field \"registry\"",
            ),
            (ONE.replace("  replicas: 2\n", ""), "has no `replicas`"),
            (
                ONE.replace("registry.example.com:5000/ocp/release", "oci://x/y"),
                "us.yaml:6:13: \"oci://x/y\" has a scheme",
            ),
            (
                ONE.replace("graph-data:latest", "graph-data@md5:1"),
                "has no sha256 digest",
            ),
        ];
        for (text, expected) in cases {
            let told = told(&text);
            assert!(told.contains(expected), "{expected}: {told}");
        }
    }
}
