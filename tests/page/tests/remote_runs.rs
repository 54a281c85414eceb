//! Tasks of the driver `terraform-cloud`, and tasks of a concurrency group.

use cts_page_tests::{Browsers, Look};
use cts_tests::{Driver, Site, task as block};

use crate::marks::REFUSED;
use crate::scene::{MODULE, Scene};

#[tokio::test]
async fn a_remote_run_is_shown_with_its_place_on_the_server() {
    let site = Site::with_driver(Driver::TerraformCloud).await;
    let scene = Scene::start(site, &block("web", MODULE, &["web"], "")).await;
    scene.instance.api.wait_for_events("web", 1).await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    browser.go("/ui/runs?task=web").await;
    browser.click("main tbody a[href*='/runs/']").await;
    browser.until_text("#facts", "Remote run").await;
    browser.until_text("#facts", "succeeded").await;
    browser.until_text(".log .line", "Apply complete!").await;
    let link = "return document.querySelector(\"#facts a[href^='https://']\")?.href";
    let link = browser.run(link, &[]).await;
    let link = link.as_str().unwrap();
    assert!(link.contains("/workspaces/cts-web/runs/run-"), "{link}");
    browser.assert_accessible("a remote run").await;
    for screen in ["tasks/web", "", "cluster"] {
        browser.go(&format!("/ui/{screen}")).await;
        browser.until_there("main h1").await;
        assert_eq!(browser.texts(REFUSED).await, [""; 0]);
    }
    browser.close().await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_task_that_waits_for_its_group_says_so() {
    let site = Site::new();
    for name in ["first", "second"] {
        site.write_steps(name);
    }
    let group = "concurrency_group = \"firewall\"";
    let tasks = ["first", "second"].map(|name| {
        let module = format!("./modules/{name}");
        block(name, &module, &["web"], group)
    });
    site.hold();
    let scene = Scene::start(site, &tasks.concat()).await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    browser.go("/ui/tasks?view=list").await;
    browser.until_text("main tbody", "running").await;
    let waiting = "return ['first', 'second'].find(name => \
        ![...document.querySelectorAll('main tbody tr')].some(row => row.innerText.includes(name) && row.innerText.includes('running')))";
    let waiting = browser.run(waiting, &[]).await;
    let waiting = waiting.as_str().unwrap();
    browser.go(&format!("/ui/tasks/{waiting}")).await;
    browser.until_text("main", "of its concurrency group").await;
    browser.mark().await;
    scene.site.release();
    browser.until_text("main .sentence", "successful").await;
    browser.until_marked().await;
    browser.close().await;
    scene.instance.stop().await;
}
