//! What is in an image: the program with the libraries that it needs, certificates, a user who is not root; and in the second image git.
//!
//! There is no package manager and nothing else of Debian, and without git no shell.

use super::archive::{Entry, Tree};
use super::debian::{self, Packages};

/// Debian's packages for every image.
pub(super) const BASE: [&str; 3] = ["ca-certificates", "libc6", "libgcc-s1"];
/// Debian's packages for the image with git: git and the libraries of its HTTPS, some of them glibc's.
pub(super) const GIT: [&str; 34] = [
    "dash",
    "git",
    "libbrotli1",
    "libc6",
    "libcom-err2",
    "libcurl3-gnutls",
    "libexpat1",
    "libffi8",
    "libgcrypt20",
    "libgmp10",
    "libgnutls30",
    "libgpg-error0",
    "libgssapi-krb5-2",
    "libhogweed6",
    "libidn2-0",
    "libk5crypto3",
    "libkeyutils1",
    "libkrb5-3",
    "libkrb5support0",
    "libldap-2.5-0",
    "libnettle8",
    "libnghttp2-14",
    "libp11-kit0",
    "libpcre2-8-0",
    "libpsl5",
    "librtmp1",
    "libsasl2-2",
    "libssh2-1",
    "libssl3",
    "libtasn1-6",
    "libunistring2",
    "libzstd1",
    "zlib1g",
    "libdb5.3",
];

/// The loader's path, which is written into every program.
const LOADER: &str = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";

/// Everything but the program: it changes seldom, so it is a layer of its own.
pub(super) fn base(packages: &Packages, program: &[u8]) -> anyhow::Result<Tree> {
    let mut tree = Tree::default();
    let link = |to: &str| Entry::Link { to: to.to_owned() };
    tree.add("lib", link("usr/lib"));
    tree.add("lib64", link("usr/lib64"));
    tree.add(
        "usr/lib64/ld-linux-x86-64.so.2",
        link("../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
    );
    let loader = packages.file("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")?;
    tree.add(LOADER, Entry::program(loader));
    // Its libraries are in this layer, the program itself in the next one.
    let mut with_program = tree.clone();
    packages.add_program(
        &mut with_program,
        &Tree::default(),
        "program",
        program.to_vec(),
    )?;
    for (path, entry) in with_program.iter().filter(|(path, _)| *path != "program") {
        tree.add(path, entry.clone());
    }
    add_settings(&mut tree);
    tree.add(
        "etc/ssl/certs/ca-certificates.crt",
        Entry::file(debian::certificates(&packages.root())?),
    );
    packages.describe(&mut tree)?;
    Ok(tree)
}

fn add_settings(tree: &mut Tree) {
    for (path, text) in [
        (
            "etc/passwd",
            "root:x:0:0:root:/root:/sbin/nologin\ntowpath:x:65532:0:towpath:/var/lib/towpath:/sbin/nologin\n",
        ),
        ("etc/group", "root:x:0:\n"),
        ("etc/nsswitch.conf", "hosts: files dns\n"),
        (
            "etc/os-release",
            "NAME=\"Towpath, with libraries of Debian\"\nID=debian\nVERSION_ID=\"12\"\n",
        ),
    ] {
        tree.add(path, Entry::file(text));
    }
    tree.add("etc/towpath", Entry::Folder { mode: 0o755 });
    tree.add("tmp", Entry::Folder { mode: 0o1777 });
    // OpenShift runs containers as any user, in root's group.
    tree.add("var/lib/towpath", Entry::Folder { mode: 0o775 });
}

/// The program alone.
pub(super) fn program(bytes: Vec<u8>, licence: Vec<u8>) -> Tree {
    let mut tree = Tree::default();
    tree.add("usr/bin/towpath", Entry::program(bytes));
    tree.add("usr/share/doc/towpath/copyright", Entry::file(licence));
    tree
}

/// git, with what it needs to fetch over HTTPS, and from a volume: git asks a shell to run the other side of that.
pub(super) fn git(packages: &Packages, below: &Tree) -> anyhow::Result<Tree> {
    let mut tree = Tree::default();
    for path in ["usr/bin/git", "usr/lib/git-core/git-remote-http"] {
        packages.add_program(&mut tree, below, path, packages.file(path)?)?;
    }
    tree.add(
        "usr/lib/git-core/git-remote-https",
        Entry::Link {
            to: "git-remote-http".into(),
        },
    );
    packages.add_program(&mut tree, below, "usr/bin/dash", packages.file("bin/dash")?)?;
    let link = |to: &str| Entry::Link { to: to.to_owned() };
    tree.add("bin", link("usr/bin"));
    tree.add("usr/bin/sh", link("dash"));
    tree.add("usr/bin/git-upload-pack", link("git"));
    packages.describe(&mut tree)?;
    Ok(tree)
}
