//! `cargo xtask image`: two OCI images in one layout, `VERSION` and `VERSION-git`.

use anyhow::Context;

use super::debian::Packages;
use super::layout::{self, Image};
use super::{Options, Release, binary, new_folder, read, root};
use crate::say::say;
use crate::{Outcome, workspace};

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let release = Release::of_workspace()?;
    new_folder(&options.into)?;
    let program = binary::of(options.binary.as_deref(), &release)?;
    let licence = read(&workspace::root().join("LICENSE"))?;
    let packages = Packages::fetch(&root::BASE)?;
    let base = root::base(&packages, &program)?;
    drop(packages);
    let git = root::git(&Packages::fetch(&root::GIT)?, &base)?;
    let trees = [base, git, root::program(program, licence)];
    let image = |tag: String, title, layers: &[usize]| Image {
        tag,
        title,
        layers: layers.to_vec(),
    };
    let images = [
        image(release.version.clone(), "towpath", &[0, 2]),
        image(
            format!("{}-git", release.version),
            "towpath, with git",
            &[0, 1, 2],
        ),
    ];
    let created = created(release.epoch)?;
    let sizes = layout::write_to(&options.into, &trees, &images, &release, &created)?;
    layout::check_sizes(&sizes)?;
    for (tag, size) in &sizes {
        #[allow(clippy::cast_precision_loss)]
        let size = *size as f64 / f64::from(1 << 20);
        say(format!("{tag}: {size:.1} MiB compressed"))?;
    }
    say(format!(
        "push with: skopeo copy oci:{}:{} docker://REGISTRY/towpath:{}",
        options.into.display(),
        release.version,
        release.version
    ))?;
    Ok(Outcome::Good)
}

fn created(epoch: u64) -> anyhow::Result<String> {
    super::sbom::rfc3339(epoch).context("the time of the sources cannot be written")
}
