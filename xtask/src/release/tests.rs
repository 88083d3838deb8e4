//! What is written is the same twice, and is what its readers expect: skopeo, dpkg, gpg, systemd and sha256sum say so.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use super::archive::{Entry, Tree, ar, gzip};
use super::layout::{self, Image};
use super::*;
use crate::scratch::Scratch;

/// A program that answers as towpath does where `dist` and `package` ask it.
const PROGRAM: &str = "#!/bin/sh\ncase $1 in\ncompletions) echo \"complete for $2\";;\nman) mkdir -p \"$2\" && echo page > \"$2/towpath.1\";;\nesac\n";

fn release() -> Release {
    Release {
        version: "1.2.3".into(),
        epoch: 1_700_000_000,
    }
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

fn trees() -> [Tree; 2] {
    let mut base = Tree::default();
    base.add("etc/passwd", Entry::file("root:x:0:0\n"));
    base.add(
        "lib",
        Entry::Link {
            to: "usr/lib".into(),
        },
    );
    base.add("tmp", Entry::Folder { mode: 0o1777 });
    let mut program = Tree::default();
    program.add("usr/bin/towpath", Entry::program(PROGRAM));
    [base, program]
}

fn images(max_bytes: u64) -> [Image; 2] {
    [("1.2.3", vec![0, 1]), ("1.2.3-git", vec![1])].map(|(tag, layers)| Image {
        tag: tag.into(),
        title: "towpath",
        max_bytes,
        layers,
    })
}

fn write_layout(folder: &Path) -> Vec<u64> {
    layout::write_to(
        folder,
        &trees(),
        &images(1 << 20),
        &release(),
        "2023-11-14T22:13:20Z",
    )
    .unwrap()
}

#[test]
fn an_image_is_the_same_twice_and_every_digest_is_right() {
    let scratch = Scratch::new("layout-test").unwrap();
    let [one, other] = ["one", "other"].map(|name| scratch.folder().join(name));
    let sizes = write_layout(&one);
    assert_eq!(sizes, write_layout(&other));
    let files = dist::files(&one).unwrap();
    // Two layers, two configurations, two manifests, the index and the mark.
    assert_eq!(files.len(), 8);
    for file in &files {
        let bytes = read(file).unwrap();
        let name = file.strip_prefix(&one).unwrap();
        assert_eq!(
            bytes,
            read(&other.join(name)).unwrap(),
            "{}",
            name.display()
        );
        if name.starts_with("blobs") {
            assert_eq!(
                name.file_name().unwrap().to_str(),
                Some(sha256(&bytes).as_str())
            );
        }
    }
    let blob = |digest: &Value| {
        read(
            &one.join("blobs")
                .join(digest.as_str().unwrap().replace(':', "/")),
        )
        .unwrap()
    };
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let index = json(&read(&one.join("index.json")).unwrap());
    let manifest = json(&blob(&index["manifests"][0]["digest"]));
    let config = json(&blob(&manifest["config"]["digest"]));
    assert_eq!(config["config"]["User"], "65532:0");
    for (layer, diff_id) in manifest["layers"]
        .as_array()
        .unwrap()
        .iter()
        .zip(config["rootfs"]["diff_ids"].as_array().unwrap())
    {
        let compressed = blob(&layer["digest"]);
        assert_eq!(layer["size"], compressed.len());
        let mut tar = Vec::new();
        std::io::Read::read_to_end(
            &mut flate2::read::GzDecoder::new(compressed.as_slice()),
            &mut tar,
        )
        .unwrap();
        assert_eq!(
            diff_id.as_str().unwrap(),
            format!("sha256:{}", sha256(&tar))
        );
    }
}

#[test]
fn an_image_that_is_too_large_is_an_error() {
    let scratch = Scratch::new("large-test").unwrap();
    let told =
        layout::write_to(scratch.folder(), &trees(), &images(1), &release(), "now").unwrap_err();
    assert!(
        told.to_string().starts_with("the image 1.2.3 has "),
        "{told}"
    );
}

#[test]
fn a_tree_becomes_what_tar_reads() {
    let scratch = Scratch::new("tar-test").unwrap();
    let file = scratch.folder().join("base.tar.gz");
    write(&file, gzip(&trees()[0].tar(0).unwrap()).unwrap()).unwrap();
    let listed = output(
        Command::new("tar")
            .args(["--list", "--verbose", "--numeric-owner", "--utc", "--file"])
            .arg(&file),
    );
    let lines: Vec<String> = listed
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        lines,
        [
            "drwxr-xr-x 0/0 0 1970-01-01 00:00 etc/",
            "-rw-r--r-- 0/0 11 1970-01-01 00:00 etc/passwd",
            "lrwxrwxrwx 0/0 0 1970-01-01 00:00 lib -> usr/lib",
            "drwxrwxrwt 0/0 0 1970-01-01 00:00 tmp/",
        ]
    );
}

#[test]
fn members_of_ar_begin_at_even_places() {
    let archive = ar(&[("a", b"1"), ("b", b"22")], 7);
    assert_eq!(archive.len(), 8 + 60 + 2 + 60 + 2);
    assert_eq!(&archive[8..8 + 28], b"a               7           ");
}

fn program(scratch: &Scratch) -> PathBuf {
    // `strip` takes ELF files only, so the script is wrapped: a copy of sh, told what to do by its name, would not do.
    let file = scratch.folder().join("program");
    let source = scratch.write("program.c", C_PROGRAM).unwrap();
    output(Command::new("cc").arg("-o").arg(&file).arg(source));
    file
}

/// As [`PROGRAM`], in C, because what ships is stripped.
const C_PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
int main(int count, char **words) {
    if (count > 2 && !strcmp(words[1], "completions")) printf("complete for %s\n", words[2]);
    if (count > 2 && !strcmp(words[1], "man")) {
        char path[4096];
        snprintf(path, sizeof path, "%s", words[2]);
        *strrchr(path, '/') = 0;
        mkdir(path, 0755);
        mkdir(words[2], 0755);
        snprintf(path, sizeof path, "%s/towpath.1", words[2]);
        FILE *page = fopen(path, "w");
        fputs("page\n", page);
        fclose(page);
    }
    return 0;
}
"#;

#[test]
fn a_package_is_the_same_twice_and_dpkg_reads_it() {
    let scratch = Scratch::new("package-test").unwrap();
    let binary = program(&scratch);
    let made = ["one", "other"].map(|name| {
        let into = scratch.folder().join(name);
        std::fs::create_dir(&into).unwrap();
        package::make(
            &ReleaseOptions {
                binary: Some(binary.clone()),
                into,
            },
            &release(),
        )
        .unwrap()
    });
    assert_eq!(read(&made[0]).unwrap(), read(&made[1]).unwrap());
    let dpkg = |flag: &str| output(Command::new("dpkg-deb").arg(flag).arg(&made[0]));
    let fields = dpkg("--field");
    assert!(
        fields.contains("Package: towpath\nVersion: 1.2.3\nArchitecture: amd64\n"),
        "{fields}"
    );
    let files = dpkg("--contents");
    for (mode, path) in [
        ("-rwxr-xr-x", "usr/bin/towpath"),
        ("-rw-r--r--", "lib/systemd/system/towpath.service"),
        ("-rw-r--r--", "etc/towpath/towpath.yaml"),
        ("-rw-r--r--", "usr/share/man/man1/towpath.1.gz"),
        (
            "-rw-r--r--",
            "usr/share/bash-completion/completions/towpath",
        ),
    ] {
        let is_line = |line: &str| {
            line.starts_with(mode) && line.contains("root/root") && line.ends_with(path)
        };
        assert!(
            files.lines().any(is_line),
            "{mode} {path} is not in\n{files}"
        );
    }
    for script in ["postinst", "prerm", "postrm"] {
        let file = workspace::root().join("deploy/debian").join(script);
        output(Command::new("sh").arg("-n").arg(&file));
    }
}

#[test]
fn a_release_is_signed_and_its_sums_are_right() {
    let scratch = Scratch::new("dist-test").unwrap();
    let binary = program(&scratch);
    let home = scratch.folder().join("gnupg");
    std::fs::create_dir(&home).unwrap();
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).unwrap();
    let gpg = |words: &[&str]| {
        output(
            Command::new("gpg")
                .arg("--homedir")
                .arg(&home)
                .arg("--batch")
                .args(words),
        )
    };
    gpg(&[
        "--quiet",
        "--passphrase",
        "",
        "--quick-generate-key",
        "release@example.com",
        "ed25519",
        "sign",
        "1d",
    ]);
    let into = scratch.folder().join("dist");
    let run = |arguments: &[&str]| {
        // As a program of its own, because the variable is for gpg alone.
        let mut xtask = Command::new(std::env::current_exe().unwrap());
        xtask.args([
            "--exact",
            "release::tests::runs_dist",
            "--ignored",
            "--nocapture",
        ]);
        xtask
            .env("GNUPGHOME", &home)
            .env(ARGUMENTS, arguments.join("\n"))
            .output()
            .unwrap()
    };
    let (binary, folder) = (binary.to_str().unwrap(), into.to_str().unwrap());
    let signed = run(&[
        "xtask",
        "dist",
        "--binary",
        binary,
        "--into",
        folder,
        "--key",
        "release@example.com",
    ]);
    assert!(
        signed.status.success(),
        "{}",
        String::from_utf8_lossy(&signed.stderr)
    );
    output(
        Command::new("sha256sum")
            .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
            .current_dir(&into),
    );
    gpg(&[
        "--verify",
        into.join("SHA256SUMS.asc").to_str().unwrap(),
        into.join("SHA256SUMS").to_str().unwrap(),
    ]);
    let notes = read(&into.join("NOTES.md")).unwrap();
    assert!(notes.starts_with(b"###"), "what is new, in parts");
    let sbom: Value =
        serde_json::from_slice(&read(&into.join("towpath.cdx.json")).unwrap()).unwrap();
    let components = sbom["components"].as_array().unwrap();
    assert!(components.len() > 100 && components.iter().all(|one| one["licenses"].is_array()));
    assert!(
        components.iter().any(|one| one["name"] == "hyper"),
        "what is linked is named"
    );
    assert!(
        components.iter().all(|one| one["name"] != "proptest"),
        "what only tests need is left out"
    );

    let unknown = scratch.folder().join("unknown");
    let refused = run(&[
        "xtask",
        "dist",
        "--binary",
        binary,
        "--into",
        unknown.to_str().unwrap(),
        "--key",
        "nobody@example.com",
    ]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned()
        + &String::from_utf8_lossy(&refused.stdout);
    assert!(
        told.contains("gpg cannot sign with the key nobody@example.com"),
        "{told}"
    );
}

#[test]
fn what_is_signed_is_built_from_a_signed_tag_with_notes() {
    let scratch = Scratch::new("tag-test").unwrap();
    let (home, root) = (
        scratch.folder().join("gnupg"),
        scratch.folder().join("repository"),
    );
    for folder in [&home, &root] {
        std::fs::create_dir(folder).unwrap();
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    let git = |words: &[&str]| {
        let named = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        output(
            Command::new("git")
                .args(named)
                .args(words)
                .current_dir(&root),
        )
    };
    git(&["init", "--quiet"]);
    std::fs::write(
        root.join("CHANGELOG.md"),
        "# Changelog\n\n## Unreleased\n\nnew\n",
    )
    .unwrap();
    git(&["add", "CHANGELOG.md"]);
    git(&["commit", "--quiet", "--message", "one"]);
    // As a program of its own, because gpg's folder is a variable.
    let run = |act: &str| {
        let mut xtask = Command::new(std::env::current_exe().unwrap());
        let xtask = xtask
            .args([
                "--exact",
                "release::tests::tags",
                "--ignored",
                "--nocapture",
            ])
            .env("GNUPGHOME", &home)
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.com")
            .env(ARGUMENTS, format!("{act}\n{}", root.display()));
        let done = xtask.output().unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    assert!(run("key").contains("DONE"));
    let told = run("check");
    assert!(
        told.contains("there is no tag v1.2.3; `cargo xtask tag --key KEY`"),
        "{told}"
    );
    let told = run("tag");
    assert!(told.contains("has no part \"## 1.2.3\""), "{told}");
    std::fs::write(
        root.join("CHANGELOG.md"),
        "# Changelog\n\n## 1.2.3\n\n### It\n\nnew\n",
    )
    .unwrap();
    let told = run("tag");
    assert!(told.contains("changes that are not committed"), "{told}");
    git(&["commit", "--quiet", "--all", "--message", "two"]);
    let told = run("tag");
    assert!(told.contains("DONE"), "{told}");
    let told = run("check");
    assert!(told.contains("DONE"), "{told}");
    let message = git(&[
        "tag",
        "--list",
        "--format=%(contents:subject)|%(contents:body)",
        "v1.2.3",
    ]);
    assert!(message.contains("Towpath 1.2.3|### It\n\nnew"), "{message}");
    git(&["commit", "--quiet", "--allow-empty", "--message", "three"]);
    let told = run("check");
    assert!(
        told.contains("the tag v1.2.3 is at another commit"),
        "{told}"
    );
    git(&["tag", "--delete", "v1.2.3"]);
    git(&["tag", "--annotate", "--message", "x", "v1.2.3"]);
    let told = run("check");
    assert!(
        told.contains("the signature of the tag v1.2.3 is not right"),
        "{told}"
    );
}

#[test]
#[ignore = "a part of another test, which runs it with an environment of its own"]
fn tags() {
    let words = std::env::var(ARGUMENTS).unwrap();
    let (act, root) = words.split_once('\n').unwrap();
    let (root, key) = (Path::new(root), "release@example.com");
    let done = match act {
        "key" => {
            let mut gpg = Command::new("gpg");
            let quiet = [
                "--batch",
                "--quiet",
                "--passphrase",
                "",
                "--quick-generate-key",
            ];
            output(gpg.args(quiet).args([key, "ed25519", "sign", "1d"]));
            Ok(())
        }
        "tag" => tag::make(root, &release(), key),
        _ => tag::check(root, &release()),
    };
    match done {
        Ok(()) => println!("DONE"),
        Err(error) => println!("{error:#}"),
    }
}

/// The words for [`runs_dist`], one in each line.
const ARGUMENTS: &str = "TOWPATH_TEST_ARGUMENTS";

#[test]
#[ignore = "a part of another test, which runs it with an environment of its own"]
fn runs_dist() {
    let words = std::env::var(ARGUMENTS).unwrap();
    assert_eq!(
        crate::run_words(words.lines()).unwrap(),
        crate::Outcome::Good
    );
}

#[test]
fn a_release_without_a_key_is_refused() {
    use clap::Parser;
    let told = |words: &str| {
        crate::Cli::try_parse_from(words.split(' '))
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let refused = told("xtask dist --into d").unwrap_err();
    assert!(refused.contains("--key <KEY>"), "{refused}");
    assert!(told("xtask dist --into d --unsigned").is_ok());
    assert!(told("xtask dist --into d --unsigned --key k").is_err());
}

#[test]
fn systemd_accepts_the_unit_and_finds_little_exposed() {
    let scratch = Scratch::new("unit-test").unwrap();
    let unit =
        std::fs::read_to_string(workspace::root().join("deploy/systemd/towpath.service")).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/towpath serve "));
    // The program is not installed here.
    let unit = unit.replace("/usr/bin/towpath", "/bin/true");
    let file = scratch.write("towpath.service", unit).unwrap();
    let analyze = |words: &[&str]| output(Command::new("systemd-analyze").args(words).arg(&file));
    assert_eq!(analyze(&["verify", "--man=no"]), "");
    // In tenths: at most 2.0.
    let told = analyze(&["security", "--offline=true", "--no-pager", "--threshold=20"]);
    assert!(told.contains("Overall exposure level"), "{told}");
}
