//! The real signature of a release, and real keyrings.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it this test runs; elsewhere it is listed
//! as ignored.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

/// The digest inside the real signature: 4.15.0 of amd64.
const SIGNED: &str = "0da6316466d60a3a4535d5fed3589feb0391989982fba59d47d4c729912d6363";
const RED_HAT: &str = "567E347AD0044ADE55BA8A5F199E2F91FD431D51";

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let ignored = data.is_none();
    let data = data.unwrap_or_default();
    let trial = |name: &str, test: fn(&Path) -> Result<(), Failed>| {
        let data = data.clone();
        Trial::test(name, move || test(&data)).with_ignored_flag(ignored)
    };
    let trials = vec![
        trial(
            "the_real_signature_verifies_with_the_real_keyrings",
            verifies,
        ),
        trial(
            "the_real_signature_verifies_nothing_else",
            verifies_nothing_else,
        ),
        trial("one_of_all_releases_is_signed", all),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// A store that has the real signature for this digest.
fn store(data: &Path, digest: &str) -> Result<tempfile::TempDir, Failed> {
    let store = tempfile::tempdir()?;
    let folder = store.path().join(format!("sha256={digest}"));
    std::fs::create_dir(&folder)?;
    std::fs::copy(
        data.join("signatures/ocmirror-e2e-signature-1"),
        folder.join("signature-1"),
    )?;
    Ok(store)
}

/// A file with one release.
fn release(store: &tempfile::TempDir, digest: &str) -> Result<PathBuf, Failed> {
    let path = store.path().join("releases.json");
    let nodes = format!(
        r#"{{"nodes":[{{"version":"4.15.0","payload":"q/r@sha256:{digest}"}}],"edges":[]}}"#
    );
    std::fs::write(&path, nodes)?;
    Ok(path)
}

fn verify(releases: &Path, store: &Path, keyring: &Path) -> Result<(Output, Value), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    command
        .args([
            "releases",
            "verify",
            "--output",
            "json",
            "--now",
            "2026-08-21T12:00Z",
            "--releases",
        ])
        .arg(releases);
    let output = command
        .arg("--signatures")
        .arg(store)
        .arg("--keyring")
        .arg(keyring)
        .output()?;
    let told = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    Ok((output, told))
}

fn verifies(data: &Path) -> Result<(), Failed> {
    let store = store(data, SIGNED)?;
    let releases = release(&store, SIGNED)?;
    for keyring in ["redhat.txt", "combined.txt"] {
        let (output, told) = verify(
            &releases,
            store.path(),
            &data.join("signatures/keyrings").join(keyring),
        )?;
        let one = &told["releases"][0];
        assert_eq!(one["verdict"], "verified", "{keyring}: {told:#}");
        assert_eq!(one["signer"]["fingerprint"], RED_HAT);
        assert_eq!(one["signer"]["signedAt"], "2024-02-26T16:00:12Z");
        assert!(output.status.success());
    }
    Ok(())
}

fn verifies_nothing_else(data: &Path) -> Result<(), Failed> {
    let redhat = data.join("signatures/keyrings/redhat.txt");
    let store_of_signed = store(data, SIGNED)?;
    let releases = release(&store_of_signed, SIGNED)?;
    // A keyring without the signer.
    let (output, told) = verify(
        &releases,
        store_of_signed.path(),
        &data.join("signatures/keyrings/simple.txt"),
    )?;
    assert_eq!(
        (
            told["releases"][0]["verdict"].as_str(),
            output.status.code()
        ),
        (Some("unknown-key"), Some(1))
    );
    // The signature, copied to the path of another digest.
    let other = SIGNED.replace('0', "1");
    let rogue = store(data, &other)?;
    let (output, told) = verify(&release(&rogue, &other)?, rogue.path(), &redhat)?;
    assert_eq!(
        (
            told["releases"][0]["verdict"].as_str(),
            output.status.code()
        ),
        (Some("other-digest"), Some(1))
    );
    Ok(())
}

fn all(data: &Path) -> Result<(), Failed> {
    let store = store(data, SIGNED)?;
    let keyring = data.join("signatures/keyrings/redhat.txt");
    let (output, told) = verify(&data.join("releases-amd64.json"), store.path(), &keyring)?;
    let verified = |one: &&Value| one["verdict"] == "verified";
    let nodes = told["releases"].as_array().ok_or("no releases")?;
    let versions: Vec<&str> = nodes
        .iter()
        .filter(verified)
        .filter_map(|one| one["version"].as_str())
        .collect();
    let is_there = nodes.iter().any(|one| {
        one["payload"]
            .as_str()
            .is_some_and(|text| text.ends_with(SIGNED))
    });
    assert_eq!(versions, if is_there { vec!["4.15.0"] } else { vec![] });
    assert_eq!(output.status.code(), Some(1));
    Ok(())
}
