//! A real registry with some hundred releases of several architectures, and all kinds of rubbish between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::JoinSet;
use towpath_core::version::Arch;
use towpath_formats::sources::oci::Digest;
use towpath_sources::{Cache, Scrape, scrape};

use super::{names, patient, plain, quick, read, said};
use towpath_testing_services::registry::docker::{DockerRegistry, Door};
use towpath_testing_services::registry::images::*;

const PATH: &str = "ocp/release";
const ARCHES: [&str; 4] = ["amd64", "arm64", "ppc64le", "s390x"];
const MINORS: u64 = 6;
const PATCHES: u64 = 9;

/// Each patch can be reached from all before it, and the first of a minor from the last of the one before.
fn previous(minor: u64, patch: u64) -> String {
    let of_minor = (0..patch).map(|earlier| format!("4.{minor}.{earlier}"));
    let from_before =
        (patch == 0 && minor > 0).then(|| format!("4.{}.{}", minor.wrapping_sub(1), PATCHES - 1));
    of_minor.chain(from_before).collect::<Vec<_>>().join(" ")
}

async fn fill(registry: &Arc<DockerRegistry>) {
    // The configurations, which all have in common, come with the first.
    push_version(registry, 0, 0).await;
    let mut pushes = JoinSet::new();
    for (minor, patch) in
        (0..MINORS).flat_map(|minor| (0..PATCHES).map(move |patch| (minor, patch)))
    {
        let registry = registry.clone();
        pushes.spawn(async move { push_version(&registry, minor, patch).await });
    }
    while let Some(pushed) = pushes.join_next().await {
        pushed.unwrap();
    }
}

/// One version: an image for each architecture, in OCI's form or in Docker's, and one for several.
async fn push_version(registry: &DockerRegistry, minor: u64, patch: u64) {
    let (version, previous) = (format!("4.{minor}.{patch}"), previous(minor, patch));
    for arch in ARCHES {
        let image = release(&format!("{version}+{arch}"), &previous);
        let image = if patch.is_multiple_of(2) {
            image
        } else {
            dockers(image)
        };
        registry
            .push(PATH, Some(&format!("{version}-{arch}")), &image)
            .await;
    }
    let parts = ["amd64", "arm64"].map(|arch| part_of_multi(&version, arch, &previous));
    for part in &parts {
        registry.push(PATH, None, part).await;
    }
    registry
        .push(
            PATH,
            Some(&format!("{version}-multi")),
            &list(INDEX, &[&parts[0], &parts[1]]),
        )
        .await;
}

/// Images that are no releases, each in its way, as far as a real registry takes them.
async fn spoil(registry: &DockerRegistry) {
    let push = async |tag: &str, image: &Image| registry.push(PATH, Some(tag), image).await;
    push("empty", &image("amd64", &[gzip(&tar(&[]))])).await;
    push("not-json", &image("amd64", &[metadata_layer("x")])).await;
    push(
        "bad-version",
        &image("amd64", &[metadata_layer(&metadata("0", "", ""))]),
    )
    .await;
    push("not-a-tar", &image("amd64", &[gzip(b"x")])).await;
    push("same-as-4.0.1", &dockers(release("4.0.1+amd64", "4.0.0"))).await;
    push(
        "other-4.0.1",
        &image("amd64", &[release_layer("4.0.1", "", "")]),
    )
    .await;
    push(
        &format!("sha256-{}.sig", "0".repeat(64)),
        &image("amd64", &[vec![1]]),
    )
    .await;
    let (gone, damaged) = (
        image("amd64", &[release_layer("9.9.9", "", "")]),
        image("amd64", &[release_layer("9.9.8", "", "")]),
    );
    push("layer-gone", &gone).await;
    push("damaged", &damaged).await;
    std::fs::remove_file(registry.file(&Digest::of(&gone.blobs[0]))).unwrap();
    let file = registry.file(&Digest::of(&damaged.blobs[0]));
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let inner = list(INDEX, &[&part_of_multi("4.0.1", "amd64", "4.0.0")]);
    registry.push(PATH, None, &inner).await;
    push("list-of-lists", &list(INDEX, &[&inner])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn some_hundred_releases_and_rubbish_between_them() {
    let registry = Arc::new(DockerRegistry::start(Door::Plain));
    fill(&registry).await;
    spoil(&registry).await;
    let client = plain(patient());
    let folder = tempfile::tempdir().unwrap();
    let wish = Scrape {
        cache: Some(Arc::new(Cache::at(folder.path()))),
        ..Scrape::of(registry.repository(PATH))
    };
    let (file, findings) = scrape(&client, &wish).await.unwrap();

    let damaged = format!(
        "the blob that came is not {}",
        Digest::of(&release_layer("9.9.8", "", ""))
    );
    let expected = [
        format!("unreadable-image damaged: it cannot be read now: {damaged}"),
        "broken-image bad-version: it is not a release image: the release metadata has a version that is none: \"0\" is not a version: a release has three numbers, as in 4.20.3".to_owned(),
        "broken-image empty: it is not a release image: it has no release-manifests/release-metadata".to_owned(),
        "broken-image layer-gone: it is not a release image: a layer is not in the registry".to_owned(),
        "broken-image list-of-lists: it is not a release image: the manifest is a list of lists".to_owned(),
        "broken-image not-a-tar: it is not a release image: the archive is cut short".to_owned(),
        "broken-image not-json: it is not a release image: the release metadata cannot be read: expected value at line 1 column 1".to_owned(),
        "payload-disputed other-4.0.1: it is 4.0.1 of amd64, and so is 4.0.1-amd64, with another digest; no update leads to it".to_owned(),
    ];
    assert_eq!(said(&findings), expected);

    let releases = read(&file);
    let mut of_arch: BTreeMap<&str, usize> = BTreeMap::new();
    releases
        .releases
        .iter()
        .for_each(|release| *of_arch.entry(release.arch.as_str()).or_default() += 1);
    let each = (MINORS * PATCHES) as usize;
    assert_eq!(
        of_arch.into_iter().collect::<Vec<_>>(),
        ["amd64", "arm64", "multi", "ppc64le", "s390x"].map(|arch| (arch, each))
    );
    let edges_of_arch = MINORS * (PATCHES * (PATCHES - 1) / 2) + MINORS - 1;
    assert_eq!(
        releases.edges.len() as u64,
        5 * edges_of_arch - 1,
        "all but that to the release that is disputed"
    );
    let kept = releases
        .releases
        .iter()
        .find(|one| one.version.to_string() == "4.0.1" && one.arch.as_str() == "amd64")
        .unwrap();
    let digest = dockers(release("4.0.1+amd64", "4.0.0")).digest();
    assert_eq!(
        kept.payload,
        format!("{}@{digest}", registry.repository(PATH))
    );

    let before = client.requests();
    let (again, _) = scrape(&client, &wish).await.unwrap();
    let after = client.requests();
    assert_eq!(again.bytes, file.bytes);
    // The two whose layers cannot be had are asked for each time; nothing else is.
    assert_eq!(
        after.blobs - before.blobs,
        1 + u64::from(quick().retry.attempts)
    );

    let only = Scrape {
        arches: [Arch::new("multi")].into(),
        ..wish
    };
    let (file, _) = scrape(&client, &only).await.unwrap();
    assert!(names(&file).split(' ').all(|name| name.ends_with("+multi")));
}
