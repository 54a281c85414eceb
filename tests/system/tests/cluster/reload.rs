//! SIGHUP at the schedulers of four services, one of which takes over (docs/cli.md#signals).

use cts_testkit::eventually;
use cts_tests::{Cluster, DEADLINE, Plan, Process, Service, Site};
use nix::sys::signal::Signal;

use crate::single::reload::{declare, scene, without_terminal};

/// Starts a scheduler of the plan, which reads the files of tasks.
fn scheduler(site: &Site, cluster: &Cluster, index: usize) -> Process {
    let grpc = cluster.grpc_address(Service::Scheduler, index);
    let words = [
        "scheduler",
        &format!("-grpc-address={grpc}"),
        "-config-file=services.hcl",
        "-config-file=cts.hcl",
        "-config-file=database.hcl",
        &format!("-config-file=scheduler-{index}.hcl"),
        "-config-dir=tasks",
    ];
    without_terminal(site, &words, &format!("scheduler-{index}.log"))
}

/// Sends the signal until the scheduler has read its files: until it runs, a reload is refused.
async fn reload(scheduler: &Process) {
    eventually(DEADLINE, async || {
        scheduler.signal(Signal::SIGHUP);
        let output = scheduler.output();
        let is_reloaded = output.contains("files were read again");
        is_reloaded.then_some(()).ok_or(output)
    })
    .await;
}

#[tokio::test]
async fn a_takeover_changes_no_task_and_a_reload_of_the_new_leader_does() {
    let (consul, site) = scene().await;
    let mut cluster = Cluster::lay_out(&site, Plan::of(1, 2, 1, 1)).await;
    for service in [Service::Watcher, Service::Worker, Service::Gateway] {
        cluster.launch(service, 0);
    }
    let mut schedulers = vec![scheduler(&site, &cluster, 0), scheduler(&site, &cluster, 1)];
    site.wait_for_step("red", "end", "web-1").await;
    cluster.api(0).wait_for_events("red", 1).await;
    let leads = |scheduler: &Process| scheduler.output().contains("acquired leadership lock");
    let leader = schedulers.iter().position(leads).unwrap();
    let leader = schedulers.remove(leader);
    let follower = schedulers.remove(0);

    // The leader dies before it has the new file.
    declare(&site, "blue");
    reload(&follower).await;
    leader.kill().await;
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_step("red", "end", "web-1,web-2").await;
    assert!(leads(&follower), "{}", follower.output());
    let api = cluster.api(0);
    assert_eq!(
        api.get("/v1/tasks").await["tasks"]
            .as_array()
            .unwrap()
            .len(),
        1
    );

    follower.signal(Signal::SIGHUP);
    site.wait_for_step("blue", "end", "web-1,web-2").await;
    for (name, count) in [("red", 2), ("blue", 1)] {
        let begun = |line: &&String| line.starts_with("begin");
        let journal = site.journal(name);
        assert_eq!(journal.iter().filter(begun).count(), count, "{journal:?}");
    }

    std::fs::remove_file(site.path().join("tasks/red.hcl")).unwrap();
    follower.signal(Signal::SIGHUP);
    eventually(DEADLINE, async || match api.ask("/v1/tasks/red").await {
        Ok((404, _)) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    api.get("/v1/tasks/blue").await;
    follower.terminate().await.assert_code(0);
}
