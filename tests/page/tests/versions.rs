//! A gateway of this version beside services of an earlier one, which `CTS_TEST_EARLIER` names.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cts_page_tests::{Browsers, Look};
use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Cluster, Plan, RECORDER, Site, executable, task as block};

use crate::marks::{NOTICE, REFUSED};
use crate::scene::MODULE;

/// All services but the gateway are of the earlier version.
fn mixed(site: &Site, earlier: &Path) -> PathBuf {
    let program = site.path().join("cts-of-either-version");
    let (earlier, now) = (earlier.display(), executable("cts"));
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\n  gateway) exec '{}' \"$@\" ;;\n  *) exec '{earlier}' \"$@\" ;;\nesac\n",
        now.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    program
}

#[tokio::test]
#[ignore = "scripts/upgrade-test builds the earlier version and runs this test"]
async fn what_an_earlier_scheduler_lacks_is_named_and_the_rest_works() {
    let earlier = std::env::var_os("CTS_TEST_EARLIER")
        .map(PathBuf::from)
        .unwrap();
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let mut site = Site::new();
    let program = mixed(&site, &earlier);
    site.mix_versions(program, 1);
    site.write("modules/recorder/main.tf", RECORDER);
    let web = block("web", MODULE, &["web"], "");
    site.configure(&consul.address(), Backend::Shared, &web);
    let cluster = Cluster::start(&site, Plan::of(1, 1, 1, 1)).await;
    let api = cluster.api(0);
    api.wait_for_events("web", 1).await;
    let runs = api.get("/v1/runs?task=web").await;
    let run = runs["runs"][0]["id"].as_str().unwrap_or_default();

    let mut lacks = Vec::new();
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
        "audit",
    ];
    let screens = screens.map(str::to_owned);
    for screen in screens.into_iter().chain([format!("runs/{run}")]) {
        browser.go(&format!("/ui/{screen}")).await;
        browser.until_there("main h1").await;
        let missing = browser.texts(REFUSED).await;
        let named =
            |text: &String| text.contains("earlier version") || text.contains("newer version");
        assert!(missing.iter().all(named), "{screen}: {missing:?}");
        lacks.extend(missing);
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
    println!("what the earlier version lacks: {lacks:#?}");
    browser.close_tolerating(&["status of 501"]).await;
}
