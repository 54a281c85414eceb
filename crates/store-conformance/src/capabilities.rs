//! Behaviours of capabilities: runs are leased only to workers that meet their requirement.

use std::time::Duration;

use cts_core::{Capabilities, Requirement, TaskSpec};

use super::Fixture;
use super::scene::{Scene, capabilities, claim, seconds, spec, task};
use cts_store::Claim;

fn requiring(name: &str, driver: &str, version: Option<&str>, bundle: bool) -> TaskSpec {
    let mut spec = spec(name);
    spec.requirement = Requirement {
        driver: driver.to_owned(),
        version: version.map(str::to_owned),
        bundle,
    };
    spec
}

/// Returns the task whose run a worker with these capabilities gets.
async fn leased_with<F: Fixture>(scene: &Scene<F>, capabilities: Capabilities) -> Option<String> {
    let claim = Claim {
        capabilities,
        ..claim()
    };
    let lease = scene.acquire_as(&claim).await;
    lease.map(|lease| lease.task.as_str().to_owned())
}

/// Asserts which worker gets the only run: none of `without`, and then `with`.
async fn assert_goes_to<F: Fixture>(
    spec: TaskSpec,
    without: impl IntoIterator<Item = Capabilities>,
    with: Capabilities,
) {
    let name = spec.name().as_str().to_owned();
    let scene = Scene::<F>::configured(&[spec]).await;
    scene.queue(&name, "1").await;
    for capabilities in without {
        let told = format!("{capabilities:?}");
        assert_eq!(leased_with(&scene, capabilities).await, None, "{told}");
    }
    assert_eq!(leased_with(&scene, with).await, Some(name));
}

pub async fn a_run_goes_to_a_worker_with_its_driver<F: Fixture>() {
    let without = [
        capabilities(&[], true),
        capabilities(&[("terraform", "1.9.8")], true),
        capabilities(
            &[("tof", "1"), ("tofu2", "1"), ("TOFU", "1"), ("", "tofu")],
            true,
        ),
    ];
    let with = capabilities(&[("terraform", "1.9.8"), ("tofu", "")], false);
    assert_goes_to::<F>(requiring("a", "tofu", None, false), without, with).await;
}

pub async fn a_version_is_matched_exactly_and_with_its_driver<F: Fixture>() {
    let other = [
        "1.9",
        "1.9.80",
        "1.9.7",
        "v1.9.8",
        "1.9.8-rc1",
        "1.9.8 ",
        "",
    ];
    let without = other
        .map(|version| capabilities(&[("terraform", version), ("tofu", "1.9.8")], true))
        .into_iter();
    let with = capabilities(
        &[
            ("terraform", "1.9.7"),
            ("tofu", "1"),
            ("terraform", "1.9.8"),
        ],
        false,
    );
    let spec = requiring("a", "terraform", Some("1.9.8"), false);
    assert_goes_to::<F>(spec, without, with).await;
}

pub async fn a_bundle_goes_to_a_worker_that_fetches_bundles<F: Fixture>() {
    let engines = [("terraform", "1.9.8")];
    let without = [capabilities(&engines, false)];
    let spec = requiring("a", "terraform", None, true);
    assert_goes_to::<F>(spec, without, capabilities(&engines, true)).await;
}

pub async fn a_worker_that_lacks_one_thing_gets_nothing<F: Fixture>() {
    let without = [
        capabilities(&[("tofu", "1.8.0")], false),
        capabilities(&[("tofu", "1.8.1")], true),
        capabilities(&[("terraform", "1.8.0")], true),
    ];
    let spec = requiring("a", "tofu", Some("1.8.0"), true);
    assert_goes_to::<F>(spec, without, capabilities(&[("tofu", "1.8.0")], true)).await;
}

pub async fn odd_names_are_only_names<F: Fixture>() {
    for odd in [
        "\"",
        "'",
        "[\"x\"]",
        "{}",
        "a,b",
        "ünï ☃",
        "\\",
        "%",
        "null",
        "NULL",
        "",
    ] {
        let spec = requiring("a", odd, Some(odd), false);
        let without = [capabilities(&[("terraform", "1")], true)];
        assert_goes_to::<F>(
            spec,
            without,
            capabilities(&[("x", "y"), (odd, odd)], false),
        )
        .await;
    }
}

/// A run that waits longest does not block the runs that a worker can have.
pub async fn runs_are_leased_past_those_that_a_worker_cannot_have<F: Fixture>() {
    let scene = Scene::<F>::configured(&[
        requiring("first", "tofu", None, false),
        requiring("second", "terraform", Some("1.0.0"), false),
        requiring("third", "terraform", None, true),
        spec("fourth"),
        spec("fifth"),
    ])
    .await;
    for name in ["first", "second", "third", "fourth", "fifth"] {
        scene.queue(name, "1").await;
        scene.advance(seconds(1));
    }
    let plain = || capabilities(&[("terraform", "1.9.8")], false);
    for expected in [Some("fourth"), Some("fifth"), None] {
        let leased = leased_with(&scene, plain()).await;
        assert_eq!(leased.as_deref(), expected);
    }
    let everything = || {
        capabilities(
            &[
                ("terraform", "1.9.8"),
                ("terraform", "1.0.0"),
                ("tofu", "1.8.0"),
            ],
            true,
        )
    };
    for expected in [Some("first"), Some("second"), Some("third"), None] {
        let leased = leased_with(&scene, everything()).await;
        assert_eq!(leased.as_deref(), expected);
    }
}

pub async fn a_changed_requirement_counts_from_then_on<F: Fixture>() {
    let scene = Scene::<F>::configured(&[requiring("a", "tofu", Some("1.8.0"), true)]).await;
    let run = scene.queue("a", "1").await;
    assert_eq!(scene.acquire().await, None);
    scene
        .configure(&[requiring("a", "tofu", None, false)])
        .await;
    assert_eq!(scene.acquire().await, None);
    scene.configure(&[spec("a")]).await;
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.task.clone()), (run, task("a")));
    // A leased run stays leased.
    scene
        .configure(&[requiring("a", "tofu", None, false)])
        .await;
    scene.interrupted(&lease).await;
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_requirement_outlives_a_restart<F: Fixture>() {
    let mut scene = Scene::<F>::configured(&[requiring("a", "tofu", None, true)]).await;
    scene.queue("a", "1").await;
    scene.restart().await;
    assert_eq!(scene.acquire().await, None);
    let with = capabilities(&[("tofu", "1")], true);
    assert_eq!(leased_with(&scene, with).await.as_deref(), Some("a"));
}

/// A run is due whether or not the present workers can have it.
pub async fn a_run_that_no_worker_can_have_is_due_nevertheless<F: Fixture>() {
    let scene = Scene::<F>::configured(&[requiring("a", "nothing has it", None, true)]).await;
    scene.queue("a", "1").await;
    scene.advance(seconds(2));
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.next_due().await, Some(Duration::ZERO));
    let depth = scene.queue_depth().await;
    assert_eq!((depth.queued, depth.ready), (1, 1));
    assert_eq!(depth.oldest_ready, Some(seconds(2)));
}
