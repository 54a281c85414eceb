//! A log that somebody reads while another scheduler takes over.

use cts_page_tests::{Browsers, Look};
use cts_tests::{Plan, Service, Site, task as block};

use crate::cluster::ClusterScene;
use crate::people::log_in;

/// Writes numbered lines while the file `hold` of the site exists.
const TALKER: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "talker" {
  provisioner "local-exec" {
    command = "n=0; while [ -e '@SITE@/hold' ]; do n=$((n+1)); echo \"number $n\"; sleep 0.1; done"
  }
}
"#;

/// The highest number that the page shows.
const NUMBER: &str = r"
const numbers = [...document.querySelectorAll('.log .line')].map(line => /number (\d+)/.exec(line.innerText)?.[1] ?? 0);
return Math.max(0, ...numbers);
";

/// The positions of all lines, in their order.
const POSITIONS: &str =
    "return [...document.querySelectorAll('.log .line')].map(line => Number(line.id.slice(1)))";

#[tokio::test]
async fn a_followed_log_goes_on_without_gaps_after_a_failover_of_the_scheduler() {
    let site = Site::new();
    let module = TALKER.replace("@SITE@", site.path().to_str().unwrap());
    site.write("modules/talker/main.tf", &module);
    site.hold();
    let task = block("talker", "./modules/talker", &["web"], "");
    let mut scene = ClusterScene::start(site, Plan::of(1, 2, 1, 1), &task).await;
    let token = scene.token("operator", "operate").await;
    let browsers = Browsers::start().await;
    let origin = scene.cluster.api(0).url("");
    let browser = browsers.open(&origin, &Look::default()).await;
    log_in(&browser, &token).await;
    browser.go("/ui/runs?task=talker").await;
    browser
        .until("document.querySelector('main tbody a[href*=\"/runs/\"]')")
        .await;
    browser.click("main tbody a[href*='/runs/']").await;
    browser.until_text(".log .line", "number 5").await;
    browser.mark().await;

    let cluster = &mut scene.cluster;
    let leader = cluster.wait_for_leader().await;
    cluster.kill(Service::Scheduler, leader).await;
    cluster.wait_for_leader().await;
    let before = browser.run(NUMBER, &[]).await.as_u64().unwrap();
    let later = before + 50;
    browser
        .until_text(".log .line", &format!("number {later}"))
        .await;
    browser.until_marked().await;
    // The newest line is in view, because the reader has not scrolled back.
    let end = "(log => log.scrollHeight - log.scrollTop - log.clientHeight < 40)(document.querySelector('.log'))";
    browser.until(end).await;

    // A reader who has scrolled back stays there.
    browser
        .run("document.querySelector('.log').scrollTop = 0", &[])
        .await;
    browser
        .until("document.querySelector('button.unread:not([hidden])')")
        .await;
    assert_eq!(
        browser
            .run("return document.querySelector('.log').scrollTop", &[])
            .await,
        0
    );
    scene.site.release();
    browser.until_text("#facts", "succeeded").await;
    browser.until_text(".log .line", "Apply complete!").await;
    let positions: Vec<u64> = serde_json::from_value(browser.run(POSITIONS, &[]).await).unwrap();
    let is_next = |pair: &[u64]| pair[1] == pair[0] + 1;
    assert!(
        positions.len() > 50 && positions.windows(2).all(is_next),
        "{positions:?}"
    );

    // A line has an address, and the raw log is that of the API.
    let run = browser.path().await;
    let middle = positions[positions.len() / 2];
    browser.go("/ui/").await;
    browser.go(&format!("{run}#L{middle}")).await;
    browser
        .until(&format!(
            "document.querySelector('#L{middle}[aria-current]')"
        ))
        .await;
    // A search is in the address.
    browser
        .fill("form.find input[name='search']", "Apply complete!")
        .await;
    browser.click("form.find button").await;
    browser
        .until_text("#found h2", "Lines with Apply complete!")
        .await;
    let searched = browser.path().await;
    assert!(searched.contains("search=Apply+complete"), "{searched}");
    let id = run.rsplit('/').next().unwrap();
    let log = scene
        .get(
            &token,
            &format!("/v1/runs/{id}/log?format=ndjson&limit=1000"),
        )
        .await;
    assert!(log.to_string().contains("number 5"), "{log}");
    browser
        .close_tolerating(&["net::ERR_", "status of 50"])
        .await;
}
