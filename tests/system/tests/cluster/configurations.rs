//! Files of members that differ: which one is in force, where that is reported, and when another file takes
//! effect.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, Cluster, DEADLINE, Plan, Service, Site, met, task};
use serde_json::{Value, json};

struct Scene {
    cluster: Cluster,
    site: Site,
    consul: ConsulAgent,
}

impl Scene {
    /// Two schedulers with the tasks "red" and "blue", both applied.
    async fn start() -> Self {
        let consul = ConsulAgent::start().await;
        let site = Site::new();
        for name in ["red", "blue", "green"] {
            site.write_steps(name);
        }
        consul.register_service("web", "web-1", 1, &[], &[]).await;
        let tasks = block("red", "") + &block("blue", "");
        site.configure(&consul.address(), Backend::Shared, &tasks);
        let cluster = Cluster::start(&site, Plan::of(1, 2, 1, 1)).await;
        let api = cluster.api(0);
        api.wait_for_events("red", 1).await;
        api.wait_for_events("blue", 1).await;
        Self {
            cluster,
            site,
            consul,
        }
    }

    /// Edits the file: "red" with another description, a new "green", and no "blue".
    fn edit_file(&self) {
        let tasks = block("red", "description = \"edited\"") + &block("green", "");
        self.site
            .configure(&self.consul.address(), Backend::Shared, &tasks);
    }

    async fn task_names(&self) -> Vec<String> {
        let answer = self.cluster.api(0).get("/v1/tasks").await;
        let tasks = answer["tasks"].as_array().unwrap().iter();
        let mut names: Vec<String> = tasks
            .filter_map(|task| task["name"].as_str().map(str::to_owned))
            .collect();
        names.sort();
        names
    }

    async fn configuration(&self) -> Value {
        self.cluster.api(0).get("/v1/cluster/configuration").await
    }

    async fn wait_for_line(&self, scheduler: usize, parts: &[&str]) {
        eventually(DEADLINE, async || {
            let output = self.cluster.output(Service::Scheduler, scheduler);
            let said = output
                .lines()
                .any(|line| parts.iter().all(|part| line.contains(part)));
            met(said, output)
        })
        .await;
    }
}

fn block(name: &str, more: &str) -> String {
    task(name, &format!("./modules/{name}"), &["web"], more)
}

fn member(configuration: &Value, index: usize) -> &Value {
    let members = configuration["members"].as_array().unwrap();
    let id = format!("scheduler-{index}");
    let member = members.iter().find(|member| member["id"] == id);
    member.unwrap_or_else(|| panic!("{configuration}"))
}

/// Differences between the edited file and the configuration in force.
fn edited() -> Value {
    json!([
        {"task_name": "blue", "difference": "removed"},
        {"task_name": "green", "difference": "added"},
        {"task_name": "red", "difference": "changed"},
    ])
}

#[tokio::test]
async fn a_rolling_restart_takes_effect_with_its_last_member_and_a_takeover_changes_nothing() {
    let mut scene = Scene::start().await;
    let leader = scene.cluster.wait_for_leader().await;
    let follower = 1 - leader;
    let before = scene.configuration().await;
    assert_eq!(before["in_force"]["tasks"], json!(["red", "blue"]));
    for index in 0..2 {
        assert_eq!(member(&before, index)["in_force"], true, "{before}");
    }

    scene.edit_file();
    scene.cluster.restart(Service::Scheduler, follower).await;
    let id = format!("member=scheduler-{follower}");
    let tasks = "blue (removed), green (added), red (changed)";
    for index in [follower, leader] {
        let parts = ["ha.compat", "are not in force", id.as_str(), tasks];
        scene.wait_for_line(index, &parts).await;
    }
    let configuration = scene.configuration().await;
    assert_eq!(configuration["in_force"], before["in_force"]);
    let differing = member(&configuration, follower);
    assert_eq!(differing["in_force"], false, "{configuration}");
    assert_eq!(differing["differences"], edited());
    let exit = scene.cluster.command(&["cluster", "status"]).await;
    exit.assert_code(0).says([tasks]);

    // The follower takes over, and the tasks stay the same.
    let exit = scene.cluster.stop(Service::Scheduler, leader).await;
    exit.assert_code(0);
    assert_eq!(scene.cluster.wait_for_leader().await, follower);
    scene
        .consul
        .register_service("web", "web-2", 2, &[], &[])
        .await;
    for name in ["red", "blue"] {
        scene.site.wait_for_step(name, "end", "web-1,web-2").await;
    }
    assert_eq!(scene.task_names().await, ["blue", "red"]);

    // The last one starts with the same file.
    scene.cluster.run(Service::Scheduler, leader).await;
    scene
        .site
        .wait_for_step("green", "end", "web-1,web-2")
        .await;
    assert_eq!(scene.task_names().await, ["green", "red"]);
    for (task, line) in [
        ("green", "the configuration adds a task"),
        ("red", "the configuration changes a task"),
        ("blue", "the configuration removes a task"),
    ] {
        let name = format!("task_name={task}");
        scene.wait_for_line(follower, &[line, &name]).await;
    }
    let red = scene.cluster.api(0).get("/v1/tasks/red").await;
    assert_eq!(red["task"]["description"], "edited");
    let after = scene.configuration().await;
    assert_eq!(after["in_force"]["tasks"], json!(["red", "green"]));
    assert_eq!(after["in_force"]["number"], 2);
    assert_eq!(
        after["in_force"]["decided_by"],
        format!("scheduler-{leader}")
    );
    for index in 0..2 {
        assert_eq!(member(&after, index)["in_force"], true, "{after}");
    }
}

#[tokio::test]
async fn settings_that_members_do_not_share_are_named() {
    let mut scene = Scene::start().await;
    let leader = scene.cluster.wait_for_leader().await;
    let follower = 1 - leader;
    let own = format!("scheduler-{follower}.hcl");
    let text = std::fs::read_to_string(scene.site.path().join(&own)).unwrap();
    let longer = text.replace("session_ttl = \"2000ms\"", "session_ttl = \"3s\"");
    assert_ne!(longer, text);
    scene.site.write(&own, &longer);
    scene.cluster.restart(Service::Scheduler, follower).await;
    for index in [follower, leader] {
        let parts = [
            "ha.compat",
            "members of the cluster have different settings",
            "setting=session_ttl",
            "2s",
            "3s",
        ];
        scene.wait_for_line(index, &parts).await;
    }
}
