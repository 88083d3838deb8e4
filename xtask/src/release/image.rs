//! `cargo xtask image`: two OCI images in one layout, `VERSION` and `VERSION-git`.

use super::debian::Packages;
use super::layout::{self, Image};
use super::{Release, ReleaseOptions, binary, new_folder, read, root, sbom};
use crate::say::say;
use crate::{Outcome, workspace};

pub(crate) fn run(options: &ReleaseOptions) -> anyhow::Result<Outcome> {
    let release = Release::of_workspace()?;
    new_folder(&options.into)?;
    let program = binary::of(options.binary.as_deref(), &release)?;
    let licence = read(&workspace::root().join("LICENSE"))?;
    let packages = Packages::fetch(&root::BASE)?;
    let base = root::base(&packages, &program)?;
    drop(packages);
    let git = root::git(&Packages::fetch(&root::GIT)?, &base)?;
    let trees = [base, git, root::program(program, licence)];
    let images = [
        Image {
            tag: release.version.clone(),
            title: "towpath",
            max_bytes: 30_000_000,
            layers: vec![0, 2],
        },
        Image {
            tag: format!("{}-git", release.version),
            title: "towpath, with git",
            max_bytes: 40_000_000,
            layers: vec![0, 1, 2],
        },
    ];
    let created = sbom::rfc3339(release.epoch)?;
    let sizes = layout::write_to(&options.into, &trees, &images, &release, &created)?;
    for (image, bytes) in images.iter().zip(sizes) {
        say(format!("{}: {bytes} bytes compressed", image.tag))?;
    }
    say(format!(
        "push with: skopeo copy oci:{}:{} docker://REGISTRY/towpath:{}",
        options.into.display(),
        release.version,
        release.version
    ))?;
    Ok(Outcome::Good)
}
