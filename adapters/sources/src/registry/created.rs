//! When an image was created, so that older graph data cannot silently replace newer data.

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_formats::sources::oci::{
    ImageName, Manifest, Reference, read_config_created, read_manifest,
};

use super::client::Registry;
use super::failure::Failure;

impl Registry {
    /// The creation time of an image, if it has one. For a list of images, that of the first.
    pub async fn image_created(&self, image: &ImageName) -> Result<Option<Timestamp>, Finding> {
        let created = self.created(image, &image.reference).await;
        created.map_err(|failure| failure.finding(Place::file(image.to_string())))
    }

    async fn created(
        &self,
        image: &ImageName,
        reference: &Reference,
    ) -> Result<Option<Timestamp>, Failure> {
        let mut manifest = self.readable_manifest(image, reference).await?;
        if let Some(Manifest::List(images)) = &manifest {
            let Some(first) = images.first() else {
                return Ok(None);
            };
            manifest = self
                .readable_manifest(image, &Reference::Digest(first.digest.clone()))
                .await?;
        }
        match manifest {
            Some(Manifest::Image { config, .. }) => Ok(read_config_created(
                &self.blob(&image.repository, &config).await?,
            )),
            Some(Manifest::List(_)) | None => Ok(None),
        }
    }

    /// An invalid configuration is reported by the code that reads the layers.
    async fn readable_manifest(
        &self,
        image: &ImageName,
        reference: &Reference,
    ) -> Result<Option<Manifest>, Failure> {
        let fetched = self.manifest(&image.repository, reference).await?;
        Ok(read_manifest(&fetched.content_type, &fetched.bytes).ok())
    }
}
