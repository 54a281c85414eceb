//! Logins at an issuer, as the issuer sees them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cts_access::{
    IssuerError, IssuerLogin, IssuerLoginError, LoginSettings, LoginToken, PendingLogin,
};
use cts_core::Clock as _;
use cts_testkit::{IssuerDocument, IssuerFault};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::{Url, form_urlencoded};

use crate::fixture::{Given, P256};

fn callback() -> Url {
    "https://cts.example/ui/login/callback".parse().unwrap()
}

fn login(given: &Given) -> IssuerLogin {
    let settings = LoginSettings {
        issuer: given.issuer.url().to_owned(),
        client_id: "cts".to_owned(),
        client_secret_file: None,
        scopes: vec!["openid".to_owned()],
        token: LoginToken::Id,
    };
    given.issuers.login(settings).unwrap()
}

fn value(pairs: form_urlencoded::Parse<'_>, name: &str) -> String {
    let mut found = pairs.filter(|(known, _)| known == name);
    found.next().unwrap().1.into_owned()
}

#[tokio::test]
async fn a_public_client_proves_that_it_began_the_login() {
    let given = Given::keys(&[&P256]).await;
    let login = login(&given);
    let pending = PendingLogin::random().unwrap();
    let address = login.begin(&pending, callback()).await.unwrap();
    assert_eq!(value(address.query_pairs(), "state"), pending.state());
    let nonce = value(address.query_pairs(), "nonce");
    let token = P256.token(
        "ES256",
        &given.claims_with(json!({"aud": "cts", "nonce": nonce})),
    );
    let tokens = json!({"access_token": "a", "token_type": "Bearer", "id_token": token});
    given.issuer.grant("c", tokens);
    let finished = login.finish(&pending, callback(), "c".to_owned(), given.clock.now());
    assert_eq!(finished.await.unwrap().name, "alice");

    let request = given.issuer.token_requests().pop().unwrap();
    assert_eq!(request.header("authorization"), None);
    let sent = |name| value(form_urlencoded::parse(request.body.as_bytes()), name);
    assert_eq!(sent("client_id"), "cts");
    assert_eq!(sent("redirect_uri"), callback().as_str());
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(sent("code_verifier")));
    assert_eq!(value(address.query_pairs(), "code_challenge"), challenge);
    for shown in [pending.expose(), &sent("code_verifier")] {
        assert!(!address.as_str().contains(shown), "{address}");
        assert!(!format!("{pending:?}").contains(shown));
    }
    // The documents of the issuer are read once for keys and logins.
    assert_eq!(given.issuer.requests(IssuerDocument::Discovery), 1);
}

#[tokio::test]
async fn logins_need_two_safe_endpoints() {
    for (authorization, token) in [
        (json!(null), json!("https://login.example/token")),
        (json!("https://login.example/authorize"), json!(null)),
        (
            json!("http://login.example/authorize"),
            json!("https://login.example/token"),
        ),
        (
            json!("https://login.example/authorize"),
            json!("http://login.example/token"),
        ),
        (
            json!("javascript:alert()"),
            json!("https://login.example/token"),
        ),
    ] {
        let given = Given::keys(&[&P256]).await;
        let document: Value = json!({
            "issuer": given.issuer.url(),
            "jwks_uri": format!("{}/keys", given.issuer.url()),
            "authorization_endpoint": authorization,
            "token_endpoint": token,
        });
        let document = IssuerFault::Answer(200, document.to_string());
        given.issuer.fail(IssuerDocument::Discovery, document);
        let pending = PendingLogin::random().unwrap();
        let refused = login(&given).begin(&pending, callback()).await.unwrap_err();
        let is_missing = matches!(refused, IssuerLoginError::Issuer(IssuerError::NoLogins));
        assert!(is_missing, "{refused:?}");
        // Tokens of the issuer are accepted all the same.
        let token = P256.token("ES256", &given.claims());
        assert!(given.bearer(&token).await.is_ok());
    }
}

#[tokio::test]
async fn a_secret_is_in_the_body_for_issuers_that_take_it_there_alone() {
    let given = Given::keys(&[&P256]).await;
    let url = given.issuer.url();
    let document = json!({
        "issuer": url,
        "jwks_uri": format!("{url}/keys"),
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "token_endpoint_auth_methods_supported": ["private_key_jwt", "client_secret_post"],
    });
    let document = IssuerFault::Answer(200, document.to_string());
    given.issuer.fail(IssuerDocument::Discovery, document);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "s&1\n").unwrap();
    let settings = LoginSettings {
        issuer: url.to_owned(),
        client_id: "cts".to_owned(),
        client_secret_file: Some(file.path().to_owned()),
        scopes: Vec::new(),
        token: LoginToken::Access,
    };
    let login = given.issuers.login(settings).unwrap();
    let pending = PendingLogin::random().unwrap();
    let finished = login.finish(&pending, callback(), "c".to_owned(), given.clock.now());
    let refused = finished.await.unwrap_err().to_string();
    assert_eq!(
        refused,
        "the issuer refuses: invalid_grant: the code is <used>"
    );
    let request = given.issuer.token_requests().pop().unwrap();
    assert_eq!(request.header("authorization"), None);
    let body = form_urlencoded::parse(request.body.as_bytes());
    assert_eq!(value(body, "client_secret"), "s&1");
}
