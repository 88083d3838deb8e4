//! An OCI image layout: a folder with blobs by digest, and an index that names images by tag.

use std::fs;
use std::path::Path;

use anyhow::ensure;
use serde_json::{Value, json};

use super::archive::{Tree, gzip};
use super::{Release, pretty, sha256, write};

/// An image without its layers' bytes, which may be in several images.
pub(super) struct Image {
    pub(super) tag: String,
    pub(super) title: &'static str,
    /// The most that its layers may have, compressed.
    pub(super) max_bytes: u64,
    /// Indices of layers, from the bottom.
    pub(super) layers: Vec<usize>,
}

/// A layer, compressed.
struct Layer {
    /// The digest of the tar archive.
    diff_id: String,
    blob: Value,
}

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Writes all images; returns the compressed size of each.
pub(super) fn write_to(
    folder: &Path,
    trees: &[Tree],
    images: &[Image],
    release: &Release,
    created: &str,
) -> anyhow::Result<Vec<u64>> {
    fs::create_dir_all(folder.join("blobs/sha256"))?;
    write(
        &folder.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )?;
    let layers: Vec<Layer> = trees
        .iter()
        .map(|tree| layer(folder, tree, release.epoch))
        .collect::<Result<_, _>>()?;
    let (mut manifests, mut sizes) = (Vec::new(), Vec::new());
    for image in images {
        let layers: Vec<&Layer> = image.layers.iter().map(|index| &layers[*index]).collect();
        let config = blob(
            folder,
            CONFIG,
            &pretty(&config(image, &layers, release, created)),
        )?;
        let size = layers
            .iter()
            .filter_map(|layer| layer.blob["size"].as_u64())
            .sum::<u64>();
        ensure!(
            size <= image.max_bytes,
            "the image {} has {size} bytes, and at most {} are allowed",
            image.tag,
            image.max_bytes
        );
        sizes.push(size);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config,
            "layers": layers.iter().map(|layer| &layer.blob).collect::<Vec<_>>(),
        });
        let mut manifest = blob(folder, MANIFEST, &pretty(&manifest))?;
        manifest["platform"] = json!({"architecture": "amd64", "os": "linux"});
        manifest["annotations"] = json!({"org.opencontainers.image.ref.name": image.tag});
        manifests.push(manifest);
    }
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests});
    write(&folder.join("index.json"), pretty(&index))?;
    Ok(sizes)
}

fn config(image: &Image, layers: &[&Layer], release: &Release, created: &str) -> Value {
    let history = layers
        .iter()
        .map(|_| json!({"created": created, "created_by": "cargo xtask image"}));
    json!({
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            // A number, so that Kubernetes can see that it is not root. The group is root's, as OpenShift has it.
            "User": "65532:0",
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Entrypoint": ["/usr/bin/towpath"],
            "Cmd": ["--help"],
            "WorkingDir": "/var/lib/towpath",
            "ExposedPorts": {"8080/tcp": {}},
            "Labels": {
                "org.opencontainers.image.title": image.title,
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.created": created,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": layers.iter().map(|layer| &layer.diff_id).collect::<Vec<_>>()},
        "history": history.collect::<Vec<_>>(),
    })
}

fn layer(folder: &Path, tree: &Tree, epoch: u64) -> anyhow::Result<Layer> {
    let tar = tree.tar(epoch)?;
    Ok(Layer {
        diff_id: format!("sha256:{}", sha256(&tar)),
        blob: blob(folder, LAYER, &gzip(&tar)?)?,
    })
}

/// Writes a blob; returns its descriptor.
fn blob(folder: &Path, media_type: &str, bytes: &[u8]) -> anyhow::Result<Value> {
    let digest = sha256(bytes);
    write(&folder.join("blobs/sha256").join(&digest), bytes)?;
    Ok(json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len()}))
}
