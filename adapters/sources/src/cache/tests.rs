//! The cache, by itself.

use super::*;

fn key(number: usize) -> Digest {
    Digest::of(number.to_string().as_bytes())
}

fn image(digest: &Digest) -> CacheKey<'_> {
    CacheKey::Image(digest)
}

#[test]
fn what_was_put_in_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    Cache::at(folder.path()).put(image(&key(1)), b"one\ntwo");
    let cache = Cache::at(folder.path());
    assert_eq!(cache.get(image(&key(1))).as_deref(), Some(&b"one\ntwo"[..]));
    assert_eq!(cache.get(image(&key(2))), None);
    assert_eq!(cache.take_findings(), []);
}

#[test]
fn every_damage_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    cache.put(image(&key(1)), b"content");
    let path = cache.path(image(&key(1)));
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        for damaged in [&flipped[..], &whole[..at]] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.get(image(&key(1))), None, "{at}");
            assert_eq!(cache.take_findings()[0].code, "cache-damaged");
        }
    }
    cache.put(image(&key(1)), b"content");
    assert_eq!(
        cache.get(image(&key(1))).as_deref(),
        Some(&b"content"[..]),
        "it is mended by writing it anew"
    );
}

#[test]
fn it_stays_within_its_bounds_and_keeps_what_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let old = Cache::at(folder.path());
    (0..20).for_each(|number| old.put(image(&key(number)), b"x"));
    let cache = Cache::bounded(folder.path(), 5, u64::MAX);
    (0..3).for_each(|number| assert!(cache.get(image(&key(number))).is_some()));
    cache.trim();
    assert_eq!(
        (0..20)
            .filter(|number| old.get(image(&key(*number))).is_some())
            .count(),
        5
    );
    (0..3).for_each(|number| {
        assert!(
            cache.get(image(&key(number))).is_some(),
            "{number} was used"
        )
    });
}

#[test]
fn it_stays_within_its_bytes_and_forgets_what_was_used() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::bounded(folder.path(), 100, 10 * 1_065);
    (0..20).for_each(|number| cache.put(image(&key(number)), &[b'x'; 1_000]));
    cache.trim();
    assert_eq!(
        (0..20)
            .filter(|number| cache.get(image(&key(*number))).is_some())
            .count(),
        10
    );
    cache.trim();
    assert!(
        locked(&cache.used).is_empty(),
        "it does not grow for as long as we run"
    );
}

#[test]
fn what_could_not_be_read_back_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let largest = vec![b'x'; MAX_ENTRY_BYTES as usize - 65];
    cache.put(image(&key(1)), &largest);
    assert_eq!(
        cache.get(image(&key(1))).map(|content| content.len()),
        Some(largest.len())
    );
    assert_eq!(cache.take_findings(), []);
    cache.put(image(&key(2)), &[&largest[..], b"x"].concat());
    assert_eq!(cache.take_findings()[0].code, "cache-unwritable");
    assert_eq!(cache.get(image(&key(2))), None);
    assert_eq!(
        cache.take_findings(),
        [],
        "it is not there, and not damaged"
    );
}

#[test]
fn an_entry_under_the_name_of_another_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let repository = Repository::parse("r.io/x").unwrap();
    let digest = Digest::of(repository.to_string().as_bytes());
    let (tags, image) = (CacheKey::Tags(&repository), image(&digest));
    cache.put(tags, b"tags");
    assert_eq!(cache.get(image), None, "though it would have the same name");
    cache.put(image, b"image");
    assert_eq!(cache.get(tags).as_deref(), Some(&b"tags"[..]));
    fs::copy(cache.path(tags), cache.path(image)).unwrap();
    assert_eq!(cache.get(image), None);
    assert_eq!(cache.take_findings()[0].code, "cache-damaged");
}

#[test]
fn a_directory_that_cannot_be_written_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let cache = Cache::at(&file);
    (0..3).for_each(|number| cache.put(image(&key(number)), b"x"));
    let findings = cache.take_findings();
    assert_eq!(
        findings
            .iter()
            .map(|finding| finding.code)
            .collect::<Vec<_>>(),
        ["cache-unwritable"]
    );
}

#[test]
fn two_writers_leave_one_whole_entry() {
    let folder = tempfile::tempdir().unwrap();
    let caches = [Cache::at(folder.path()), Cache::at(folder.path())];
    std::thread::scope(|scope| {
        for (cache, content) in caches.iter().zip([&[b'a'; 100_000], &[b'b'; 100_000]]) {
            scope.spawn(move || (0..200).for_each(|_| cache.put(image(&key(1)), content)));
        }
        for _ in 0..200 {
            if let Some(content) = caches[0].get(image(&key(1))) {
                assert!(content.iter().all(|byte| *byte == content[0]) && content.len() == 100_000);
            }
        }
    });
    assert_eq!(caches[0].take_findings(), []);
}
