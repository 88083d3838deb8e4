//! A fleet whose names are markup, script, style and text that changes its direction. Files may say all of that.

use std::path::Path;

use serde_json::{Value, json};

/// Each would do something if it were ever taken for more than text: it sets `pwned`, loads something, or hides the page.
pub(crate) const HOSTILE: &[&str] = &[
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "\"><svg onload=window.pwned=1>",
    "' onmouseover='window.pwned=1",
    "</title><script>window.pwned=1</script>",
    "</style><style>*{display:none}</style>",
    "<style>body{visibility:hidden}</style>",
    "javascript:window.pwned=1",
    "<iframe srcdoc='<script>parent.pwned=1</script>'>",
    "<a href=javascript:window.pwned=1>x</a>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "${window.pwned=1}",
    "<link rel=stylesheet href=//example.com/x.css>",
    "<base href=//example.com/>",
    "\u{202e}gnp.exe<b>",
    "a\"b'c<d>e&f&amp;g",
    "<math><mi xlink:href=javascript:window.pwned=1>",
    "<form action=//example.com><input name=token>",
    "__proto__",
    "constructor",
    "../../../etc/passwd?x=1#y",
    "%3Cscript%3Ewindow.pwned%3D1%3C/script%3E",
    "<details open ontoggle=window.pwned=1>",
    "url(javascript:window.pwned=1);}*{display:none",
];

/// Writes the policy and the list of clusters in the place of the example's.
pub(crate) fn write_fleet(folder: &Path) {
    let sector = |name: &&str| json!({"name": name});
    let policy = json!({
        "name": HOSTILE[1],
        "orgId": HOSTILE[0],
        "sectors": HOSTILE.iter().map(sector).collect::<Vec<_>>(),
        "upgradePolicyClusters": each(|index, name| json!({
            "name": name,
            "upgradePolicy": {
                "workloads": [HOSTILE[(index + 1) % HOSTILE.len()]],
                "schedule": "* * * * *",
                "conditions": {
                    "soakDays": 3,
                    "sector": HOSTILE[(index + 2) % HOSTILE.len()],
                    "mutexes": [HOSTILE[(index + 3) % HOSTILE.len()]],
                },
                "exclusions": [{"from": "2020-01-01", "until": "2099-01-01", "reason": name}],
            },
        })),
    });
    let clusters = json!({
        "clusters": each(|index, name| json!({
            "id": format!("22222222-0000-4000-8000-{index:012}"),
            "name": name,
            "organisation": HOSTILE[0],
            "version": "4.20.2",
            "availableUpgrades": ["4.20.3", "4.20.4"],
        })),
    });
    let files = folder.join("fleet");
    std::fs::remove_file(files.join("organisation.yaml")).expect("the example has it");
    write(&files.join("organisation.json"), &policy);
    write(&folder.join("clusters.json"), &clusters);
}

fn each(one: impl Fn(usize, &str) -> Value) -> Vec<Value> {
    let named = HOSTILE.iter().enumerate();
    named.map(|(index, name)| one(index, name)).collect()
}

fn write(path: &Path, value: &Value) {
    std::fs::write(path, value.to_string()).expect("it can be written");
}
