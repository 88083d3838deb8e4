//! Files of Debian's packages, for images: fetched from its mirror by apt, which verifies them, and unpacked without installing anything.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::archive::{Entry, Tree};
use super::read;

/// Where Debian has libraries.
const LIBRARIES: [&str; 2] = ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"];
/// Where images have them. `/lib` leads there.
const LIBRARIES_HERE: &str = "usr/lib/x86_64-linux-gnu";

/// Unpacked packages.
pub(super) struct Packages {
    folder: PathBuf,
    names: Vec<String>,
}

impl Packages {
    /// Fetches and unpacks these packages, in a folder that is removed when this is dropped.
    pub(super) fn fetch(names: &[&str]) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("towpath-packages-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let packages = Self {
            folder,
            names: names.iter().map(|&name| name.to_owned()).collect(),
        };
        packages.unpack()?;
        Ok(packages)
    }

    fn unpack(&self) -> anyhow::Result<()> {
        // As root, apt would fetch as another user, who may not write here.
        let mut apt = Command::new("apt-get");
        apt.args([
            "-o",
            "APT::Sandbox::User=root",
            "--quiet",
            "--quiet",
            "download",
        ]);
        let fetched = apt.args(&self.names).current_dir(&self.folder).status();
        let fetched = fetched.context("apt-get cannot be run: images are made on Debian")?;
        ensure!(
            fetched.success(),
            "Debian's packages cannot be fetched; run `apt-get update`, or look at the network"
        );
        for package in self.archives()? {
            let done = Command::new("dpkg-deb")
                .arg("--extract")
                .arg(&package)
                .arg(self.root())
                .status();
            ensure!(
                done.context("dpkg-deb cannot be run")?.success(),
                "{} cannot be unpacked",
                package.display()
            );
        }
        Ok(())
    }

    fn archives(&self) -> anyhow::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(&self.folder)?.collect::<Result<Vec<_>, _>>()?;
        let paths = entries.into_iter().map(|entry| entry.path());
        let mut archives: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|end| end == "deb"))
            .collect();
        archives.sort();
        ensure!(
            archives.len() == self.names.len(),
            "apt-get did not fetch every package"
        );
        Ok(archives)
    }

    /// Where the files of all packages are.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    pub(super) fn file(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        read(&self.root().join(path))
    }

    /// Adds a program or library, and every library that it needs and that neither tree has.
    pub(super) fn add_program(
        &self,
        tree: &mut Tree,
        below: &Tree,
        path: &str,
        bytes: Vec<u8>,
    ) -> anyhow::Result<()> {
        let mut needed = vec![];
        needed.extend(self.needs(&bytes)?);
        tree.add(path, Entry::program(bytes));
        while let Some(name) = needed.pop() {
            let path = format!("{LIBRARIES_HERE}/{name}");
            if tree.get(&path).is_some() || below.get(&path).is_some() {
                continue;
            }
            let bytes = self.library(&name)?;
            needed.extend(self.needs(&bytes)?);
            tree.add(&path, Entry::program(bytes));
        }
        Ok(())
    }

    fn library(&self, name: &str) -> anyhow::Result<Vec<u8>> {
        let paths = LIBRARIES.map(|folder| self.root().join(folder).join(name));
        let found = paths.iter().find(|path| path.exists());
        read(found.with_context(|| {
            format!("no package has {name}; add the one that has it to xtask/src/release/root.rs")
        })?)
    }

    /// The libraries that a program names.
    fn needs(&self, program: &[u8]) -> anyhow::Result<BTreeSet<String>> {
        let copy = self.folder.join("program");
        super::write(&copy, program)?;
        let output = Command::new("readelf")
            .args(["--dynamic", "--wide"])
            .arg(&copy)
            .env("LC_ALL", "C")
            .output();
        let output = output.context("readelf cannot be run; install binutils")?;
        ensure!(
            output.status.success(),
            "readelf cannot read a program: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(needed(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Which packages and versions they are, as scanners of images look for it, and their licences.
    pub(super) fn describe(&self, tree: &mut Tree) -> anyhow::Result<()> {
        for package in self.archives()? {
            let fields = Command::new("dpkg-deb")
                .arg("--field")
                .arg(&package)
                .output();
            let fields = fields.context("dpkg-deb cannot be run")?.stdout;
            let text = String::from_utf8_lossy(&fields).into_owned();
            let name = text.lines().find_map(|line| line.strip_prefix("Package: "));
            let name = name.context("a package has no name")?.to_owned();
            let licence = format!("usr/share/doc/{name}/copyright");
            if let Ok(licence_text) = read(&self.root().join(&licence)) {
                tree.add(&licence, Entry::file(licence_text));
            }
            tree.add(
                &format!("var/lib/dpkg/status.d/{name}"),
                Entry::file(fields),
            );
        }
        Ok(())
    }
}

impl Drop for Packages {
    fn drop(&mut self) {
        // What stays behind is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// ` 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]`
fn needed(told: &str) -> BTreeSet<String> {
    let lines = told.lines().filter(|line| line.contains("(NEEDED)"));
    lines
        .filter_map(|line| {
            Some(
                line.split_once('[')?
                    .1
                    .trim_end()
                    .strip_suffix(']')?
                    .to_owned(),
            )
        })
        .collect()
}

/// A file of certificates for programs that look for one, as `update-ca-certificates` would write it.
pub(super) fn certificates(root: &Path) -> anyhow::Result<Vec<u8>> {
    let folder = root.join("usr/share/ca-certificates/mozilla");
    let files =
        super::dist::files(&folder).context("the package ca-certificates has no certificates")?;
    ensure!(
        files.len() > 100,
        "the package ca-certificates has only {} certificates",
        files.len()
    );
    let mut bundle = Vec::new();
    for file in files {
        bundle.extend(read(&file)?);
        if !bundle.ends_with(b"\n") {
            bundle.push(b'\n');
        }
    }
    Ok(bundle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_what_readelf_tells() {
        let told = " 0x1 (NEEDED)   Shared library: [libc.so.6]\n 0xe (SONAME)   Library soname: [libm.so.6]\n 0x1 (NEEDED)   Shared library: [ld-linux-x86-64.so.2]\n";
        let expected = ["ld-linux-x86-64.so.2", "libc.so.6"].map(str::to_owned);
        assert_eq!(needed(told), expected.into());
    }
}
