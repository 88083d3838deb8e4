//! Images, built byte by byte, so that they can be wrong in any way.

use std::io::Write;

use serde_json::{Value, json};
use towpath_formats::sources::oci::Digest;

pub const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
pub const DOCKER_IMAGE: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
pub const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";
pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub const METADATA: &str = "release-manifests/release-metadata";

/// An image or a list of images, and the blobs that it needs.
#[derive(Debug, Clone)]
pub struct Image {
    pub media_type: &'static str,
    pub manifest: Vec<u8>,
    pub blobs: Vec<Vec<u8>>,
}

impl Image {
    pub fn digest(&self) -> Digest {
        Digest::of(&self.manifest)
    }

    /// The manifest with something changed.
    pub fn changed(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let mut value = serde_json::from_slice(&self.manifest).unwrap();
        change(&mut value);
        self.manifest = value.to_string().into_bytes();
        self
    }
}

/// A release image in OCI form: `4.1.0+amd64`, and what it can be reached from.
pub fn release(name: &str, previous: &str) -> Image {
    let (version, arch) = name.split_once('+').unwrap();
    image(
        arch,
        &[
            gzip(&tar(&[("etc/base", b'0', name.as_bytes())])),
            release_layer(version, previous, ""),
        ],
    )
}

/// One of several images that are a release together.
pub fn part_of_multi(version: &str, arch: &str, previous: &str) -> Image {
    image(
        arch,
        &[release_layer(
            version,
            previous,
            r#""release.openshift.io/architecture":"multi","#,
        )],
    )
}

/// A layer with release metadata in it.
pub fn release_layer(version: &str, previous: &str, more: &str) -> Vec<u8> {
    metadata_layer(&metadata(version, previous, more))
}

pub fn metadata(version: &str, previous: &str, more: &str) -> String {
    let previous: Vec<&str> = previous.split_whitespace().collect();
    format!(
        r#"{{"kind":"cincinnati-metadata-v0","version":"{version}","previous":{},"metadata":{{{more}"url":"https://example.com/{version}"}}}}"#,
        json!(previous)
    )
}

pub fn metadata_layer(text: &str) -> Vec<u8> {
    gzip(&tar(&[
        ("release-manifests/", b'5', b""),
        (METADATA, b'0', text.as_bytes()),
        ("release-manifests/image-references", b'0', b"{}"),
    ]))
}

/// An image of these layers, the oldest first.
pub fn image(arch: &str, layers: &[Vec<u8>]) -> Image {
    let config =
        json!({"architecture": arch, "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}})
            .to_string()
            .into_bytes();
    let described: Vec<Value> = layers
        .iter()
        .map(|layer| descriptor(LAYER, layer))
        .collect();
    let manifest = json!({"schemaVersion": 2, "mediaType": IMAGE, "config": descriptor(CONFIG, &config), "layers": described});
    let blobs = layers.iter().cloned().chain([config]).collect();
    Image {
        media_type: IMAGE,
        manifest: manifest.to_string().into_bytes(),
        blobs,
    }
}

/// The same in Docker's form.
pub fn dockers(image: Image) -> Image {
    let mut image = image.changed(|manifest| {
        manifest["mediaType"] = json!(DOCKER_IMAGE);
        manifest["config"]["mediaType"] = json!("application/vnd.docker.container.image.v1+json");
        for layer in manifest["layers"].as_array_mut().unwrap() {
            layer["mediaType"] = json!(DOCKER_LAYER);
        }
    });
    image.media_type = DOCKER_IMAGE;
    image
}

pub fn list(media_type: &'static str, images: &[&Image]) -> Image {
    let entry = |image: &&Image| {
        let mut entry = descriptor(image.media_type, &image.manifest);
        entry["platform"] = json!({"os": "linux", "architecture": "amd64"});
        entry
    };
    let entries: Vec<Value> = images.iter().map(entry).collect();
    let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": entries});
    Image {
        media_type,
        manifest: manifest.to_string().into_bytes(),
        blobs: vec![],
    }
}

pub fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": Digest::of(bytes).as_str(), "size": bytes.len()})
}

/// An archive: paths, the kind of each (`0` a file, `5` a folder, `2` a link), contents.
pub fn tar(entries: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (path, kind, content) in entries {
        archive.extend(header(path, *kind, content.len() as u64));
        archive.extend_from_slice(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.extend([0; 1024]);
    archive
}

pub fn header(path: &str, kind: u8, size: u64) -> [u8; 512] {
    let mut header = [0; 512];
    header[..path.len()].copy_from_slice(path.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    if size < 1 << 33 {
        header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    } else {
        header[124] = 0x80;
        header[128..136].copy_from_slice(&size.to_be_bytes());
    }
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
