//! Copies of sources on disk: the files of one source, and the list of files that belong together.
//!
//! Each text follows its length, so nothing needs escaping. A list ends with the digest of
//! everything before it. The files of a source are named by their digest.

use std::collections::BTreeSet;
use std::str::FromStr;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use towpath_core::hex;
use towpath_core::intake::{Measure, RecentMaxima, WithdrawnReleases};
use towpath_core::signatures::{GraphSeal, PayloadDigest, Signer};
use towpath_core::version::Arch;

use crate::SourceFile;

const LIST: &[u8] = b"towpath copies 5\n";
/// How one began that did not say who signed the copies.
const LIST_WITHOUT_SEALS: &[u8] = b"towpath copies 4\n";
/// How one began that did not say what is stricter in copies that were not taken.
const LIST_WITHOUT_STRICTER: &[u8] = b"towpath copies 3\n";
/// How one began that did not say what has gone, nor what was verified.
const LIST_WITHOUT_VANISHED: &[u8] = b"towpath copies 2\n";
/// How one began that did not say what the sources had lately, either.
const LIST_WITHOUT_HIGHS: &[u8] = b"towpath copies 1\n";
/// How the files of a source begin.
const FILES: &[u8] = b"towpath files 1\n";
const DIGEST_BYTES: usize = 32;

/// One source's copy, as the list has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCopy {
    pub source: String,
    /// Where the source was, so that a copy of another place is not taken for it.
    pub location: String,
    /// The digest of its files, in hexadecimal.
    pub digest: String,
    /// When it was last found to be good.
    pub last_good: Timestamp,
    /// When it was made, as far as the source tells.
    pub made_at: Option<Timestamp>,
    /// The most that the source had lately.
    pub highs: RecentMaxima,
    /// The images of what it had lately and has no more.
    pub vanished: WithdrawnReleases,
    /// How many of its releases were verified; none if nobody counts.
    pub verified: Option<usize>,
    /// The blocks of copies that were not taken, each with the time since which it holds.
    pub stricter: Vec<KeptPart>,
    /// Those that a person has discarded, by digest.
    pub discarded: BTreeSet<String>,
    /// Who signed it, if somebody has to.
    pub seal: Option<GraphSeal>,
}

/// Since when a block of a copy that was not taken holds, and its file.
pub type KeptPart = (Timestamp, SourceFile);

pub fn write_list(copies: &[KeptCopy]) -> Vec<u8> {
    let mut bytes = LIST.to_vec();
    put(&mut bytes, &(copies.len() as u64).to_be_bytes());
    for copy in copies {
        for field in [
            &copy.source,
            &copy.location,
            &copy.digest,
            &copy.last_good.to_string(),
            &said(copy.made_at),
            &write_highs(&copy.highs),
            &write_vanished(&copy.vanished),
            &said(copy.verified),
        ] {
            put(&mut bytes, field.as_bytes());
        }
        put(&mut bytes, &write_stricter(copy));
        put(&mut bytes, &write_seal(copy.seal.as_ref()));
    }
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
    bytes
}

/// Reads the list; none if it is not whole.
pub fn read_list(bytes: &[u8]) -> Option<Vec<KeptCopy>> {
    let (bytes, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST_BYTES)?)?;
    let bytes = (Sha256::digest(bytes).as_slice() == digest).then_some(bytes)?;
    let (mut rest, beginning) = [
        LIST,
        LIST_WITHOUT_SEALS,
        LIST_WITHOUT_STRICTER,
        LIST_WITHOUT_VANISHED,
        LIST_WITHOUT_HIGHS,
    ]
    .into_iter()
    .find_map(|beginning| Some((bytes.strip_prefix(beginning)?, beginning)))?;
    let count = u64::from_be_bytes(take(&mut rest)?.try_into().ok()?);
    (0..count)
        .map(|_| read_copy(&mut rest, beginning))
        .collect()
}

/// One copy of a list with that beginning. A later one says all that an earlier one says, and more.
fn read_copy(rest: &mut &[u8], beginning: &[u8]) -> Option<KeptCopy> {
    let mut text = || String::from_utf8(take(rest)?.to_vec()).ok();
    let (source, location, digest, last_good, made_at) =
        (text()?, text()?, text()?, text()?, text()?);
    let highs = match beginning > LIST_WITHOUT_HIGHS {
        true => read_highs(&text()?)?,
        false => RecentMaxima::default(),
    };
    let (vanished, verified) = match beginning > LIST_WITHOUT_VANISHED {
        true => (read_vanished(&text()?)?, text()?),
        false => Default::default(),
    };
    let (stricter, discarded) = match beginning > LIST_WITHOUT_STRICTER {
        true => read_stricter(take(rest)?)?,
        false => Default::default(),
    };
    let seal = match beginning > LIST_WITHOUT_SEALS {
        true => read_seal(take(rest)?)?,
        false => None,
    };
    Some(KeptCopy {
        source,
        location,
        digest,
        last_good: last_good.parse().ok()?,
        made_at: unsaid(&made_at)?,
        highs,
        vanished,
        verified: unsaid(&verified)?,
        stricter,
        discarded,
        seal,
    })
}

fn said(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// What [`said`] wrote; the outer none: it cannot be read.
fn unsaid<T: FromStr>(text: &str) -> Option<Option<T>> {
    match text {
        "" => Some(None),
        text => text.parse().ok().map(Some),
    }
}

/// How many have been discarded, and each; then time, path and bytes of each that holds.
fn write_stricter(copy: &KeptCopy) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, &(copy.discarded.len() as u64).to_be_bytes());
    copy.discarded
        .iter()
        .for_each(|digest| put(&mut bytes, digest.as_bytes()));
    for (since, file) in &copy.stricter {
        for field in [
            since.to_string().as_bytes(),
            file.path.as_bytes(),
            &file.bytes,
        ] {
            put(&mut bytes, field);
        }
    }
    bytes
}

fn read_stricter(mut rest: &[u8]) -> Option<(Vec<KeptPart>, BTreeSet<String>)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let count = u64::from_be_bytes(take(&mut rest)?.try_into().ok()?);
    let discarded = (0..count)
        .map(|_| text(take(&mut rest)?))
        .collect::<Option<_>>()?;
    let mut stricter = Vec::new();
    while !rest.is_empty() {
        let (since, path) = (
            text(take(&mut rest)?)?.parse().ok()?,
            text(take(&mut rest)?)?,
        );
        stricter.push((
            since,
            SourceFile {
                path,
                bytes: take(&mut rest)?.into(),
            },
        ));
    }
    Some((stricter, discarded))
}

/// Nothing, if there is none.
fn write_seal(seal: Option<&GraphSeal>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(GraphSeal { what, key, signer }) = seal {
        for field in [
            what,
            key,
            &signer.fingerprint,
            &signer.user_id,
            &signer.signed_at.to_string(),
            &said(signer.until),
        ] {
            put(&mut bytes, field.as_bytes());
        }
    }
    bytes
}

/// The outer none: it cannot be read.
fn read_seal(mut rest: &[u8]) -> Option<Option<GraphSeal>> {
    if rest.is_empty() {
        return Some(None);
    }
    let mut text = || String::from_utf8(take(&mut rest)?.to_vec()).ok();
    let (what, key) = (text()?, text()?);
    let signer = Signer {
        fingerprint: text()?,
        user_id: text()?,
        signed_at: text()?.parse().ok()?,
        until: unsaid(&text()?)?,
    };
    rest.is_empty()
        .then_some(Some(GraphSeal { what, key, signer }))
}

/// A line for each day and measure: `20469 41 edges with risks`.
fn write_highs(highs: &RecentMaxima) -> String {
    highs
        .counts()
        .map(|(day, measure, count)| format!("{day} {count} {}\n", measure.noun()))
        .collect()
}

fn read_highs(text: &str) -> Option<RecentMaxima> {
    let line = |line: &str| {
        let (day, rest) = line.split_once(' ')?;
        let (count, noun) = rest.split_once(' ')?;
        // What a later version counts is of no use to us.
        let measure = Measure::ALL
            .into_iter()
            .find(|measure| measure.noun() == noun);
        Some((
            day.parse::<i64>().ok()?,
            measure,
            count.parse::<usize>().ok()?,
        ))
    };
    let lines: Vec<_> = text.lines().map(line).collect::<Option<_>>()?;
    Some(RecentMaxima::of(lines.into_iter().filter_map(
        |(day, measure, count)| Some((day, measure?, count)),
    )))
}

/// A line for each digest: `20469 4.9.1 sha256:… amd64`.
fn write_vanished(vanished: &WithdrawnReleases) -> String {
    let line = |(day, version, arch, digest)| format!("{day} {version} {digest} {arch}\n");
    // No architecture has such a name; a stranger's could.
    vanished
        .entries()
        .filter(|(_, _, arch, _)| !arch.as_str().contains(['\n', '\r']))
        .map(line)
        .collect()
}

fn read_vanished(text: &str) -> Option<WithdrawnReleases> {
    let line = |line: &str| {
        let mut fields = line.splitn(4, ' ');
        let (day, version) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let digest = PayloadDigest::parse(fields.next()?)?;
        Some((day, version, Arch::new(fields.next()?), digest))
    };
    text.lines()
        .map(line)
        .collect::<Option<Vec<_>>>()
        .map(WithdrawnReleases::of)
}

/// Writes the files of a source.
pub fn write_files(files: &[SourceFile]) -> Vec<u8> {
    let mut bytes = FILES.to_vec();
    for file in files {
        put(&mut bytes, file.path.as_bytes());
        put(&mut bytes, &file.bytes);
    }
    bytes
}

/// Reads the files of a source; none if these bytes are not those of that digest.
pub fn read_files(bytes: &[u8], digest: &str) -> Option<Vec<SourceFile>> {
    let mut rest = (digest_of(bytes) == digest).then(|| bytes.strip_prefix(FILES))??;
    let mut files = Vec::new();
    while !rest.is_empty() {
        let path = String::from_utf8(take(&mut rest)?.to_vec()).ok()?;
        files.push(SourceFile {
            path,
            bytes: take(&mut rest)?.into(),
        });
    }
    Some(files)
}

/// The name that the files of a source have, without writing them.
pub fn digest_of_files(files: &[SourceFile]) -> String {
    let mut hash = Sha256::new();
    hash.update(FILES);
    for field in files
        .iter()
        .flat_map(|file| [file.path.as_bytes(), &file.bytes])
    {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    hex::encode(&hash.finalize())
}

/// The name of these bytes, in hexadecimal.
pub fn digest_of(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes))
}

fn put(bytes: &mut Vec<u8>, field: &[u8]) {
    bytes.extend_from_slice(&(field.len() as u64).to_be_bytes());
    bytes.extend_from_slice(field);
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_at_checked(8)?;
    let length = u64::from_be_bytes(length.try_into().ok()?);
    let (field, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(field)
}

#[cfg(test)]
mod tests {
    use towpath_core::version::Version;

    use super::*;

    fn list() -> Vec<KeptCopy> {
        let copy = |made_at| KeptCopy {
            source: "graph-data".into(),
            location: "/srv/a b".into(),
            digest: digest_of(b"x"),
            last_good: Timestamp::UNIX_EPOCH,
            made_at,
            highs: RecentMaxima::of([
                (20_469, Measure::RiskyEdges, 41),
                (20_470, Measure::Blocks, 0),
            ]),
            vanished: WithdrawnReleases::of([
                vanished(20_469, 7, "amd64"),
                vanished(20_469, 8, "amd64"),
                vanished(20_470, 9, "a b"),
            ]),
            verified: made_at.map(|_| 41),
            stricter: made_at
                .map(|at| (at, file("blocked-edges/a.yaml", "to: 4.9.1\n")))
                .into_iter()
                .collect(),
            discarded: ["x".into(), "y".into()].into(),
            seal: made_at.map(|signed_at| GraphSeal {
                what: "commit abc".into(),
                key: "CD".into(),
                signer: Signer {
                    fingerprint: "AB".into(),
                    user_id: "ann\nlee".into(),
                    signed_at,
                    until: None,
                },
            }),
        };
        vec![copy(None), copy(Some(Timestamp::UNIX_EPOCH))]
    }

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile {
            path: path.into(),
            bytes: text.as_bytes().into(),
        }
    }

    fn vanished(day: i64, of: u8, arch: &str) -> (i64, Version, Arch, PayloadDigest) {
        let digest = PayloadDigest::parse(&format!("sha256:{of:064x}")).unwrap();
        (day, "4.9.1-rc.1".parse().unwrap(), Arch::new(arch), digest)
    }

    fn with_digest(mut bytes: Vec<u8>) -> Vec<u8> {
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        bytes
    }

    /// No stricter parts, and none discarded: the length of a number, and the number.
    const NO_STRICTER: &str = "\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0";

    #[test]
    fn lists_of_the_versions_before_are_read() {
        let highs = RecentMaxima::of([(20_469, Measure::Blocks, 3)]);
        let oldest = ["graph-data", "/srv", "d", "1970-01-01T00:00:00Z", ""];
        let (older, old) = (["20469 3 blocks in effect\n20469 3 blocks\n"], ["", ""]);
        for (beginning, fields, expected) in [
            (LIST_WITHOUT_HIGHS, oldest.to_vec(), RecentMaxima::default()),
            (
                LIST_WITHOUT_VANISHED,
                [&oldest[..], &older].concat(),
                highs.clone(),
            ),
            (
                LIST_WITHOUT_STRICTER,
                [&oldest[..], &older, &old].concat(),
                highs.clone(),
            ),
            (
                LIST_WITHOUT_SEALS,
                [&oldest[..], &older, &old, &[NO_STRICTER]].concat(),
                highs,
            ),
        ] {
            let mut bytes = beginning.to_vec();
            put(&mut bytes, &1u64.to_be_bytes());
            fields
                .iter()
                .for_each(|field| put(&mut bytes, field.as_bytes()));
            let read = read_list(&with_digest(bytes)).unwrap();
            assert_eq!(
                (read[0].location.as_str(), &read[0].highs),
                ("/srv", &expected)
            );
            assert_eq!(
                (&read[0].vanished, read[0].verified),
                (&WithdrawnReleases::default(), None)
            );
            assert_eq!((read[0].stricter.len(), read[0].discarded.len()), (0, 0));
            assert_eq!(read[0].seal, None);
        }
    }

    #[test]
    fn what_has_gone_is_read_whole_or_not_at_all_and_no_name_breaks_a_line() {
        let digest = format!("sha256:{:064x}", 7);
        for wrong in [
            "x 4.9.1 D amd64",
            "1 4.9 D amd64",
            "1 4.9.1 sha256:0 amd64",
            "1 4.9.1 D",
            "",
        ] {
            assert_eq!(
                read_vanished(&format!("{}\n", wrong.replace('D', &digest))),
                None,
                "{wrong}"
            );
        }
        let odd =
            WithdrawnReleases::of([vanished(1, 7, "amd64\n1 4.9.2 x"), vanished(1, 7, "amd64")]);
        assert_eq!(
            read_vanished(&write_vanished(&odd)),
            Some(WithdrawnReleases::of([vanished(1, 7, "amd64")]))
        );
    }

    #[test]
    fn what_a_later_version_counts_is_passed_over_and_what_is_no_count_is_not() {
        let highs = RecentMaxima::of([(20_469, Measure::Blocks, 3)]);
        assert_eq!(
            read_highs("20469 3 blocks in effect\n20469 9 windmills\n"),
            Some(highs)
        );
        assert_eq!(
            (read_highs("20469 many blocks"), read_highs("blocks")),
            (None, None)
        );
    }

    #[test]
    fn what_was_written_is_read_and_nothing_that_was_damaged() {
        let bytes = write_list(&list());
        assert_eq!(read_list(&bytes), Some(list()));
        let files = vec![file("version", "1.0.0"), file("channels/x.yaml", "")];
        let written = write_files(&files);
        let digest = digest_of(&written);
        assert_eq!(digest_of_files(&files), digest);
        assert_eq!(read_files(&written, &digest), Some(files));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(
                (read_list(&damaged), read_list(&bytes[..at])),
                (None, None),
                "{at}"
            );
        }
        for at in 0..written.len() {
            assert_eq!(read_files(&written[..at], &digest), None, "{at}");
        }
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let mut bytes = LIST.to_vec();
        put(&mut bytes, &u64::MAX.to_be_bytes());
        bytes.extend_from_slice(&u64::MAX.to_be_bytes());
        assert_eq!(read_list(&with_digest(bytes)), None);
    }
}
