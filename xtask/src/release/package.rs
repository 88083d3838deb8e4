//! `cargo xtask package`: a Debian package, written by us: an `ar` archive of two `tar.gz`.
//!
//! It does not start the service: without sources there is nothing to serve but the example.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::archive::{Entry, Tree, ar, gzip};
use super::dist::{self, SHELLS};
use super::{Release, ReleaseOptions, binary, new_folder, read, write};
use crate::say::say;
use crate::{Outcome, workspace};

/// Where each shell looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/towpath"),
    ("zsh", "usr/share/zsh/vendor-completions/_towpath"),
    ("fish", "usr/share/fish/vendor_completions.d/towpath.fish"),
];

pub(crate) fn run(options: &ReleaseOptions) -> anyhow::Result<Outcome> {
    let release = Release::of_workspace()?;
    new_folder(&options.into)?;
    let file = make(options, &release)?;
    say(format!("install with: apt-get install {}", file.display()))?;
    Ok(Outcome::Good)
}

/// Writes the package; returns its file.
pub(super) fn make(
    options: &ReleaseOptions,
    release: &Release,
) -> anyhow::Result<std::path::PathBuf> {
    let program = binary::of(options.binary.as_deref(), release)?;
    let data = data(program, &options.into, release)?;
    let control = control(&data, release)?;
    let control = gzip(&control.tar(release.epoch)?)?;
    let data = gzip(&data.tar(release.epoch)?)?;
    let members = [
        ("debian-binary", b"2.0\n".as_slice()),
        ("control.tar.gz", &control),
        ("data.tar.gz", &data),
    ];
    let file = options
        .into
        .join(format!("towpath_{}_amd64.deb", release.version));
    write(&file, ar(&members, release.epoch))?;
    Ok(file)
}

fn data(program: Vec<u8>, scratch: &Path, release: &Release) -> anyhow::Result<Tree> {
    let mut tree = Tree::default();
    let of_workspace = |path: &str| read(&workspace::root().join(path));
    add_manual(&mut tree, &program, &scratch.join("manual"))?;
    tree.add("usr/bin/towpath", Entry::program(program));
    tree.add(
        "lib/systemd/system/towpath.service",
        Entry::file(of_workspace("deploy/systemd/towpath.service")?),
    );
    tree.add(
        "etc/towpath/towpath.yaml",
        Entry::file(configuration(&of_workspace("app/towpath.yaml")?)?),
    );
    tree.add(
        "usr/share/doc/towpath/copyright",
        Entry::file(of_workspace("LICENSE")?),
    );
    let changes = gzip(&of_workspace("CHANGELOG.md")?)?;
    tree.add("usr/share/doc/towpath/changelog.gz", Entry::file(changes));
    tree.add(
        "usr/share/doc/towpath/towpath.cdx.json",
        Entry::file(super::pretty(&super::sbom::of_workspace(release.epoch)?)),
    );
    Ok(tree)
}

/// The commented default file, with the state where the service may write.
fn configuration(default: &[u8]) -> anyhow::Result<Vec<u8>> {
    let text = std::str::from_utf8(default).context("towpath.yaml is not UTF-8")?;
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        lines.push(line.to_owned());
        if line.starts_with("# state: ") {
            lines.push("state: /var/lib/towpath/state".to_owned());
        }
    }
    anyhow::ensure!(
        lines.len() == text.lines().count() + 1,
        "towpath.yaml has not one line `# state: `"
    );
    Ok((lines.join("\n") + "\n").into_bytes())
}

/// Manual pages and completions, written by the program itself to a folder that is removed again.
fn add_manual(tree: &mut Tree, program: &[u8], scratch: &Path) -> anyhow::Result<()> {
    fs::create_dir(scratch).with_context(|| format!("{} cannot be made", scratch.display()))?;
    let file = scratch.join("towpath");
    write(&file, program)?;
    dist::make_executable(&file)?;
    dist::add_manual(&file, scratch)?;
    for page in dist::files(&scratch.join("man/man1"))? {
        let name = page
            .file_name()
            .and_then(|name| name.to_str())
            .context("a page has no name")?;
        tree.add(
            &format!("usr/share/man/man1/{name}.gz"),
            Entry::file(gzip(&read(&page)?)?),
        );
    }
    for ((shell, file), (same_shell, path)) in SHELLS.into_iter().zip(COMPLETIONS) {
        assert_eq!(shell, same_shell, "both lists are of the same shells");
        tree.add(
            path,
            Entry::file(read(&scratch.join("completions").join(file))?),
        );
    }
    fs::remove_dir_all(scratch).with_context(|| format!("{} cannot be removed", scratch.display()))
}

fn control(data: &Tree, release: &Release) -> anyhow::Result<Tree> {
    let sizes = data.iter().map(|(_, entry)| match entry {
        Entry::File { bytes, .. } => bytes.len().div_ceil(1024),
        _ => 1,
    });
    let fields = format!(
        "Package: towpath\nVersion: {}\nArchitecture: amd64\nMaintainer: The Towpath authors <towpath@example.invalid>\nInstalled-Size: {}\n\
         Depends: ca-certificates, libc6 (>= 2.36), libgcc-s1 (>= 12), passwd\nRecommends: git\nSection: admin\nPriority: optional\n\
         Description: upgrades fleets of OpenShift clusters safely, and can always say why\n \
         An update service that speaks the Cincinnati protocol, a fleet scheduler,\n and tools for release administrators.\n",
        release.version,
        sizes.sum::<usize>()
    );
    let mut tree = Tree::default();
    tree.add("control", Entry::file(fields));
    tree.add("conffiles", Entry::file("/etc/towpath/towpath.yaml\n"));
    for script in ["postinst", "prerm", "postrm"] {
        let bytes = read(&workspace::root().join("deploy/debian").join(script))?;
        tree.add(script, Entry::program(bytes));
    }
    Ok(tree)
}
