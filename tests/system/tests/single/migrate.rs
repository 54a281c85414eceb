//! `cts migrate`: the schema, and moving from one process to a cluster. Independent of the shape of the test
//! run.

use cts_testkit::{ConsulAgent, Postgres, eventually, free_port};
use cts_tests::{Api, Backend, Cluster, DEADLINE, Exit, Instance, Plan, Service, Site, task};
use serde_json::{Value, json};

/// Runs `cts migrate` to its end; its output is in a file of that name.
async fn migrate(site: &Site, log: &str, arguments: &[&str]) -> Exit {
    let mut all = vec!["migrate"];
    all.extend(arguments);
    let exit = site.run("cts", &all, log).wait().await;
    assert!(!exit.output.contains("open-sesame"), "{}", exit.output);
    exit
}

async fn migrated(site: &Site, log: &str, arguments: &[&str]) -> Value {
    let exit = migrate(site, log, &[arguments, &["-o", "json"]].concat()).await;
    exit.assert_code(0);
    serde_json::from_str(&exit.output).unwrap()
}

/// The address of an empty database, with a password that is not needed.
async fn empty_database() -> String {
    let url = Postgres::shared().await.create_database().await;
    let (user, place) = url.split_once('@').unwrap();
    format!("{user}:open-sesame@{place}")
}

/// A task whose module Terraform fetches by itself, so that it is no other one in a cluster.
fn fetched(site: &Site, name: &str) -> String {
    site.write_steps(name);
    let module = site.path().join("modules").join(name);
    task(name, &format!("file://{}", module.display()), &["web"], "")
}

#[tokio::test]
async fn the_schema_is_told_brought_up_to_date_and_left_alone() {
    let mut site = Site::new();
    site.set_environment("CTS_DATABASE_URL", empty_database().await);
    let pending = migrated(&site, "1.log", &["--dry-run"]).await;
    let migrations = pending["schema"]["pending"].clone();
    assert_eq!(pending["dry_run"], true);
    assert_eq!(migrations[0]["description"], "initial");
    let applied = migrated(&site, "2.log", &[]).await;
    assert_eq!(
        applied,
        json!({ "dry_run": false, "schema": { "applied": migrations } })
    );
    let again = migrate(&site, "3.log", &[]).await;
    again.assert_code(0);
    assert_eq!(again.output, "schema is up to date\n");
}

#[tokio::test]
async fn a_configuration_without_a_database_has_no_schema_to_migrate() {
    let site = Site::new();
    site.write("modules/pool/main.tf", cts_tests::RECORDER);
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure("127.0.0.1:1", Backend::Shared, &pool);
    let exit = migrate(&site, "1.log", &["-config-file", "cts.hcl"]).await;
    exit.assert_code(0).says(["names no database"]);
}

#[tokio::test]
async fn failed_migrations_are_reported_without_passwords() {
    let mut site = Site::new();
    let closed = format!("postgres://cts:open-sesame@127.0.0.1:{}/cts", free_port());
    site.write("empty.db", "");
    let cases: [(&[&str], i32, &str); 6] = [
        (&[], 15, "no database is named"),
        (
            &["--to", "mysql://a:open-sesame@b"],
            15,
            "--to must begin with",
        ),
        (
            &["--to", &closed],
            11,
            "cannot open the database postgres://127.0.0.1:",
        ),
        (
            &["--from", "cts.db", "--to", &closed],
            15,
            "--from must be sqlite:PATH",
        ),
        (
            &["--from", "sqlite:none/cts.db", "--to", &closed],
            11,
            "none/cts.db",
        ),
        (
            &["--from", "sqlite:empty.db", "--to", &closed],
            11,
            "it is no database of cts",
        ),
    ];
    for (number, (arguments, code, text)) in cases.into_iter().enumerate() {
        let exit = migrate(&site, &format!("{number}.log"), arguments).await;
        exit.assert_code(code).says([text]);
    }
    assert!(!site.path().join("none").exists());
    site.set_environment("CTS_DATABASE_URL", "cts:open-sesame@b");
    let exit = migrate(&site, "variable.log", &[]).await;
    exit.assert_code(15).says(["CTS_DATABASE_URL must"]);
}

#[tokio::test]
async fn a_cluster_goes_on_where_one_process_has_ended() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    let tasks = fetched(&site, "pool") + &fetched(&site, "edge");
    site.configure(&consul.address(), Backend::Shared, &tasks);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start_embedded(&site).await;
    cts.api.wait_for_events("pool", 1).await;
    cts.api.wait_for_events("edge", 1).await;
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    let pool = cts.api.wait_for_events("pool", 2).await;
    let edge = cts.api.wait_for_events("edge", 2).await;
    let states = cts.api.get("/v1/status/tasks").await;
    let shown = cts.api.get("/v1/tasks").await;

    let url = empty_database().await;
    let from_to = ["--from", "sqlite:work/cts.db", "--to", &url];
    let busy = migrate(&site, "busy.log", &from_to).await;
    busy.assert_code(11).says(["another cts is at work"]);
    cts.stop().await;

    let would = migrated(&site, "dry.log", &[&from_to[..], &["--dry-run"]].concat()).await;
    assert_ne!(would["schema"]["pending"], json!([]));
    let done = migrated(&site, "move.log", &from_to).await;
    assert_eq!(done["rows"], would["rows"], "a dry run has written nothing");
    assert_eq!(done["schema"]["applied"], would["schema"]["pending"]);
    let rows = &done["rows"];
    assert_eq!((&rows["tasks"], &rows["runs"]), (&json!(2), &json!(4)));
    assert_eq!((&rows["events"], &rows["inputs"]), (&json!(4), &json!(4)));
    assert!(rows["log_lines"].as_u64() > Some(4), "{rows}");
    let again = migrate(&site, "again.log", &from_to).await;
    again.assert_code(11);
    let reason = "it is not empty: it has 2 tasks and 4 runs";
    assert!(again.output.contains(reason), "{}", again.output);

    let plan = Plan {
        database: Some(url),
        ..Plan::default()
    };
    let cluster = Cluster::start(&site, plan).await;
    let api = cluster.api(0);
    eventually(DEADLINE, async || {
        let output = cluster.output(Service::Scheduler, 0);
        let unchanged = output.matches("task input is unchanged, no run needed");
        match unchanged.count() {
            2.. => Ok(()),
            decided => Err(format!("decided {decided} of 2 tasks")),
        }
    })
    .await;
    assert_eq!(api.events("pool").await, pool);
    assert_eq!(api.events("edge").await, edge);
    assert_eq!(api.get("/v1/status/tasks").await, states);
    assert_eq!(api.get("/v1/tasks").await["tasks"], shown["tasks"]);
    assert_eq!(site.journal("pool").len(), 4, "two begins and two ends");

    consul.register_service("web", "web-3", 3, &[], &[]).await;
    let events = api.wait_for_events("pool", 3).await;
    assert_eq!(events[1..], pool);
    assert_eq!(events[0]["success"], true, "{}", events[0]);
    site.wait_for_step("pool", "end", "web-1,web-2,web-3").await;
}

/// The workers of the overview, with their conditions, and its problems.
async fn workers(api: &Api) -> (Vec<(String, String)>, Value) {
    let overview = api.get("/v1/overview").await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let workers = overview["workers"].as_array().into_iter().flatten();
    let workers = workers.map(|worker| (text(&worker["id"]), text(&worker["condition"])));
    (workers.collect(), overview["problems"].clone())
}

#[tokio::test]
async fn former_lives_of_a_worker_stay_hidden_after_a_move() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    let pool = fetched(&site, "pool");
    site.configure(&consul.address(), Backend::Shared, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    for _life in 0..2 {
        let cts = Instance::start_embedded(&site).await;
        site.wait_for_step("pool", "end", "web-1").await;
        cts.api.wait_for_events("pool", 1).await;
        cts.kill().await;
    }
    let url = empty_database().await;
    let from_to = ["--from", "sqlite:work/cts.db", "--to", &url];
    migrated(&site, "move.log", &from_to).await;

    let plan = Plan {
        database: Some(url),
        ..Plan::default()
    };
    // The first worker of the cluster has the directory of the process before, with its journal.
    let mut cluster = Cluster::start(&site, plan).await;
    for life in 2..4 {
        let expected = (cluster.worker_id(0).await, "active".to_owned());
        let api = cluster.api(0);
        eventually(DEADLINE, async || {
            let (workers, problems) = workers(&api).await;
            let is_so = workers == [expected.clone()] && problems == json!([]);
            is_so
                .then_some(())
                .ok_or_else(|| format!("{workers:?}: {problems}"))
        })
        .await;
        let id = format!("web-{life}");
        consul.register_service("web", &id, 1, &[], &[]).await;
        let events = api.wait_for_events("pool", life).await;
        assert_eq!(events[0]["success"], true, "{}", events[0]);
        cluster.kill(Service::Worker, 0).await;
        cluster.run(Service::Worker, 0).await;
    }
}
