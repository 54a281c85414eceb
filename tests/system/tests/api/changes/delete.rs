//! `DELETE` of tasks (docs/rest.md#deleting-a-task).

use cts_testkit::assert_contains;
use cts_tests::{recorded_services, task};

use crate::api::row::request_id;
use crate::api::scene::{MODULE, Scene, task as object};

#[tokio::test]
async fn an_idle_task_is_gone_and_what_it_has_made_stays() {
    let scene = Scene::with(&task("filed", MODULE, &["web"], "")).await;
    scene.instance.api.wait_for_events("filed", 1).await;
    scene
        .create(&object("made", MODULE), "?run=now")
        .await
        .expect(201);
    for name in ["filed", "made"] {
        let answer = scene.delete(name).await;
        let body = answer.expect(202);
        request_id(&body).unwrap();
        assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
        scene.wait_until_gone(name).await;
        let message = scene.delete(name).await.refused(404);
        assert!(message.contains(name), "{message}");
        scene
            .ask("GET", &format!("/v1/status/tasks/{name}"))
            .await
            .refused(404);
        scene.switch(name, true, "").await.refused(404);
        let state = std::fs::read(scene.site.state_path(name)).unwrap();
        let kept = recorded_services(&state).unwrap();
        assert!(
            kept.to_string().contains("web-1"),
            "nothing is destroyed: {kept}"
        );
        assert!(scene.site.work().join(name).exists());
    }
    assert_eq!(scene.names().await, [""; 0]);

    // The names are free, and the state is taken up where it was left.
    let seen = scene
        .create(&object("filed", MODULE), "?run=inspect")
        .await
        .expect(200);
    assert_eq!(seen["run"]["changes_present"], false, "{seen}");
    scene
        .create(&object("filed", MODULE), "?run=now")
        .await
        .expect(201);
    let events = scene.instance.api.events("filed").await;
    assert_eq!(
        events.len(),
        1,
        "the old ones went with the task: {events:?}"
    );
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_running_task_finishes_its_run_and_begins_no_other() {
    let scene = Scene::with_steps().await;
    scene.hold_at_work().await;
    for _ in 0..2 {
        assert_eq!(scene.delete("pool").await.status, 202);
        scene.ask("GET", "/v1/tasks/pool").await.expect(200);
        scene.ask("GET", "/v1/status/tasks/pool").await.expect(200);
    }
    assert_eq!(scene.names().await, ["pool"]);
    let message = scene.switch("pool", true, "").await.refused(500);
    assert_contains(&message, ["is active and cannot be updated"]);
    for query in ["", "?run=now", "?run=inspect"] {
        let message = scene
            .create(&object("pool", MODULE), query)
            .await
            .refused(400);
        assert!(message.contains("already exists"), "{message}");
    }
    // Too late to be of interest.
    scene.register("web", "web-3").await;
    scene.site.release();
    scene.wait_until_gone("pool").await;
    let journal = scene.site.journal("pool");
    assert!(
        journal.last().unwrap().starts_with("end "),
        "it was not interrupted: {journal:?}"
    );
    assert_eq!(scene.steps("pool"), 2, "{journal:?}");

    // Another task sees the third instance; this one was never begun again.
    scene
        .create(&object("after", MODULE), "?run=now")
        .await
        .expect(201);
    scene
        .site
        .wait_for_ids("after", &["web-1", "web-2", "web-3"])
        .await;
    assert_eq!(scene.steps("pool"), 2);
    scene.instance.stop().await;
}
