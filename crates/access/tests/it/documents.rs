//! Documents that must not be used.

use cts_access::{IssuerError, Issuers};
use cts_testkit::{Authority, IssuerDocument, IssuerFault, OidcIssuer};

use crate::fixture::{Given, P256, settings};

const NO_KEY: &str = "the issuer has no such key";

/// An issuer that is changed before it is asked first.
async fn assert_unusable(change: impl FnOnce(&OidcIssuer)) -> Given {
    let issuer = OidcIssuer::start().await;
    issuer.publish(&[&P256]);
    change(&issuer);
    let given = Given::of(issuer, None);
    let token = P256.token("ES256", &given.claims());
    given.assert_refused(&token, NO_KEY).await;
    given
}

#[tokio::test]
async fn an_issuer_over_https_needs_a_certificate_of_its_authority() {
    let (authority, other) = (Authority::new(), Authority::new());
    let directory = tempfile::tempdir().unwrap();
    for (pem, is_trusted) in [(authority.pem(), true), (other.pem(), false)] {
        let path = directory.path().join("ca.pem");
        std::fs::write(&path, pem).unwrap();
        let issuer = OidcIssuer::start_tls(&authority).await;
        issuer.publish(&[&P256]);
        let given = Given::of(issuer, Some(path));
        let token = P256.token("ES256", &given.claims());
        let answer = given.bearer(&token).await;
        assert_eq!(answer.is_ok(), is_trusted, "{answer:?}");
    }
}

#[tokio::test]
async fn a_document_of_another_issuer_is_refused() {
    assert_unusable(|issuer| issuer.rename("https://login.example")).await;
    assert_unusable(|issuer| issuer.rename(&format!("{}/", issuer.url()))).await;
}

#[tokio::test]
async fn keys_are_read_over_https_or_on_this_machine() {
    for url in [
        "http://login.example/keys",
        "http://localhost.login.example/keys",
        "http://user@127.0.0.1/keys",
        "http://127.0.0.1.login.example/keys",
        "ftp://127.0.0.1/keys",
        "file:///etc/passwd",
        "/keys",
        "",
    ] {
        let given = assert_unusable(|issuer| issuer.move_keys(url)).await;
        assert_eq!(given.readings(), 0, "{url}");
    }
}

/// The keys of an issuer over HTTPS are not read in plain text, not even on this machine.
#[tokio::test]
async fn an_issuer_over_https_has_its_keys_there_too() {
    let plain = OidcIssuer::start().await;
    plain.publish(&[&P256]);
    let authority = Authority::new();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.pem");
    std::fs::write(&path, authority.pem()).unwrap();
    let issuer = OidcIssuer::start_tls(&authority).await;
    issuer.move_keys(&format!("{}/keys", plain.url()));
    let given = Given::of(issuer, Some(path));
    let token = P256.token("ES256", &given.claims());
    given.assert_refused(&token, NO_KEY).await;
    assert_eq!(plain.requests(IssuerDocument::Keys), 0);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = OidcIssuer::start().await;
    other.publish(&[&P256]);
    for (document, path) in [
        (
            IssuerDocument::Discovery,
            "/.well-known/openid-configuration",
        ),
        (IssuerDocument::Keys, "/keys"),
    ] {
        let to = format!("{}{path}", other.url());
        assert_unusable(|issuer| issuer.fail(document, IssuerFault::Redirect(to))).await;
        assert_eq!(other.requests(document), 0);
    }
}

#[tokio::test]
async fn answers_that_are_no_documents_are_refused() {
    let huge = format!("{{\"keys\": [], \"x\": \"{}\"}}", "x".repeat(1 << 20));
    let texts = [
        "",
        "{",
        "[]",
        "null",
        "{\"keys\": {}}",
        "<html>",
        "\u{1b}[2J",
        &huge,
    ];
    for text in texts {
        for document in [IssuerDocument::Discovery, IssuerDocument::Keys] {
            let fault = IssuerFault::Answer(200, text.to_owned());
            assert_unusable(|issuer| issuer.fail(document, fault)).await;
        }
    }
    for status in [201, 204, 400, 404, 500] {
        let fault = IssuerFault::Answer(status, String::new());
        assert_unusable(|issuer| issuer.fail(IssuerDocument::Keys, fault)).await;
    }
}

#[test]
fn issuers_need_a_safe_url_and_a_readable_authority() {
    for url in [
        "http://login.example",
        "login.example",
        "https://user@login.example",
        "",
    ] {
        let error = Issuers::new(vec![settings(url)]).unwrap_err();
        assert!(matches!(error, IssuerError::Url(_)), "{error}");
    }
    let mut missing = settings("https://login.example");
    missing.ca_cert = Some("/nonexistent/ca.pem".into());
    let error = Issuers::new(vec![missing]).unwrap_err();
    assert!(matches!(error, IssuerError::Settings(..)), "{error}");
}
