//! The restricted profile of the published Pod Security Standards, control by control.
//!
//! The API server of these tests is 1.20 and has no admission by this profile. So the manifests are checked against the profile as it
//! is published (https://kubernetes.io/docs/concepts/security/pod-security-standards/, read for 1.32), and not run on a server that enforces it.

use serde_json::{Value, json};

/// Capabilities are dropped whole; this one may be added again.
const ALLOWED_CAPABILITY: &str = "NET_BIND_SERVICE";
const ALLOWED_VOLUMES: [&str; 8] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
];
const ALLOWED_SECCOMP: [&str; 2] = ["RuntimeDefault", "Localhost"];
const ALLOWED_SELINUX: [&str; 5] = [
    "",
    "container_t",
    "container_init_t",
    "container_kvm_t",
    "container_engine_t",
];
const ALLOWED_SYSCTLS: [&str; 10] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
];

/// What the profile has against a pod's spec.
pub(crate) fn violations(pod: &Value) -> Vec<String> {
    let mut found = of_pod(pod);
    for kind in ["containers", "initContainers", "ephemeralContainers"] {
        for container in list(&pod[kind]) {
            let name = container["name"].as_str().unwrap_or_default();
            let told = of_container(pod, container);
            found.extend(told.into_iter().map(|problem| format!("{name}: {problem}")));
        }
    }
    found
}

fn of_pod(pod: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for field in ["hostNetwork", "hostPID", "hostIPC"] {
        if pod[field] == true {
            found.push(field.to_owned());
        }
    }
    for volume in list(&pod["volumes"]) {
        let kinds = volume.as_object().into_iter().flatten();
        let kinds = kinds
            .map(|(kind, _)| kind.as_str())
            .filter(|kind| *kind != "name");
        found.extend(
            kinds
                .filter(|kind| !ALLOWED_VOLUMES.contains(kind))
                .map(|kind| format!("a volume is a {kind}")),
        );
    }
    for sysctl in list(&pod["securityContext"]["sysctls"]) {
        let name = sysctl["name"].as_str().unwrap_or_default();
        if !ALLOWED_SYSCTLS.contains(&name) {
            found.push(format!("sysctl {name}"));
        }
    }
    found.extend(of_both(&pod["securityContext"]));
    found
}

/// Controls that a pod's context and a container's share.
fn of_both(context: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if context["windowsOptions"]["hostProcess"] == true {
        found.push("hostProcess".into());
    }
    if context["runAsUser"] == 0 {
        found.push("runAsUser is root".into());
    }
    if context["runAsNonRoot"] == false {
        found.push("runAsNonRoot is false".into());
    }
    let seccomp = context["seccompProfile"]["type"].as_str();
    if seccomp.is_some_and(|kind| !ALLOWED_SECCOMP.contains(&kind)) {
        found.push("seccompProfile".into());
    }
    if context["appArmorProfile"]["type"] == "Unconfined" {
        found.push("appArmorProfile".into());
    }
    let selinux = &context["seLinuxOptions"];
    let kind = selinux["type"].as_str().unwrap_or_default();
    if !ALLOWED_SELINUX.contains(&kind)
        || selinux["user"].is_string()
        || selinux["role"].is_string()
    {
        found.push("seLinuxOptions".into());
    }
    found
}

fn of_container(pod: &Value, container: &Value) -> Vec<String> {
    let (context, of_pod) = (&container["securityContext"], &pod["securityContext"]);
    let mut found = of_both(context);
    let mut refuse = |problem: &str, is_so: bool| {
        if is_so {
            found.push(problem.to_owned());
        }
    };
    refuse("privileged", context["privileged"] == true);
    refuse(
        "allowPrivilegeEscalation",
        context["allowPrivilegeEscalation"] != false,
    );
    let either = |field: &str| match &context[field] {
        Value::Null => of_pod[field].clone(),
        own => own.clone(),
    };
    refuse("runAsNonRoot", either("runAsNonRoot") != true);
    refuse(
        "seccompProfile is not set",
        either("seccompProfile")["type"].is_null(),
    );
    let capabilities = &context["capabilities"];
    refuse(
        "capabilities are not dropped",
        !list(&capabilities["drop"]).any(|one| one == "ALL"),
    );
    refuse(
        "capabilities are added",
        list(&capabilities["add"]).any(|one| one != ALLOWED_CAPABILITY),
    );
    refuse(
        "hostPort",
        list(&container["ports"]).any(|port| port["hostPort"].as_u64().unwrap_or(0) != 0),
    );
    let proc_mount = context["procMount"].as_str().unwrap_or("Default");
    refuse("procMount", proc_mount != "Default");
    found
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A pod that the profile accepts.
fn accepted() -> Value {
    json!({
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "c", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    })
}

#[test]
fn each_control_is_looked_at() {
    assert_eq!(violations(&accepted()), Vec::<String>::new());
    let container = "/containers/0/securityContext";
    for (place, field, value, expected) in [
        ("", "hostNetwork", json!(true), "hostNetwork"),
        ("", "hostPID", json!(true), "hostPID"),
        ("", "hostIPC", json!(true), "hostIPC"),
        (
            "/volumes/0",
            "hostPath",
            json!({"path": "/"}),
            "a volume is a hostPath",
        ),
        ("/volumes/0", "nfs", json!({}), "a volume is a nfs"),
        (
            "/securityContext",
            "runAsUser",
            json!(0),
            "runAsUser is root",
        ),
        (
            "/securityContext",
            "runAsNonRoot",
            json!(false),
            "runAsNonRoot is false, c: runAsNonRoot",
        ),
        (
            "/securityContext",
            "runAsNonRoot",
            Value::Null,
            "c: runAsNonRoot",
        ),
        (
            "/securityContext",
            "seccompProfile",
            Value::Null,
            "c: seccompProfile is not set",
        ),
        (
            "/securityContext",
            "seccompProfile",
            json!({"type": "Unconfined"}),
            "seccompProfile",
        ),
        (
            "/securityContext",
            "sysctls",
            json!([{"name": "kernel.msgmax"}]),
            "sysctl kernel.msgmax",
        ),
        (
            "/securityContext",
            "windowsOptions",
            json!({"hostProcess": true}),
            "hostProcess",
        ),
        (
            "/securityContext",
            "seLinuxOptions",
            json!({"type": "spc_t"}),
            "seLinuxOptions",
        ),
        (
            "/securityContext",
            "appArmorProfile",
            json!({"type": "Unconfined"}),
            "appArmorProfile",
        ),
        (container, "privileged", json!(true), "c: privileged"),
        (
            container,
            "allowPrivilegeEscalation",
            Value::Null,
            "c: allowPrivilegeEscalation",
        ),
        (container, "runAsUser", json!(0), "c: runAsUser is root"),
        (
            container,
            "capabilities",
            json!({"drop": ["KILL"]}),
            "c: capabilities are not dropped",
        ),
        (
            container,
            "capabilities",
            json!({"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
            "c: capabilities are added",
        ),
        (container, "procMount", json!("Unmasked"), "c: procMount"),
        (
            "/containers/0",
            "ports",
            json!([{"hostPort": 80}]),
            "c: hostPort",
        ),
    ] {
        let mut pod = accepted();
        pod.pointer_mut(place).unwrap()[field] = value;
        assert_eq!(violations(&pod).join(", "), expected, "{place} {field}");
    }
}
