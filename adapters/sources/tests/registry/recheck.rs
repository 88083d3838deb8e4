//! Which tags are asked again: those that move always, those that name versions in turn.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use towpath_core::intake::Recheck;
use towpath_formats::graph::release_images::Requests;
use towpath_formats::sources::oci::Repository;
use towpath_sources::{Cache, CacheKey, Registry, Scrape, scrape};

use super::{names, patient, plain, quick, read, said};
use towpath_testing_services::registry::docker::{DockerRegistry, Door};
use towpath_testing_services::registry::double::{RegistryAnswer, RegistryDouble};
use towpath_testing_services::registry::images::*;

fn wish(repository: Repository, folder: &Path) -> Scrape {
    Scrape {
        cache: Some(Arc::new(Cache::at(folder))),
        ..Scrape::of(repository)
    }
}

/// What a scrape that finds nothing wrong asks for.
async fn asked(registry: &Registry, wish: &Scrape) -> Requests {
    let before = registry.requests();
    let (_, findings) = scrape(registry, wish).await.unwrap();
    assert_eq!(said(&findings), [""; 0]);
    let after = registry.requests();
    Requests {
        tags: after.tags - before.tags,
        manifests: after.manifests - before.manifests,
        blobs: after.blobs - before.blobs,
        blob_bytes: after.blob_bytes - before.blob_bytes,
    }
}

/// The tags that were asked where they point since so many questions.
fn tags_asked(double: &RegistryDouble, since: usize) -> Vec<String> {
    let mut tags: Vec<String> = double.asked("/manifests/")[since..]
        .iter()
        .map(|asked| asked.target.rsplit('/').next().unwrap().to_owned())
        .collect();
    tags.sort();
    tags
}

#[tokio::test]
async fn a_second_scrape_asks_for_a_quarter_of_the_versions_and_for_what_moves() {
    let double = RegistryDouble::start();
    for patch in 0..200 {
        let arch = if patch % 2 == 0 { "" } else { "-x86_64" };
        double.put(
            Some(&format!("4.1.{patch}{arch}")),
            &release(&format!("4.1.{patch}+amd64"), ""),
        );
    }
    for moving in ["latest", "4.1", "v4.1.7"] {
        double.put(Some(moving), &release("4.1.7+amd64", ""));
    }
    let (folder, registry) = (tempfile::tempdir().unwrap(), plain(quick()));
    let wish = wish(double.repository(), folder.path());
    assert_eq!(asked(&registry, &wish).await.manifests, 203);
    let mut all = Vec::new();
    for round in 1..=4 {
        let since = double.asked("/manifests/").len();
        let requests = asked(&registry, &wish).await;
        assert_eq!(
            (requests.tags, requests.manifests, requests.blobs),
            (1, 50 + 3, 0),
            "round {round}"
        );
        all.extend(
            tags_asked(&double, since)
                .into_iter()
                .filter(|tag| tag.matches('.').count() == 2),
        );
    }
    all.sort();
    all.dedup();
    assert_eq!(
        all.len(),
        200 + 1,
        "within four rounds, every version had its turn; and v4.1.7, which is none, always"
    );
    let everything = Scrape {
        recheck: Recheck::All,
        ..wish
    };
    assert_eq!(asked(&registry, &everything).await.manifests, 203);
}

#[tokio::test]
async fn what_could_not_be_read_is_asked_again_and_so_is_what_an_older_version_wrote_down() {
    let failing = Arc::new(AtomicBool::new(false));
    let is_failing = failing.clone();
    let double = RegistryDouble::misbehaving(move |asked, _| {
        let is_meant = asked.target.ends_with("/4.1.0") && is_failing.load(Ordering::Relaxed);
        is_meant.then(|| RegistryAnswer::new(500))
    });
    for patch in 0..8 {
        double.put(
            Some(&format!("4.1.{patch}")),
            &release(&format!("4.1.{patch}+amd64"), ""),
        );
    }
    let (folder, registry) = (tempfile::tempdir().unwrap(), plain(quick()));
    let wish = wish(double.repository(), folder.path());
    asked(&registry, &wish).await;
    failing.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        let (file, findings) = scrape(&registry, &wish).await.unwrap();
        assert_eq!(
            findings
                .iter()
                .map(|finding| finding.code)
                .collect::<Vec<_>>(),
            ["stale-image"]
        );
        assert_eq!(read(&file).releases.len(), 8);
    }
    failing.store(false, Ordering::Relaxed);
    let since = double.asked("/manifests/").len();
    asked(&registry, &wish).await;
    assert!(tags_asked(&double, since).contains(&"4.1.0".to_owned()));

    // Lines as they were: a tag and its digest.
    let (cache, repository) = (Cache::at(folder.path()), double.repository());
    let text = String::from_utf8(cache.get(CacheKey::Tags(&repository)).unwrap()).unwrap();
    let old: String = text
        .lines()
        .map(|line| line.rsplit_once(' ').unwrap().0.to_owned() + "\n")
        .collect();
    assert_eq!(old.lines().next().unwrap().split(' ').count(), 2);
    cache.put(CacheKey::Tags(&repository), old.as_bytes());
    assert_eq!(asked(&registry, &wish).await.manifests, 8);
    assert_eq!(asked(&registry, &wish).await.manifests, 2);
}

#[tokio::test]
async fn where_the_cache_has_lost_an_image_its_tag_is_asked() {
    let double = RegistryDouble::start();
    for patch in 0..8 {
        double.put(
            Some(&format!("4.1.{patch}")),
            &release(&format!("4.1.{patch}+amd64"), ""),
        );
    }
    let (folder, registry) = (tempfile::tempdir().unwrap(), plain(quick()));
    let wish = wish(double.repository(), folder.path());
    asked(&registry, &wish).await;
    // The one whose turn would come last was moved meanwhile.
    let lost = release("4.1.7+amd64", "").digest();
    std::fs::remove_file(
        folder
            .path()
            .join("v2/images")
            .join(&lost.hex()[..2])
            .join(lost.hex()),
    )
    .unwrap();
    double.put(Some("4.1.7"), &release("4.1.7+amd64", "4.1.6"));
    let (file, findings) = scrape(&registry, &wish).await.unwrap();
    assert_eq!(said(&findings), [""; 0]);
    assert_eq!(
        read(&file).edges.len(),
        1,
        "it is read where its tag points now"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_was_moved_in_a_real_registry_is_noticed_within_four_scrapes() {
    const PATH: &str = "ocp/release";
    let server = DockerRegistry::start(Door::Plain);
    for patch in 0..8 {
        server
            .push(
                PATH,
                Some(&format!("4.1.{patch}")),
                &release(&format!("4.1.{patch}+amd64"), ""),
            )
            .await;
    }
    let (folder, registry) = (tempfile::tempdir().unwrap(), plain(patient()));
    let wish = wish(server.repository(PATH), folder.path());
    let (before, _) = scrape(&registry, &wish).await.unwrap();
    for (tag, version) in [("4.1.0", "4.1.0+amd64"), ("4.1.7", "4.1.7+amd64")] {
        server
            .push(PATH, Some(tag), &release(version, "4.1.3"))
            .await;
    }
    let mut edges = Vec::new();
    for _ in 0..4 {
        let (file, findings) = scrape(&registry, &wish).await.unwrap();
        assert_eq!((said(&findings), names(&file)), (vec![], names(&before)));
        edges.push(read(&file).edges.len());
    }
    assert_eq!(
        edges,
        [1, 1, 1, 2],
        "the first is noticed at once, the last in the fourth round"
    );
    server
        .push(PATH, Some("4.1.7"), &release("4.1.7+amd64", "4.1.3 4.1.4"))
        .await;
    let (file, _) = scrape(
        &registry,
        &Scrape {
            recheck: Recheck::All,
            ..wish
        },
    )
    .await
    .unwrap();
    assert_eq!(
        read(&file).edges.len(),
        3,
        "whoever asks for all of them is told at once"
    );
}
