//! A registry that stalls, cuts short, lies and redirects. What can be had in a moment is had; what cannot is said.

use std::sync::Arc;
use std::time::{Duration, Instant};

use towpath_core::retry::Retry;
use towpath_formats::sources::oci::Digest;
use towpath_sources::{Cache, RegistryLimits, Scrape, scrape};

use super::{names, plain, quick, said};
use towpath_testing_services::registry::double::{
    Manner, RegistryAnswer, RegistryDouble, RegistryRequest,
};
use towpath_testing_services::registry::images::*;

fn is_blob(asked: &RegistryRequest) -> bool {
    asked.target.contains("/blobs/")
}

fn is_manifest(asked: &RegistryRequest) -> bool {
    asked.target.contains("/manifests/") && asked.method == "GET"
}

/// Scrapes two releases from a registry that misbehaves; the releases, and what is said.
async fn scraped(
    turn: impl Fn(&RegistryRequest, usize) -> Option<RegistryAnswer> + Send + Sync + 'static,
) -> (String, Vec<String>) {
    let double = RegistryDouble::misbehaving(turn);
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    double.put(Some("b"), &release("4.1.1+amd64", "4.1.0"));
    match scrape(&plain(quick()), &Scrape::of(double.repository())).await {
        Ok((file, findings)) => (names(&file), said(&findings)),
        Err(finding) => (
            "nothing".to_owned(),
            vec![format!("{}: {}", finding.code, finding.problem)],
        ),
    }
}

const BOTH: &str = "4.1.0+amd64 4.1.1+amd64";

#[tokio::test]
async fn what_passes_is_waited_for() {
    for status in [408, 429, 500, 502, 503, 504] {
        let (names, said) =
            scraped(move |_, before| (before < 2).then(|| RegistryAnswer::new(status))).await;
        assert_eq!((names.as_str(), said), (BOTH, vec![]), "{status}");
    }
    for manner in [
        Manner::CutAt(3),
        Manner::StallAt(3),
        Manner::Longer(9),
        Manner::Shorter(2),
    ] {
        let garbled = move |asked: &RegistryRequest, before: usize| {
            (before == 0 && (is_blob(asked) || is_manifest(asked)))
                .then(|| RegistryAnswer::ok("garbled").manner(manner))
        };
        assert_eq!(
            scraped(garbled).await,
            (BOTH.to_owned(), vec![]),
            "{manner:?}"
        );
    }
    // Tags too.
    let tags = |asked: &RegistryRequest, before: usize| {
        (before == 0 && asked.target.contains("tags"))
            .then(|| RegistryAnswer::ok("{").manner(Manner::Longer(1)))
    };
    assert_eq!(scraped(tags).await, (BOTH.to_owned(), vec![]));
}

#[tokio::test]
async fn the_registry_is_obeyed_when_it_asks_for_time() {
    let begun = Instant::now();
    let (names, _) = scraped(|asked, before| {
        (asked.target.contains("tags") && before == 0)
            .then(|| RegistryAnswer::new(429).header("retry-after", "1"))
    })
    .await;
    assert_eq!(names, BOTH);
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    let (names, said) = scraped(|asked, _| {
        asked
            .target
            .contains("tags")
            .then(|| RegistryAnswer::new(429).header("retry-after", "3600"))
    })
    .await;
    assert_eq!(
        (names.as_str(), said[0].as_str()),
        ("nothing", "registry-unreachable: the registry answered 429")
    );
}

#[tokio::test]
async fn what_does_not_pass_is_said_and_the_rest_is_there() {
    let one = |answer: fn() -> RegistryAnswer| {
        let digest = Digest::of(&release_layer("4.1.1", "4.1.0", ""));
        scraped(move |asked, _| asked.target.ends_with(digest.as_str()).then(answer))
    };
    let unreadable = |problem: &str| {
        (
            "4.1.0+amd64".to_owned(),
            vec![format!(
                "unreadable-image b: it cannot be read now: {problem}"
            )],
        )
    };
    assert_eq!(
        one(|| RegistryAnswer::new(500)).await,
        unreadable("the registry answered 500")
    );
    assert_eq!(
        one(|| RegistryAnswer::new(403)).await,
        unreadable("the registry forbids it")
    );
    assert_eq!(
        one(|| RegistryAnswer::new(418)).await,
        unreadable("the registry answered 418")
    );
    assert_eq!(
        one(|| RegistryAnswer::ok("x").manner(Manner::StallAt(0))).await,
        unreadable("the registry does not answer in time")
    );
    let (_, said) = one(|| RegistryAnswer::ok("x")).await;
    assert!(
        said[0].contains("the blob that came is not sha256:"),
        "{said:?}"
    );
    let (_, said) = one(|| RegistryAnswer::ok("x").manner(Manner::CutAt(0))).await;
    assert!(said[0].contains("the answer is cut short"), "{said:?}");
    let missing = one(|| RegistryAnswer::new(404)).await;
    assert_eq!(
        missing.1,
        ["broken-image b: it is not a release image: a layer is not in the registry"]
    );
}

#[tokio::test]
async fn without_tags_there_is_no_scrape() {
    for (answer, expected) in [
        (
            RegistryAnswer::new(404),
            "not-found: the registry does not have it",
        ),
        (
            RegistryAnswer::new(500),
            "registry-unreachable: the registry answered 500",
        ),
        (
            RegistryAnswer::new(401),
            "unauthorised: the registry asks for credentials, and the auth file has none for it",
        ),
        (
            RegistryAnswer::ok("<html>"),
            "http: the list of tags cannot be read: expected value at line 1 column 1",
        ),
        (
            RegistryAnswer::ok("{}").header("link", "<http://elsewhere.example.com/x>; rel=next"),
            "http: the registry puts the next page of tags at \"http://elsewhere.example.com/x\", which we refuse",
        ),
        (
            RegistryAnswer::ok("{}").header("link", "</v2/a/b/tags/list?n=1000>; rel=next"),
            "http: the list of tags does not end",
        ),
        (
            RegistryAnswer::ok(vec![b' '; (16 << 20) + 1]),
            "too-large: a page of tags is longer than 16777216 bytes",
        ),
        (
            RegistryAnswer::ok(vec![b' '; (16 << 20) + 1]).manner(Manner::NoLength),
            "too-large: a page of tags is longer than 16777216 bytes",
        ),
    ] {
        let turn = move |asked: &RegistryRequest, _: usize| {
            asked.target.contains("tags").then(|| answer.clone())
        };
        let (names, said) = scraped(turn).await;
        assert_eq!((names.as_str(), said[0].as_str()), ("nothing", expected));
    }
    let nobody = towpath_formats::sources::oci::Repository::parse("127.0.0.1:1/a").unwrap();
    let error = scrape(&plain(quick()), &Scrape::of(nobody))
        .await
        .unwrap_err();
    assert_eq!(error.code, "registry-unreachable");
    assert!(
        error
            .problem
            .starts_with("the registry cannot be reached: "),
        "{error}"
    );
}

#[tokio::test]
async fn tags_come_in_pages_and_signatures_are_passed_over() {
    let page = |asked: &RegistryRequest, _: usize| {
        let last = asked.target.split("last=").nth(1).unwrap_or("start");
        let link = |next: &str| format!("</v2/a/b/tags/list?n=1000&last={next}>; rel=\"next\"");
        let signature = format!("sha256-{}.sig", "0".repeat(64));
        asked.target.contains("tags/list").then(|| match last {
            "start" => RegistryAnswer::ok(format!(r#"{{"tags":["a","{signature}"]}}"#))
                .header("link", &link("a")),
            "a" => RegistryAnswer::ok(r#"{"tags":["b"]}"#).header("link", &link("b")),
            _ => RegistryAnswer::ok(format!(
                r#"{{"tags":["../../x","c d","sha256-{}"]}}"#,
                "1".repeat(64)
            )),
        })
    };
    assert_eq!(scraped(page).await, (BOTH.to_owned(), vec![]));
}

#[tokio::test]
async fn tags_have_an_end_however_they_come() {
    // Always another page, with something or nothing new on it.
    let endless = |page: fn(usize) -> String| {
        move |asked: &RegistryRequest, _: usize| {
            let at: usize = asked
                .target
                .split("last=")
                .nth(1)
                .map_or(0, |last| last.parse().unwrap());
            let link = format!("</v2/a/b/tags/list?n=1000&last={}>; rel=\"next\"", at + 1);
            asked
                .target
                .contains("tags/list")
                .then(|| RegistryAnswer::ok(page(at)).header("link", &link))
        }
    };
    let told = async |limits: RegistryLimits, page: fn(usize) -> String| {
        let double = RegistryDouble::misbehaving(endless(page));
        let finding = scrape(&plain(limits), &Scrape::of(double.repository()))
            .await
            .unwrap_err();
        (finding.problem, double.asked("tags/list").len())
    };
    let one = |at: usize| format!(r#"{{"tags":["t{at}"]}}"#);
    let few = RegistryLimits {
        pages: 7,
        ..quick()
    };
    assert_eq!(
        told(few, one).await,
        ("the list of tags has more than 7 pages".to_owned(), 7)
    );
    let few = RegistryLimits { tags: 5, ..quick() };
    assert_eq!(
        told(few, one).await,
        ("the repository has more than 5 tags".to_owned(), 6)
    );
    let same = |_: usize| r#"{"tags":["t"]}"#.to_owned();
    assert_eq!(
        told(quick(), same).await,
        ("the list of tags does not end".to_owned(), 2)
    );
    // What cannot be a tag is nothing new.
    let none = |at: usize| format!(r#"{{"tags":["/{at}","{}"]}}"#, "x".repeat(129 + at));
    assert_eq!(
        told(quick(), none).await,
        ("the list of tags does not end".to_owned(), 1)
    );
}

#[tokio::test]
async fn no_registry_holds_its_reader_for_ever() {
    // Every answer comes in time, and there is always another to be waited for.
    let double = RegistryDouble::misbehaving(|asked, _| {
        is_blob(asked).then(|| RegistryAnswer::new(503).header("retry-after", "1"))
    });
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    let limits = RegistryLimits {
        whole_timeout: Duration::from_secs(1),
        retry: Retry {
            attempts: 1_000,
            ..quick().retry
        },
        ..quick()
    };
    let finding = scrape(&plain(limits), &Scrape::of(double.repository()))
        .await
        .unwrap_err();
    assert_eq!(finding.code, "registry-unreachable");
    assert_eq!(
        finding.problem,
        "reading it took longer than 1 s, so we stopped"
    );
}

#[tokio::test]
async fn a_tag_that_nobody_has_seen_costs_no_question_of_its_own() {
    let double = RegistryDouble::start();
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    double.put(Some("b"), &release("4.1.1+amd64", "4.1.0"));
    let registry = plain(quick());
    let (file, _) = scrape(&registry, &Scrape::of(double.repository()))
        .await
        .unwrap();
    assert_eq!(names(&file), BOTH);
    assert_eq!(registry.requests().manifests, 2);
    assert!(
        double
            .asked("/manifests/")
            .iter()
            .all(|asked| asked.method == "GET")
    );
}

#[tokio::test]
async fn a_registry_without_digests_or_without_heads_is_read_all_the_same() {
    let whole = |tag: &str| match tag {
        "a" => RegistryAnswer::ok(release("4.1.0+amd64", "").manifest),
        _ => RegistryAnswer::ok(release("4.1.1+amd64", "4.1.0").manifest),
    };
    for head in [200, 405] {
        let bare = move |asked: &RegistryRequest, _: usize| {
            let tag = asked
                .target
                .rsplit('/')
                .next()
                .filter(|tag| matches!(*tag, "a" | "b"))?;
            Some(if asked.method == "HEAD" {
                RegistryAnswer::new(head)
            } else {
                whole(tag).header("content-type", IMAGE)
            })
        };
        assert_eq!(scraped(bare).await, (BOTH.to_owned(), vec![]), "{head}");
    }
}

#[tokio::test]
async fn redirects_are_followed_up_to_a_limit() {
    let elsewhere = RegistryDouble::start();
    elsewhere.put(Some("b"), &release("4.1.1+amd64", "4.1.0"));
    elsewhere.put(Some("a"), &release("4.1.0+amd64", ""));
    let host = elsewhere.host.clone();
    let away = move |asked: &RegistryRequest, _: usize| {
        is_blob(asked).then(|| {
            RegistryAnswer::new(307).header("location", &format!("http://{host}{}", asked.target))
        })
    };
    assert_eq!(scraped(away).await, (BOTH.to_owned(), vec![]));
    assert_eq!(elsewhere.asked("/blobs/").len(), 4);

    for (to, expected) in [
        ("", "the registry redirects more than 5 times"),
        (
            "ftp://example.com/x",
            "the registry redirects to an address that we refuse",
        ),
        (
            "file:///etc/passwd",
            "the registry redirects to an address that we refuse",
        ),
        (
            "http://169.254.169.254/latest/meta-data/",
            "the registry redirects to an address that we refuse",
        ),
    ] {
        let around = move |asked: &RegistryRequest, _: usize| {
            let target = if to.is_empty() {
                asked.target.clone()
            } else {
                to.to_owned()
            };
            is_blob(asked).then(|| RegistryAnswer::new(302).header("location", &target))
        };
        let (_, said) = scraped(around).await;
        assert!(said[1].ends_with(expected), "{said:?}");
    }
}

#[tokio::test]
async fn a_registry_that_mostly_fails_ends_the_scrape() {
    let double =
        RegistryDouble::misbehaving(|asked, _| is_blob(asked).then(|| RegistryAnswer::new(500)));
    for patch in 0..40 {
        double.put(
            Some(&format!("t{patch}")),
            &release(&format!("4.1.{patch}+amd64"), ""),
        );
    }
    let error = scrape(&plain(quick()), &Scrape::of(double.repository()))
        .await
        .unwrap_err();
    assert_eq!(error.code, "registry-unreachable");
    assert_eq!(
        error.problem,
        "11 of its images cannot be read, so we stopped"
    );
}

#[tokio::test]
async fn what_was_known_stays_while_the_registry_fails() {
    let failing = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let told = failing.clone();
    let double = RegistryDouble::misbehaving(move |asked, _| {
        let is_failing = told.load(std::sync::atomic::Ordering::Relaxed);
        (is_failing && !asked.target.contains("tags/list")).then(|| RegistryAnswer::new(500))
    });
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    double.put(Some("b"), &release("4.1.1+amd64", "4.1.0"));
    let folder = tempfile::tempdir().unwrap();
    let wish = Scrape {
        cache: Some(Arc::new(Cache::at(folder.path()))),
        ..Scrape::of(double.repository())
    };
    let registry = plain(quick());
    let (before, findings) = scrape(&registry, &wish).await.unwrap();
    assert_eq!(said(&findings), Vec::<String>::new());

    failing.store(true, std::sync::atomic::Ordering::Relaxed);
    double.put(Some("c"), &release("4.1.2+amd64", "4.1.1"));
    let (after, findings) = scrape(&registry, &wish).await.unwrap();
    assert_eq!(after.bytes, before.bytes);
    let failed = "it cannot be read now";
    assert_eq!(
        said(&findings),
        [
            format!("unreadable-image c: {failed}: the registry answered 500"),
            format!(
                "stale-image a: {failed}, so its last known state is used: the registry answered 500"
            ),
            format!(
                "stale-image b: {failed}, so its last known state is used: the registry answered 500"
            ),
        ]
    );
}
