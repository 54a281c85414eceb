//! TLS with a server.

use cts_hcp_terraform::{ApiError, ServerSettings};
use cts_testkit::{Authority, ScriptedHttp};
use cts_tls::{Authorities, ClientFiles};
use secrecy::SecretString;

use crate::{TOKEN, discover, json_answer, report, services};

#[tokio::test]
async fn the_certificate_must_come_from_a_trusted_authority_and_carry_the_name() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    let pair = authority.write_pair(directory.path(), "server", &["tfe.internal"]);
    let answers = [services(), services(), services()].map(json_answer);
    let http = ScriptedHttp::start_tls(answers, pair.acceptor(None)).await;
    let unknown = ServerSettings::new(http.address().to_string(), SecretString::from(TOKEN));
    let trusting = ServerSettings {
        tls: ClientFiles {
            authorities: Authorities::of(Some(&file), None),
            ..ClientFiles::default()
        },
        ..unknown.clone()
    };
    for refused in [&unknown, &trusting] {
        let error = discover(refused).await.unwrap_err();
        assert!(matches!(error, ApiError::Tls { .. }), "{error:?}");
        assert!(!error.is_transient());
        let text = report(&error);
        assert!(
            text.starts_with("cannot set up TLS with 127.0.0.1:"),
            "{text}"
        );
    }
    let named = ServerSettings {
        server_name: Some("tfe.internal".to_owned()),
        ..trusting
    };
    let server = discover(&named).await.unwrap();
    let expected = format!("https://{}/api/v2/", http.address());
    assert_eq!(server.base().as_str(), expected);
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_said_in_these_words() {
    let http = wiremock::MockServer::start().await;
    let settings = ServerSettings::new(http.address().to_string(), SecretString::from(TOKEN));
    let error = discover(&settings).await.unwrap_err();
    assert!(
        report(&error).contains("which answers in plain HTTP"),
        "{}",
        report(&error)
    );
}
