//! A rogue upstream: whatever it offers, nothing is installed that the configured keys have not signed, and no way is gone that signed images do not name.

use towpath_testing_kube::wait_for;

use crate::site::{Signed, Site};
use towpath_testing_services::Signer;
use towpath_testing_services::registry::images::release;

/// Looks at an offer that is a trap, for an agent that would take any other: what is said, and that nothing was asked for.
async fn refused(site: &Site, to: &str, code: &str) {
    site.offer(&[("4.20.1", to)]);
    site.step().await;
    let told = site.dry_run(&[]);
    assert_eq!(told.code, 1, "{to}: {}{}", told.out, told.err);
    assert!(
        told.out.contains(&format!("[{code}]")),
        "{to}: {}",
        told.out
    );
    assert_eq!(site.asked().await, None);
}

#[tokio::test]
async fn no_offer_of_a_rogue_upstream_is_taken() {
    let mut site = Site::new().await;
    site.opt_in("true");
    // Arbitrary software.
    site.release("4.20.4", "4.20.1", Signed::No).await;
    refused(&site, "4.20.4", "NotSigned").await;
    // Signed, but by a key that nobody here trusts.
    let stranger = Signer::new(&site.path("stranger"));
    let image = release("4.20.5+amd64", "4.20.1");
    site.image("4.20.5", image.clone(), Signed::No).await;
    stranger.sign(&site.path("store"), image.digest().as_str());
    refused(&site, "4.20.5", "NotSigned").await;
    // The signature of another image, under this one's name.
    let (good, bad) = (
        release("4.20.2+amd64", "4.20.1"),
        release("4.20.6+amd64", "4.20.1"),
    );
    site.image("4.20.6", bad.clone(), Signed::No).await;
    let folder = |digest: &str| site.path("store").join(digest.replace(':', "="));
    std::fs::create_dir_all(folder(bad.digest().as_str())).unwrap();
    let copied = folder(bad.digest().as_str()).join("signature-1");
    std::fs::copy(folder(good.digest().as_str()).join("signature-1"), copied).unwrap();
    refused(&site, "4.20.6", "NotSigned").await;
    // Mix and match: an old release, rightly signed, under a new name.
    site.image("4.20.9", release("4.20.0+amd64", "4.20.1"), Signed::Yes)
        .await;
    refused(&site, "4.20.9", "OtherRelease").await;
    // A release for other machines.
    site.image("4.20.7", release("4.20.7+arm64", "4.20.1"), Signed::Yes)
        .await;
    refused(&site, "4.20.7", "OtherArch").await;
    // An edge that only the graph knows.
    site.release("4.20.8", "4.20.7", Signed::Yes).await;
    refused(&site, "4.20.8", "OnlyClaimed").await;
    // Rollback, and a leap.
    site.release("4.19.9", "4.20.1", Signed::Yes).await;
    refused(&site, "4.19.9", "NotNewer").await;
    site.release("4.22.0", "4.20.1", Signed::Yes).await;
    refused(&site, "4.22.0", "SkipsMinor").await;

    // An agent that meets one of them says so to the cluster, and takes what is good beside it.
    site.offer(&[
        ("4.20.1", "4.20.4"),
        ("4.20.1", "4.20.3"),
        ("4.20.1", "4.20.9"),
    ]);
    let _agent = site.agent(&[]);
    site.until_history(&["4.20.3 Completed", "4.20.1 Completed"])
        .await;
    let said = site.until_event("OfferNotTrusted").await;
    assert!(said.contains("4.20.4") || said.contains("4.20.9"), "{said}");
}

#[tokio::test]
async fn without_keys_nothing_is_believed_and_with_the_store_away_nothing_is_started() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2")]);
    site.step().await;
    let without = crate::process::Agent::once(&site.kubeconfig(), &["--dry-run".to_owned()]);
    assert_eq!(without.code, 1, "{}", without.err);
    assert!(
        without
            .out
            .contains("no keyring: give --keyring and --signatures"),
        "{}",
        without.out
    );
    std::fs::rename(site.path("store"), site.path("away")).unwrap();
    let away = site.dry_run(&[]);
    assert_eq!(away.code, 1, "{}{}", away.out, away.err);
    assert!(away.out.contains("NotSigned"), "{}", away.out);
    std::fs::rename(site.path("away"), site.path("store")).unwrap();
    assert_eq!(site.dry_run(&[]).code, 0);
}

#[tokio::test]
async fn a_policy_that_asks_for_no_proof_starts_nothing_unless_the_command_line_allows_it() {
    let mut site = Site::new().await;
    site.opt_in("true");
    site.policy("atLeastBetween: PT0S\nproof: nothing\n");
    site.release("4.20.4", "4.20.1", Signed::No).await;
    refused(&site, "4.20.4", "UnprovenNotAllowed").await;
    // What is signed is not started either: whoever wrote that policy did not mean to check.
    refused(&site, "4.20.2", "UnprovenNotAllowed").await;
    let told = site.dry_run(&[]);
    let said = [told.out, told.err].concat();
    assert!(
        said.contains("runs without --allow-unproven-updates"),
        "{said}"
    );
    let mut agent = site.agent(&[]);
    agent.hears("no update starts");
    drop(agent);
    assert_eq!(site.asked().await, None);
    site.offer(&[("4.20.1", "4.20.4")]);
    site.step().await;
    assert_eq!(site.dry_run(&["--allow-unproven-updates"]).code, 0);
}

#[tokio::test]
async fn a_key_that_is_taken_out_of_the_keyring_counts_no_more() {
    let site = Site::new().await;
    let stranger = Signer::new(&site.path("stranger"));
    site.offer(&[("4.20.1", "4.20.2")]);
    site.step().await;
    let mut agent = site.agent(&[]);
    agent.hears("this agent is the leader now");
    std::fs::write(site.path("keyring"), stranger.public_key()).unwrap();
    site.opt_in("true");
    let held = || async {
        (agent.metric("towpath_agent_holds{code=\"NotSigned\"}")? == 1.0).then_some(())
    };
    wait_for("the offer is not believed", held).await;
    assert_eq!(site.asked().await, None);
}

#[tokio::test]
async fn nobody_is_led_to_a_host_that_only_a_graph_names() {
    let site = Site::new().await;
    site.opt_in("true");
    let host = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    host.set_nonblocking(true).unwrap();
    let evil = format!(
        "{}/evil/release@sha256:{}",
        host.local_addr().unwrap(),
        "7".repeat(64)
    );
    let node = |version: &str, payload: &str| serde_json::json!({"version": version, "payload": payload, "metadata": {}});
    let nodes = [
        node("4.20.1", &site.pull_spec("4.20.1")),
        node("4.20.4", &evil),
    ];
    site.upstream
        .set_graph(Some(serde_json::json!({"nodes": nodes, "edges": [[0, 1]]})));
    site.step().await;
    let told = site.dry_run(&[]);
    assert!(
        told.code == 1 && told.out.contains("[NotSigned]"),
        "{}{}",
        told.out,
        told.err
    );
    let came = host.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(
        came,
        Err(std::io::ErrorKind::WouldBlock),
        "what nobody has signed is not read"
    );
}
