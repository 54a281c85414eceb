//! Which task blocks are in force: the blocks of a file once its members have started with it, and never the
//! blocks of the leader.

use std::sync::Arc;
use std::time::Duration;

use cts_core::brake::FleetMaxShrink;
use cts_core::{ApprovalDefaults, ApprovalRule, TaskSpec, Verdict};
use cts_proto::cluster::v1::GetConfigurationRequest;
use cts_scheduler::{Options, Sharing};
use cts_store::{ConfigurationStore as _, Member, Store as _, Unchanged};
use cts_store_sqlite::SqliteStore;

use crate::setup::{Setup, instance, member, store_in, task};

/// Long enough for a machine that stands still for some seconds: a dead member counts for three times as long.
const TTL: Duration = Duration::from_secs(3);

/// Neither a brake nor a rule of approval.
const USUAL: (Option<FleetMaxShrink>, ApprovalDefaults) = (
    None,
    ApprovalDefaults {
        rule: ApprovalRule::Never,
        expires: Duration::from_hours(24),
    },
);

fn as_member(id: &str, tasks: Vec<TaskSpec>) -> Options {
    let member = Member {
        id: id.into(),
        ..member()
    };
    Options {
        sharing: Sharing::Shared,
        leadership: TTL,
        lease: Duration::from_mins(1),
        first_pass: Unchanged::Skip,
        ..Options::alone(tasks, member)
    }
}

async fn start(store: &Arc<SqliteStore>, id: &str, tasks: &[&str]) -> Setup {
    let tasks = tasks.iter().map(|name| task(name)).collect();
    Setup::over(Arc::clone(store), as_member(id, tasks)).await
}

async fn leads(setup: &Setup, store: &Arc<SqliteStore>, id: &str) {
    setup
        .until(async |_| {
            let members = store.members(TTL).await.unwrap();
            let leader = members.into_iter().find(|state| state.leader)?;
            (leader.member.id == id).then_some(())
        })
        .await;
}

async fn become_these(setup: &Setup, names: &[&str]) {
    setup
        .until_so(async |setup| setup.names().await == names)
        .await;
}

#[tokio::test]
async fn a_takeover_by_a_member_with_another_file_changes_no_task() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let first = start(&store, "one", &["a", "b"]).await;
    let second = start(&store, "two", &["b", "c"]).await;
    drop(first);
    leads(&second, &store, "two").await;
    second.watcher.show(vec![instance("w", 1)]);
    for _ in 0..2 {
        second.applied(&second.acquired().await).await;
    }
    second.nothing_runs().await;
    assert_eq!(second.names().await, ["a", "b"]);
}

#[tokio::test]
async fn a_rolling_restart_takes_effect_with_its_last_member_whoever_leads() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let leader = start(&store, "one", &["a", "b"]).await;
    leader.watcher.show(vec![instance("w", 1)]);
    for _ in 0..2 {
        leader.applied(&leader.acquired().await).await;
    }
    let early = start(&store, "two", &["b", "c"]).await;
    early.nothing_runs().await;
    assert_eq!(early.names().await, ["a", "b"]);
    drop(leader);
    leads(&early, &store, "two").await;
    early.watcher.show(vec![instance("w", 1)]);
    assert_eq!(early.names().await, ["a", "b"]);
    // Its id is free when its earlier life counts as dead.
    let last = start(&store, "one", &["b", "c"]).await;
    become_these(&last, &["b", "c"]).await;
    // The new task runs; the older task stays as it was.
    let lease = early.acquired().await;
    assert_eq!(early.run(&lease.run_id).await.unwrap().task_name, "c");
    early.applied(&lease).await;
    early.nothing_runs().await;
}

#[tokio::test]
async fn a_single_process_runs_its_new_file_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    drop(start(&store, "one", &["a", "b"]).await);
    let next = start(&store, "one", &["b", "c"]).await;
    become_these(&next, &["b", "c"]).await;
}

#[tokio::test]
async fn files_that_are_read_again_take_effect_with_the_last_member() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let one = start(&store, "one", &["a"]).await;
    let two = start(&store, "two", &["a"]).await;
    let next = [task("a"), task("b")];
    let early = one.files.register(&next, USUAL).await.unwrap().unwrap();
    assert_eq!(early.verdict, Verdict::StaysOut);
    two.nothing_runs().await;
    assert_eq!(two.names().await, ["a"]);
    let last = two.files.register(&next, USUAL).await.unwrap().unwrap();
    assert_eq!((last.verdict, last.number), (Verdict::TakesEffect, 2));
    become_these(&one, &["a", "b"]).await;
    assert_eq!(one.files.register(&next, USUAL).await.unwrap(), None);
    // Members that are gone are waited for and do not count.
    drop(two);
    let alone = one
        .files
        .register(&[task("b")], USUAL)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((alone.verdict, alone.number), (Verdict::TakesEffect, 3));
    become_these(&one, &["b"]).await;
}

#[tokio::test]
async fn a_brake_that_is_read_again_takes_effect_with_the_last_member() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let one = start(&store, "one", &["a"]).await;
    let two = start(&store, "two", &["a"]).await;
    let brake = Some(FleetMaxShrink {
        share: 20,
        within: Duration::from_mins(10),
        at_least: 20,
    });
    let in_force = async || {
        let in_force = store.configuration_in_force().await.unwrap().unwrap();
        in_force.fleet_max_shrink
    };
    let is_in_force = async |id: &str| {
        let request = GetConfigurationRequest {};
        let answer = one.cluster.clone().get_configuration(request).await;
        let mut members = answer.unwrap().into_inner().members.into_iter();
        members.find(|member| member.id == id).unwrap().in_force
    };
    let files = [task("a")];
    let braked = (brake, ApprovalDefaults::default());
    let early = one.files.register(&files, braked).await.unwrap().unwrap();
    assert_eq!((early.verdict, in_force().await), (Verdict::StaysOut, None));
    assert!(!is_in_force("one").await);
    assert!(is_in_force("two").await);
    let last = two.files.register(&files, braked).await.unwrap().unwrap();
    assert_eq!((last.verdict, last.number), (Verdict::TakesEffect, 2));
    assert_eq!(in_force().await, brake);
    assert_eq!(one.files.register(&files, braked).await.unwrap(), None);
    assert!(is_in_force("one").await);
    // A brake that is taken out is another configuration, too.
    let early = one.files.register(&files, USUAL).await.unwrap().unwrap();
    assert_eq!(
        (early.verdict, in_force().await),
        (Verdict::StaysOut, brake)
    );
    assert!(!is_in_force("one").await);
}

#[tokio::test]
async fn a_default_rule_that_is_read_again_takes_effect_with_the_last_member() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let one = start(&store, "one", &["a"]).await;
    let two = start(&store, "two", &["a"]).await;
    let strict = ApprovalDefaults {
        rule: ApprovalRule::Destroy,
        expires: Duration::from_hours(2),
    };
    let in_force = async || {
        let request = GetConfigurationRequest {};
        let answer = one.cluster.clone().get_configuration(request).await;
        let answer = answer.unwrap().into_inner();
        let mut members = answer.members.into_iter();
        let one = members.find(|member| member.id == "one").unwrap();
        (one.in_force, answer.in_force.unwrap().approvals)
    };
    let files = [task("a")];
    assert_eq!(in_force().await, (true, String::new()));
    let early = one.files.register(&files, (None, strict)).await.unwrap();
    assert_eq!(early.unwrap().verdict, Verdict::StaysOut);
    assert_eq!(in_force().await, (false, String::new()));
    let last = two.files.register(&files, (None, strict)).await.unwrap();
    assert_eq!(last.unwrap().verdict, Verdict::TakesEffect);
    let text = "destroy, consents expire after 7200 s".to_owned();
    assert_eq!(in_force().await, (true, text));
    let stored = store.configuration_in_force().await.unwrap().unwrap();
    assert_eq!(stored.approvals, strict);
}

#[tokio::test]
async fn a_reset_loads_its_own_file_whatever_others_have() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let leader = start(&store, "one", &["a"]).await;
    let options = Options {
        reset_storage: true,
        ..as_member("two", vec![task("b")])
    };
    let second = Setup::over(Arc::clone(&store), options).await;
    let third = start(&store, "three", &["a"]).await;
    second.nothing_runs().await;
    assert_eq!(second.names().await, ["a"]);
    drop((leader, third));
    become_these(&second, &["b"]).await;
}
