//! Logins at an issuer of OpenID Connect.

use std::time::SystemTime;

use cts_page_tests::{Browsers, Look};
use cts_testkit::{OidcIssuer, SigningKey, SigningKeyKind};
use cts_tests::{Site, task as block};
use serde_json::json;

use crate::marks::{LOG_OUT, TOKEN};
use crate::scene::{MODULE, Scene};

const HOUR: u64 = 3600;

#[tokio::test]
async fn a_person_logs_in_at_an_issuer_for_longer_than_the_token_lasts() {
    let issuer = OidcIssuer::start().await;
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let claims = json!({
        "iss": issuer.url(), "aud": "page", "sub": "7", "name": "Alice", "exp": now + 300, "groups": ["ops"],
    });
    issuer.sign_in(SigningKey::new("p256", SigningKeyKind::P256), claims);
    let name = issuer.url();
    let web = block("web", MODULE, &["web"], "");
    let blocks = format!(
        "security {{\n  require_auth = true\n  oidc {{\n    issuer = \"{name}\"\n    audience = [\"page\"]\n    \
         name_claim = \"name\"\n    role_claim = \"groups\"\n    roles = {{ ops = \"operate\" }}\n  }}\n}}\n\
         page {{\n  login {{\n    issuer = \"{name}\"\n    client_id = \"page\"\n  }}\n}}\n{web}"
    );
    let scene = Scene::start(Site::new(), &blocks).await;
    let browsers = Browsers::start().await;
    let look = Look {
        issuer: name.strip_suffix("/realms/ops").map(str::to_owned),
        ..Look::default()
    };
    let browser = browsers.open(&scene.origin(), &look).await;
    browser.go("/ui/tasks/web?from=chat").await;
    browser.until_there(TOKEN).await;
    browser.assert_accessible("login with an issuer").await;
    browser.click("a[href*='login/start']").await;
    browser.until_path("/ui/tasks/web?from=chat").await;
    browser.until_text("header .leave", "Alice").await;
    browser.click_text("Disable").await;
    browser.until_text("#notice", "The task is disabled.").await;

    // The cookie of the login is gone, and that of the session outlasts the token of five minutes.
    let cookies = browser.cookies().await;
    let [cookie] = &*cookies else {
        panic!("{cookies:?}");
    };
    let ends = cookie.expiry.and_then(|end| u64::try_from(end).ok());
    assert!(ends.unwrap() > now + 7 * HOUR, "{cookie:?}");
    browser.click(LOG_OUT).await;
    browser.until_there(TOKEN).await;
    let visit = browser.close().await;
    let callbacks = visit.to("/ui/login/callback");
    assert_eq!(callbacks.len(), 1, "{callbacks:?}");
    for secret in ["id_token", "eyJ"] {
        let is_hidden = visit.requests.iter().all(|sent| !sent.url.contains(secret));
        assert!(is_hidden, "{:?}", visit.requests);
    }
    scene.instance.stop().await;
}
