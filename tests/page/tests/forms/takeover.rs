//! Forms that are open while another scheduler takes over.

use cts_page_tests::{Browsers, Look};
use cts_testkit::eventually;
use cts_tests::{DEADLINE, Plan, Service, Site, met, task as block};

use crate::cluster::ClusterScene;
use crate::marks::{CONFIRM, NOTICE};
use crate::people::log_in;

#[tokio::test]
async fn a_form_that_was_begun_is_sent_to_the_next_scheduler() {
    let site = Site::new();
    site.write_steps("pool");
    let pool = block("pool", "./modules/pool", &["web"], "approval = \"always\"");
    let mut scene = ClusterScene::start(site, Plan::of(1, 2, 1, 1), &pool).await;
    let token = scene.token("ann", "admin").await;
    let run = eventually(DEADLINE, async || {
        let list = scene.get(&token, "/v1/approvals?task=pool").await;
        let run = list["approvals"][0]["run_id"].as_str();
        run.map(str::to_owned).ok_or(list.clone())
    })
    .await;
    let browsers = Browsers::start().await;
    let browser = browsers
        .open(&scene.cluster.api(0).url(""), &Look::default())
        .await;
    log_in(&browser, &token).await;
    browser.go(&format!("/ui/approvals/{run}")).await;
    browser
        .fill("input[name='comment']", "for the takeover")
        .await;

    let leader = scene.cluster.wait_for_leader().await;
    scene.cluster.kill(Service::Scheduler, leader).await;
    scene.cluster.wait_for_leader().await;
    let typed = "document.querySelector(\"input[name='comment']\").value === 'for the takeover'";
    browser.until(typed).await;
    if browser.has(CONFIRM).await {
        browser.fill(CONFIRM, "pool").await;
    }
    browser.click_text("Approve").await;
    browser.until_text(NOTICE, "The effect is approved.").await;
    scene.site.wait_for_step("pool", "end", "web-1").await;
    browser.until_text("main", "for the takeover").await;

    // The same session requests a run, which the new leader makes.
    browser.go("/ui/tasks/pool").await;
    browser.click_text("Run now").await;
    browser.until_text(NOTICE, "The run is requested.").await;
    let requested = browser.path().await;
    let id = requested.strip_prefix("/ui/runs/").unwrap();
    let id = id.split('?').next().unwrap();
    eventually(DEADLINE, async || {
        let run = scene.get(&token, &format!("/v1/runs/{id}")).await;
        met(run["run"]["status"] == "succeeded", run.to_string())
    })
    .await;
    browser
        .close_tolerating(&["net::ERR_", "status of 50"])
        .await;
}
