//! Images that are wrong in every way: each is left out with a finding that says why, and what is good beside it is there.

use std::sync::Arc;

use serde_json::json;
use towpath_sources::{Cache, RegistryLimits, Scrape, scrape};

use super::{names, plain, quick, said};
use towpath_testing_services::registry::double::{RegistryAnswer, RegistryDouble};
use towpath_testing_services::registry::images::*;

/// Scrapes a registry with this image under the tag `x` and a good one beside it; what is said of `x`.
async fn told(limits: RegistryLimits, image: &Image, with: &[&Image]) -> String {
    let double = RegistryDouble::start();
    double.put(Some("good"), &release("4.1.0+amd64", ""));
    double.put(Some("x"), image);
    with.iter().for_each(|one| double.put(None, one));
    let (file, findings) = scrape(&plain(limits), &Scrape::of(double.repository()))
        .await
        .unwrap();
    assert!(
        names(&file).contains("4.1.0+amd64"),
        "the good one is there"
    );
    assert!(!names(&file).contains("0.0.0"));
    let said = said(&findings).join("\n");
    match said.strip_prefix("broken-image x: it is not a release image: ") {
        Some(problem) => {
            assert_eq!(names(&file), "4.1.0+amd64", "{problem}");
            problem.to_owned()
        }
        None => format!("{} | {said}", names(&file)),
    }
}

fn of(layers: &[Vec<u8>]) -> Image {
    image("amd64", layers)
}

fn layer(entries: &[(&str, u8, &[u8])]) -> Vec<u8> {
    gzip(&tar(entries))
}

#[tokio::test]
async fn what_is_wrong_with_the_metadata_is_said() {
    let text = |text: &str| of(&[metadata_layer(text)]);
    let good = metadata("4.1.1", "", "");
    let good = good.as_bytes();
    let huge = vec![b' '; (256 << 10) + 1];
    for (image, expected) in [
        (
            of(&[layer(&[("etc/x", b'0', b"")])]),
            "it has no release-manifests/release-metadata",
        ),
        (of(&[]), "it has no release-manifests/release-metadata"),
        (
            of(&[vec![]]),
            "it has no release-manifests/release-metadata",
        ),
        (
            of(&[gzip(b"")]),
            "it has no release-manifests/release-metadata",
        ),
        (
            text("not json"),
            "the release metadata cannot be read: expected ident at line 1 column 2",
        ),
        (
            text(""),
            "the release metadata cannot be read: EOF while parsing a value at line 1 column 0",
        ),
        (
            text(r#"{"kind":"other","version":"4.1.1"}"#),
            "the release metadata is of the kind \"other\", and not cincinnati-metadata-v0",
        ),
        (
            text(r#"{"kind":"cincinnati-metadata-v0"}"#),
            "the release metadata cannot be read: missing field `version` at line 1 column 33",
        ),
        (
            text(r#"{"kind":"cincinnati-metadata-v0","version":"four"}"#),
            "the release metadata has a version that is none: \"four\" is not a version: a release has three numbers, as in 4.20.3",
        ),
        (
            text(&metadata("4.1.1+s390x", "", "")),
            "the release metadata is for 4.1.1+s390x, and the image is for amd64",
        ),
        (
            of(&[layer(&[(METADATA, b'0', &huge)])]),
            "release-manifests/release-metadata is larger than 262144 bytes",
        ),
        (
            of(&[layer(&[(METADATA, b'2', b"")])]),
            "release-manifests/release-metadata is not a file",
        ),
        (
            of(&[layer(&[(METADATA, b'1', b"")])]),
            "release-manifests/release-metadata is not a file",
        ),
        (
            of(&[layer(&[(METADATA, b'5', b"")])]),
            "release-manifests/release-metadata is not a file",
        ),
        (
            of(&[layer(&[
                ("release-manifests", b'2', b""),
                (METADATA, b'0', good),
            ])]),
            "release-manifests is not a folder",
        ),
        (
            of(&[layer(&[(METADATA, b'0', good), (METADATA, b'0', b"{}")])]),
            "release-manifests/release-metadata stands twice in one layer, and differs",
        ),
        (
            of(&[layer(&[(
                "x/../release-manifests/release-metadata",
                b'0',
                good,
            )])]),
            "it has no release-manifests/release-metadata",
        ),
        (
            of(&[layer(&[(
                "../release-manifests/release-metadata",
                b'0',
                good,
            )])]),
            "it has no release-manifests/release-metadata",
        ),
        (
            of(&[
                release_layer("4.1.1", "", ""),
                layer(&[("release-manifests/.wh.release-metadata", b'0', b"")]),
            ]),
            "it has no release-manifests/release-metadata",
        ),
        (
            of(&[
                release_layer("4.1.1", "", ""),
                layer(&[("release-manifests/.wh..wh..opq", b'0', b"")]),
            ]),
            "it has no release-manifests/release-metadata",
        ),
        (
            of(&[
                release_layer("4.1.1", "", ""),
                layer(&[(".wh.release-manifests", b'0', b"")]),
            ]),
            "it has no release-manifests/release-metadata",
        ),
    ] {
        assert_eq!(told(quick(), &image, &[]).await, expected);
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_layer_is_said() {
    let whole = release_layer("4.1.1", "", "");
    let plain_tar = tar(&[(METADATA, b'0', metadata("4.1.1", "", "").as_bytes())]);
    // Says that it holds eight exabytes, and holds nothing.
    let liar = [&header("x", b'0', 1 << 62)[..], &[0; 1024]].concat();
    let bomb = gzip(&vec![0; 64 << 20]);
    let bomb = [gzip(&header("x", b'0', 64 << 20)), bomb].concat();
    let mut flipped = whole.clone();
    let in_checksum = flipped.len() - 6;
    flipped[in_checksum] ^= 0xff;
    let mut sum = plain_tar.clone();
    sum[0] ^= 1;
    let limits = || {
        let mut limits = quick();
        limits.release_layers.inflated_bytes = 1 << 20;
        limits
    };
    let zstd = [&[0x28, 0xb5, 0x2f, 0xfd][..], &[0; 600]].concat();
    for (bytes, expected) in [
        (vec![0x1f], "the archive is cut short"),
        (plain_tar[..700].to_vec(), "the archive is cut short"),
        (sum, "it is not a tar archive, or a damaged one"),
        (
            b"<html>".repeat(100),
            "it is not a tar archive, or a damaged one",
        ),
        (
            zstd,
            "the layer is packed with zstd, which is not read; push it with gzip",
        ),
        (liar, "the archive is cut short"),
        (bomb, "the layers inflate to more than 1048576 bytes"),
        (
            tar(&[("x", b'S', b"")]),
            "the archive has a sparse file, which is not read",
        ),
        (
            tar(&[("x", b'x', b"22 GNU.sparse.major=1\n")]),
            "the archive has a sparse file, which is not read",
        ),
        (
            tar(&[("x", b'x', b"99 path=x\n")]),
            "the archive has a pax record that cannot be read",
        ),
        (
            header("x", b'L', 1 << 40).to_vec(),
            "the archive has a name longer than 65536 bytes",
        ),
    ] {
        assert_eq!(told(limits(), &of(&[bytes]), &[]).await, expected);
    }
    let (half, no_sum, head) = (
        whole[..whole.len() / 2].to_vec(),
        whole[..whole.len() - 4].to_vec(),
        vec![0x1f, 0x8b],
    );
    for bytes in [half, no_sum, head, flipped] {
        let damaged = told(limits(), &of(&[bytes]), &[]).await;
        assert!(
            damaged.starts_with("the gzip stream is damaged or cut short: "),
            "{damaged}"
        );
    }
}

#[tokio::test]
async fn archives_of_every_make_are_read() {
    let text = metadata("4.1.1", "4.1.0", "");
    let text = text.as_bytes();
    let members = tar(&[(METADATA, b'0', text)]);
    let (one, two) = members.split_at(300);
    let long = "x/".repeat(60);
    let pax_path = format!("{} path={METADATA}\n", 9 + METADATA.len());
    for layer in [
        tar(&[(METADATA, b'0', text)]),
        gzip(&tar(&[(
            "./release-manifests/release-metadata",
            b'0',
            text,
        )])),
        gzip(&tar(&[("/release-manifests/release-metadata", 0, text)])),
        // As seekable layers are made: several gzip streams, one behind the other.
        [gzip(one), gzip(two)].concat(),
        gzip(&tar(&[
            ("././@LongLink", b'L', long.as_bytes()),
            ("x", b'0', b"long"),
            (METADATA, b'0', text),
        ])),
        gzip(&tar(&[
            ("././@LongLink", b'L', format!("{METADATA}\0").as_bytes()),
            ("x", b'0', text),
        ])),
        gzip(&tar(&[
            ("pax", b'x', pax_path.as_bytes()),
            ("x", b'0', text),
        ])),
        gzip(&tar(&[
            ("g", b'g', b"12 comment=x\n"),
            (METADATA, b'0', text),
            (METADATA, b'0', text),
        ])),
        gzip(&members[..1024]),
        gzip(&tar(&[
            ("release-manifests/.wh.release-metadata", b'0', b""),
            (METADATA, b'0', text),
        ])),
    ] {
        assert_eq!(
            told(quick(), &of(&[layer]), &[]).await,
            "4.1.0+amd64 4.1.1+amd64 | "
        );
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_manifest_is_said() {
    let good = || release("4.1.1+amd64", "");
    let layer_type = |name: &str| {
        let name = name.to_owned();
        good().changed(move |manifest| manifest["layers"][0]["mediaType"] = json!(name))
    };
    let mut schema1 = good()
        .changed(|manifest| *manifest = json!({"schemaVersion": 1, "fsLayers": [], "history": []}));
    schema1.media_type = "application/vnd.docker.distribution.manifest.v1+prettyjws";
    let mut unknown = good().changed(|manifest| manifest["mediaType"] = json!("application/x"));
    unknown.media_type = "application/x";
    let mut no_config = image("s390x", &[release_layer("4.1.1", "", "")]);
    no_config.blobs.pop();
    let mut no_layer = good();
    no_layer.blobs.remove(1);
    let bad_config = |text: &str| {
        let mut image = good();
        let text = text.as_bytes().to_vec();
        image = image.changed(|manifest| manifest["config"] = descriptor(CONFIG, &text));
        image.blobs.push(text);
        image
    };
    let inner = list(INDEX, &[&good()]);
    for (image, expected) in [
        (
            schema1,
            "the manifest is of Docker's schema 1, which names no configuration",
        ),
        (
            unknown,
            "the manifest is of the unknown type \"application/x\"",
        ),
        (
            layer_type("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"),
            "the manifest has a layer of the type \"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip\", which is not read",
        ),
        (
            layer_type("application/vnd.oci.image.layer.v1.tar+zstd"),
            "the manifest has a layer that is packed with zstd, which is not read; push it with gzip",
        ),
        (
            good().changed(|manifest| manifest["layers"] = json!(null)),
            "the manifest names no layers",
        ),
        (no_config, "the configuration is not in the registry"),
        (no_layer, "a layer is not in the registry"),
        (bad_config("{}"), "the configuration names no architecture"),
        (
            bad_config("x"),
            "the configuration cannot be read: expected value at line 1 column 1",
        ),
        (
            bad_config(r#"{"architecture":"../x"}"#),
            "the configuration names an architecture that cannot be one",
        ),
        (list(INDEX, &[&inner]), "the manifest is a list of lists"),
        (list(INDEX, &[]), "the manifest is a list without images"),
        (
            list(INDEX, &[&release("4.1.2+amd64", "")]),
            "the manifest is not in the registry",
        ),
    ] {
        assert_eq!(told(quick(), &image, &[&inner]).await, expected);
    }
    let disguised = list(INDEX, &[&inner])
        .changed(|manifest| manifest["manifests"][0]["mediaType"] = json!(IMAGE));
    assert_eq!(
        told(quick(), &disguised, &[&inner]).await,
        "the manifest is a list of lists"
    );
}

#[tokio::test]
async fn lists_are_one_release_or_several() {
    let (amd64, arm64) = (
        part_of_multi("4.1.1", "amd64", "4.1.0"),
        part_of_multi("4.1.1", "arm64", "4.1.0"),
    );
    let multi = list(DOCKER_INDEX, &[&amd64, &arm64]);
    assert_eq!(
        told(quick(), &multi, &[&amd64, &arm64]).await,
        "4.1.0+amd64 4.1.1+multi | "
    );
    let (one, other) = (
        release("4.1.1+amd64", ""),
        dockers(release("4.1.1+s390x", "")),
    );
    let each = list(INDEX, &[&one, &other]);
    assert_eq!(
        told(quick(), &each, &[&one, &other]).await,
        "4.1.0+amd64 4.1.1+amd64 4.1.1+s390x | "
    );
    let half = list(INDEX, &[&one, &arm64]);
    assert_eq!(
        told(quick(), &half, &[&one, &arm64]).await,
        "only some images of the list say that they are one release"
    );
    let with_broken = image("amd64", &[vec![1; 600]]);
    let broken = list(INDEX, &[&one, &with_broken]);
    assert_eq!(
        told(quick(), &broken, &[&one, &with_broken]).await,
        "it is not a tar archive, or a damaged one"
    );
}

#[tokio::test]
async fn a_layer_that_is_not_needed_is_never_read_and_one_that_is_too_large_neither() {
    const LARGE: u64 = 2 << 30;
    let large =
        json!({"mediaType": LAYER, "digest": descriptor(LAYER, b"large")["digest"], "size": LARGE});
    let below =
        release("4.1.1+amd64", "").changed(|manifest| manifest["layers"][0] = large.clone());
    let mut above = of(&[release_layer("4.1.2", "", "")]);
    above = above.changed(|manifest| manifest["layers"].as_array_mut().unwrap().push(large));
    let double = RegistryDouble::misbehaving(|asked, _| {
        let is_large = asked
            .target
            .ends_with(descriptor(LAYER, b"large")["digest"].as_str().unwrap());
        is_large.then(|| RegistryAnswer::ok(vec![0; 256 << 20]))
    });
    double.put(Some("below"), &below);
    double.put(Some("above"), &above);
    let (file, findings) = scrape(&plain(quick()), &Scrape::of(double.repository()))
        .await
        .unwrap();
    assert_eq!(names(&file), "4.1.1+amd64");
    assert_eq!(
        said(&findings),
        [
            "broken-image above: it is not a release image: release metadata may be in a layer of 2147483648 bytes; at most 67108864 are read of an image"
        ]
    );
    assert!(
        double.bytes_sent() < 10_000,
        "{} bytes were sent",
        double.bytes_sent()
    );

    // One that lies about its size is cut off where it was said to end.
    let lying = above.changed(|manifest| manifest["layers"][1]["size"] = json!(1 << 20));
    double.put(Some("above"), &lying);
    let (_, findings) = scrape(&plain(quick()), &Scrape::of(double.repository()))
        .await
        .unwrap();
    let said = said(&findings);
    assert_eq!(
        said,
        [
            "broken-image above: it is not a release image: the blob is longer than its manifest says"
        ]
    );
    assert!(
        double.bytes_sent() < 64 << 20,
        "{} bytes were sent",
        double.bytes_sent()
    );
}

#[tokio::test]
async fn many_layers_are_no_way_around_the_limits() {
    let mut limits = quick();
    limits.release_layers.layer_bytes = 1_000;
    limits.release_layers.inflated_bytes = 20_000;
    let noise = |seed: u32| -> Vec<u8> {
        (0..150_u32)
            .map(|n| ((n * 7 + seed).wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect()
    };
    let layers: Vec<Vec<u8>> = (0..10)
        .map(|seed| layer(&[("x", b'0', &noise(seed))]))
        .collect();
    let problem = told(limits.clone(), &of(&layers), &[]).await;
    assert!(
        problem.ends_with("bytes; at most 1000 are read of an image"),
        "{problem}"
    );
    let bombs: Vec<Vec<u8>> = (0..9)
        .map(|at| layer(&[("x", b'0', &vec![at; 3_000])]))
        .collect();
    assert_eq!(
        told(limits, &of(&bombs), &[]).await,
        "the layers inflate to more than 20000 bytes"
    );
}

#[tokio::test]
async fn releases_that_declare_without_end_end_the_scrape() {
    let double = RegistryDouble::start();
    for patch in 0..10 {
        double.put(
            Some(&format!("t{patch}")),
            &release(&format!("4.1.{patch}+amd64"), &"4.0.0 ".repeat(100)),
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = || Some(Arc::new(Cache::at(folder.path())));
    let scraped = async |releases_bytes: u64| {
        let wish = Scrape {
            cache: cache(),
            ..Scrape::of(double.repository())
        };
        let scraped = scrape(
            &plain(RegistryLimits {
                releases_bytes,
                ..quick()
            }),
            &wish,
        )
        .await;
        scraped
            .map(|(file, _)| names(&file).split(' ').count())
            .map_err(|finding| (finding.code, finding.problem))
    };
    let too_much = Err((
        "too-large",
        "its releases take more memory than the limit".to_owned(),
    ));
    assert_eq!(scraped(30_000).await, too_much);
    assert_eq!(scraped(10_000_000).await, Ok(10));
    assert_eq!(
        scraped(30_000).await,
        too_much,
        "what is in the cache counts as well"
    );
}

#[tokio::test]
async fn a_hundred_tags_of_one_image_are_one_release() {
    let double = RegistryDouble::start();
    for number in 0..100 {
        double.put(Some(&format!("t{number}")), &release("4.1.0+amd64", ""));
    }
    let (file, findings) = scrape(&plain(quick()), &Scrape::of(double.repository()))
        .await
        .unwrap();
    assert_eq!(
        (names(&file).as_str(), said(&findings)),
        ("4.1.0+amd64", vec![])
    );
}

#[tokio::test]
async fn two_images_of_one_release_are_a_dispute_and_no_edge_leads_there() {
    let double = RegistryDouble::start();
    double.put(Some("4.1.0"), &release("4.1.0+amd64", ""));
    double.put(Some("4.1.1"), &release("4.1.1+amd64", "4.1.0"));
    double.put(Some("4.1.2"), &release("4.1.2+amd64", "4.1.0 4.1.1"));
    double.put(Some("other"), &of(&[release_layer("4.1.1", "4.1.0", "")]));
    let (file, findings) = scrape(&plain(quick()), &Scrape::of(double.repository()))
        .await
        .unwrap();
    assert_eq!(
        said(&findings),
        [
            "payload-disputed other: it is 4.1.1 of amd64, and so is 4.1.1, with another digest; no update leads to it"
        ]
    );
    let read = super::read(&file);
    let edges: Vec<(u32, u32)> = read.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    assert_eq!(
        (names(&file).as_str(), edges),
        ("4.1.0+amd64 4.1.1+amd64 4.1.2+amd64", vec![(0, 2), (1, 2)])
    );
}
