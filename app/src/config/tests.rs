use super::*;

fn uncommented() -> String {
    let option = |line: &str| {
        line.strip_prefix("# ")
            .filter(|rest| rest.split(':').next().is_some_and(|k| !k.contains(' ')))
            .map(str::to_owned)
    };
    DEFAULT_FILE
        .lines()
        .filter_map(option)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_default_file_parses_and_changes_nothing() {
    let settings = parse_file(DEFAULT_FILE).unwrap().validated().unwrap();
    assert_eq!(
        settings.to_string(),
        ServeOptions::default().validated().unwrap().to_string()
    );
}

#[test]
fn the_default_file_names_every_option_with_its_default() {
    let mut options = parse_file(&uncommented()).unwrap();
    assert!(
        options.sources.graph_data.take().is_some()
            && options.sources.releases.take().is_some()
            && options.platforms.take().is_some()
            && options.minors.take().is_some()
    );
    assert!(
        options.sources.state.take().is_some()
            && options.sources.allow.take().is_some()
            && options.sources.ca_file.take().is_some()
            && options.sources.update_service.take().is_some()
    );
    let signed =
        options.sources.signatures.take().is_some() && options.sources.keyring.take().is_some();
    assert!(
        signed
            && options.sources.signature_policy.take().is_some()
            && options.sources.registry_auth_file.take().is_some()
    );
    assert!(options.sources.graph_data_keyring.take().is_some());
    assert!(std::mem::take(&mut options.now).given().is_some());
    assert!(options.tls_cert.take().is_some() && options.tls_key.take().is_some());
    assert!(options.client_ca.take().is_some() && options.client_crl.take().is_some());
    assert!(options.trusted_proxies.take().is_some() && options.allowed_hosts.take().is_some());
    assert!(options.path_prefix.take().is_some() && options.mandatory_params.take().is_some());
    assert!(options.max_connections_per_address.take().is_some());
    let fleet = options.fleet.take().is_some()
        && options.clusters.take().is_some()
        && options.store.take().is_some();
    assert!(options.store_password_file.take().is_some());
    let outcomes = std::mem::take(&mut options.outcomes);
    assert!(options.halts_to.take().is_some());
    assert!(options.feedback.take().is_some() && outcomes.outcomes.is_some());
    assert!(outcomes.outcomes_prometheus.is_some() && outcomes.outcomes_query.is_some());
    assert!(outcomes.outcomes_token.is_some() && outcomes.outcomes_every.is_some());
    assert!(
        options.sources.overlay.take().is_some() && options.allow_window_change.take().is_some()
    );
    let rest = options.accept_unbound_tokens_until.take().is_some()
        && options.token_keys.take().is_some()
        && options.people_keys.take().is_some()
        && options.access.take().is_some()
        && options.revoked_tokens.take().is_some()
        && options.log_key.take().is_some()
        && options.log_sign_every.take().is_some()
        && options.ocm.take().is_some()
        && options.ocm_token.take().is_some();
    assert!(options.ocm_client_id.take().is_some() && options.ocm_client_secret.take().is_some());
    assert!(options.ocm_offline_token.take().is_some() && options.ocm_token_url.take().is_some());
    assert!(options.acm.take().is_some() && options.acm_context.take().is_some());
    assert!(fleet && rest);
    let people = std::mem::take(&mut options.people);
    assert!(people.oidc_issuer.is_some() && people.oidc_client_id.is_some());
    assert!(people.oidc_client_secret.is_some() && people.oidc_audience.is_some());
    assert!(people.oidc_hosts.is_some() && people.oidc_ca_file.is_some());
    assert!(people.kubernetes_identity.is_some() && people.kubernetes_audience.is_some());
    assert_eq!(
        options.validated().unwrap().to_string(),
        ServeOptions::default().validated().unwrap().to_string()
    );
}

#[test]
fn what_is_printed_can_be_read_back() {
    let typed =
        parse_file("listen: 0.0.0.0:1\nmaxConnectionsPerAddress: 0\ntrustedProxies: 10.0.0.0/8\nallowedHosts: a.b\ngraphData: a b\nreleases: r\nminors: m\nnow: 2026-01-01T00:00Z\nlogFormat: json\noidcIssuer: https://a.example\noidcClientId: page\noidcAudience: [cli, b]\noidcHosts: \"k.example,l.example\"\noidcScopes: openid groups\noidcCaFile: ca.crt\nkubernetesIdentity: in-cluster")
            .unwrap();
    let printed = typed.validated().unwrap().to_string();
    assert_eq!(
        parse_file(&printed)
            .unwrap()
            .validated()
            .unwrap()
            .to_string(),
        printed
    );
}

#[test]
fn flags_win_over_the_file() {
    let flags = parse_file("listen: 0.0.0.0:1").unwrap();
    let file = parse_file("listen: 0.0.0.0:2\nmaxConnections: 7").unwrap();
    let settings = flags.or(file).validated().unwrap();
    assert_eq!(
        (settings.listen.port(), settings.limits.connections),
        (1, 7)
    );
    assert_eq!(
        settings.limits.connections_per_address,
        Some(4),
        "half of them"
    );
}

#[test]
fn other_machines_come_over_tls_through_a_proxy_or_by_leave() {
    let settings = |file: &str| parse_file(file).unwrap().validated().unwrap();
    let tls = "tlsCert: c\ntlsKey: k\n";
    for (file, is_served) in [
        ("listen: 127.0.0.1:1", true),
        ("listen: \"[::1]:1\"", true),
        ("listen: 0.0.0.0:1", false),
        ("listen: 192.0.2.1:1", false),
        ("listen: 0.0.0.0:1\ninsecureHttp: false", false),
        ("listen: 0.0.0.0:1\ninsecureHttp: true", true),
        ("listen: 0.0.0.0:1\ntrustedProxies: 10.0.0.0/8", true),
        (&format!("listen: 0.0.0.0:1\n{tls}"), true),
    ] {
        let checked = settings(file).check_transport();
        assert_eq!(checked.is_ok(), is_served, "{file}");
        let told = checked.map_or_else(|error| error.to_string(), |()| String::new());
        assert!(
            is_served || told.contains("or allow it with --insecure-http"),
            "{told}"
        );
    }
    let codes = |file: &str| {
        let findings = settings(file).unsafe_setup();
        findings
            .iter()
            .map(|finding| finding.code)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        codes("listen: 0.0.0.0:1\ninsecureHttp: true"),
        ["plain-http"]
    );
    assert_eq!(codes("listen: 127.0.0.1:1\ninsecureHttp: true"), [""; 0]);
    let store = "fleet: f\nstore: postgres://me@db/fleet";
    assert_eq!(codes(store), ["store-not-verified"]);
    assert_eq!(codes(&format!("{store}?sslmode=verify-full")), [""; 0]);
    for (file, expected) in [
        ("tlsCert: c", "add --tls-key FILE"),
        ("tlsKey: k", "add --tls-cert FILE"),
        ("clientCa: a", "add --tls-cert FILE"),
        (&format!("{tls}clientCrl: r"), "add --client-ca FILE"),
        (
            &format!("{tls}insecureHttp: true"),
            "remove --insecure-http",
        ),
    ] {
        let error = parse_file(file)
            .unwrap()
            .validated()
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    let printed = settings(&format!("{tls}clientCa: a\nclientCrl: r")).to_string();
    assert_eq!(settings(&printed).to_string(), printed);
    assert!(printed.contains("clientCrl: \"r\""), "{printed}");
}

#[test]
fn a_password_file_is_for_a_store_that_has_a_password() {
    let file = "fleet: f\nstorePasswordFile: p\n";
    for store in ["", "store: \"sqlite:x.db\""] {
        let error = parse_file(&format!("{file}{store}"))
            .unwrap()
            .validated()
            .unwrap_err()
            .to_string();
        assert!(error.contains("needs a PostgreSQL store"), "{error}");
    }
    let settings = parse_file(&format!("{file}store: postgres://me@db/fleet"))
        .unwrap()
        .validated()
        .unwrap();
    let address = settings.fleet.as_ref().unwrap().store_address();
    assert_eq!(
        (&*address.url, address.password_file),
        ("postgres://me@db/fleet", Some("p".into()))
    );
    assert!(
        settings.to_string().contains("storePasswordFile: \"p\""),
        "{settings}"
    );
}

#[test]
fn a_prometheus_is_asked_what_it_can_answer() {
    let in_force = |file: &str| {
        parse_file(&format!("fleet: f\n{file}"))
            .unwrap()
            .validated()
    };
    let url = "outcomesPrometheus: \"https://prometheus.example.com/a\"\n";
    let settings = in_force(&format!("{url}outcomesToken: t\noutcomesEvery: 5m")).unwrap();
    let query = settings.fleet.as_ref().unwrap().outcomes.query.as_ref();
    assert!(query.unwrap().prometheus(&Default::default()).is_ok());
    let printed = settings.to_string();
    let again = parse_file(&printed).unwrap().validated().unwrap();
    assert_eq!(again.to_string(), printed);
    assert!(printed.contains("outcomesQuery: ") && printed.contains("outcomesEvery: 5m"));
    assert!(settings.secret_files().any(|path| path == Path::new("t")));
    for (file, expected) in [
        ("outcomesQuery: up", "add --outcomes-prometheus URL"),
        ("outcomesToken: t", "add --outcomes-prometheus URL"),
        (
            &format!("{url}outcomesQuery: \"up[1d]\""),
            "a matrix as its answer",
        ),
        (
            &format!("{url}outcomesQuery: \"up{{\""),
            "--outcomes-query: it is not PromQL",
        ),
        (
            &format!("{url}outcomesEvery: 2d"),
            "it must be between 1s and 1d",
        ),
    ] {
        let told = in_force(file).unwrap_err().to_string();
        assert!(told.contains(expected), "{file}: {told}");
    }
    let told = parse_file(url).unwrap().validated().unwrap_err();
    assert!(
        told.to_string()
            .contains("--outcomes-prometheus tells of a fleet"),
        "{told}"
    );
    let wrong = OutcomesQuerySettings {
        url: "http://prometheus.example.com".to_owned(),
        query: "up".to_owned(),
        token: None,
        every: std::time::Duration::from_secs(60),
    };
    let told = wrong
        .prometheus(&Default::default())
        .err()
        .unwrap()
        .to_string();
    assert!(told.contains("in the clear"), "{told}");
}

#[test]
fn mistakes_are_told() {
    assert!(
        parse_file("listne: x")
            .unwrap_err()
            .to_string()
            .contains("listne")
    );
    for half in ["graphData: x", "releases: x"] {
        assert!(
            parse_file(half)
                .unwrap()
                .validated()
                .unwrap_err()
                .to_string()
                .contains("; add --")
        );
    }
    for (text, expected) in [
        ("pollSeconds: 30", "\"pollSeconds\" is called pollEvery now"),
        ("keepDays: 90", "write keepFor: 90d, or the like"),
        ("pollEvery: 30", "\"30\" has no unit; write 30s for seconds"),
        ("pollEvery: soon", "\"soon\" is not a length of time"),
    ] {
        let error = format!("{:#}", parse_file(text).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
    for (text, expected) in [
        (
            "trustedProxies: 10.0.0.0/99",
            "--trusted-proxies: \"10.0.0.0/99\" is not a network",
        ),
        (
            "allowedHosts: http://x",
            "--allowed-hosts: \"http://x\" is not a host name",
        ),
        ("drainFor: 3601s", "it must be between 0s and 1h"),
    ] {
        let error = parse_file(text)
            .unwrap()
            .validated()
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    for (file, expected) in [
        (
            "acceptUnboundTokensUntil: 2027-01-31",
            "add --token-keys FILE",
        ),
        (
            "tokenKeys: k\nacceptUnboundTokensUntil: soon",
            "write it as in 2027-01-31",
        ),
        (
            "tokenKeys: k\nacceptUnboundTokensUntil: 2027-02-30",
            "write it as in 2027-01-31",
        ),
    ] {
        let told = parse_file(file)
            .unwrap()
            .validated()
            .unwrap_err()
            .to_string();
        assert!(told.contains(expected), "{told}");
    }
    let until = parse_file("tokenKeys: k\nacceptUnboundTokensUntil: 2027-01-31")
        .unwrap()
        .validated()
        .unwrap();
    assert_eq!(
        until.unbound_until.unwrap().to_string(),
        "2027-01-31T00:00:00Z"
    );
    let told = parse_file("now: tomorrow").unwrap_err().to_string();
    assert!(told.contains("+2d or -3h"), "{told}");
    for number in ["maxConnections: 0", "pollEvery: 0s", "clientTimeout: 2h"] {
        assert!(
            parse_file(number)
                .unwrap()
                .validated()
                .unwrap_err()
                .to_string()
                .contains("it must be between 1")
        );
    }
}

/// The flags of `serve` with what their help says about the default, where that is one word.
fn told_defaults() -> Vec<(String, String)> {
    let serve = ServeOptions::augment_args(clap::Command::new("serve"));
    let told = |flag: &clap::Arg| {
        let help = flag.get_help()?.to_string();
        let (_, default) = help.rsplit_once("[default: ")?;
        let (default, _) = default.split_once([']', ';'])?;
        let is_a_word = !default.contains([' ', '\'']) && default != "none";
        is_a_word.then(|| (camel_case(flag.get_id().as_str()), default.to_owned()))
    };
    serve.get_arguments().filter_map(told).collect()
}

#[test]
fn the_help_names_the_defaults_that_hold() {
    let in_force = |file: &str| {
        let people = "oidcIssuer: https://a.example\noidcClientId: page\nkubernetesIdentity: in-cluster\nlogKey: log.pem";
        let settings = parse_file(&format!("fleet: f\n{people}\n{file}")).unwrap();
        settings.validated().unwrap()
    };
    let usual = in_force("");
    let told = told_defaults();
    assert!(told.len() >= 15, "{told:?}");
    for (option, default) in &told {
        let settings = in_force(&format!("{option}: {default}"));
        let store = |settings: &Settings| settings.fleet.as_ref().unwrap().store_address().url;
        match option.as_str() {
            "store" => assert_eq!(store(&settings), store(&usual)),
            _ => assert_eq!(
                settings.to_string(),
                usual.to_string(),
                "{option}: {default}"
            ),
        }
    }
    // What would not be seen if it were another one is no test.
    for other in ["pollEvery: 31s", "keepFor: 91d", "listen: 127.0.0.1:8081"] {
        assert_ne!(in_force(other).to_string(), usual.to_string(), "{other}");
    }
}

#[test]
fn the_flags_of_serve_stand_under_headings() {
    let serve = ServeOptions::augment_args(clap::Command::new("serve"));
    let headings: BTreeMap<&str, usize> = serve
        .get_arguments()
        .map(|flag| flag.get_help_heading().unwrap_or("Options"))
        .fold(BTreeMap::new(), |mut counts, heading| {
            *counts.entry(heading).or_default() += 1;
            counts
        });
    let names: Vec<&str> = headings.keys().copied().collect();
    assert_eq!(
        names,
        [
            "ACM",
            "Access",
            "Connections",
            "Fleet",
            "Logging",
            "OCM",
            "Options",
            "People",
            "Sources",
            "TLS"
        ]
    );
    assert!(headings["Options"] <= 3, "{headings:?}");
}
