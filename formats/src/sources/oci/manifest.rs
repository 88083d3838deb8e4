//! Manifests of one image, or of a list of images, in the forms of OCI and of Docker.
//!
//! The manifest's own `mediaType` says what it is, or else the header that came with it. An
//! ambiguous manifest is refused: two readers of the same digest would see two images.

use serde::Deserialize;

use super::Digest;

/// The forms we read, as an `Accept` header.
pub const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, \
     application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

const INDEXES: [&str; 2] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];
const IMAGES: [&str; 2] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];
const LAYERS: [&str; 4] = [
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.image.rootfs.diff.tar",
];
const MAX_LAYERS: usize = 512;
const MAX_IMAGES: usize = 256;

/// What a digest or tag points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manifest {
    Image {
        config: Descriptor,
        /// Its layers, the oldest first.
        layers: Vec<Descriptor>,
    },
    /// Several images, one a platform.
    List(Vec<Descriptor>),
}

/// Some content elsewhere in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    pub digest: Digest,
    /// How long it is said to be.
    pub bytes: u64,
}

#[derive(Deserialize)]
struct ManifestBody {
    #[serde(rename = "schemaVersion")]
    schema_version: u32,
    #[serde(rename = "mediaType")]
    media_type: Option<String>,
    config: Option<WireDescriptor>,
    layers: Option<Vec<WireDescriptor>>,
    manifests: Option<Vec<WireDescriptor>>,
    #[serde(rename = "fsLayers")]
    fs_layers: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct WireDescriptor {
    #[serde(rename = "mediaType", default)]
    media_type: String,
    digest: String,
    size: u64,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    #[serde(default)]
    os: String,
}

/// What is wrong with a manifest, in a sentence that goes on from "the manifest".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAManifest {
    /// Its bytes are wrong, and will be for as long as its digest is the same.
    Content(String),
    /// The header it came with may be what is wrong; the next answer can have another.
    Header(String),
}

/// Reads a manifest that came with this content type.
pub fn read_manifest(content_type: &str, bytes: &[u8]) -> Result<Manifest, NotAManifest> {
    let content = NotAManifest::Content;
    let wire: ManifestBody = serde_json::from_slice(bytes)
        .map_err(|error| content(format!("cannot be read: {error}")))?;
    if wire.schema_version == 1 || wire.fs_layers.is_some() {
        return Err(content(
            "is of Docker's schema 1, which names no configuration".to_owned(),
        ));
    }
    match wire.media_type.clone() {
        Some(media_type) => of_type(&media_type, wire).map_err(content),
        None => {
            let header = content_type.split(';').next().unwrap_or_default().trim();
            of_type(header, wire).map_err(NotAManifest::Header)
        }
    }
}

fn of_type(media_type: &str, wire: ManifestBody) -> Result<Manifest, String> {
    match (INDEXES.contains(&media_type), IMAGES.contains(&media_type)) {
        (true, _) => list(wire),
        (_, true) => image(wire),
        _ => Err(format!(
            "is of the unknown type {:?}",
            media_type.chars().take(100).collect::<String>()
        )),
    }
}

fn list(wire: ManifestBody) -> Result<Manifest, String> {
    let manifests = match (wire.manifests, wire.layers, wire.config) {
        (Some(manifests), None, None) => manifests,
        (None, ..) => return Err("is a list without images".to_owned()),
        _ => return Err("is a list and an image at once".to_owned()),
    };
    if manifests.len() > MAX_IMAGES {
        return Err(format!(
            "lists {} images; at most {MAX_IMAGES} are allowed",
            manifests.len()
        ));
    }
    if manifests
        .iter()
        .any(|one| INDEXES.contains(&one.media_type.as_str()))
    {
        return Err("is a list of lists".to_owned());
    }
    // Builders attach provenance as images of no platform at all.
    let is_attached = |one: &WireDescriptor| {
        one.platform
            .as_ref()
            .is_some_and(|platform| platform.os == "unknown")
    };
    let images = manifests
        .into_iter()
        .filter(|one| !is_attached(one))
        .map(descriptor)
        .collect::<Result<Vec<_>, _>>()?;
    match images.is_empty() {
        true => Err("is a list without images".to_owned()),
        false => Ok(Manifest::List(images)),
    }
}

fn image(wire: ManifestBody) -> Result<Manifest, String> {
    let (config, layers) = match (wire.config, wire.layers, wire.manifests) {
        (Some(config), Some(layers), None) => (config, layers),
        (None, _, None) => return Err("names no configuration".to_owned()),
        (_, None, None) => return Err("names no layers".to_owned()),
        (.., Some(_)) => return Err("is a list and an image at once".to_owned()),
    };
    if layers.len() > MAX_LAYERS {
        return Err(format!(
            "has {} layers; at most {MAX_LAYERS} are allowed",
            layers.len()
        ));
    }
    if let Some(unknown) = layers
        .iter()
        .find(|layer| !LAYERS.contains(&layer.media_type.as_str()))
    {
        if unknown.media_type.ends_with("zstd") {
            return Err(
                "has a layer that is packed with zstd, which is not read; push it with gzip"
                    .to_owned(),
            );
        }
        let name: String = unknown.media_type.chars().take(100).collect();
        return Err(format!(
            "has a layer of the type {name:?}, which is not read"
        ));
    }
    let layers = layers
        .into_iter()
        .map(descriptor)
        .collect::<Result<_, _>>()?;
    Ok(Manifest::Image {
        config: descriptor(config)?,
        layers,
    })
}

fn descriptor(wire: WireDescriptor) -> Result<Descriptor, String> {
    let name = || wire.digest.chars().take(100).collect::<String>();
    let digest = Digest::parse(&wire.digest)
        .ok_or_else(|| format!("has the digest {:?}, which is no sha256", name()))?;
    Ok(Descriptor {
        digest,
        bytes: wire.size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: &Value) -> Result<Manifest, String> {
        read_manifest(IMAGES[0], value.to_string().as_bytes()).map_err(|wrong| match wrong {
            NotAManifest::Content(problem) | NotAManifest::Header(problem) => problem,
        })
    }

    fn content(media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": Digest::of(b"x").as_str(), "size": 1})
    }

    #[test]
    fn images_and_lists_are_told_apart_by_what_they_say() {
        let image = json!({"schemaVersion": 2, "config": content("c"), "layers": [content(LAYERS[0]), content(LAYERS[3])]});
        assert!(matches!(read(&image), Ok(Manifest::Image { layers, .. }) if layers.len() == 2));
        let mut provenance = content(IMAGES[0]);
        provenance["platform"] = json!({"os": "unknown", "architecture": "unknown"});
        let list = json!({"schemaVersion": 2, "mediaType": INDEXES[1], "manifests": [content(IMAGES[1]), provenance]});
        assert!(matches!(read(&list), Ok(Manifest::List(images)) if images.len() == 1));
    }

    #[test]
    fn what_a_header_says_is_not_held_against_the_bytes() {
        let image =
            json!({"schemaVersion": 2, "config": content("c"), "layers": [content(LAYERS[0])]});
        let read =
            |header: &str, value: &Value| read_manifest(header, value.to_string().as_bytes());
        assert!(read(IMAGES[1], &image).is_ok());
        for header in ["", "text/html", INDEXES[0]] {
            assert!(
                matches!(read(header, &image), Err(NotAManifest::Header(_))),
                "{header}"
            );
        }
        let mut says_itself = image.clone();
        says_itself["mediaType"] = json!(IMAGES[0]);
        assert!(
            read("text/html", &says_itself).is_ok(),
            "its own word counts"
        );
        says_itself["mediaType"] = json!(INDEXES[0]);
        assert!(matches!(
            read(IMAGES[0], &says_itself),
            Err(NotAManifest::Content(_))
        ));
        assert!(matches!(
            read_manifest("text/html", b"<html>"),
            Err(NotAManifest::Content(_))
        ));
    }

    #[test]
    fn what_is_not_a_manifest_says_why() {
        let layers = |layer: &str| json!({"schemaVersion": 2, "config": content("c"), "layers": [content(layer)]});
        let list = |entries: Value| json!({"schemaVersion": 2, "mediaType": INDEXES[0], "manifests": entries});
        let mut both = layers(LAYERS[0]);
        both["manifests"] = json!([]);
        let mut unknown = layers(LAYERS[0]);
        unknown["mediaType"] = json!("text/plain");
        let mut md5 = layers(LAYERS[0]);
        md5["config"]["digest"] = json!("md5:00");
        for (value, expected) in [
            (json!([]), "cannot be read"),
            (json!({"schemaVersion": 1, "fsLayers": []}), "schema 1"),
            (
                json!({"schemaVersion": 2, "layers": []}),
                "no configuration",
            ),
            (
                json!({"schemaVersion": 2, "config": content("c")}),
                "no layers",
            ),
            (
                layers("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"),
                "nondistributable",
            ),
            (
                layers("application/vnd.oci.image.layer.v1.tar+zstd"),
                "zstd",
            ),
            (both, "at once"),
            (unknown, "unknown type \"text/plain\""),
            (md5, "no sha256"),
            (list(json!([content(INDEXES[0])])), "list of lists"),
            (list(json!([])), "without images"),
        ] {
            let problem = read(&value).unwrap_err();
            assert!(problem.contains(expected), "{value}: {problem}");
        }
    }
}
