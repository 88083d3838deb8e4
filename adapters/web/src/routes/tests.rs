use std::collections::BTreeSet;

use super::*;

#[test]
fn paths_are_matched_whole() {
    let label = |path| find_under(None, path).map(|found| (found.route.label, found.named()));
    assert_eq!(label("/livez"), Some(("livez", "")));
    assert_eq!(label("/api/v1/fleet/status"), Some(("status", "")));
    for (path, cluster) in [
        ("/api/v1/clusters/0f%2F3a/why", "0f%2F3a"),
        ("/api/v1/clusters/report/why", "report"),
        ("/api/v1/clusters/{cluster}/why", "{cluster}"),
    ] {
        assert_eq!(label(path), Some(("why", cluster)));
    }
    for (path, expected) in [
        ("/", ("page", "")),
        ("/fleet", ("pageFleet", "")),
        ("/fleet/clusters/0f3a", ("pageFleetView", "clusters/0f3a")),
        ("/log/17", ("pageLogEntry", "17")),
        ("/assets/a-1.js", ("pageAsset", "a-1.js")),
    ] {
        assert_eq!(label(path), Some(expected));
    }
    for path in [
        "",
        "/livez/",
        "/fleet/",
        "/assets/",
        "/assets/a/b.js",
        "/graph/x",
        "/api/v1/",
        "/api/v1/clusters//report",
        "/api/v1/clusters/a/b/report",
        "/api/v1/fleet/status/",
        "/api/v1/fleet/Status",
        "/api/v1/clusters/a/reports",
    ] {
        assert_eq!(label(path), None, "{path}");
    }
}

#[test]
fn graphs_are_answered_under_another_prefix_too() {
    let label = |path| find_under(Some("/updates"), path).map(|found| found.route.label);
    assert_eq!(label("/updates/graph"), Some("graph"));
    assert_eq!(label("/updates/v1/graph"), Some("graphV1"));
    assert_eq!(label("/updates/openapi"), Some("graphOpenapi"));
    assert_eq!(label("/api/upgrades_info/graph"), Some("graph"));
    for prefix in ["/fleet", "/assets", "/log"] {
        let under = |path| find_under(Some(prefix), path).map(|found| found.route.label);
        assert_eq!(under(&*format!("{prefix}/graph")), Some("graph"));
    }
    assert_eq!(label("/graph"), Some("pageGraph"));
    for path in [
        "/updates",
        "/updatesgraph",
        "/updates/livez",
        "/other/graph",
    ] {
        assert_eq!(label(path), None, "{path}");
    }
}

#[test]
fn every_path_and_every_label_stands_once() {
    let paths: BTreeSet<&str> = ROUTES.iter().map(|route| route.path).collect();
    let labels: BTreeSet<&str> = ROUTES.iter().map(|route| route.label).collect();
    assert_eq!((paths.len(), labels.len()), (ROUTES.len(), ROUTES.len()));
}

#[test]
fn a_route_takes_a_body_only_by_post_and_no_path_fits_two() {
    for route in ROUTES {
        let takes_a_body = matches!(
            route.handler,
            Handler::Change(_) | Handler::Report | Handler::Reload
        );
        assert_eq!(route.verb == Verb::Post, takes_a_body, "{}", route.path);
        assert!(std::ptr::eq(
            find_under(None, route.path).unwrap().route,
            route
        ));
        let needs_a_cluster = route.who == Who::Cluster;
        assert!(
            !needs_a_cluster || route.path.contains("{cluster}"),
            "{}",
            route.path
        );
    }
}

#[test]
fn other_methods_are_told_which_there_are() {
    for route in ROUTES {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
            let request = http::Request::builder().uri(route.path.replace(['{', '}'], ""));
            let (head, ()) = request.method(method).body(()).unwrap().into_parts();
            let refusal = taken(&head, find_under(None, head.uri.path())).err();
            let allowed = refusal.map(|refusal| {
                let response = refusal.response();
                assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
                response.headers()["allow"].to_str().unwrap().to_owned()
            });
            let listed = route.verb.allow().split(", ").any(|name| name == method);
            let preflight = method == "OPTIONS" && route.cost() == Cost::Graph;
            let expected = (!listed && !preflight).then(|| route.verb.allow().to_owned());
            assert_eq!(allowed, expected, "{method} {}", route.path);
        }
    }
}
