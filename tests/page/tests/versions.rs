//! A gateway of this version beside services of an earlier one, which `CTS_TEST_EARLIER` names.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use cts_page_tests::{Browsers, Look};
use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Cluster, Plan, RECORDER, Site, executable, task as block};

use crate::cluster::ClusterScene;
use crate::marks::{NOTICE, REFUSED};
use crate::people::give;
use crate::scene::MODULE;

/// A site whose services are of the earlier version, but for the gateways.
fn mixed_site() -> Site {
    let earlier = std::env::var_os("CTS_TEST_EARLIER").map(PathBuf::from);
    let (earlier, now) = (earlier.unwrap(), executable("cts"));
    let mut site = Site::new();
    let program = site.path().join("cts-of-either-version");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\n  gateway) exec '{}' \"$@\" ;;\n  *) exec '{}' \"$@\" ;;\nesac\n",
        now.display(),
        earlier.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    site.mix_versions(program, 1);
    site
}

#[tokio::test]
#[ignore = "scripts/upgrade-test builds the earlier version and runs this test"]
async fn what_an_earlier_scheduler_lacks_is_named_and_the_rest_works() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = mixed_site();
    site.write("modules/recorder/main.tf", RECORDER);
    let web = block("web", MODULE, &["web"], "");
    site.configure(&consul.address(), Backend::Shared, &web);
    let cluster = Cluster::start(&site, Plan::of(1, 1, 1, 1)).await;
    let api = cluster.api(0);
    api.wait_for_events("web", 1).await;
    let runs = api.get("/v1/runs?task=web").await;
    let run = runs["runs"][0]["id"].as_str().unwrap_or_default();

    let browsers = Browsers::start().await;
    let browser = browsers.open(&api.url(""), &Look::default()).await;
    let screens = [
        "",
        "tasks",
        "tasks?view=grid",
        "tasks/web",
        "runs",
        "approvals",
        "cluster",
    ];
    let screens = screens.map(str::to_owned);
    for screen in screens.into_iter().chain([format!("runs/{run}")]) {
        browser.go(&format!("/ui/{screen}")).await;
        browser.until_there("main h1").await;
        let missing = browser.texts(REFUSED).await;
        // A run without a saved plan says so in each version.
        let named = |text: &String| {
            ["earlier version", "has no plan as data"]
                .iter()
                .any(|part| text.contains(part))
        };
        assert!(missing.iter().all(named), "{screen}: {missing:?}");
        browser.assert_accessible(&screen).await;
    }
    browser.go("/ui/tasks/web").await;
    for (button, done) in [("Disable", "disabled"), ("Enable", "enabled")] {
        browser.click_text(button).await;
        browser
            .until_text(NOTICE, &format!("The task is {done}."))
            .await;
    }
    for button in ["Inspect", "Run now"] {
        browser.go("/ui/tasks/web").await;
        browser.click_text(button).await;
        browser.until_text(NOTICE, ".").await;
    }
    browser.close_tolerating(&["status of 501"]).await;
}

#[tokio::test]
#[ignore = "scripts/upgrade-test builds the earlier version and runs this test"]
async fn a_login_beside_a_scheduler_without_sessions_is_refused_with_the_reason() {
    let web = block("web", MODULE, &["web"], "");
    let mut scene = ClusterScene::start(mixed_site(), Plan::of(1, 1, 1, 1), &web).await;
    let token = scene.token("ann", "admin").await;
    let browsers = Browsers::start().await;
    let origin = scene.cluster.api(0).url("");
    let browser = browsers.open(&origin, &Look::default()).await;
    browser.go("/ui/").await;
    give(&browser, &token).await;
    browser
        .until_text("[role='alert']", "earlier version")
        .await;
    assert!(browser.cookies().await.is_empty());
    browser.close_tolerating(&["status of 50"]).await;
}
