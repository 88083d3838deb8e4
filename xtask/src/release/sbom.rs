//! The list of what a program is made of (SBOM), as CycloneDX 1.5 in JSON.
//!
//! It holds the crates that are compiled into `towpath`, from `cargo metadata`, with the checksums of `Cargo.lock`. What only tests, macros or
//! build scripts use is left out, since none of it is in the program.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::workspace;

pub(super) const TARGET: &str = "x86_64-unknown-linux-gnu";

pub(super) fn of_workspace(epoch: u64) -> anyhow::Result<Value> {
    let arguments = [
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        TARGET,
    ];
    let output = workspace::cargo(&arguments)
        .output()
        .context("cargo cannot be run")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    let lock = super::read(&workspace::root().join("Cargo.lock"))?;
    made(&metadata, &String::from_utf8_lossy(&lock), epoch)
}

fn made(metadata: &Value, lock: &str, epoch: u64) -> anyhow::Result<Value> {
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"])
        .filter_map(|one| Some((one["id"].as_str()?, one)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"]["nodes"])
        .filter_map(|one| Some((one["id"].as_str()?, one)))
        .collect();
    let root = packages.iter().find(|(_, one)| one["name"] == "towpath");
    let root = *root.context("cargo metadata knows no package `towpath`")?.0;
    let (sums, shipped) = (checksums(lock), shipped(root, &nodes, &packages));
    let component = |id: &&str| component(packages[*id], &sums);
    let edges = shipped.iter().map(|id| {
        let on: BTreeSet<String> = linked(nodes[id], &packages)
            .map(|id| name(packages[id]))
            .collect();
        json!({"ref": name(packages[id]), "dependsOn": on})
    });
    let mut main = component(&root);
    main["type"] = "application".into();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": rfc3339(epoch)?,
            "component": main,
        },
        "components": shipped.iter().filter(|id| **id != root).map(component).collect::<Vec<_>>(),
        "dependencies": edges.collect::<Vec<_>>(),
    }))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Everything that is linked into a package, and itself.
fn shipped<'a>(
    root: &'a str,
    nodes: &BTreeMap<&'a str, &'a Value>,
    packages: &BTreeMap<&'a str, &'a Value>,
) -> BTreeSet<&'a str> {
    let (mut reached, mut next) = (BTreeSet::from([root]), vec![root]);
    while let Some(id) = next.pop() {
        next.extend(linked(nodes[id], packages).filter(|id| reached.insert(id)));
    }
    reached
}

/// What a package links: its normal dependencies, except macros.
fn linked<'a: 'b, 'b>(
    node: &'a Value,
    packages: &'b BTreeMap<&'a str, &'a Value>,
) -> impl Iterator<Item = &'a str> + 'b {
    list(&node["deps"]).filter_map(|dependency| {
        let id = dependency["pkg"].as_str()?;
        let is_normal = list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
        let targets = &packages.get(id)?["targets"];
        let is_macro =
            list(targets).any(|target| list(&target["kind"]).any(|kind| kind == "proc-macro"));
        (is_normal && !is_macro).then_some(id)
    })
}

fn component(package: &Value, sums: &BTreeMap<(String, String), String>) -> Value {
    let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
    let mut component = json!({
        "type": "library",
        "bom-ref": name(package),
        "name": text("name"),
        "version": text("version"),
        "purl": name(package),
    });
    // `MIT/Apache-2.0` is how licences were combined before SPDX expressions.
    let licence = text("license").replace(" / ", " OR ").replace('/', " OR ");
    if !licence.is_empty() {
        component["licenses"] = json!([{ "expression": licence }]);
    }
    if let Some(sum) = sums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    component
}

/// As a package URL.
fn name(package: &Value) -> String {
    let text = |field: &str| package[field].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

/// The checksums of `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").skip(1);
    let known = packages.filter_map(|package| {
        let field = |name: &str| {
            let mut lines = package.lines();
            lines.find_map(|line| {
                Some(
                    line.strip_prefix(name)?
                        .trim_matches([' ', '=', '"'])
                        .to_owned(),
                )
            })
        };
        Some(((field("name ")?, field("version ")?), field("checksum ")?))
    });
    known.collect()
}

/// `date` knows the calendar.
pub(super) fn rfc3339(epoch: u64) -> anyhow::Result<String> {
    let at = format!("--date=@{epoch}");
    let output = std::process::Command::new("date")
        .args(["-u", &at, "+%Y-%m-%dT%H:%M:%SZ"])
        .output();
    let output = output.context("`date` cannot be run")?;
    ensure!(output.status.success(), "date -u {at} failed");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_is_linked_and_nothing_else() {
        let crate_of = |name: &str, kind: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "targets": [{"kind": [kind]}]});
        let needs = |on: &str, kind: Value| json!({"pkg": on, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [crate_of("towpath", "bin"), crate_of("a", "lib"), crate_of("b", "lib"),
                crate_of("derive", "proc-macro"), crate_of("only-tests", "lib"), crate_of("builds", "lib")],
            "resolve": {"nodes": [
                {"id": "towpath", "deps": [needs("a", Value::Null), needs("derive", Value::Null), needs("only-tests", json!("dev")), needs("builds", json!("build"))]},
                {"id": "a", "deps": [needs("b", Value::Null)]},
                {"id": "b", "deps": []},
                {"id": "derive", "deps": []}, {"id": "only-tests", "deps": []}, {"id": "builds", "deps": []},
            ]},
        });
        let lock =
            "version = 4\n\n[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nchecksum = \"abcd\"\n";
        let sbom = made(&metadata, lock, 86_400).unwrap();
        let names: Vec<&str> = list(&sbom["components"])
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(sbom["metadata"]["component"]["type"], "application");
        assert_eq!(sbom["metadata"]["timestamp"], "1970-01-02T00:00:00Z");
        let b = &sbom["components"][1];
        assert_eq!(b["hashes"][0]["content"], "abcd");
        assert_eq!(b["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(
            sbom["dependencies"][2],
            json!({"ref": "pkg:cargo/towpath@1.0.0", "dependsOn": ["pkg:cargo/a@1.0.0"]})
        );
    }
}
