//! A pass with tasks whose effects wait for the consent of a person (docs/runs.md#consent).

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Backend, Exit, RECORDER, Site, task};
use serde_json::Value;

async fn once(site: &Site) -> Exit {
    site.run_cts(free_port(), &["-once"]).wait().await
}

#[tokio::test]
async fn a_pass_applies_what_needs_no_consent_and_names_the_rest() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    let module = "./modules/recorder";
    let tasks = |rule: &str| {
        let red = task("red", module, &["web"], &format!("approval = \"{rule}\""));
        format!("{red}{}", task("blue", module, &["web"], ""))
    };
    site.configure(&consul.address(), Backend::Local, &tasks("always"));
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let inspected = site.run_cts(free_port(), &["-inspect"]).wait().await;
    inspected
        .assert_code(0)
        .says(["would wait for consent: rule always, "]);
    for _pass in 0..2 {
        let exit = once(&site).await;
        exit.assert_code(18).says([
            "the task waits for the consent of a person: nothing is applied: task_name=red",
            "1 of 2 tasks wait for the consent of a person: red (run ",
            "0 failed",
        ]);
    }
    site.wait_for_ids("blue", &["web-1"]).await;
    site.configure(&consul.address(), Backend::Local, &tasks("destroy"));
    once(&site).await.assert_code(0);
    site.wait_for_ids("red", &["web-1"]).await;
}

/// Runs `cts approvals` on the database of the site.
async fn approvals(site: &Site, words: &[&str]) -> Exit {
    let words = [&["approvals"], words, &["-config-file=cts.hcl"]].concat();
    site.run("cts", &words, "approvals.log").wait().await
}

/// The list of what waits.
async fn listed(site: &Site) -> Value {
    let exit = approvals(site, &["list", "-o=json"]).await;
    // The log has what earlier commands wrote, too.
    let list = exit
        .assert_code(0)
        .output
        .rfind("\n{\n")
        .map_or(0, |end| end + 1);
    serde_json::from_str(&exit.output[list..]).unwrap()
}

#[tokio::test]
async fn people_decide_between_passes_in_the_database_itself() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    let always = "approval = \"always\"";
    let red = task("red", "./modules/recorder", &["web"], always);
    site.configure(&consul.address(), Backend::Local, &red);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    once(&site).await.assert_code(18);
    let first = listed(&site).await;
    let run = first["approvals"][0]["run_id"].as_str().unwrap();
    let effect = first["approvals"][0]["effect"].as_str().unwrap();
    let shown = approvals(&site, &["show", &run[..20]]).await;
    shown
        .assert_code(0)
        .says([effect, "State:    waiting", "1 to create"]);
    let rejected = ["reject", run, "-effect", effect, "-comment=not at night"];
    approvals(&site, &rejected)
        .await
        .assert_code(0)
        .says(["is rejected"]);
    let reopened = approvals(&site, &["reopen", "red"]).await;
    reopened.assert_code(0).says(["runs and asks again"]);
    once(&site).await.assert_code(18);
    let again = listed(&site).await;
    let run = again["approvals"][0]["run_id"].as_str().unwrap();
    let approved = approvals(&site, &["approve", run, "-effect", effect]).await;
    approved.assert_code(0).says(["is approved until"]);
    once(&site).await.assert_code(0);
    site.wait_for_ids("red", &["web-1"]).await;

    consul.register_service("web", "web-2", 2, &[], &[]).await;
    once(&site).await.assert_code(18);
    let set = |list: &Value| list["set"].as_str().unwrap().to_owned();
    let stale = approvals(&site, &["approve", "r*", "-set", &set(&first)]).await;
    stale.assert_code(11).says([
        "nothing is approved, because the set is a different one",
        "Changed: red\nIt is now:\n",
        "not those of the set",
    ]);
    let present = set(&listed(&site).await);
    let approved = approvals(&site, &["approve", "r*", "-set", &present]).await;
    approved.assert_code(0).says(["Approved: 1 (red)"]);
    once(&site).await.assert_code(0);
    site.wait_for_ids("red", &["web-1", "web-2"]).await;
}
