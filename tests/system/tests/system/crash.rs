//! The whole system is killed during an apply, and started again. Embedded, its Terraform lives on; in a
//! cluster, where another worker may get the run, the guard stops it.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Instance, Shape, Site, assert_successful, met, task};

use crate::system::termination::assert_no_lock;

/// A site whose task "pool" has applied web-1 and is in the middle of applying web-2.
async fn in_the_middle(backend: Backend) -> (ConsulAgent, Site, Instance, i32) {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), backend, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("pool", 1).await;
    site.hold();
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    let terraform = site.wait_for_step("pool", "begin", "web-1,web-2").await;
    (consul, site, cts, terraform)
}

async fn the_change_is_applied_after_a_kill(backend: Backend) {
    let (consul, site, cts, orphan) = in_the_middle(backend).await;
    cts.kill().await;
    match Shape::of_this_run() {
        Shape::Embedded => assert!(
            site.terraform_processes().contains(&orphan),
            "it holds the lock of the state, so it must live on until it can end well"
        ),
        // Nothing else is there that could end it.
        Shape::Cluster => site.wait_until_quiet().await,
    }

    let cts = Instance::start(&site).await;
    eventually(DEADLINE, async || {
        if site.terraform_processes().contains(&orphan) {
            Err(format!("the orphan {orphan} is still there"))
        } else {
            Ok(())
        }
    })
    .await;
    site.release();
    site.wait_for_step("pool", "end", "web-1,web-2").await;
    let events = cts.api.wait_for_events("pool", 2).await;
    assert_successful(&events);
    let journal = site.journal("pool");
    let overlaps = journal.iter().any(|line| line.starts_with("overlap"));
    assert!(!overlaps, "two at work at once: {journal:?}");
    assert_no_lock(backend, &consul, &site, "pool").await;
    cts.stop().await;
    site.wait_until_quiet().await;
}

#[tokio::test]
async fn a_killed_apply_is_repeated_with_the_state_in_consul() {
    the_change_is_applied_after_a_kill(Backend::Consul).await;
}

#[tokio::test]
async fn a_killed_apply_is_repeated_with_the_state_in_the_task_directory() {
    the_change_is_applied_after_a_kill(Backend::Local).await;
}

#[tokio::test]
async fn an_apply_that_ends_while_nobody_watches_counts_after_the_restart() {
    let (consul, site, cts, _orphan) = in_the_middle(Backend::Consul).await;
    cts.kill().await;
    if Shape::of_this_run() == Shape::Cluster {
        // Terraform is interrupted, also without a supervisor.
        site.wait_until_quiet().await;
    }
    site.release();
    site.wait_until_quiet().await;
    if Shape::of_this_run() == Shape::Embedded {
        site.wait_for_step("pool", "end", "web-1,web-2").await;
    }

    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("pool", 2).await;
    assert_successful(&events);
    let journal = site.journal("pool");
    let steps = match Shape::of_this_run() {
        // Nothing was left to be done.
        Shape::Embedded => ["begin", "end", "begin", "end"].as_slice(),
        Shape::Cluster => &["begin", "end", "begin", "begin", "end"],
    };
    let words = journal.iter().filter_map(|line| line.split(' ').next());
    assert!(words.eq(steps.iter().copied()), "{journal:?}");
    assert_no_lock(Backend::Consul, &consul, &site, "pool").await;
    cts.stop().await;
}

/// As when the machine loses its power. The state's lock in Consul outlives its holder by up to 45 s and
/// all three attempts; the slow retry after a minute finds it gone.
async fn the_change_is_applied_after_everything_was_killed(backend: Backend) {
    let (consul, site, cts, _terraform) = in_the_middle(backend).await;
    cts.kill().await;
    // In a cluster the guard interrupts Terraform, which then writes its state. Killed while it writes a file, it would
    // leave an empty one.
    if (Shape::of_this_run(), backend) != (Shape::Cluster, Backend::Local) {
        site.kill_terraform().await;
    }
    site.wait_until_quiet().await;
    site.release();

    let cts = Instance::start(&site).await;
    site.wait_for_step("pool", "end", "web-1,web-2").await;
    eventually(DEADLINE, async || {
        let events = cts.api.events("pool").await;
        // The first event is that of the run before.
        met(
            events.len() > 1 && events[0]["success"] == true,
            format!("{events:?}"),
        )
    })
    .await;
    assert_no_lock(backend, &consul, &site, "pool").await;
    cts.stop().await;
}

#[tokio::test]
async fn an_apply_whose_terraform_is_killed_too_is_repeated_with_the_state_in_consul() {
    the_change_is_applied_after_everything_was_killed(Backend::Consul).await;
}

#[tokio::test]
async fn an_apply_whose_terraform_is_killed_too_is_repeated_with_the_state_in_the_task_directory() {
    the_change_is_applied_after_everything_was_killed(Backend::Local).await;
}
