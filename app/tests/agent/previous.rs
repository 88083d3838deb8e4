//! This program and the one before it: an agent of either reports to a service of either, and the program before runs on a store that this
//! one has migrated. `cargo xtask prove previous` builds the program before and runs these; `TOWPATH_PREVIOUS` names it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use towpath_testing_kube::wait_for;
use towpath_testing_services::{Response, Towpath, binary};

use crate::process::Agent;
use crate::reports::POLICY;
use crate::site::{CLUSTER, Site};

const WHY_IGNORED: &str = "cargo xtask prove previous sets TOWPATH_PREVIOUS";

/// The program before this one.
fn previous() -> PathBuf {
    let path = std::env::var_os("TOWPATH_PREVIOUS").map(PathBuf::from);
    path.filter(|path| path.is_file()).expect(WHY_IGNORED)
}

/// A fleet's files, and which program serves it.
struct Ground {
    folder: tempfile::TempDir,
    service: PathBuf,
}

impl Ground {
    fn new(service: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ground = Self {
            folder,
            service: service.to_owned(),
        };
        towpath_testing_services::example(&ground.path("data"));
        std::fs::create_dir(ground.path("fleet")).unwrap();
        std::fs::write(ground.path("fleet/org.yaml"), POLICY).unwrap();
        std::fs::write(
            ground.path("keys"),
            "0123456789abcdef0123456789abcdef0123456789abcdef\n",
        )
        .unwrap();
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// A token of the cluster, made by that program.
    fn token(&self, program: &Path) {
        let keys = self.text("keys");
        let made = self.run(
            program,
            &[
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
            ],
        );
        std::fs::write(self.path("token"), made.stdout).unwrap();
    }

    /// Runs a command of that program to its good end.
    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        let done = Command::new(program)
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{} {arguments:?}: {done:?}",
            program.display()
        );
        done
    }

    /// Serves with options that both programs have.
    fn serve(&self) -> Towpath {
        self.serve_by(&self.service)
    }

    fn serve_by(&self, program: &Path) -> Towpath {
        let store = format!("sqlite:{}", self.text("fleet.db"));
        let options = [
            "--graph-data",
            &self.text("data/graph-data"),
            "--releases",
            &self.text("data/releases.json"),
            "--store",
            &store,
            "--pass-every",
            "1s",
            "--fleet",
            &self.text("fleet"),
            "--token-keys",
            &self.text("keys"),
            "--open-reads",
        ];
        let towpath = Towpath::serve_by(Command::new(program), "127.0.0.1:0", &options);
        towpath.until("it is ready", |t| t.get("/readyz").status == 200);
        towpath
    }

    /// What an agent needs to know of the service.
    fn options(&self, service: &Towpath) -> Vec<String> {
        let server = format!("http://{}", service.address);
        let own = [
            "--server",
            &server,
            "--token-file",
            &self.text("token"),
            "--org",
            "demo",
            "--state",
            &self.text("state"),
            "--cluster-name",
            "shop",
        ];
        own.iter().map(|&one| one.to_owned()).collect()
    }
}

fn why(service: &Towpath) -> Response {
    service.get("/api/v1/clusters/shop/why")
}

/// An agent of one program and a service of the other: stamps, an update, what became of it, and what the service tells of it.
async fn talk(agent: &Path, service: &Path) {
    let site = Site::new().await;
    let ground = Ground::new(service);
    // As it was made when the cluster was enrolled: by the service's program.
    ground.token(service);
    let serving = ground.serve();
    let options = ground.options(&serving);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let options = site.options(&options);

    // Stamps: the agent proves the age of the graph with what the service signs, and says what else it thinks of the offer.
    site.policy("atLeastBetween: PT0S\nmaxGraphAge: PT1H\n");
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2")]);
    site.step().await;
    let dry: Vec<String> = [&options[..], &["--dry-run".to_owned()]].concat();
    let told = Agent::once_by(agent, &site.kubeconfig(), &dry);
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);

    // The update, its report, and reasons.
    let _agent = Agent::start_by(agent, &site.kubeconfig(), &options);
    site.until_history(&["4.20.2 Completed", "4.20.1 Completed"])
        .await;
    wait_for("the update is known", || async {
        let answer = why(&serving);
        let told = (answer.status == 200).then(|| answer.json())?;
        let is_known = told["updates"][0]["outcome"] == "completed" && told["version"] == "4.20.2";
        is_known.then_some(())
    })
    .await;
    let told = why(&serving).json();
    assert_eq!(
        (&told["updates"][0]["to"], &told["updates"][0]["automatic"]),
        (&json!("4.20.2"), &json!(true)),
        "{told}"
    );
    let logged = serving.logged();
    assert!(!logged.contains("panicked"), "{logged}");
}

#[tokio::test]
#[ignore = "cargo xtask prove previous sets TOWPATH_PREVIOUS"]
async fn previous_agent_and_this_service() {
    talk(&previous(), &binary()).await;
}

#[tokio::test]
#[ignore = "cargo xtask prove previous sets TOWPATH_PREVIOUS"]
async fn this_agent_and_previous_service() {
    talk(&binary(), &previous()).await;
}

fn report(service: &Towpath, token: &str, version: &str) -> u16 {
    let body = json!({"name": "shop", "organisation": "demo", "version": version, "healthy": true})
        .to_string();
    let request = format!(
        "POST /api/v1/clusters/{CLUSTER}/report HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    Response::read(&mut service.send(request.as_bytes()), false).status
}

/// Reports, a pass, claims and pauses, on one store: this program, the one before, and this one again.
#[test]
#[ignore = "cargo xtask prove previous sets TOWPATH_PREVIOUS"]
fn previous_program_runs_on_the_store_of_this_one() {
    let (this, previous) = (binary(), previous());
    let ground = Ground::new(&this);
    ground.token(&previous);
    let token = std::fs::read_to_string(ground.path("token")).unwrap();
    let token = token.trim();
    let store = format!("sqlite:{}", ground.text("fleet.db"));
    let known_as = |service: &Towpath, version: &str| {
        service.until(&format!("it is known at {version}"), |service| {
            let answer = why(service);
            answer.status == 200 && answer.json()["version"] == version
        });
    };
    let upgrades = |program: &Path| -> Value {
        let told = ground.run(
            program,
            &["fleet", "upgrades", "--store", &store, "--output", "json"],
        );
        serde_json::from_slice(&told.stdout).unwrap()
    };

    // The first token was made by the program before, and still counts.
    let serving = ground.serve_by(&this);
    serving.until("a report is taken", |t| report(t, token, "4.20.1") == 202);
    known_as(&serving, "4.20.1");
    drop(serving);
    ground.run(
        &this,
        &[
            "fleet",
            "pause",
            "--org",
            "demo",
            "--fleet",
            &ground.text("fleet"),
            "--why",
            "INC-1",
            "--store",
            &store,
        ],
    );

    // The program before reads that pause, takes reports, makes passes, resumes, and starts an upgrade.
    let serving = ground.serve_by(&previous);
    serving.until("a report is taken", |t| report(t, token, "4.20.2") == 202);
    known_as(&serving, "4.20.2");
    let paused = why(&serving).text();
    assert!(paused.contains("INC-1"), "{paused}");
    let list = json!({"clusters": [{"id": CLUSTER, "name": "shop", "organisation": "demo", "version": "4.20.2",
        "availableUpgrades": ["4.20.3"]}], "upgrades": []});
    drop(serving);
    ground.run(
        &previous,
        &["fleet", "resume", "--org", "demo", "--store", &store],
    );
    std::fs::write(ground.path("list.json"), list.to_string()).unwrap();
    let pass = [
        "fleet",
        "run",
        "--once",
        "--fleet",
        "fleet",
        "--clusters",
        "list.json",
        "--store",
        &store,
    ];
    ground.run(&previous, &pass);
    let planned = upgrades(&previous);
    assert_eq!(planned["entries"][0]["to"], "4.20.3", "{planned}");
    ground.run(&previous, &["fleet", "check", "--store", &store]);

    // This one goes on: it has what the program before wrote, and the store is in order.
    assert_eq!(upgrades(&this), planned);
    ground.run(&this, &["fleet", "check", "--store", &store]);
    let serving = ground.serve_by(&this);
    serving.until("a report is taken", |t| report(t, token, "4.20.3") == 202);
    known_as(&serving, "4.20.3");
    drop(serving);
    ground.run(&this, &["fleet", "check", "--store", &store]);
}
