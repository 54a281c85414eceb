//! Behaviours of capabilities: runs are leased only to workers that meet their requirement.

use cts_core::{Capabilities, Requirement, TaskSpec};

use crate::Fixture;
use crate::scene::{Scene, capabilities, claim, spec};
use cts_store::Claim;

fn requiring(name: &str, driver: &str, version: Option<&str>, bundle: bool) -> TaskSpec {
    let mut spec = spec(name);
    spec.requirement = Requirement {
        driver: driver.to_owned(),
        version: version.map(str::to_owned),
        bundle,
        ..Requirement::default()
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
