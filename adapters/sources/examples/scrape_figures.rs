//! How long a scrape of 2,000 releases takes, cold and warm: `cargo run --release -p towpath-sources --example scrape_figures`.
//!
//! Against a real `docker-registry` on the loopback. Beside it, the plain download of the very same manifests and blobs by the same HTTP library and with as
//! many at once, into nothing: what the registry itself takes.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "it measures, and tells"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use towpath_formats::sources::oci::{ACCEPT, Digest};
use towpath_http::{BodyLimit, HttpClient, HttpOptions, Request, Trust, Url, header};
use towpath_sources::{Cache, Registry, RegistryOptions, Scrape, scrape};
use towpath_testing_services::registry::docker::{DockerRegistry, Door};
use towpath_testing_services::registry::images::{Image, release};

const PATH: &str = "ocp/release";
const RELEASES: usize = 2_000;
const AT_ONCE: usize = Scrape::CONCURRENCY;
const ROUNDS: usize = 3;

#[tokio::main]
async fn main() {
    let server = Arc::new(DockerRegistry::start(Door::Plain));
    let images: Vec<Image> = (0..RELEASES)
        .map(|at| release(&name(at), &previous(at)))
        .collect();
    let begun = Instant::now();
    server.push(PATH, Some("first"), &images[0]).await;
    let (pushed, pushing) = (images.clone(), server.clone());
    each((0..RELEASES).collect(), move |at| {
        let (server, image) = (pushing.clone(), pushed[at].clone());
        async move {
            server
                .push(PATH, Some(&name(at).replace('+', "-")), &image)
                .await
        }
    })
    .await;
    println!(
        "{RELEASES} releases pushed in {:.1} s",
        begun.elapsed().as_secs_f64()
    );

    for _ in 0..ROUNDS {
        println!(
            "plain download of the same: {:.2} s",
            download(&server, &images).await.as_secs_f64()
        );
        let folder = tempfile::tempdir().unwrap();
        for temperature in ["cold", "warm"] {
            let (took, asked) = scraped(&server, folder.path()).await;
            println!("{temperature}: {:.2} s, {asked}", took.as_secs_f64());
        }
    }
    let peak = std::fs::read_to_string("/proc/self/status").unwrap();
    println!(
        "{}",
        peak.lines().find(|line| line.starts_with("VmHWM")).unwrap()
    );
}

fn name(at: usize) -> String {
    format!("4.{}.{}+amd64", at / 50, at % 50)
}

/// Those before it in its minor version.
fn previous(at: usize) -> String {
    (0..at % 50)
        .map(|patch| format!("4.{}.{patch}", at / 50))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A process that has just been started: new connections, the cache from disk.
async fn scraped(server: &DockerRegistry, cache: &std::path::Path) -> (Duration, String) {
    let begun = Instant::now();
    let registry = Registry::new(RegistryOptions {
        plain_http: true,
        ..RegistryOptions::default()
    })
    .unwrap();
    let wish = Scrape {
        cache: Some(Arc::new(Cache::at(cache))),
        ..Scrape::of(server.repository(PATH))
    };
    let (file, findings) = scrape(&registry, &wish).await.unwrap();
    let took = begun.elapsed();
    assert_eq!(findings, []);
    let asked = registry.requests();
    let told = format!(
        "{} manifests, {} blobs, {} bytes of file",
        asked.manifests,
        asked.blobs,
        file.bytes.len()
    );
    (took, told)
}

/// All that a cold scrape reads, by its digest: the manifest, the newest layer, the configuration.
async fn download(server: &DockerRegistry, images: &[Image]) -> Duration {
    let http = HttpClient::new(&HttpOptions {
        trust: Trust::Nobody,
        environment_proxy: false,
        ..HttpOptions::default()
    });
    let http = http.unwrap();
    let base = format!("http://{}/v2/{PATH}", server.host);
    let begun = Instant::now();
    each(images.to_vec(), move |image| {
        let (http, base) = (http.clone(), base.clone());
        async move {
            let manifest = format!("{base}/manifests/{}", image.digest());
            let blobs = image.blobs[1..]
                .iter()
                .map(|blob| format!("{base}/blobs/{}", Digest::of(blob)));
            for url in [manifest].into_iter().chain(blobs) {
                let request =
                    Request::get(Url::parse(&url).unwrap()).header(header::ACCEPT, ACCEPT);
                let answer = http.send(request).await.unwrap();
                assert_eq!(answer.status().as_u16(), 200);
                answer.body(BodyLimit::bytes(1 << 30)).await.unwrap();
            }
        }
    })
    .await;
    begun.elapsed()
}

async fn each<I, F>(items: Vec<I>, work: impl Fn(I) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let (mut items, mut running) = (items.into_iter(), JoinSet::new());
    loop {
        while running.len() < AT_ONCE {
            match items.next() {
                Some(item) => _ = running.spawn(work(item)),
                None => break,
            }
        }
        match running.join_next().await {
            Some(ended) => ended.unwrap(),
            None => return,
        }
    }
}
