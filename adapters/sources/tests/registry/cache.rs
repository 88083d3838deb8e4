//! The cache through everything that can happen to it: restarts, damage, kills, a second process.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use towpath_formats::sources::oci::Digest;
use towpath_sources::{Cache, CacheKey, Scrape, scrape};

use super::{names, plain, quick, said};
use towpath_testing_services::registry::double::{RegistryAnswer, RegistryDouble};
use towpath_testing_services::registry::images::*;

fn wish(double: &RegistryDouble, folder: &Path) -> Scrape {
    Scrape {
        cache: Some(Arc::new(Cache::at(folder))),
        ..Scrape::of(double.repository())
    }
}

fn entry(folder: &Path, digest: &Digest) -> PathBuf {
    folder
        .join("v2/images")
        .join(&digest.hex()[..2])
        .join(digest.hex())
}

#[tokio::test]
async fn what_is_known_by_digest_is_not_read_again_be_it_good_or_broken() {
    let double = RegistryDouble::start();
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    double.put(Some("a-too"), &release("4.1.0+amd64", ""));
    double.put(Some("broken"), &image("amd64", &[b"x".repeat(600)]));
    let (amd64, arm64) = (
        part_of_multi("4.1.1", "amd64", "4.1.0"),
        part_of_multi("4.1.1", "arm64", "4.1.0"),
    );
    [&amd64, &arm64]
        .iter()
        .for_each(|one| double.put(None, one));
    double.put(Some("multi"), &list(INDEX, &[&amd64, &arm64]));
    let folder = tempfile::tempdir().unwrap();
    let registry = plain(quick());
    let (cold, said_cold) = scrape(&registry, &wish(&double, folder.path()))
        .await
        .unwrap();
    assert_eq!(names(&cold), "4.1.0+amd64 4.1.1+multi");
    assert_eq!(
        said(&said_cold),
        [
            "broken-image broken: it is not a release image: it is not a tar archive, or a damaged one"
        ]
    );

    let before = registry.requests();
    let (warm, said_warm) = scrape(&registry, &wish(&double, folder.path()))
        .await
        .unwrap();
    let after = registry.requests();
    assert_eq!((&warm.bytes, said_warm), (&cold.bytes, said_cold));
    assert_eq!(after.blobs - before.blobs, 0);
    assert_eq!(
        after.manifests - before.manifests,
        4,
        "one small question a tag"
    );

    // A tag that moves is followed.
    double.put(Some("a"), &release("4.1.5+amd64", "4.1.0"));
    let (moved, _) = scrape(&registry, &wish(&double, folder.path()))
        .await
        .unwrap();
    assert_eq!(names(&moved), "4.1.0+amd64 4.1.5+amd64 4.1.1+multi");
}

#[tokio::test]
async fn damage_is_mended_and_said() {
    let double = RegistryDouble::start();
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    double.put(Some("b"), &release("4.1.1+amd64", "4.1.0"));
    let folder = tempfile::tempdir().unwrap();
    let registry = plain(quick());
    let (cold, _) = scrape(&registry, &wish(&double, folder.path()))
        .await
        .unwrap();
    let a = Digest::of(&release("4.1.0+amd64", "").manifest);
    let of_a = entry(folder.path(), &a);
    assert!(of_a.is_file());
    let foreign = [
        Digest::of(format!("image {a}\n{{}}").as_bytes())
            .hex()
            .as_bytes(),
        b"\n{}",
    ]
    .concat();
    for damage in [&b"damaged"[..], b"", &foreign] {
        std::fs::write(&of_a, damage).unwrap();
        let (mended, findings) = scrape(&registry, &wish(&double, folder.path()))
            .await
            .unwrap();
        assert_eq!(mended.bytes, cold.bytes);
        assert_eq!(
            findings
                .iter()
                .map(|finding| finding.code)
                .collect::<Vec<_>>(),
            ["cache-damaged"]
        );
        let (_, findings) = scrape(&registry, &wish(&double, folder.path()))
            .await
            .unwrap();
        assert_eq!(findings, []);
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_the_scrape_goes_on() {
    let double = RegistryDouble::start();
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    // Every write to it fails as on a full disk; and it can be no folder either.
    let (file, findings) = scrape(&plain(quick()), &wish(&double, Path::new("/dev/full")))
        .await
        .unwrap();
    assert_eq!(names(&file), "4.1.0+amd64");
    assert!(
        findings
            .iter()
            .any(|finding| finding.code == "cache-unwritable"),
        "{findings:?}"
    );
}

#[tokio::test]
async fn a_list_in_a_list_is_refused_be_it_known_or_not() {
    let double = RegistryDouble::start();
    let (amd64, arm64) = (
        part_of_multi("4.1.1", "amd64", ""),
        part_of_multi("4.1.1", "arm64", ""),
    );
    [&amd64, &arm64]
        .iter()
        .for_each(|one| double.put(None, one));
    let inner = list(INDEX, &[&amd64, &arm64]);
    let outer = list(INDEX, &[&inner])
        .changed(|manifest| manifest["manifests"][0]["mediaType"] = IMAGE.into());
    double.put(None, &inner);
    double.put(Some("outer"), &outer);
    double.put(Some("good"), &release("4.1.0+amd64", ""));
    let folder = tempfile::tempdir().unwrap();
    let expected =
        ["broken-image outer: it is not a release image: the manifest is a list of lists"];
    let registry = plain(quick());
    let (_, cold) = scrape(&registry, &wish(&double, folder.path()))
        .await
        .unwrap();
    assert_eq!(said(&cold), expected);

    // Now the inner list is known before the outer one is looked at.
    let folder = tempfile::tempdir().unwrap();
    let alone = RegistryDouble::start();
    [&amd64, &arm64].iter().for_each(|one| alone.put(None, one));
    alone.put(Some("inner"), &inner);
    let (file, _) = scrape(&registry, &wish(&alone, folder.path()))
        .await
        .unwrap();
    assert_eq!(names(&file), "4.1.1+multi");
    let (_, cached) = scrape(&registry, &wish(&double, folder.path()))
        .await
        .unwrap();
    assert_eq!(said(&cached), expected);
}

#[tokio::test]
async fn what_the_headers_of_one_answer_caused_is_not_held_against_the_digest() {
    let untold = release("4.1.1+amd64", "")
        .changed(|manifest| _ = manifest.as_object_mut().unwrap().remove("mediaType"));
    let (bytes, digest) = (untold.manifest.clone(), untold.digest());
    let wrong = Arc::new(AtomicBool::new(true));
    let is_wrong = wrong.clone();
    let double = RegistryDouble::misbehaving(move |asked, _| {
        let is_it = asked.target.ends_with("/x") || asked.target.ends_with(digest.as_str());
        let is_meant = is_it && is_wrong.load(Ordering::Relaxed);
        is_meant.then(|| {
            let answer = RegistryAnswer::ok(bytes.clone()).header("content-type", "text/plain");
            answer.header("docker-content-digest", digest.as_str())
        })
    });
    double.put(Some("good"), &release("4.1.0+amd64", ""));
    double.put(Some("x"), &untold);
    let folder = tempfile::tempdir().unwrap();
    let registry = plain(quick());
    let (_, findings) = scrape(&registry, &wish(&double, folder.path()))
        .await
        .unwrap();
    assert_eq!(
        said(&findings),
        [
            "broken-image x: it is not a release image: the manifest is of the unknown type \"text/plain\""
        ]
    );
    wrong.store(false, Ordering::Relaxed);
    let (file, findings) = scrape(&registry, &wish(&double, folder.path()))
        .await
        .unwrap();
    assert_eq!(
        (names(&file).as_str(), said(&findings)),
        ("4.1.0+amd64 4.1.1+amd64", vec![])
    );
}

#[tokio::test]
async fn a_layer_that_was_longer_than_its_manifest_says_is_asked_for_again() {
    let layer = Digest::of(&release_layer("4.1.1", "", ""));
    let wrong = Arc::new(AtomicBool::new(true));
    let is_wrong = wrong.clone();
    let double = RegistryDouble::misbehaving(move |asked, _| {
        let is_meant = asked.target.ends_with(layer.as_str()) && is_wrong.load(Ordering::Relaxed);
        is_meant
            .then(|| RegistryAnswer::ok([&release_layer("4.1.1", "", "")[..], b"more"].concat()))
    });
    double.put(Some("good"), &release("4.1.0+amd64", ""));
    double.put(Some("x"), &release("4.1.1+amd64", ""));
    let folder = tempfile::tempdir().unwrap();
    let registry = plain(quick());
    let (_, findings) = scrape(&registry, &wish(&double, folder.path()))
        .await
        .unwrap();
    assert_eq!(
        said(&findings),
        ["broken-image x: it is not a release image: the blob is longer than its manifest says"]
    );
    assert_eq!(
        double.asked("/blobs/").len() - 2,
        quick().retry.attempts as usize,
        "it was asked for as often as may be"
    );
    wrong.store(false, Ordering::Relaxed);
    let (file, findings) = scrape(&registry, &wish(&double, folder.path()))
        .await
        .unwrap();
    assert_eq!(
        (names(&file).as_str(), said(&findings)),
        ("4.1.0+amd64 4.1.1+amd64", vec![])
    );
}

const CHILD: &str = "TOWPATH_TEST_CACHE";

/// Not a test by itself: what is killed in the next one. It puts entries in as fast as it can.
#[test]
#[ignore = "it is run by the next test, and killed"]
fn child_that_writes() {
    let folder = std::env::var_os(CHILD).expect("it is run by the next test");
    let cache = Cache::at(Path::new(&folder));
    for number in (0..50_u32).cycle() {
        cache.put(
            CacheKey::Image(&Digest::of(&number.to_be_bytes())),
            &vec![number as u8; 20_000],
        );
        // Whoever kills it counts. If nobody reads any more, it is about to be killed.
        let _ = std::io::stderr().write_all(b".");
    }
}

#[test]
fn killed_a_hundred_times_every_entry_is_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut whole = 0;
    for round in 0..100 {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "cache::child_that_writes", "--ignored"])
            .env(CHILD, folder.path());
        let mut child = child
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // In the midst of its writing, at another point each time. It ends if the child does.
        let mut written = vec![0; 1 + round % 20];
        child
            .stderr
            .take()
            .unwrap()
            .read_exact(&mut written)
            .unwrap();
        assert!(
            written.iter().all(|byte| *byte == b'.'),
            "{}",
            String::from_utf8_lossy(&written)
        );
        child.kill().unwrap();
        child.wait().unwrap();
        let cache = Cache::at(folder.path());
        for number in 0..50_u32 {
            if let Some(content) = cache.get(CacheKey::Image(&Digest::of(&number.to_be_bytes()))) {
                assert_eq!(content, vec![number as u8; 20_000]);
                whole += 1;
            }
        }
        assert_eq!(cache.take_findings(), [], "round {round}");
    }
    assert!(whole > 100, "the child wrote: {whole}");
}
