//! Calls of different tasks never wait for each other.

use cts_tests::Site;
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use crate::api::scene::{MODULE, Scene, creation, task};
use crate::api::wire::answer;

const TASKS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_are_created_at_once_while_one_takes_its_time() {
    let site = Site::new();
    site.write_steps("held");
    let scene = Scene::of_site(site, "").await;
    let address = scene.instance.api.address();
    scene.site.hold();
    let held = creation(&task("held", "./modules/held"), "?run=now");
    let mut held = held.begin(address).await;
    let terraform = scene.site.wait_for_step("held", "begin", "web-1").await;

    let mut creations = JoinSet::new();
    for number in 0..TASKS {
        // Most are only made ready; every tenth is applied too.
        let query = if number % 10 == 0 { "?run=now" } else { "" };
        let request = creation(&task(&format!("task-{number:03}"), MODULE), query);
        creations.spawn(async move { request.send(address).await });
    }
    // Asking goes on: nothing of it waits for any Terraform.
    for path in [
        "/v1/tasks",
        "/v1/tasks/nobody",
        "/v1/status",
        "/v1/status/tasks",
        "/v1/health",
    ] {
        let asked = timeout(Duration::from_secs(20), scene.ask("GET", path)).await;
        let status = asked
            .unwrap_or_else(|elapsed| panic!("{path}: {elapsed}"))
            .status;
        assert!([200, 404].contains(&status), "{path}: {status}");
    }
    let mut refused = Vec::new();
    while let Some(answer) = creations.join_next().await {
        let answer = answer.unwrap();
        if answer.status != 201 {
            refused.push(answer.to_string());
        }
    }
    assert!(refused.is_empty(), "{refused:?}");
    assert!(
        scene.site.terraform_processes().contains(&terraform),
        "it is held all the time"
    );
    let names = scene.names().await;
    assert_eq!(names.len(), TASKS, "{names:?}");
    let status = scene.instance.api.get("/v1/status").await;
    let counts = &status["task_summary"]["status"];
    assert_eq!(
        (&counts["successful"], &counts["unknown"]),
        (&10.into(), &90.into()),
        "{counts}"
    );

    scene.site.release();
    answer(&mut held, false).await.unwrap().expect(201);
    assert_eq!(scene.names().await.len(), TASKS + 1);
    scene.instance.stop().await;
}

#[tokio::test]
async fn one_task_is_changed_while_another_is_busy() {
    let site = Site::new();
    site.write_steps("held");
    let scene = Scene::of_site(site, "").await;
    scene.site.hold();
    let held = creation(&task("held", "./modules/held"), "?run=now");
    let mut held = held.begin(scene.instance.api.address()).await;
    scene.site.wait_for_step("held", "begin", "web-1").await;
    scene
        .create(&task("free", MODULE), "?run=now")
        .await
        .expect(201);
    scene.switch("free", false, "").await.expect(200);
    scene.switch("free", true, "?run=now").await.expect(200);
    scene.switch("free", true, "?run=inspect").await.expect(200);
    assert_eq!(scene.delete("free").await.status, 202);
    scene.wait_until_gone("free").await;
    scene.site.release();
    answer(&mut held, false).await.unwrap().expect(201);
    scene.instance.stop().await;
}
