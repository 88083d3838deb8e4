//! Who we are to a registry: tokens, names and passwords, certificates; and who must never hear of it.

use std::path::{Path, PathBuf};

use towpath_core::finding::Finding;
use towpath_sources::{Registry, RegistryOptions, Scrape, scrape};

use super::{names, patient, quick};
use towpath_testing_services::registry::docker::{DockerRegistry, Door, PASSWORD, USER};
use towpath_testing_services::registry::double::{RegistryAnswer, RegistryDouble, RegistryRequest};
use towpath_testing_services::registry::images::*;

/// base64 of `u:p`.
const BASIC: &str = "Basic dTpw";

fn auth_file(folder: &Path, host: &str, entry: &str) -> PathBuf {
    let file = folder.join("auth.json");
    std::fs::write(&file, format!(r#"{{"auths":{{"{host}":{entry}}}}}"#)).unwrap();
    file
}

async fn scraped(double: &RegistryDouble, entry: Option<&str>) -> Result<String, Finding> {
    let folder = tempfile::tempdir().unwrap();
    let auth_file = entry.map(|entry| auth_file(folder.path(), &double.host, entry));
    let options = RegistryOptions {
        plain_http: true,
        auth_file,
        limits: quick(),
        ..RegistryOptions::default()
    };
    let registry = Registry::new(options)?;
    scrape(&registry, &Scrape::of(double.repository()))
        .await
        .map(|(file, _)| names(&file))
}

fn is(asked: &RegistryRequest, authorisation: &str) -> bool {
    asked
        .headers
        .get("authorization")
        .is_some_and(|given| given == authorisation)
}

/// A registry that wants tokens, which a service on the same host gives to whom it knows.
fn with_tokens(known_by: fn(&RegistryRequest) -> bool, answer: &'static str) -> RegistryDouble {
    let double = RegistryDouble::misbehaving(move |asked, _| {
        if asked.target.starts_with("/token") {
            return Some(if known_by(asked) {
                RegistryAnswer::ok(answer)
            } else {
                RegistryAnswer::new(401)
            });
        }
        let realm = format!(
            "Bearer realm=\"http://{}/token\",service=\"s & t\",scope=\"repository:a/b:pull\"",
            asked.headers["host"]
        );
        (!is(asked, "Bearer abc"))
            .then(|| RegistryAnswer::new(401).header("www-authenticate", &realm))
    });
    for patch in 0..50 {
        double.put(
            Some(&format!("t{patch}")),
            &release(&format!("4.1.{patch}+amd64"), ""),
        );
    }
    double
}

#[tokio::test]
async fn a_token_is_fetched_once_and_used_for_everything() {
    let double = with_tokens(|_| true, r#"{"token":"abc","expires_in":300}"#);
    assert_eq!(scraped(&double, None).await.unwrap().split(' ').count(), 50);
    let tokens = double.asked("/token");
    assert_eq!(tokens.len(), 1);
    assert_eq!(
        tokens[0].target,
        "/token?service=s+%26+t&scope=repository%3Aa%2Fb%3Apull"
    );
    assert!(
        !tokens[0].headers.contains_key("authorization"),
        "we are known by nothing"
    );
}

#[tokio::test]
async fn a_token_that_ends_is_fetched_anew() {
    let double = with_tokens(|_| true, r#"{"token":"abc","expires_in":0}"#);
    assert_eq!(scraped(&double, None).await.unwrap().split(' ').count(), 50);
    assert!(double.asked("/token").len() > 50);
}

#[tokio::test]
async fn what_we_are_known_by_is_told_to_the_token_service() {
    let double = with_tokens(|asked| is(asked, BASIC), r#"{"access_token":"abc"}"#);
    assert_eq!(
        scraped(&double, Some(r#"{"auth":"dTpw"}"#))
            .await
            .unwrap()
            .split(' ')
            .count(),
        50
    );
    assert_eq!(
        scraped(&double, Some(r#"{"username":"u","password":"p"}"#))
            .await
            .unwrap()
            .split(' ')
            .count(),
        50
    );
    let refused = scraped(&double, Some(r#"{"username":"u","password":"wrong"}"#))
        .await
        .unwrap_err();
    assert_eq!(
        (refused.code, refused.problem.as_str()),
        ("unauthorised", "the registry's token service answered 401")
    );
}

#[tokio::test]
async fn an_identity_token_is_exchanged() {
    let known = |asked: &RegistryRequest| {
        let parts = [
            "grant_type=refresh_token",
            "refresh_token=id-x",
            "service=s+%26+t",
            "scope=repository%3Aa%2Fb%3Apull",
        ];
        asked.method == "POST"
            && parts
                .iter()
                .all(|part| asked.body.split('&').any(|given| given == *part))
    };
    let double = with_tokens(known, r#"{"access_token":"abc"}"#);
    assert_eq!(
        scraped(&double, Some(r#"{"identitytoken":"id-x"}"#))
            .await
            .unwrap()
            .split(' ')
            .count(),
        50
    );
}

#[tokio::test]
async fn a_token_of_our_own_is_used_as_it_is() {
    let double = with_tokens(|_| false, "");
    assert_eq!(
        scraped(&double, Some(r#"{"registrytoken":"abc"}"#))
            .await
            .unwrap()
            .split(' ')
            .count(),
        50
    );
    let refused = scraped(&double, Some(r#"{"registrytoken":"old"}"#))
        .await
        .unwrap_err();
    assert_eq!(
        refused.problem,
        "the registry does not accept our credentials"
    );
}

#[tokio::test]
async fn a_token_service_elsewhere_in_the_clear_is_not_told_anything() {
    let double = RegistryDouble::misbehaving(|_, _| {
        Some(RegistryAnswer::new(401).header(
            "www-authenticate",
            "Bearer realm=\"ftp://evil.example.com/token\"",
        ))
    });
    let refused = scraped(&double, Some(r#"{"auth":"dTpw"}"#))
        .await
        .unwrap_err();
    assert_eq!(
        refused.problem,
        "the registry names a token service that we refuse: \"ftp://evil.example.com/token\""
    );
}

#[tokio::test]
async fn in_the_clear_a_token_is_fetched_on_the_registrys_own_host_and_nowhere_else() {
    let thief = RegistryDouble::misbehaving(|_, _| Some(RegistryAnswer::ok(r#"{"token":"abc"}"#)));
    // The same machine, under a name that is not the registry's.
    let realm = format!(
        "http://localhost:{}/token",
        thief.host.rsplit(':').next().unwrap()
    );
    let challenge = format!("Bearer realm=\"{realm}\"");
    let double = RegistryDouble::misbehaving(move |_, _| {
        Some(RegistryAnswer::new(401).header("www-authenticate", &challenge))
    });
    for entry in [
        Some(r#"{"auth":"dTpw"}"#),
        Some(r#"{"identitytoken":"id-x"}"#),
        None,
    ] {
        let refused = scraped(&double, entry).await.unwrap_err();
        assert_eq!(
            refused.problem,
            format!("the registry names a token service that we refuse: {realm:?}")
        );
    }
    assert!(thief.asked("").is_empty());
}

#[tokio::test]
async fn a_password_that_changes_while_we_run_is_read_anew() {
    let double = RegistryDouble::misbehaving(|asked, before| {
        let is_good = match asked.target.contains("tags/list") {
            // base64 of `u:p`, and of `u:q` from the second list on.
            true => is(asked, if before < 2 { BASIC } else { "Basic dTpx" }),
            false => true,
        };
        (!is_good).then(|| RegistryAnswer::new(401).header("www-authenticate", "Basic realm=\"x\""))
    });
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    let folder = tempfile::tempdir().unwrap();
    let file = auth_file(folder.path(), &double.host, r#"{"auth":"dTpw"}"#);
    let options = RegistryOptions {
        plain_http: true,
        auth_file: Some(file.clone()),
        limits: quick(),
        ..RegistryOptions::default()
    };
    let registry = Registry::new(options).unwrap();
    let told = async || match scrape(&registry, &Scrape::of(double.repository())).await {
        Ok((file, _)) => names(&file),
        Err(finding) => finding.problem,
    };
    assert_eq!(told().await, "4.1.0+amd64");
    assert_eq!(told().await, "the registry does not accept our credentials");
    std::fs::write(&file, "half of").unwrap();
    assert_eq!(told().await, "the registry does not accept our credentials");
    auth_file(folder.path(), &double.host, r#"{"auth":"dTpx"}"#);
    assert_eq!(told().await, "4.1.0+amd64");
}

#[tokio::test]
async fn names_and_passwords_go_to_the_registry_and_not_where_it_redirects_to() {
    let elsewhere = RegistryDouble::start();
    elsewhere.put(Some("a"), &release("4.1.0+amd64", ""));
    let host = elsewhere.host.clone();
    let double = RegistryDouble::misbehaving(move |asked, _| {
        if !is(asked, BASIC) {
            return Some(RegistryAnswer::new(401).header("www-authenticate", "Basic realm=\"x\""));
        }
        let to = format!("http://{host}{}", asked.target);
        asked
            .target
            .contains("/blobs/")
            .then(|| RegistryAnswer::new(307).header("location", &to))
    });
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    assert_eq!(
        scraped(&double, Some(r#"{"auth":"dTpw"}"#)).await.unwrap(),
        "4.1.0+amd64"
    );
    let blobs = elsewhere.asked("/blobs/");
    assert_eq!(blobs.len(), 2);
    assert!(
        blobs
            .iter()
            .all(|asked| !asked.headers.contains_key("authorization"))
    );

    let refused = scraped(&double, Some(r#"{"auth":"dTp3cm9uZw=="}"#))
        .await
        .unwrap_err();
    assert_eq!(
        refused.problem,
        "the registry does not accept our credentials"
    );
    let none = scraped(&double, None).await.unwrap_err();
    assert_eq!(
        none.remedy,
        "name a file that has them with --registry-auth-file"
    );
}

#[tokio::test]
async fn a_storage_that_wants_credentials_does_not_get_ours() {
    let storage = RegistryDouble::misbehaving(|_, _| {
        Some(RegistryAnswer::new(401).header("www-authenticate", "Basic realm=\"x\""))
    });
    let host = storage.host.clone();
    let double = RegistryDouble::misbehaving(move |asked, _| {
        let to = format!("http://{host}{}", asked.target);
        asked
            .target
            .contains("/blobs/")
            .then(|| RegistryAnswer::new(307).header("location", &to))
    });
    double.put(Some("a"), &release("4.1.0+amd64", ""));
    assert_eq!(
        scraped(&double, Some(r#"{"auth":"dTpw"}"#)).await.unwrap(),
        ""
    );
    assert!(
        storage
            .asked("")
            .iter()
            .all(|asked| !asked.headers.contains_key("authorization"))
    );
    assert_eq!(double.asked("/blobs/").len(), 1, "and nobody tries again");
}

#[tokio::test]
async fn a_real_registry_with_tls_and_a_password_is_read_with_both_and_not_without() {
    let registry = DockerRegistry::start(Door::Guarded);
    registry
        .push("ocp/release", Some("4.1.0"), &release("4.1.0+amd64", ""))
        .await;
    let folder = tempfile::tempdir().unwrap();
    let entry = format!(r#"{{"username":"{USER}","password":"{PASSWORD}"}}"#);
    let auth_file = auth_file(folder.path(), &format!("{}/ocp", registry.host), &entry);
    let ca_file = registry.directory.join("cert.pem");
    let all = RegistryOptions {
        auth_file: Some(auth_file),
        ca_file: Some(ca_file),
        limits: patient(),
        ..RegistryOptions::default()
    };
    let wish = Scrape::of(registry.repository("ocp/release"));
    let told = async |options: RegistryOptions| match scrape(
        &Registry::new(options).unwrap(),
        &wish,
    )
    .await
    {
        Ok((file, _)) => names(&file),
        Err(finding) => format!("{}: {}", finding.code, finding.problem),
    };
    assert_eq!(told(all.clone()).await, "4.1.0+amd64");
    let unauthorised =
        "unauthorised: the registry asks for credentials, and the auth file has none for it";
    assert_eq!(
        told(RegistryOptions {
            auth_file: None,
            ..all.clone()
        })
        .await,
        unauthorised
    );
    let untrusted = told(RegistryOptions {
        ca_file: None,
        ..all.clone()
    })
    .await;
    assert!(
        untrusted.starts_with("registry-unreachable: the registry cannot be reached: "),
        "{untrusted}"
    );
    let in_the_clear = told(RegistryOptions {
        plain_http: true,
        ..all
    })
    .await;
    assert_eq!(in_the_clear, "http: the registry answered 400");
}

#[tokio::test]
async fn without_being_asked_for_nothing_is_said_in_the_clear() {
    let double = RegistryDouble::start();
    let registry = Registry::new(RegistryOptions {
        limits: quick(),
        ..RegistryOptions::default()
    })
    .unwrap();
    let error = scrape(&registry, &Scrape::of(double.repository()))
        .await
        .unwrap_err();
    assert_eq!(error.code, "registry-unreachable");
    assert!(double.asked("").is_empty());
}

#[test]
fn files_that_are_wrong_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    let told = |options: RegistryOptions| Registry::new(options).unwrap_err();
    let missing = told(RegistryOptions {
        auth_file: Some(file.clone()),
        ..RegistryOptions::default()
    });
    assert_eq!(missing.code, "unreadable");
    std::fs::write(&file, "x").unwrap();
    let wrong = told(RegistryOptions {
        auth_file: Some(file.clone()),
        ..RegistryOptions::default()
    });
    assert_eq!(
        (wrong.code, &*wrong.place.file),
        ("bad-auth-file", file.to_str().unwrap())
    );
    let wrong = told(RegistryOptions {
        ca_file: Some(file),
        ..RegistryOptions::default()
    });
    assert_eq!(
        (wrong.code, wrong.problem.as_str()),
        ("bad-ca-file", "it has no certificate in it")
    );
}
