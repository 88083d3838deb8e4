//! Signs releases with GnuPG.

use std::fs;
use std::path::Path;
use std::process::Command;

pub struct Signer {
    home: std::path::PathBuf,
}

impl Signer {
    pub fn new(home: &Path) -> Self {
        fs::create_dir(home).expect("a home");
        fs::set_permissions(home, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .expect("a home of one's own");
        let signer = Self {
            home: home.to_owned(),
        };
        gpg(
            home,
            &[
                "--quick-generate-key",
                "releases@example.com",
                "rsa2048",
                "sign",
                "never",
            ],
        );
        signer
    }

    pub fn public_key(&self) -> Vec<u8> {
        gpg(&self.home, &["--armor", "--export"])
    }

    /// Puts a signature of this digest into a store.
    pub fn sign(&self, store: &Path, digest: &str) {
        let statement = serde_json::json!({"critical": {
            "image": {"docker-manifest-digest": digest}, "type": "atomic container signature",
            "identity": {"docker-reference": "quay.io/release"}}, "optional": {"creator": "a test"}});
        let folder = store.join(digest.replace(':', "="));
        fs::create_dir_all(&folder).expect("a folder");
        let (text, signature) = (folder.join("statement"), folder.join("signature-1"));
        fs::write(&text, statement.to_string()).expect("a statement");
        let [text, signature] =
            [text, signature].map(|path| path.to_str().expect("UTF-8").to_owned());
        gpg(&self.home, &["--output", &signature, "--sign", &text]);
    }
}

/// Runs GnuPG with this home, and gives what it writes.
pub fn gpg(home: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut gpg = Command::new("gpg");
    gpg.args(["--batch", "--quiet", "--pinentry-mode", "loopback"]);
    gpg.args(["--passphrase", "", "--homedir"]).arg(home);
    let done = gpg
        .args(arguments)
        .output()
        .expect("gpg runs; install gnupg");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    done.stdout
}
