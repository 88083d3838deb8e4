//! Graph data in an image.

use towpath_formats::sources::oci::ImageName;
use towpath_sources::{Contents, graph_data_image};

use super::{patient, plain, quick};
use towpath_testing_services::registry::docker::{DockerRegistry, Door};
use towpath_testing_services::registry::double::RegistryDouble;
use towpath_testing_services::registry::images::*;

const CHANNEL: &[u8] = b"name: stable-4.1\nversions:\n- 4.1.0\n";

#[tokio::test]
async fn an_image_as_openshift_builds_it_gives_the_graph_data_that_is_in_it() {
    let registry = DockerRegistry::start(Door::Plain);
    let root = "var/lib/cincinnati-graph-data";
    let at = |path: &str| format!("{root}/{path}");
    let (version, channel, old, block) = (
        at("version"),
        at("channels/stable-4.1.yaml"),
        at("channels/old.yaml"),
        at("blocked-edges/x.yaml"),
    );
    let base = gzip(&tar(&[
        ("etc/version", b'0', b"8.9"),
        ("usr/bin/bash", b'0', &vec![0; 1 << 20]),
    ]));
    let data = gzip(&tar(&[
        (&version, b'0', b"1.1.0\n"),
        (&channel, b'0', b"old"),
        (&old, b'0', b"old"),
        (&block, b'0', b"to: 4.1.0\nfrom: .*\n"),
        (&at("README.md"), b'0', b"x"),
    ]));
    let newer = gzip(&tar(&[
        (&at("channels/.wh.old.yaml"), b'0', b""),
        (&channel, b'0', CHANNEL),
    ]));
    let image = dockers(image("amd64", &[base, data, newer]));
    registry.push("graph-data", None, &image).await;
    registry
        .push("graph-data", Some("latest"), &list(DOCKER_INDEX, &[&image]))
        .await;

    let client = plain(patient());
    let name = ImageName::parse(&format!("{}/graph-data", registry.host)).unwrap();
    let files = graph_data_image(&client, &name)
        .await
        .unwrap()
        .whole()
        .unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "blocked-edges/x.yaml",
            "channels/stable-4.1.yaml",
            "version"
        ]
    );
    let (data, _) = towpath_formats::graph::data::read(&files).unwrap();
    assert_eq!(data.channels.len(), 1);
    let by_digest =
        ImageName::parse(&format!("{}/graph-data@{}", registry.host, image.digest())).unwrap();
    assert_eq!(
        graph_data_image(&client, &by_digest)
            .await
            .unwrap()
            .whole()
            .unwrap(),
        files
    );
    assert_eq!(
        client.image_digest(&by_digest).await.unwrap(),
        image.digest()
    );
    assert_ne!(
        client.image_digest(&name).await.unwrap(),
        image.digest(),
        "the list's"
    );
}

/// Bytes that cannot be packed.
fn noise(count: usize) -> Vec<u8> {
    (0..count as u32)
        .map(|n| (n.wrapping_mul(n).wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

#[tokio::test]
async fn what_is_no_graph_data_is_said() {
    let double = RegistryDouble::start();
    let of = |entries: &[(&str, u8, &[u8])]| image("amd64", &[gzip(&tar(entries))]);
    let large = vec![0; 3000];
    // Each layer with one file of its own, which is within every limit.
    let layers = |folder: &str, count: usize, content: fn(usize) -> Vec<u8>| {
        let layer = |at: usize| gzip(&tar(&[(&format!("{folder}/{at}"), b'0', &content(at))]));
        towpath_testing_services::registry::images::image(
            "amd64",
            &(0..count).map(layer).collect::<Vec<_>>(),
        )
    };
    for (tag, image) in [
        ("none", of(&[("x", b'0', b"")])),
        (
            "twice",
            of(&[
                ("version", b'0', b"1"),
                ("channels/a", b'0', b""),
                ("x/version", b'0', b"1"),
                ("x/channels/a", b'0', b""),
            ]),
        ),
        (
            "link",
            of(&[("version", b'0', b"1"), ("channels/a", b'2', b"")]),
        ),
        (
            "large",
            of(&[
                ("version", b'0', b"1"),
                ("channels/a", b'0', &large),
                ("channels/b", b'0', &large),
            ]),
        ),
        (
            "broken",
            towpath_testing_services::registry::images::image("amd64", &[b"x".repeat(600)]),
        ),
        ("long", layers("usr", 1, |_| noise(5_000))),
        ("long-together", layers("usr", 3, |at| noise(1_500 + at))),
        ("bombs", layers("usr", 5, |_| vec![0; 9_000])),
        (
            "large-together",
            layers("channels", 3, |at| vec![at as u8; 2_000]),
        ),
        ("many", layers("channels", 6, |at| vec![at as u8; 1])),
    ] {
        double.put(Some(tag), &image);
    }
    let mut limits = quick();
    limits.graph_data_layers.kept_bytes = 4000;
    limits.graph_data_layers.kept_entries = 4;
    limits.graph_data_layers.layer_bytes = 4000;
    limits.graph_data_layers.inflated_bytes = 40_000;
    let client = plain(limits);
    for (tag, expected) in [
        (
            "none",
            "the image has no folder with channels/ and version in it",
        ),
        ("twice", "the image has graph data twice, in / and in /x/"),
        ("link", "/channels/a is a link or a device, and not a file"),
        ("large", "the files are larger than 4000 bytes together"),
        ("broken", "it is not a tar archive, or a damaged one"),
        ("long", "the layers have more than 4000 bytes"),
        ("long-together", "the layers have more than 4000 bytes"),
        ("bombs", "the layers inflate to more than 40000 bytes"),
        (
            "large-together",
            "the files are larger than 4000 bytes together",
        ),
        ("many", "there are more than 4 files"),
        ("missing", "the registry does not have it"),
    ] {
        let name = ImageName::parse(&format!("{}:{tag}", double.repository())).unwrap();
        let finding = graph_data_image(&client, &name)
            .await
            .and_then(Contents::whole)
            .unwrap_err();
        assert_eq!(finding.problem, expected);
        assert_eq!(&*finding.place.file, name.to_string());
    }
}
