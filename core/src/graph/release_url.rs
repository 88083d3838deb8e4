//! The url of a release, which clients parse.
//!
//! The cluster-version operator refuses a whole answer if one url cannot be parsed. So blanks
//! around a url go, and a url that cannot be parsed at all is left out: clients do without it.

use std::sync::Arc;

use super::{Release, servable};
use crate::finding::{Finding, Place};

const URL: &str = "url";

/// Corrects the release's url, and says what was wrong with it.
pub(super) fn corrected(release: &mut Release) -> Option<Finding> {
    let written = release.metadata.get(URL)?.clone();
    let trimmed = written.trim();
    let what = match (servable::is_parsable(trimmed), trimmed == &*written) {
        (true, true) => return None,
        (true, false) => {
            release.metadata.insert(URL.into(), Arc::from(trimmed));
            "has blanks around it; it is served without them"
        }
        (false, _) => {
            release.metadata.remove(URL);
            "cannot be parsed; the release is served without it"
        }
    };
    let (version, arch) = (&release.version, &release.arch);
    let shown: String = written.chars().take(80).collect();
    let problem = format!("the url {shown:?} of {version}+{arch} {what}");
    let remedy =
        "correct it where the release is made; clients refuse a whole graph for such a url";
    let place = Place::file("releases");
    Some(Finding::warning("bad-release-url", place, problem, remedy))
}
