//! Graph data of schema 1.1.0, turned into 2.0.0 with many windows open: the hardest case for a server.
//!
//! The channel files of the real data are simple, so they are read line by line.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use super::scratch;

/// How many releases of each channel are being rolled out.
pub(super) const OPEN_RELEASES: usize = 20;
const DAY_SECONDS: u64 = 86_400;
/// When everything else entered its channel.
const LONG_AGO: &str = "2019-06-04T00:00:00Z";

/// A channel of schema 1.x.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Channel {
    pub(super) name: String,
    /// Oldest first.
    pub(super) versions: Vec<String>,
}

impl Channel {
    /// The releases that are being rolled out after the conversion.
    pub(super) fn newest(&self) -> &[String] {
        &self.versions[self.versions.len().saturating_sub(OPEN_RELEASES)..]
    }
}

/// A copy of the graph data as it is.
pub(super) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    for folder in ["", "raw", "channels", "blocked-edges"] {
        scratch::copy_files(&from.join(folder), &to.join(folder))?;
    }
    Ok(())
}

/// A copy of the graph data in schema 2.0.0, with windows that are open at that time (in seconds since 1970).
pub(super) fn convert(
    from: &Path,
    to: &Path,
    channels: &[Channel],
    now: u64,
) -> anyhow::Result<()> {
    for folder in ["raw", "blocked-edges"] {
        scratch::copy_files(&from.join(folder), &to.join(folder))?;
    }
    scratch::write(&to.join("version"), "2.0.0\n")?;
    for channel in channels {
        scratch::write(
            &to.join("channels").join(format!("{}.yaml", channel.name)),
            phased(channel, now),
        )?;
    }
    Ok(())
}

/// All channels of a folder of graph data, by the names of their files.
pub(super) fn read_channels(graph_data: &Path) -> anyhow::Result<Vec<Channel>> {
    let folder = graph_data.join("channels");
    let cannot = || format!("{}: cannot be read", folder.display());
    let files: Result<Vec<_>, _> = fs::read_dir(&folder)
        .with_context(cannot)?
        .map(|entry| entry.map(|e| e.path()))
        .collect();
    let mut files = files.with_context(cannot)?;
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let text = fs::read_to_string(file)?;
        read_channel(&text)
            .with_context(|| format!("{}: is not a simple channel file", file.display()))
    };
    files.iter().map(read).collect()
}

/// A block that stops clusters of one platform from updating to a release.
pub(super) fn targeted_block(to: &str, platform: &str) -> String {
    format!("to: {to}\nfrom: .*\nname: Bench{platform}\nclusters:\n  platforms: [{platform}]\n")
}

fn read_channel(text: &str) -> anyhow::Result<Channel> {
    let (mut name, mut versions, mut key) = (None, Vec::new(), "");
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim_end();
        if line.trim_start().starts_with('#') || line.is_empty() {
            continue;
        }
        match (line.trim_start().strip_prefix("- "), line.split_once(':')) {
            (Some(item), _) if key == "versions" => versions.push(unquoted(item)),
            (None, Some((top, value))) if !top.starts_with(' ') => {
                key = top;
                if top == "name" {
                    name = Some(unquoted(value));
                }
            }
            _ => {}
        }
    }
    ensure!(!versions.is_empty(), "it has no versions");
    Ok(Channel {
        name: name.context("it has no name")?,
        versions,
    })
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}

fn phased(channel: &Channel, now: u64) -> String {
    let mut text = format!(
        "channels:\n- name: {}\n  phasedRollouts:\n  - {{fromVersion: patch, duration: P4D}}\n  \
         - {{fromVersion: minor, duration: P14D}}\nversions:\n",
        channel.name
    );
    let open = channel.newest().len();
    let old = channel.versions.len() - open;
    for (number, version) in channel.versions.iter().enumerate() {
        let start = match number.checked_sub(old) {
            None => LONG_AGO.to_owned(),
            // Spread over the last day: the oldest entered a day ago, the newest a while ago.
            Some(nth) => rfc3339(now - DAY_SECONDS * (open - nth) as u64 / open as u64),
        };
        writeln!(text, "- {{name: {version}, start: \"{start}\"}}")
            .expect("writing to a string does not fail");
    }
    text
}

/// A time in seconds since 1970, in UTC.
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
    // Counted in eras of 400 years that begin in March, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_600_000_000;

    #[test]
    fn a_channel_file_is_read_line_by_line() {
        let text = "\
feeder:
  delay: PT0H
  name: other
name: stable-4.9
tombstones:
- 4.8.1
versions:
# no 4.8.3
- 4.8.2
- 4.8.4+s390x # late

- \"4.9.0-rc.1\"
";
        let expected = Channel {
            name: "stable-4.9".into(),
            versions: ["4.8.2", "4.8.4+s390x", "4.9.0-rc.1"]
                .map(str::to_owned)
                .to_vec(),
        };
        assert_eq!(read_channel(text).unwrap(), expected);
    }

    #[test]
    fn a_channel_file_without_a_name_or_versions_is_refused() {
        assert_eq!(
            read_channel("versions:\n- 4.9.0\n")
                .unwrap_err()
                .to_string(),
            "it has no name"
        );
        assert_eq!(
            read_channel("name: x\n").unwrap_err().to_string(),
            "it has no versions"
        );
    }

    #[test]
    fn the_newest_are_spread_over_the_last_day() {
        let versions: Vec<String> = (0..22).map(|patch| format!("4.9.{patch}")).collect();
        let text = phased(
            &Channel {
                name: "fast-4.9".into(),
                versions,
            },
            NOW,
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..6],
            [
                "channels:",
                "- name: fast-4.9",
                "  phasedRollouts:",
                "  - {fromVersion: patch, duration: P4D}",
                "  - {fromVersion: minor, duration: P14D}",
                "versions:",
            ]
        );
        assert_eq!(lines.len(), 6 + 22);
        assert!(lines[6..8].iter().all(|line| line.contains(LONG_AGO)));
        assert_eq!(
            lines[8],
            format!(
                "- {{name: 4.9.2, start: \"{}\"}}",
                rfc3339(NOW - DAY_SECONDS)
            )
        );
        assert_eq!(
            lines[27],
            format!(
                "- {{name: 4.9.21, start: \"{}\"}}",
                rfc3339(NOW - DAY_SECONDS / 20)
            )
        );
    }

    #[test]
    fn a_small_channel_is_rolled_out_as_a_whole() {
        let text = phased(
            &Channel {
                name: "x".into(),
                versions: vec!["4.2.0".into(), "4.2.1".into()],
            },
            NOW,
        );
        assert!(!text.contains(LONG_AGO));
    }

    #[test]
    fn times_are_written_in_utc() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (NOW, "2020-09-13T12:26:40Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(seconds), expected);
        }
    }
}
