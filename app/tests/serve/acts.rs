//! What people did, over HTTP: who approved, who withdrew, who cancelled; and that it holds.

use serde_json::{Value, json};
use towpath_testing_services::Towpath;

use super::fleet::{Fleet, STAGE, on, post};

const NOON: &str = "2026-11-16T12:00:00Z";

/// A service with one cluster, whose policy wants approval, and two people who may act.
struct Site {
    towpath: Towpath,
    ada: String,
    bob: String,
    _fleet: Fleet,
}

impl Site {
    fn new(approval: bool) -> Self {
        let fleet = Fleet::new();
        fleet.write(
            "policy/org.yaml",
            &format!(
                "name: demo\norgId: demo\nupgradePolicyClusters:\n- name: s1\n  upgradePolicy: {{workloads: [web], schedule: '* * * * *', approval: {approval}, conditions: {{soakDays: 0}}}}\n"
            ),
        );
        let towpath = fleet.serve(&fleet.sqlite(), &["--now", NOON]);
        let site = Self {
            ada: fleet.token(&["--admin", "--name", "ada"]),
            bob: fleet.token(&["--admin", "--name", "bob"]),
            towpath,
            _fleet: fleet,
        };
        let reported = site
            ._fleet
            .report(&site.towpath, STAGE, &on("s1", "4.20.1"));
        assert_eq!(reported.status, 202);
        site.until("the cluster is known", |site| {
            site.towpath.get("/api/v1/clusters/s1/why").status == 200
        });
        site
    }

    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        self.towpath.until(what, |_| is_so(self));
    }

    fn act(&self, token: &str, name: &str, body: &Value) -> (u16, Value) {
        let answer = post(&self.towpath, &format!("/api/v1/fleet/{name}"), token, body);
        (answer.status, answer.json())
    }

    fn get(&self, target: &str) -> Value {
        self.towpath.get(target).json()
    }

    fn acts(&self) -> Vec<Value> {
        let acts = self.get("/api/v1/fleet/acts");
        acts["acts"].as_array().expect("a list").clone()
    }

    /// The codes of the reasons against a version.
    fn codes(&self, version: &str) -> Vec<String> {
        let why = self.get("/api/v1/clusters/s1/why");
        let candidates = why["candidates"].as_array().expect("a list").iter();
        let of = candidates.filter(|one| one["to"] == version);
        let reasons = of.flat_map(|one| one["verdict"]["reasons"].as_array().expect("a list"));
        reasons
            .map(|reason| reason["code"].as_str().expect("a code").to_owned())
            .collect()
    }

    /// A version that waits for nothing but an approval.
    fn waits_for_approval(&self) -> String {
        let why = self.get("/api/v1/clusters/s1/why");
        let candidates = why["candidates"].as_array().expect("a list").iter();
        let mut versions = candidates.map(|one| one["to"].as_str().expect("a version"));
        let waits = versions.find(|to| self.codes(to) == ["NotApproved"]);
        waits.unwrap_or_else(|| panic!("{why}")).to_owned()
    }

    /// The state of the newest upgrade, its number and its version.
    fn newest(&self) -> (String, i64, String) {
        let entry = self.get("/api/v1/fleet/upgrades")["entries"][0].clone();
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        (
            text("state"),
            entry["id"].as_i64().unwrap_or_default(),
            text("to"),
        )
    }
}

#[test]
fn an_approval_is_withdrawn_over_http_and_everybody_sees_by_whom() {
    let site = Site::new(true);
    let to = site.waits_for_approval();
    let approval = json!({"organisation": "demo", "version": to, "why": "tested"});
    let with_name = json!({"organisation": "demo", "version": to, "by": "eve"});
    let (status, refused) = site.act(&site.ada, "approve", &with_name);
    assert_eq!(status, 400);
    let sentence = refused["value"].as_str().expect("a sentence");
    assert!(
        sentence.contains("leave it out: the name is the one of your token"),
        "{sentence}"
    );
    for token in [&site.ada, &site.bob] {
        assert_eq!(site.act(token, "approve", &approval).0, 200);
    }
    site.until("it is planned", |site| site.newest().0 == "planned");
    assert_eq!(site.newest().2, to);

    let mut withdrawal = approval.clone();
    withdrawal["act"] = json!("approval");
    withdrawal["why"] = json!("INC-1");
    let (status, withdrawn) = site.act(&site.bob, "withdraw", &withdrawal);
    assert_eq!(status, 200, "{withdrawn}");
    let given: Vec<&Value> = withdrawn["given"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["by"])
        .collect();
    assert_eq!(
        (given, &withdrawn["still"]),
        (vec![&json!("ada"), &json!("bob")], &json!([]))
    );
    site.until("the plan is cancelled", |site| {
        site.newest().0 == "cancelled"
    });
    site.until("why says who withdrew it", |site| {
        site.codes(&to).contains(&"ApprovalWithdrawn".to_owned())
    });
    let why = site
        .towpath
        .get("/api/v1/clusters/s1/why?format=text")
        .text();
    assert!(
        why.contains("bob withdrew its approval") && why.contains("INC-1"),
        "{why}"
    );
    let acts = site.acts();
    assert_eq!(
        acts.len(),
        2,
        "the second approval did not replace the first: {acts:?}"
    );
    for act in &acts {
        assert_eq!(
            (&act["ended"]["by"], &act["ended"]["why"]),
            (&json!("bob"), &json!("INC-1"))
        );
        let known_by = act["knownBy"].as_str().expect("a text");
        assert!(known_by.starts_with("token "), "{known_by}");
    }
    let standing = site.get("/api/v1/fleet/acts?standing=true");
    assert_eq!(standing["acts"], json!([]));
    let (status, again) = site.act(&site.bob, "withdraw", &withdrawal);
    assert_eq!(status, 404, "{again}");
    let sentence = again["value"].as_str().expect("a sentence");
    assert!(
        sentence.contains("nothing is approved in demo"),
        "{sentence}"
    );
}

#[test]
fn one_planned_upgrade_is_cancelled_over_http_until_somebody_lifts_that() {
    let site = Site::new(false);
    site.until("it is planned", |site| site.newest().0 == "planned");
    let (_, number, to) = site.newest();
    let (status, unknown) = site.act(&site.ada, "cancel", &json!({"upgrade": 99, "why": "INC-2"}));
    assert_eq!(status, 404, "{unknown}");
    assert_eq!(
        site.act(&site.ada, "cancel", &json!({"upgrade": number})).0,
        400,
        "without a reason"
    );

    let cancel = json!({"cluster": "s1", "why": "INC-2"});
    let (status, cancelled) = site.act(&site.ada, "cancel", &cancel);
    assert_eq!(status, 200, "{cancelled}");
    assert_eq!(
        (
            &cancelled["kind"],
            &cancelled["upgrade"],
            &cancelled["to"],
            &cancelled["before"]
        ),
        (
            &json!("cancelled"),
            &json!(number),
            &json!(to),
            &Value::Null
        )
    );
    site.until("it is called off", |site| {
        let all = site.get("/api/v1/fleet/upgrades");
        let entries = all["entries"].as_array().expect("a list");
        entries
            .iter()
            .any(|one| one["id"] == number && one["state"] == "cancelled")
    });
    site.until("why says who cancelled it", |site| {
        site.codes(&to).contains(&"UpgradeCancelled".to_owned())
    });
    let to = cancelled["to"].as_str().expect("a version");
    let all = site.get("/api/v1/fleet/upgrades");
    let mut others = all["entries"].as_array().expect("a list").iter();
    assert!(
        !others.any(|one| one["id"] != number && one["to"] == to),
        "the same is not planned again: {all}"
    );
    let acts = site.acts();
    assert_eq!(
        (&acts[0]["kind"], &acts[0]["by"]),
        (&json!("cancellation"), &json!("ada"))
    );

    let lift = json!({"cluster": "s1", "version": to, "why": "fixed"});
    let (status, lifted) = site.act(&site.bob, "resume", &lift);
    assert_eq!(
        (status, &lifted["kind"]),
        (200, &json!("lifted")),
        "{lifted}"
    );
    assert_eq!(site.act(&site.bob, "resume", &lift).0, 404);
    site.until("nothing is cancelled any more", |site| {
        !site.codes(to).contains(&"UpgradeCancelled".to_owned())
    });
    assert_eq!(site.acts()[0]["ended"]["by"], "bob");
}
