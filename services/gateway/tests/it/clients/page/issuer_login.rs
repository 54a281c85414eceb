//! Logins at an issuer.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};
use std::{fs, iter};

use cts_access::{IssuerSettings, LoginSettings, LoginToken};
use cts_core::callers::Role;
use cts_gateway::PageOptions;
use cts_testkit::{
    IssuerDocument, IssuerFault, OidcIssuer, SigningKey, SigningKeyKind, assert_contains,
};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use url::Url;

use super::{cookie_of, get, options, scene, stage, with_cookie};
use crate::stage::{Answer, Scene, Stage};

static KEY: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::new("p256", SigningKeyKind::P256));

/// An issuer, and a page where people log in at that issuer.
struct Given {
    issuer: OidcIssuer,
    scene: Scene,
    stage: Stage,
    secret: NamedTempFile,
}

/// A login that has begun in one tab.
struct Begun {
    cookie: String,
    state: String,
    nonce: String,
}

impl Given {
    async fn token(token: LoginToken) -> Self {
        Self::with(token, None).await
    }

    async fn with(token: LoginToken, url: Option<&str>) -> Self {
        let issuer = OidcIssuer::start().await;
        issuer.publish(&[&KEY]);
        let secret = NamedTempFile::new().unwrap();
        fs::write(&secret, "s:1\n").unwrap();
        let scene = Scene {
            page: Some(PageOptions {
                url: url.map(str::to_owned),
                login: Some(LoginSettings {
                    issuer: issuer.url().to_owned(),
                    client_id: "page".to_owned(),
                    client_secret_file: Some(secret.path().to_owned()),
                    scopes: ["openid", "groups"].map(str::to_owned).into(),
                    token,
                }),
                ..options()
            }),
            issuers: vec![IssuerSettings {
                issuer: issuer.url().to_owned(),
                audience: vec!["page".to_owned()],
                name_claim: "name".to_owned(),
                role_claim: "groups".to_owned(),
                roles: BTreeMap::from([("ops".to_owned(), Role::Operate)]),
                clock_skew: Duration::ZERO,
                ca_cert: None,
            }],
            ..scene(true)
        };
        let stage = stage(scene.clone()).await;
        Self {
            issuer,
            scene,
            stage,
            secret,
        }
    }

    /// Begins a login that wants this screen.
    async fn begin(&self, to: &str) -> Begun {
        let answer = get(&self.stage, &format!("login/start?to={to}"), &[]).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let address = Url::parse(answer.header("Location").unwrap()).unwrap();
        let query: BTreeMap<_, _> = address.query_pairs().into_owned().collect();
        Begun {
            cookie: cookie_of(&answer).to_owned(),
            state: query["state"].clone(),
            nonce: query["nonce"].clone(),
        }
    }

    /// Claims of the person in a login.
    fn claims(&self, login: &Begun, others: &Value) -> Value {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let mut claims = json!({
            "iss": self.issuer.url(), "aud": "page", "sub": "7", "name": "Alice",
            "exp": now + 300, "groups": ["staff", "ops"], "nonce": login.nonce,
        });
        for (name, value) in others.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    }

    /// Gives tokens for `code`: an ID token with these claims in place of the usual claims.
    fn grant(&self, code: &str, login: &Begun, others: &Value) {
        let token = KEY.token("ES256", &self.claims(login, others));
        let answer = json!({"access_token": "opaque", "token_type": "Bearer", "id_token": token});
        self.issuer.grant(code, answer);
    }

    async fn come_back(&self, login: &Begun, query: &str) -> Answer {
        let path = format!("login/callback?state={}&{query}", login.state);
        with_cookie(&self.stage, &path, &login.cookie).await
    }
}

/// Each cookie that an answer sets.
fn cookies(answer: &Answer) -> Vec<&str> {
    let cookies = answer.headers.iter();
    let cookies = cookies.filter(|(name, _)| name.eq_ignore_ascii_case("Set-Cookie"));
    cookies.map(|(_, cookie)| cookie.as_str()).collect()
}

/// Asserts that the login is refused, and that nothing of it is left in the browser.
fn assert_refused(answer: &Answer, status: u16, texts: &[&str]) {
    assert_eq!(answer.status, status, "{answer:?}");
    for text in texts {
        assert_contains(&answer.body, [*text]);
    }
    let cookies = cookies(answer);
    assert!(
        cookies.iter().all(|it| it.contains("; Max-Age=0;")),
        "{cookies:?}"
    );
}

#[tokio::test]
async fn a_person_logs_in_at_the_issuer_and_sees_the_wanted_screen() {
    let given = Given::token(LoginToken::Id).await;
    let form = get(&given.stage, "login?to=tasks%3Fsearch%3Da%26b", &[]).await;
    let link = "<a href=\"/ui/login/start?to=tasks%3Fsearch%3Da%26b\" target=\"_top\">Log in at";
    assert_contains(&form.body, [link]);
    let answer = get(&given.stage, "login/start?to=tasks%3Fsearch%3Da%26b", &[]).await;
    let address = Url::parse(answer.header("Location").unwrap()).unwrap();
    let authorize = format!("{}/authorize", given.issuer.url());
    assert!(address.as_str().starts_with(&authorize), "{address}");
    let query: BTreeMap<_, _> = address.query_pairs().into_owned().collect();
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "page"),
        ("scope", "openid groups"),
        ("code_challenge_method", "S256"),
        ("redirect_uri", "http://cts.example/ui/login/callback"),
    ] {
        assert_eq!(query[name], value);
    }
    let cookie = answer.header("Set-Cookie").unwrap();
    let port = given.stage.address.port();
    assert!(
        cookie.starts_with(&format!("cts-{port}-login-")),
        "{cookie}"
    );
    let rest = "; Path=/; Max-Age=600; HttpOnly; SameSite=Lax";
    assert!(cookie.ends_with(rest), "{cookie}");

    let login = given.begin("tasks%3Fsearch%3Da%26b").await;
    given.grant("c/1", &login, &json!({}));
    let answer = given.come_back(&login, "code=c%2F1").await;
    assert_eq!(answer.status, 303, "{answer:?}");
    assert_eq!(answer.header("Location"), Some("/ui/tasks?search=a&b"));
    let cookies = cookies(&answer);
    let [session, removed] = cookies.as_slice() else {
        panic!("{cookies:?}");
    };
    assert!(removed.contains("-login-") && removed.contains("; Max-Age=0;"));
    assert!(session.contains("; Path=/; Max-Age=28800;"), "{session}");
    let begun = given.scene.sessions.begun.lock().unwrap().clone().unwrap();
    assert_eq!(
        (begun.role.as_str(), begun.token_sha256),
        ("operate", vec![])
    );
    let page = with_cookie(&given.stage, "", session.split(';').next().unwrap()).await;
    assert_contains(&page.body, ["Alice"]);

    let request = given.issuer.token_requests().pop().unwrap();
    // `page` and `s:1`, each encoded as a value of a form.
    assert_eq!(
        request.header("authorization"),
        Some("Basic cGFnZTpzJTNBMQ==")
    );
    assert_contains(
        &request.body,
        ["grant_type=authorization_code", "code_verifier="],
    );
}

#[tokio::test]
async fn the_secret_of_the_client_is_that_of_the_moment() {
    let given = Given::token(LoginToken::Id).await;
    for secret in ["second", "third"] {
        fs::write(&given.secret, secret).unwrap();
        let login = given.begin("").await;
        given.grant("c", &login, &json!({}));
        assert_eq!(given.come_back(&login, "code=c").await.status, 303);
    }
    let sent = given.issuer.token_requests();
    assert_ne!(
        sent[0].header("authorization"),
        sent[1].header("authorization")
    );
    fs::remove_file(&given.secret).unwrap();
    let login = given.begin("").await;
    let answer = given.come_back(&login, "code=c").await;
    assert_refused(&answer, 503, &["the secret of the client cannot be read"]);
}

#[tokio::test]
async fn a_login_counts_in_its_browser_once_and_with_its_state_alone() {
    let given = Given::token(LoginToken::Id).await;
    let (login, other) = (given.begin("").await, given.begin("").await);
    let unknown = ["did not begin in this browser"];
    let path = format!("login/callback?code=c&state={}", login.state);
    assert_refused(&get(&given.stage, &path, &[]).await, 422, &unknown);
    // The beginning of `state` names the cookie.
    let forged = Begun {
        cookie: login.cookie.clone(),
        state: format!("{}{}", &login.state[..16], &other.state[16..]),
        nonce: String::new(),
    };
    assert_refused(&given.come_back(&forged, "code=c").await, 422, &unknown);
    let short = Begun {
        state: login.state[..16].to_owned(),
        ..forged
    };
    assert_refused(&given.come_back(&short, "code=c").await, 422, &unknown);
    assert_eq!(given.issuer.token_requests().len(), 0);

    given.grant("c", &login, &json!({}));
    assert_eq!(given.come_back(&login, "code=c").await.status, 303);
    let again = given.come_back(&login, "code=c").await;
    assert_refused(&again, 422, &["invalid_grant: the code is &lt;used&gt;"]);
}

#[tokio::test]
async fn two_tabs_of_a_browser_log_in_at_once() {
    let given = Given::token(LoginToken::Id).await;
    let (first, second) = (given.begin("tasks").await, given.begin("runs").await);
    let both = format!("{}; {}", first.cookie, second.cookie);
    for (login, code, expected) in [(&second, "2", "/ui/runs"), (&first, "1", "/ui/tasks")] {
        given.grant(code, login, &json!({}));
        let path = format!("login/callback?code={code}&state={}", login.state);
        let answer = with_cookie(&given.stage, &path, &both).await;
        assert_eq!(answer.header("Location"), Some(expected), "{answer:?}");
    }
}

#[tokio::test]
async fn a_token_without_a_role_is_refused_with_its_claims() {
    let given = Given::token(LoginToken::Id).await;
    let login = given.begin("").await;
    given.grant(
        "c",
        &login,
        &json!({"groups": ["<b>staff"], "phone": "555"}),
    );
    let answer = given.come_back(&login, "code=c").await;
    let role = "`groups` is [&quot;&lt;b&gt;staff&quot;]";
    let names = "aud, exp, groups, iss, name, nonce, phone, sub";
    assert_refused(&answer, 403, &[role, "`name` is &quot;Alice&quot;", names]);
    assert!(!answer.body.contains("555"), "{answer:?}");
    let login = given.begin("").await;
    given.grant("c", &login, &json!({"groups": null}));
    let answer = given.come_back(&login, "code=c").await;
    assert_refused(&answer, 403, &["`groups` is null"]);
    let Given {
        scene, mut stage, ..
    } = given;
    stage.shutdown.cancel();
    stage.gateway.join_next().await;
    let refused = scene.access.refusals.lock().unwrap();
    let refused = refused
        .iter()
        .find(|it| it.request == "GET /ui/login/callback");
    let refused = refused.unwrap();
    assert_eq!(refused.reason, "the token of the login gives no role");
    let caller = refused.caller.as_ref().unwrap();
    assert_eq!(
        (caller.kind.as_str(), caller.name.as_str()),
        ("user", "Alice")
    );
}

#[tokio::test]
async fn tokens_of_other_logins_and_audiences_are_refused() {
    let given = Given::token(LoginToken::Id).await;
    for (others, expected) in [
        (json!({"nonce": "other"}), "a token of another login"),
        (json!({"nonce": null}), "a token of another login"),
        (json!({"aud": "else"}), "the token is for another audience"),
        (json!({"exp": 1}), "the token has expired"),
    ] {
        let login = given.begin("").await;
        given.grant("c", &login, &others);
        let answer = given.come_back(&login, "code=c").await;
        assert_refused(&answer, 422, &[expected]);
    }
    let login = given.begin("").await;
    given.issuer.grant(
        "c",
        json!({"access_token": "secret1", "token_type": "Bearer"}),
    );
    let answer = given.come_back(&login, "code=c").await;
    assert_refused(&answer, 422, &["sends no ID token"]);
    given.issuer.grant("c", json!({"id_token": "secret2"}));
    let answer = given.come_back(&login, "code=c").await;
    assert_refused(&answer, 422, &["sends no answer with tokens"]);
    assert!(!answer.body.contains("secret2"), "{answer:?}");
}

#[tokio::test]
async fn an_access_token_of_12_kib_names_the_person_and_is_in_no_cookie() {
    let given = Given::token(LoginToken::Access).await;
    let login = given.begin("").await;
    let groups: Vec<String> = iter::repeat_n("a-group-of-many".to_owned(), 520).collect();
    let groups = json!([groups, vec!["ops".to_owned()]].concat());
    let claims = given.claims(&login, &json!({"groups": groups, "nonce": null}));
    let token = KEY.token("ES256", &claims);
    assert!(token.len() > 12 << 10, "{}", token.len());
    let tokens = json!({"access_token": token, "token_type": "bearer", "expires_in": 60});
    given.issuer.grant("c", tokens);
    let answer = given.come_back(&login, "code=c").await;
    assert_eq!(answer.status, 303, "{answer:?}");
    assert!(
        cookies(&answer).iter().all(|it| it.len() < 300),
        "{answer:?}"
    );
    given.issuer.grant(
        "c",
        json!({"access_token": "opaque", "token_type": "Bearer"}),
    );
    assert_refused(
        &given.come_back(&login, "code=c").await,
        422,
        &["is not known"],
    );
}

#[tokio::test]
async fn an_issuer_that_refuses_or_is_away_is_named() {
    let given = Given::token(LoginToken::Id).await;
    let login = given.begin("tasks").await;
    let refused = "error=access_denied&error_description=no+%3Cscript%3E%E2%80%AE";
    let answer = given.come_back(&login, refused).await;
    assert_refused(&answer, 422, &["access_denied no &lt;script&gt;\\u{202e}"]);
    assert_contains(&answer.body, ["login/start?to=tasks", given.issuer.url()]);
    let login = given.begin("").await;
    for (fault, expected) in [
        (IssuerFault::Closes, "the issuer does not answer"),
        (
            IssuerFault::Answer(500, "secret".to_owned()),
            "sends no answer with tokens",
        ),
        (
            IssuerFault::Answer(200, "x".repeat(2 << 20)),
            "is larger than 1 MiB",
        ),
        (
            IssuerFault::Redirect("http://127.0.0.1:1/".to_owned()),
            "sends no answer with tokens",
        ),
    ] {
        given.issuer.fail(IssuerDocument::Token, fault);
        let answer = given.come_back(&login, "code=c").await;
        let status = if expected.starts_with("sends") {
            422
        } else {
            503
        };
        assert_refused(&answer, status, &[expected]);
        assert!(!answer.body.contains("secret"), "{answer:?}");
    }
    let Given {
        scene, mut stage, ..
    } = given;
    stage.shutdown.cancel();
    stage.gateway.join_next().await;
    // An outage of the issuer is no refusal of a person.
    let refused = scene.access.refusals.lock().unwrap();
    let callbacks = refused
        .iter()
        .filter(|it| it.request == "GET /ui/login/callback");
    assert_eq!(callbacks.map(|it| it.count).sum::<u32>(), 2, "{refused:?}");
}

#[tokio::test]
async fn without_documents_of_the_issuer_no_login_begins() {
    let issuer = OidcIssuer::start().await;
    let name = issuer.url().to_owned();
    let given = Given::token(LoginToken::Id).await;
    drop(issuer);
    let mut scene = given.scene.clone();
    name.clone_into(&mut scene.issuers[0].issuer);
    let login = scene.page.as_mut().unwrap().login.as_mut().unwrap();
    name.clone_into(&mut login.issuer);
    let stage = stage(scene).await;
    let answer = get(&stage, "login/start?to=tasks", &[]).await;
    assert_refused(
        &answer,
        503,
        &["the issuer cannot be read at the moment", &name],
    );
    assert_eq!(cookies(&answer), Vec::<&str>::new());
}

#[tokio::test]
async fn the_issuer_leads_back_to_the_address_of_the_page() {
    let given = Given::with(LoginToken::Id, Some("https://ops.example")).await;
    let forwarded = [("X-Forwarded-For", "192.0.2.1")];
    let form = get(&given.stage, "login?to=tasks", &forwarded).await;
    assert_contains(
        &form.body,
        ["href=\"https://ops.example/ui/login/start?to=tasks\""],
    );
    let answer = get(&given.stage, "login/start", &forwarded).await;
    let address = answer.header("Location").unwrap();
    let callback = "redirect_uri=https%3A%2F%2Fops.example%2Fui%2Flogin%2Fcallback";
    assert_contains(address, [callback]);
    let cookie = answer.header("Set-Cookie").unwrap();
    assert!(cookie.starts_with("__Host-cts-443-login-"), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
}

#[tokio::test]
async fn plain_http_of_other_machines_begins_no_login() {
    let given = Given::token(LoginToken::Id).await;
    let forwarded = [("X-Forwarded-For", "192.0.2.1")];
    for path in ["login/start", "login"] {
        let answer = get(&given.stage, path, &forwarded).await;
        assert_contains(&answer.body, ["Nobody can log in here"]);
        assert!(!answer.body.contains("login/start"), "{answer:?}");
        assert_eq!(cookies(&answer), Vec::<&str>::new());
    }
}

#[tokio::test]
async fn a_page_without_an_issuer_has_no_such_login() {
    let stage = stage(scene(true)).await;
    for path in ["login/start", "login/callback?code=c&state=s"] {
        let answer = get(&stage, path, &[]).await;
        assert_eq!(
            (answer.status, answer.header("Location")),
            (303, Some("/ui/"))
        );
    }
    assert!(!get(&stage, "login", &[]).await.body.contains("login/start"));
}
