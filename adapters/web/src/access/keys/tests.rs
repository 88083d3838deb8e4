use super::*;

const OLD: &str = "0123456789abcdef0123456789abcdef";
const NEW: &str = "fedcba9876543210fedcba9876543210";
/// Tokens of the first version, made with the old key. From Python:
/// base64.urlsafe_b64encode(hmac.new(key, message, "sha256").digest()).rstrip(b"=")
const FIRST_CLUSTER: &str = "tpc_xLqZEoMr6ozXZmZ9yGQrqH36zDnH_CKzejYJSYPzCNw";
const FIRST_ADMIN: &str = "tpa_rmimqpTqXgaEcd5_iWRkVCz39JuXZ5NKFTuKSUXKi-c";

fn id(text: &str) -> ClusterId {
    ClusterId::new(text).unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn noon() -> Timestamp {
    at("2026-11-16T12:00:00Z")
}

fn keys(text: &str) -> TokenKeys {
    TokenKeys::parse(text).unwrap()
}

fn of_cluster(name: &str) -> Grant {
    Grant::Cluster(Enrolment {
        organisation: "acme".into(),
        name: name.into(),
        id: id(name),
    })
}

fn made(by: &TokenKeys, grant: Grant) -> Token {
    let claims = Claims {
        grant,
        made: None,
        end: at("2026-11-16T12:00:01Z"),
        serial: "AAAAAAAAAAAAAAAA".into(),
    };
    Token::parse(&by.issue(&claims).unwrap()).unwrap()
}

fn ada() -> Grant {
    Grant::Person(token::Person {
        name: "ada".into(),
        roles: [Role::Viewer].into(),
        organisation: None,
    })
}

fn machines(text: &str) -> AccessKeys {
    AccessKeys::new(Some(keys(text)), None).unwrap()
}

fn problem(keys: &AccessKeys, token: &Token, now: Timestamp) -> Option<TokenProblem> {
    let Token::Second(token) = token else {
        panic!("it is of the second version")
    };
    let none = RevokedTokens::default();
    keys.genuine(token, &none, now).err()
}

fn speaks(keys: &AccessKeys, token: &Token, id: &str) -> Result<Speaker, TokenProblem> {
    keys.speaker(token, &self::id(id), &RevokedTokens::default(), noon())
}

#[test]
fn a_key_makes_tokens_of_its_own_kind_alone() {
    let both = AccessKeys::new(Some(keys(OLD)), Some(keys(NEW))).unwrap();
    for (key, grant, expected) in [
        (OLD, of_cluster("a"), None),
        (OLD, Grant::Reload, None),
        (NEW, ada(), None),
        (OLD, ada(), Some(TokenProblem::UnknownKey)),
        (NEW, of_cluster("a"), Some(TokenProblem::UnknownKey)),
        (NEW, Grant::Reload, Some(TokenProblem::UnknownKey)),
    ] {
        let token = made(&keys(key), grant.clone());
        assert_eq!(problem(&both, &token, noon()), expected, "{grant:?}");
    }
    let (people, cluster) = (made(&keys(OLD), ada()), made(&keys(OLD), of_cluster("a")));
    let none = Some(TokenProblem::NoKeys("--people-keys"));
    assert_eq!(problem(&machines(OLD), &people, noon()), none);
    let only_people = AccessKeys::new(None, Some(keys(OLD))).unwrap();
    let none = Some(TokenProblem::NoKeys("--token-keys"));
    assert_eq!(problem(&only_people, &cluster, noon()), none);
}

#[test]
fn a_key_in_both_files_is_refused() {
    let both = AccessKeys::new(
        Some(keys(&format!("{OLD}\n{NEW}"))),
        Some(keys(&format!("{}\n{NEW}", OLD.to_uppercase()))),
    );
    let problem = both.unwrap_err();
    assert!(problem.contains("among those of people"), "{problem}");
    assert!(!problem.contains(NEW), "{problem}");
}

#[test]
fn a_cluster_speaks_for_itself_alone() {
    let keys = AccessKeys::new(Some(keys(OLD)), Some(self::keys(NEW))).unwrap();
    let by = |text: &str, grant| made(&self::keys(text), grant);
    assert!(speaks(&keys, &by(OLD, of_cluster("a")), "a").is_ok());
    for (token, expected) in [
        (by(OLD, of_cluster("b")), TokenProblem::WrongCluster),
        (by(OLD, of_cluster("A")), TokenProblem::WrongCluster),
        (by(OLD, Grant::Reload), TokenProblem::WrongRole),
        (by(NEW, ada()), TokenProblem::WrongRole),
    ] {
        assert_eq!(speaks(&keys, &token, "a").err(), Some(expected));
    }
}

#[test]
fn a_token_ends_by_the_services_clock() {
    let token = made(&keys(OLD), Grant::Reload);
    let end = at("2026-11-16T12:00:01Z");
    assert_eq!(problem(&machines(OLD), &token, noon()), None);
    assert_eq!(
        problem(&machines(OLD), &token, end),
        Some(TokenProblem::Ended(end))
    );
}

#[test]
fn a_revoked_token_is_refused() {
    let revoked = [towpath_core::access::Revoked::Serial(
        "AAAAAAAAAAAAAAAA".into(),
    )];
    let revoked: RevokedTokens = revoked.iter().collect();
    let Token::Second(token) = made(&keys(OLD), Grant::Reload) else {
        panic!("it is of the second version")
    };
    let refused = machines(OLD).genuine(&token, &revoked, noon()).err();
    assert_eq!(refused, Some(TokenProblem::Revoked));
}

#[test]
fn keys_are_rotated_by_putting_a_new_one_first() {
    let both = keys(&format!("# since May\n{NEW}\n\n  {OLD}  \n"));
    let (before, after) = (made(&keys(OLD), Grant::Reload), made(&both, Grant::Reload));
    let both = AccessKeys::new(Some(both), None).unwrap();
    assert_eq!(problem(&both, &before, noon()), None);
    assert_eq!(
        problem(&machines(NEW), &before, noon()),
        Some(TokenProblem::UnknownKey)
    );
    let first_signs = problem(&machines(NEW), &after, noon());
    assert_eq!(first_signs, None, "the first key signs");
}

#[test]
fn tokens_of_the_first_version_are_taken_until_a_day_that_was_named() {
    let cluster = Token::parse(FIRST_CLUSTER).unwrap();
    let closed = machines(OLD);
    let unbound = Some(TokenProblem::Unbound);
    assert_eq!(speaks(&closed, &cluster, "0f3a").err(), unbound);
    let open = machines(OLD).accepting_unbound_until(Some(at("2026-11-16T12:00:01Z")));
    let speaker = speaks(&open, &cluster, "0f3a").unwrap();
    assert_eq!((&*speaker.token, speaker.claims), (FIRST_CLUSTER, None));
    let late = machines(OLD).accepting_unbound_until(Some(noon()));
    assert_eq!(speaks(&late, &cluster, "0f3a").err(), unbound);
    assert!(speaks(&open, &cluster, "0f3b").is_err());
    let Some(Token::First { holder, code }) = Token::parse(FIRST_ADMIN) else {
        panic!("it is of the first version")
    };
    assert_eq!(open.unbound(holder, &code, noon()).err(), unbound);
    let relabelled = Token::parse(&FIRST_ADMIN.replace(ADMIN, CLUSTER)).unwrap();
    assert!(speaks(&open, &relabelled, "0f3a").is_err());
}

#[test]
fn what_is_no_token() {
    let cut = &FIRST_ADMIN[..FIRST_ADMIN.len() - 1];
    for text in [
        "",
        "tpa_",
        "tpx_AAAA",
        cut,
        &format!("{FIRST_ADMIN}A"),
        &format!("{FIRST_ADMIN}="),
        &FIRST_ADMIN[4..],
    ] {
        assert!(Token::parse(text).is_none(), "{text}");
    }
    assert!(matches!(Token::parse("tp2_"), Some(Token::Malformed(_))));
}

#[test]
fn a_key_file_is_refused_with_a_line_and_without_showing_keys() {
    for (text, expected) in [
        (String::new(), "there is no key"),
        ("# nothing\n".to_owned(), "there is no key"),
        (
            format!("{NEW}\n{}", &OLD[1..]),
            "line 2: a key has 32 characters",
        ),
        (
            format!("{OLD}\n#\n{OLD}"),
            "line 3: the same key as in line 1",
        ),
        (
            (0..9).map(|n| format!("{n}{OLD}\n")).collect(),
            "there are 9 keys",
        ),
    ] {
        let error = TokenKeys::parse(&text).unwrap_err();
        assert!(
            error.contains(expected) && !error.contains("abcdef"),
            "{error}"
        );
    }
    assert_eq!(format!("{:?}", keys(OLD)), "1 keys");
}
