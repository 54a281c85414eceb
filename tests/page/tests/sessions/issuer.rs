//! Logins at an issuer of OpenID Connect.

use std::time::SystemTime;

use cts_page_tests::{Browsers, Look};
use cts_testkit::{OidcIssuer, SigningKey, SigningKeyKind};
use cts_tests::{Site, install_clocks, set_clock, task as block};
use serde_json::json;

use crate::marks::{LOG_OUT, TOKEN};
use crate::scene::{MODULE, Scene};

const HOUR: u64 = 3600;

/// Life of the token in seconds.
const LIFE: u64 = 300;

#[tokio::test]
async fn a_person_logs_in_at_an_issuer_and_stays_when_the_token_has_expired() {
    let issuer = OidcIssuer::start().await;
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let claims = json!({
        "iss": issuer.url(), "aud": "page", "sub": "7", "name": "Alice", "exp": now + LIFE, "groups": ["ops"],
    });
    let key = SigningKey::new("p256", SigningKeyKind::P256);
    let token = key.token("ES256", &claims);
    issuer.sign_in(key, claims);
    let name = issuer.url();
    let web = block("web", MODULE, &["web"], "");
    let blocks = format!(
        "security {{\n  require_auth = true\n  oidc {{\n    issuer = \"{name}\"\n    audience = [\"page\"]\n    \
         name_claim = \"name\"\n    role_claim = \"groups\"\n    roles = {{ ops = \"operate\" }}\n  }}\n}}\n\
         page {{\n  login {{\n    issuer = \"{name}\"\n    client_id = \"page\"\n  }}\n}}\n{web}"
    );
    let mut site = Site::new();
    install_clocks(&mut site, &["cts".to_owned()]).await;
    let scene = Scene::start(site, &blocks).await;
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

    // An hour later REST refuses the token; the page that is open goes on.
    let bearer = ("authorization", &*format!("Bearer {token}"));
    assert_eq!(scene.ask("/v1/status", bearer).await.status(), 200);
    set_clock(scene.site.path(), "cts", i64::try_from(HOUR).unwrap()).unwrap();
    assert_eq!(scene.ask("/v1/status", bearer).await.status(), 401);
    browser.mark().await;
    browser.click_text("Enable").await;
    browser.until_text("#notice", "The task is enabled.").await;
    scene.register("web", "web-2").await;
    browser.until_text("main", "+web-2").await;
    browser.until_marked().await;

    // The cookie of the login is gone, and that of the session outlasts the token.
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
