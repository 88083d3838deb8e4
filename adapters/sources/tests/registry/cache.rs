//! The cache through everything that can happen to it: restarts, damage, kills, a second process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use towpath_formats::oci::Digest;
use towpath_sources::{Cache, Scrape, scrape};

use super::support::double::Double;
use super::support::images::*;
use super::{names, plain, quick, said};

fn wish(double: &Double, folder: &Path) -> Scrape {
    Scrape { cache: Some(Arc::new(Cache::at(folder))), ..Scrape::of(double.repository()) }
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(folder.join("v1")).unwrap().map(|entry| entry.unwrap().path());
    folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())).collect()
}

#[tokio::test]
async fn what_is_known_by_digest_is_not_read_again_be_it_good_or_broken() {
    let double = Double::start();
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    double.put(Some("a-too"), &release("4.1.0+amd64", ""));
    double.put(Some("broken"), &image("amd64", &[b"x".repeat(600)]));
    let (amd64, arm64) = (part_of_multi("4.1.1", "amd64", "4.1.0"), part_of_multi("4.1.1", "arm64", "4.1.0"));
    [&amd64, &arm64].iter().for_each(|one| double.put(None, one));
    double.put(Some("multi"), &list(INDEX, &[&amd64, &arm64]));
    let folder = tempfile::tempdir().unwrap();
    let registry = plain(quick());
    let (cold, said_cold) = scrape(&registry, &wish(&double, folder.path())).await.unwrap();
    assert_eq!(names(&cold), "4.1.0+amd64 4.1.1+multi");
    assert_eq!(said(&said_cold), ["broken-image broken: it is no release: it is not a tar archive, or a damaged one"]);

    let before = registry.requests();
    let (warm, said_warm) = scrape(&registry, &wish(&double, folder.path())).await.unwrap();
    let after = registry.requests();
    assert_eq!((&warm.bytes, said_warm), (&cold.bytes, said_cold));
    assert_eq!(after.blobs - before.blobs, 0);
    assert_eq!(after.manifests - before.manifests, 4, "one small question a tag");

    // A tag that moves is followed.
    double.put(Some("a"), &release("4.1.5+amd64", "4.1.0"));
    let (moved, _) = scrape(&registry, &wish(&double, folder.path())).await.unwrap();
    assert_eq!(names(&moved), "4.1.0+amd64 4.1.5+amd64 4.1.1+multi");
}

#[tokio::test]
async fn damage_is_mended_and_said() {
    let double = Double::start();
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    double.put(Some("b"), &release("4.1.1+amd64", "4.1.0"));
    let folder = tempfile::tempdir().unwrap();
    let registry = plain(quick());
    let (cold, _) = scrape(&registry, &wish(&double, folder.path())).await.unwrap();
    let a = Digest::of(&release("4.1.0+amd64", "").manifest);
    let of_a = entries(folder.path()).into_iter().find(|path| path.ends_with(a.hex())).unwrap();
    let foreign = [Digest::of(b"{}").hex().as_bytes(), b"\n{}"].concat();
    for damage in [&b"damaged"[..], b"", &foreign] {
        std::fs::write(&of_a, damage).unwrap();
        let (mended, findings) = scrape(&registry, &wish(&double, folder.path())).await.unwrap();
        assert_eq!(mended.bytes, cold.bytes);
        assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["cache-damaged"]);
        let (_, findings) = scrape(&registry, &wish(&double, folder.path())).await.unwrap();
        assert_eq!(findings, []);
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_the_scrape_goes_on() {
    let double = Double::start();
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    // Every write to it fails as on a full disk; and it can be no folder either.
    let (file, findings) = scrape(&plain(quick()), &wish(&double, Path::new("/dev/full"))).await.unwrap();
    assert_eq!(names(&file), "4.1.0+amd64");
    assert!(findings.iter().any(|finding| finding.code == "cache-unwritable"), "{findings:?}");
}

const CHILD: &str = "TOWPATH_TEST_CACHE";

/// Not a test by itself: what is killed in the next one. It puts entries in as fast as it can.
#[test]
#[ignore = "it is run by the next test, and killed"]
fn child_that_writes() {
    let folder = std::env::var_os(CHILD).expect("it is run by the next test");
    let cache = Cache::at(Path::new(&folder));
    for number in (0..50_u32).cycle() {
        cache.put(&Digest::of(&number.to_be_bytes()), &vec![number as u8; 20_000]);
    }
}

#[test]
fn killed_a_hundred_times_every_entry_is_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut whole = 0;
    for round in 0..100_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "cache::child_that_writes", "--ignored"]).env(CHILD, folder.path());
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // At another point each time; the kill is the thing here, and not what the wait is for.
        std::thread::sleep(Duration::from_millis(5 + round % 20));
        child.kill().unwrap();
        child.wait().unwrap();
        let cache = Cache::at(folder.path());
        for number in 0..50_u32 {
            if let Some(content) = cache.get(&Digest::of(&number.to_be_bytes())) {
                assert_eq!(content, vec![number as u8; 20_000]);
                whole += 1;
            }
        }
        assert_eq!(cache.take_findings(), [], "round {round}");
    }
    assert!(whole > 100, "the child wrote: {whole}");
}
