//! Reports to a real service, through an outage of the service and a death of the agent; and its stamps.

use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};
use towpath_testing_kube::wait_for;

use crate::site::{CLUSTER, Site};
use towpath_testing_services::{Response, Towpath, example};

pub(crate) const POLICY: &str = "name: demo\norgId: demo\nupgradePolicyClusters:\n- name: shop\n  upgradePolicy: {workloads: [web], schedule: \"* * * * *\", conditions: {soakDays: 0}}\n";

/// A service with a fleet, at an address of its own.
pub(crate) struct Fleet<'a> {
    site: &'a Site,
    address: String,
}

const PEOPLE_KEYS: &str = "of people: 0123456789abcdef0123456789abcdef\n";

impl<'a> Fleet<'a> {
    pub(crate) fn new(site: &'a Site) -> Self {
        example(&site.path("data"));
        std::fs::create_dir(site.path("fleet")).unwrap();
        std::fs::write(site.path("fleet/org.yaml"), POLICY).unwrap();
        std::fs::write(
            site.path("keys"),
            "0123456789abcdef0123456789abcdef0123456789abcdef\n",
        )
        .unwrap();
        std::fs::write(site.path("people-keys"), PEOPLE_KEYS).unwrap();
        make_token(site, &[]);
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        Self {
            site,
            address: format!("127.0.0.1:{port}"),
        }
    }

    fn serve(&self) -> Towpath {
        self.serve_with(&[])
    }

    /// Posts as an administrator.
    pub(crate) fn post(&self, service: &Towpath, target: &str, body: &Value) -> Response {
        let keys = self.site.path("people-keys").display().to_string();
        let made = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(["fleet", "token", "--people-keys", &keys])
            .args(["--admin", "--name", "ada"])
            .output()
            .unwrap();
        let token = String::from_utf8(made.stdout).unwrap();
        let (token, body) = (token.trim(), body.to_string());
        let request = format!(
            "POST {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        Response::read(&mut service.send(request.as_bytes()), false)
    }

    pub(crate) fn serve_with(&self, last: &[&str]) -> Towpath {
        let path = |name: &str| self.site.path(name).display().to_string();
        let store = format!("sqlite:{}", path("fleet.db"));
        let (data, releases) = (path("data/graph-data"), path("data/releases.json"));
        let options = [
            "--graph-data",
            &data,
            "--releases",
            &releases,
            "--store",
            &store,
            "--pass-every",
            "1s",
        ];
        let more = [
            "--fleet",
            &path("fleet"),
            "--token-keys",
            &path("keys"),
            "--people-keys",
            &path("people-keys"),
            "--open-reads",
        ];
        let towpath = Towpath::serve_at(&self.address, &[&options[..], &more, last].concat());
        towpath.until("it is ready", |t| t.get("/readyz").status == 200);
        towpath
    }

    pub(crate) fn options(&self) -> Vec<String> {
        let path = |name: &str| self.site.path(name).display().to_string();
        let service = format!("http://{}", self.address);
        let own = [
            "--server",
            &service,
            "--token-file",
            &path("token"),
            "--org",
            "demo",
            "--state",
            &path("state"),
        ];
        own.iter()
            .chain(&["--cluster-name", "shop", "--label", "tier=dev"])
            .map(|&one| one.to_owned())
            .collect()
    }
}

/// Writes a token of the cluster to its file.
fn make_token(site: &Site, more: &[&str]) {
    let keys = site.path("keys").display().to_string();
    let token = [
        "fleet",
        "token",
        "--keys",
        &keys,
        "--cluster",
        CLUSTER,
        "--org",
        "demo",
        "--name",
        "shop",
    ];
    let made = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(token)
        .args(more)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    std::fs::write(site.path("token"), made.stdout).unwrap();
}

/// The agent asks for a new token, writes it to its file, and reports with it. While the service is away it keeps the old one.
#[tokio::test]
async fn a_token_that_soon_ends_is_renewed_in_its_file() {
    let site = Site::new().await;
    let fleet = Fleet::new(&site);
    make_token(&site, &["--now", "-250d"]);
    let token = || std::fs::read_to_string(site.path("token")).unwrap();
    let old = token();
    let options = fleet.options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let away = site.once(&options);
    assert!(
        away.err.contains("the token could not be renewed"),
        "{}",
        away.err
    );
    assert_eq!(token(), old, "the old one is kept");
    let service = fleet.serve();
    let _agent = site.agent(&options);
    wait_for("another token", || async { (token() != old).then_some(()) }).await;
    let claims = |text: &str| {
        let token = towpath_formats::fleet::token::Token::parse(text.trim()).unwrap();
        token.claims().clone()
    };
    let (before, after) = (claims(&old), claims(&token()));
    assert_eq!(
        (&after.grant, &after.serial),
        (&before.grant, &before.serial)
    );
    assert!(after.end > before.end, "{after:?}");
    service.until("it reports", |service| {
        service.get("/api/v1/clusters/shop/why").status == 200
    });
}

#[tokio::test]
async fn what_became_of_an_update_arrives_once_through_an_outage_and_a_death() {
    let site = Site::new().await;
    let fleet = Fleet::new(&site);
    let options = fleet.options();
    let options: Vec<&str> = options
        .iter()
        .map(String::as_str)
        .chain(["--holder", "pod"])
        .collect();
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2")]);
    // The service is away: the update goes on without it, and what became of it waits.
    let mut agent = site.agent(&options);
    site.until_history(&["4.20.2 Completed", "4.20.1 Completed"])
        .await;
    site.until_event("AutomaticUpdateCompleted").await;
    wait_for("reports wait", || async {
        agent
            .metric("towpath_agent_reports_waiting")
            .filter(|waiting| *waiting >= 2.0)
    })
    .await;
    agent.kill();
    let again = site.agent(&options);
    let service = fleet.serve();
    let why = |service: &Towpath| service.get("/api/v1/clusters/shop/why");
    wait_for("everything is sent", || async {
        (again.metric("towpath_agent_reports_waiting") == Some(0.0)).then_some(())
    })
    .await;
    // A pass shows what was known when it began. So the update may come later than the cluster, never before its version.
    let updates = |told: &Value| told["updates"].as_array().map_or(0, Vec::len);
    service.until("the update is known", |service| {
        let answer = why(service);
        answer.status == 200 && updates(&answer.json()) > 0
    });
    let told: Value = why(&service).json();
    let updates = told["updates"].as_array().unwrap();
    assert_eq!(updates.len(), 1, "{told}");
    assert_eq!(
        (
            &updates[0]["to"],
            &updates[0]["outcome"],
            &updates[0]["automatic"]
        ),
        (&"4.20.2".into(), &"completed".into(), &true.into())
    );
    assert_eq!(told["version"], "4.20.2");
    assert!(
        service
            .get("/metrics")
            .text()
            .contains("towpath_fleet_agent_updates_total{outcome=\"completed\"} 1\n")
    );
}

/// The fleet's policy names the cluster by its id. It has never reported, and no pass comes while the test runs.
#[tokio::test]
async fn an_agent_whose_cluster_a_policy_names_takes_nothing_on_first_contact() {
    let site = Site::new().await;
    let fleet = Fleet::new(&site);
    let policy = |id: &str, unknown: &str| {
        let named = format!("- name: shop\n  id: {id}\n  upgradePolicy:");
        let later = POLICY
            .replace("- name: shop\n  upgradePolicy:", &named)
            .replace("soakDays: 0", "soakDays: 30");
        std::fs::write(
            site.path("fleet/org.yaml"),
            format!("{later}unknownClusters: {unknown}\n"),
        )
        .unwrap();
    };
    site.opt_in("true");
    let upstream = json!({"spec": {"channel": "fast-4.20", "upstream": format!("http://{}/api/upgrades_info/v1/graph", fleet.address)}});
    site.api.kubectl(&[
        "patch",
        "clusterversion",
        "version",
        "--type=merge",
        "-p",
        &upstream.to_string(),
    ]);
    let offered = || async {
        site.step().await;
        let object = site.api.cluster_version().await;
        let conditions = object["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is_retrieved = |condition: &Value| {
            condition["type"] == "RetrievedUpdates" && condition["status"] == "True"
        };
        assert!(conditions.iter().any(is_retrieved), "{object}");
        object["status"]["availableUpdates"]
            .as_array()
            .map_or(0, Vec::len)
    };
    policy(CLUSTER, "serve");
    let service = fleet.serve();
    assert_eq!(offered().await, 0, "the policy names it");
    let options = fleet.options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let took = site.once(&options);
    assert_eq!(
        (took.code, site.asked().await),
        (1, None),
        "{}{}",
        took.out,
        took.err
    );
    assert_eq!(offered().await, 0, "it has reported");
    drop(service);
    // The same cluster, where nobody names it and unknown ones are served.
    std::fs::remove_file(site.path("fleet.db")).unwrap();
    policy("bbbbbbbb-0000-4000-8000-000000000009", "serve");
    let _service = fleet.serve();
    wait_for("an offer", || async { (offered().await > 0).then_some(()) }).await;
}

#[tokio::test]
async fn a_graph_whose_age_nobody_can_prove_is_waited_for() {
    let site = Site::new().await;
    let fleet = Fleet::new(&site);
    let options = fleet.options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    site.policy("atLeastBetween: PT0S\nmaxGraphAge: PT1H\n");
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2")]);
    site.step().await;
    let away = site.dry_run(&options);
    assert!(
        away.code == 1 && away.out.contains("GraphAgeUnknown"),
        "{}{}",
        away.out,
        away.err
    );
    let service = fleet.serve();
    let there = site.dry_run(&options);
    assert_eq!(there.code, 0, "{}{}", there.out, there.err);
    // Somebody else's token: the answer is no proof.
    let token = std::fs::read_to_string(site.path("token")).unwrap();
    let (payload, _) = token.split_once('.').unwrap();
    std::fs::write(site.path("token"), format!("{payload}.{}", "A".repeat(43))).unwrap();
    let other = site.dry_run(&options);
    assert!(
        other.code == 1 && other.out.contains("GraphAgeUnknown"),
        "{}{}",
        other.out,
        other.err
    );
    drop(service);
}
