//! The certificate of a person as login: the credential of each request.

use cts_page_tests::{Browsers, Look};
use cts_testkit::Authority;
use cts_tests::{Plan, Service, Site, task as block};

use crate::cluster::ClusterScene;
use crate::marks::{LOG_OUT, PART, TOKEN};
use crate::scene::MODULE;

/// The common name in all certificates of the tests.
const NAME: &str = "rcgen self signed cert";

#[tokio::test]
async fn a_certificate_is_the_login_of_each_request() {
    let web = block("web", MODULE, &["web"], "");
    let mut scene = ClusterScene::start(Site::new(), Plan::of(1, 1, 1, 2), &web).await;
    let admin = scene.token("root", "admin").await;
    let authority = Authority::new();
    scene.site.write("people.pem", authority.pem());
    let settings = "  ca_cert = \"people.pem\"\n  verify_incoming = true\n";
    let (_files, look) = scene.restart_with_tls(1, settings).await;

    let browsers = Browsers::start().await;
    let person = authority.write_pair(scene.site.path(), "ann", &["operate.people.test"]);
    browsers.import_certificate(&person).await;
    let look = Look {
        shows_certificate: true,
        ..look
    };
    let browser = browsers
        .open(
            &format!("https://cts.test:{}", scene.address(1).port()),
            &look,
        )
        .await;
    browser.go("/ui/tasks/web").await;
    browser.until_text("h1", "web").await;
    browser.until_text("header .leave", NAME).await;
    assert!(!browser.has(LOG_OUT).await && !browser.has(TOKEN).await);
    browser.assert_accessible("a certificate").await;
    browser.click_text("Disable").await;
    browser.until_text("#notice", "The task is disabled.").await;
    // Newer data come by the same credential, and no session is made.
    scene.switch(&admin, true).await;
    browser.until_text("main .sentence", "successful").await;
    browser.until_text("main form button", "Disable").await;
    assert!(browser.cookies().await.is_empty());
    browser.go("/ui/audit").await;
    browser.until_text("main", "need the role admin").await;
    browser.until_text(PART, "Audit").await;
    browser
        .close_tolerating(&["the server responded with a status of 403"])
        .await;
    let records = scene.get(&admin, "/v1/audit?limit=100").await.to_string();
    assert!(records.contains(NAME), "{records}");
    assert!(!records.contains("session.begin"), "{records}");
    scene.cluster.stop(Service::Gateway, 1).await.assert_code(0);
}
