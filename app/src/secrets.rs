//! Warns of files with secrets that other users of this machine can read.
//!
//! It is only a warning, because nobody else may be on this machine. Kubernetes mounts a Secret with mode 0644, and only its own pod sees it; so
//! files that the kubelet mounted get no warning. Neither does group access: a pod without root reads its secrets that way.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

/// Read, write or execute for everybody else.
const OTHERS: u32 = 0o007;

/// Warns about those files that others can read or write.
pub(crate) fn warn_of_open_files<'a>(files: impl IntoIterator<Item = &'a Path>) {
    for warning in files.into_iter().filter_map(warning) {
        tracing::warn!("{warning}");
    }
}

/// The same for a command that does not log.
pub(crate) fn tell_of_open_file(file: &Path) {
    if let Some(warning) = warning(file) {
        eprintln!("warning: {warning}");
    }
}

/// What there is to say about a file with a secret in it. Nothing about one that cannot be looked at: reading it will say more.
fn warning(file: &Path) -> Option<String> {
    let mode = fs::metadata(file)
        .ok()
        .filter(fs::Metadata::is_file)?
        .permissions()
        .mode();
    if mode & OTHERS == 0 || is_from_kubelet(file) {
        return None;
    }
    let (shown, mode) = (file.display(), mode & 0o777);
    Some(format!(
        "{shown}: everybody on this machine can use this secret file (mode {mode:04o}); run `chmod 600 {shown}`"
    ))
}

/// The kubelet shows a volume's files through a link `..data` to a directory such as `..2026_11_16_20_00_00.123`.
fn is_from_kubelet(file: &Path) -> bool {
    let Ok(real) = file.canonicalize() else {
        return false;
    };
    let is_dated = |component: Component<'_>| {
        component
            .as_os_str()
            .to_str()
            .is_some_and(|name| name.len() > 2 && name.starts_with("..2"))
    };
    real.parent()
        .and_then(|folder| folder.components().next_back())
        .is_some_and(is_dated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn file(folder: &Path, name: &str, mode: u32) -> std::path::PathBuf {
        let path = folder.join(name);
        fs::write(&path, "secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn what_others_can_read_is_told_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, is_told) in [
            (0o600, false),
            (0o400, false),
            (0o640, false),
            (0o440, false),
            (0o644, true),
            (0o602, true),
        ] {
            let warning = warning(&file(folder.path(), "key", mode));
            assert_eq!(warning.is_some(), is_told, "{mode:o}");
            assert!(
                warning.is_none_or(|said| said.contains("chmod 600") && !said.contains("secret\n"))
            );
        }
        assert_eq!(warning(&folder.path().join("none")), None);
    }

    #[test]
    fn a_mounted_secret_of_a_pod_is_as_it_should_be() {
        let folder = tempfile::tempdir().unwrap();
        let dated = folder.path().join("..2026_11_16_20_00_00.123");
        fs::create_dir(&dated).unwrap();
        file(&dated, "token", 0o644);
        symlink("..2026_11_16_20_00_00.123", folder.path().join("..data")).unwrap();
        symlink("..data/token", folder.path().join("token")).unwrap();
        assert_eq!(warning(&folder.path().join("token")), None);
    }
}
