//! A restored SQLite file (docs/operations.md#after-a-restore). Independent of the shape of the test run.

use std::fs;
use std::path::PathBuf;

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Exit, Instance, Site, met, task};
use serde_json::{Value, json};

/// A task with a backup of the file, after which the task was applied once more.
struct Scene {
    consul: ConsulAgent,
    site: Site,
}

impl Scene {
    /// The task `pool` follows `web`, and is applied with the instances `web-1` in the backup; `calm` has not changed
    /// since.
    async fn restored(backend: Backend) -> Self {
        let consul = ConsulAgent::start().await;
        let site = Site::new();
        for name in ["pool", "calm"] {
            site.write_steps(name);
        }
        let tasks = task("pool", "./modules/pool", &["web"], "")
            + &task("calm", "./modules/calm", &["api"], "");
        site.configure(&consul.address(), backend, &tasks);
        consul.register_service("web", "web-1", 1, &[], &[]).await;
        consul.register_service("api", "api-1", 1, &[], &[]).await;
        let scene = Self { consul, site };
        let cts = Instance::start_embedded(&scene.site).await;
        for name in ["pool", "calm"] {
            cts.api.wait_for_events(name, 1).await;
        }
        cts.stop().await;
        fs::copy(scene.file(), scene.backup()).unwrap();

        let cts = Instance::start_embedded(&scene.site).await;
        scene
            .consul
            .register_service("web", "web-2", 2, &[], &[])
            .await;
        cts.api.wait_for_events("pool", 2).await;
        cts.stop().await;
        scene.consul.deregister("web-2").await;
        fs::copy(scene.backup(), scene.file()).unwrap();
        assert_eq!(scene.applied("pool"), ["web-1", "web-1,web-2"]);
        scene
    }

    fn file(&self) -> PathBuf {
        self.site.work().join("cts.db")
    }

    fn backup(&self) -> PathBuf {
        self.site.path().join("backup")
    }

    /// The worker's journal came with the restored volume, or is lost.
    fn without_journal(&self) {
        fs::remove_file(self.site.work().join("runs.journal")).unwrap();
    }

    /// The instances of each apply of a task.
    fn applied(&self, task: &str) -> Vec<String> {
        let journal = self.site.journal(task);
        let ends = journal.iter().filter_map(|line| line.strip_prefix("end "));
        let ids = ends.filter_map(|line| line.split_once(' '));
        ids.map(|(_pid, ids)| ids.to_owned()).collect()
    }

    async fn until_applied(&self, task: &str, expected: &[&str]) {
        eventually(DEADLINE, async || {
            let applied = self.applied(task);
            met(
                applied == expected,
                format!("{applied:?}, not {expected:?}"),
            )
        })
        .await;
    }

    async fn command(&self, words: &[&str], log: &str) -> Exit {
        let all = [words, &["-config-file", "cts.hcl"]].concat();
        self.site.run("cts", &all, log).wait().await
    }

    async fn document(&self, words: &[&str], log: &str, code: i32) -> Value {
        let exit = self.command(&[words, &["-o", "json"]].concat(), log).await;
        exit.assert_code(code);
        // A slow machine may have a line in the log before.
        let begin = exit.output.find('{').unwrap_or_default();
        let document = serde_json::from_str(&exit.output[begin..]);
        document.unwrap_or_else(|error| panic!("{error}: {}", exit.output))
    }

    /// The findings of `cts doctor` about states.
    async fn states(&self, log: &str) -> Vec<(String, String)> {
        let exit = self.command(&["doctor", "-o", "json"], log).await;
        let document: Value = serde_json::from_str(&exit.output).unwrap();
        let checks = document["checks"].as_array().unwrap().iter();
        let checks = checks.filter(|check| check["check"] == "states");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        checks
            .map(|check| (text(&check["result"]), text(&check["found"])))
            .collect()
    }
}

#[tokio::test]
async fn the_journal_shows_that_a_restored_file_lacks_a_run() {
    let scene = Scene::restored(Backend::Local).await;
    let cts = Instance::start_embedded(&scene.site).await;
    scene
        .until_applied("pool", &["web-1", "web-1,web-2", "web-1"])
        .await;
    // One event is in the backup.
    let events = cts.api.wait_for_events("pool", 2).await;
    cts_tests::assert_successful(&events);
    cts.until_logged("the database does not have the newest run of the task")
        .await;
    cts.stop().await;

    // Neither a later start nor the next change has a run too many.
    let cts = Instance::start_embedded(&scene.site).await;
    scene
        .consul
        .register_service("web", "web-3", 3, &[], &[])
        .await;
    let all = ["web-1", "web-1,web-2", "web-1", "web-1,web-3"];
    scene.until_applied("pool", &all).await;
    cts.api.wait_for_events("pool", 3).await;
    assert_eq!(cts.api.events("calm").await.len(), 1);
    cts.stop().await;
    assert_eq!(scene.applied("calm"), ["api-1"]);
}

#[tokio::test]
async fn doctor_names_the_tasks_whose_states_are_newer_than_a_restored_file() {
    for backend in [Backend::Local, Backend::Consul] {
        let scene = Scene::restored(backend).await;
        let states = scene.states("doctor-1.log").await;
        let [(result, found)] = &states[..] else {
            panic!("{states:?}");
        };
        assert_eq!(result, "warning");
        assert!(
            found.contains("task \"pool\": its state in backend"),
            "{found}"
        );
        assert!(found.contains("the database knows"), "{found}");
        // The mark voids all inputs, so nothing is behind any more.
        scene
            .command(&["migrate", "-restored"], "migrate.log")
            .await
            .assert_code(0);
        let cts = Instance::start_embedded(&scene.site).await;
        scene
            .until_applied("pool", &["web-1", "web-1,web-2", "web-1"])
            .await;
        for name in ["pool", "calm"] {
            cts.api.wait_for_events(name, 2).await;
        }
        cts.stop().await;
        let states = scene.states("doctor-2.log").await;
        assert!(
            matches!(&states[..], [(result, found)] if result == "ok" && found.ends_with("2 of 2")),
            "{states:?}"
        );
    }
}

#[tokio::test]
async fn a_marked_file_lets_every_task_run_once() {
    let scene = Scene::restored(Backend::Local).await;
    scene.without_journal();
    let would = scene
        .document(&["migrate", "-restored", "-dry-run"], "1.log", 0)
        .await;
    assert_eq!(would["restored"]["inputs"], 2, "{would}");
    assert_eq!(would["dry_run"], true);
    let marked = scene.document(&["migrate", "-restored"], "2.log", 0).await;
    assert_eq!(marked["restored"]["inputs"], 2, "{marked}");
    assert_eq!(marked["schema"], json!({ "applied": [] }));
    let before = would["restored"]["leader_epoch"].as_u64().unwrap();
    let after = marked["restored"]["leader_epoch"].as_u64().unwrap();
    assert!(after >= before + 1_000_000, "{before} {after}");
    let again = scene.command(&["migrate", "-restored"], "3.log").await;
    again
        .assert_code(0)
        .says(["marked the database as restored", "any more: 0"]);

    let cts = Instance::start_embedded(&scene.site).await;
    scene
        .until_applied("pool", &["web-1", "web-1,web-2", "web-1"])
        .await;
    for name in ["pool", "calm"] {
        cts.api.wait_for_events(name, 2).await;
    }
    // A file in use is not marked.
    let refused = scene.command(&["migrate", "-restored"], "4.log").await;
    assert_ne!(refused.code, Some(0), "{}", refused.output);
    cts.stop().await;
    // Terraform found nothing to do.
    assert_eq!(scene.applied("calm"), ["api-1"]);
}

#[tokio::test]
async fn a_start_marks_its_restored_file() {
    let scene = Scene::restored(Backend::Local).await;
    scene.without_journal();
    let cts = Instance::start_embedded_with(&scene.site, &["-restored"]).await;
    scene
        .until_applied("pool", &["web-1", "web-1,web-2", "web-1"])
        .await;
    for name in ["pool", "calm"] {
        cts.api.wait_for_events(name, 2).await;
    }
    cts.until_logged("the database is marked as restored").await;
    cts.stop().await;

    let refused = [
        (
            vec!["start", "-restored", "-inspect"],
            "cannot be used with",
        ),
        (
            vec!["migrate", "-restored", "-from", "sqlite:cts.db"],
            "cannot be used with",
        ),
    ];
    for (number, (words, text)) in refused.into_iter().enumerate() {
        let exit = scene.command(&words, &format!("{number}.log")).await;
        exit.assert_code(14).says([text]);
    }
    scene.site.write_database("postgres://127.0.0.1:1/cts");
    let words = ["start", "-restored", "-config-file", "database.hcl"];
    let exit = scene.command(&words, "server.log").await;
    exit.assert_code(15).says(["cts migrate -restored"]);
}
