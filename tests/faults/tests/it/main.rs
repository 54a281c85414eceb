//! Short courses of the fault suite: real processes, random changes and faults, always the same ones.

use std::time::Duration;

use cts_faults::{Course, Engine, Extent, Plan, Setup, Shape, Size, run_plan, say};
use cts_tests::{Backend, Driver};

/// Carries out the course of a seed, in which nothing forbidden may happen.
async fn check(seed: u64, size: Size, past: u32, extent: Extent, driver: Driver) {
    let setup = Setup {
        shape: Shape::Cluster,
        engine: Engine::Real,
        driver,
        backend: Backend::Shared,
        takeover_runs_all: false,
        stale_file: false,
        past,
        followers: 4,
        brake: false,
    };
    let plan = Plan::new(seed, size, setup, extent);
    let keep = std::env::temp_dir().join(format!("cts-faults.seed-{seed}.{}", std::process::id()));
    let course = Course {
        keep,
        settle_limit: Duration::from_mins(4),
        previous: None,
    };
    let report = run_plan(&plan, &course).await;
    say(&report.to_string());
    assert!(report.violations.is_empty(), "{report}");
}

/// Less than a minute of trouble for a small cluster; the plan of this seed has many kinds of faults.
#[tokio::test]
async fn nothing_forbidden_happens_in_a_minute_of_trouble() {
    let size = Size {
        tasks: 12,
        spare: 4,
        services: 6,
    };
    let extent = Extent::Time(Duration::from_secs(30));
    check(1253, size, 100_000, extent, Driver::Terraform).await;
}

/// The server and the persons of it make trouble, too.
#[tokio::test]
async fn nothing_forbidden_happens_to_remote_runs_in_half_a_minute_of_trouble() {
    let size = Size {
        tasks: 6,
        spare: 2,
        services: 4,
    };
    let extent = Extent::Time(Duration::from_secs(30));
    check(21, size, 0, extent, Driver::TerraformCloud).await;
}

/// Faults and writes to the API come between the changes.
#[tokio::test]
async fn in_the_end_everything_is_applied_as_five_hundred_changes_left_it() {
    let size = Size {
        tasks: 8,
        spare: 3,
        services: 5,
    };
    let extent = Extent::Changes(500);
    check(500, size, 20_000, extent, Driver::Terraform).await;
}
