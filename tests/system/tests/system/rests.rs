//! The rest of an approved effect after the real Terraform was killed: the rest is applied without a further question,
//! and anything else needs consent (docs/runs.md#consent).

mod pairs;

use std::collections::BTreeSet;

use cts_testkit::eventually;
use cts_tests::{DEADLINE, Site, met, task};
use reqwest::Method;
use serde_json::{Value, json};

use self::pairs::PAIRS;
use crate::api::scene::Scene;

/// Waits until these tasks wait, and approves all their effects.
async fn approve(scene: &Scene, tasks: &BTreeSet<String>) {
    let set = eventually(DEADLINE, async || {
        let (names, set) = scene.instance.api.waiting_tasks().await;
        met(names == *tasks, format!("{names:?}")).map(|()| set)
    })
    .await;
    let body = json!({"tasks": ["*"], "set": set});
    let path = "/v1/approvals/approve";
    let api = &scene.instance.api;
    let (status, answer) = api.send(Method::POST, path, Some(body)).await;
    assert_eq!(status, 200, "{answer}");
}

/// Waits until each of these tasks has this number of events.
async fn wait_for_events(scene: &Scene, tasks: &BTreeSet<String>, count: usize) {
    for name in tasks {
        let events = scene.instance.api.wait_for_events(name, count).await;
        let ends: Vec<&Value> = events.iter().map(|it| &it["success"]).collect();
        assert_eq!(ends, vec![true; count], "{name}: {events:?}");
    }
}

#[tokio::test]
async fn the_rest_of_an_approved_effect_is_applied_and_anything_else_is_asked_about() {
    let site = Site::new();
    let path = site.path().to_str().unwrap().to_owned();
    let mut blocks = String::new();
    for pair in &PAIRS {
        let module = format!("modules/{}", pair.name);
        site.write(&format!("{module}/main.tf"), &pair.module(&path));
        let always = "approval = \"always\"";
        blocks += &task(pair.name, &format!("./{module}"), &["web"], always);
    }
    let named = |asks: Option<bool>| -> BTreeSet<String> {
        let pairs = PAIRS.iter();
        let pairs = pairs.filter(|pair| asks.is_none_or(|asks| pair.asks == asks));
        pairs.map(|pair| pair.name.to_owned()).collect()
    };
    let all = named(None);
    let scene = Scene::of_site(site, &blocks).await;
    approve(&scene, &all).await;
    wait_for_events(&scene, &all, 1).await;
    scene.register("web", "web-2").await;
    approve(&scene, &all).await;
    wait_for_events(&scene, &named(Some(false)), 2).await;
    let asks = named(Some(true));
    eventually(DEADLINE, async || {
        let (names, _set) = scene.instance.api.waiting_tasks().await;
        met(names == asks, format!("{names:?}"))
    })
    .await;
    wait_for_events(&scene, &asks, 1).await;
    // Each one was cut off.
    let cut = all
        .iter()
        .filter(|name| scene.site.path().join(name).exists());
    assert_eq!(cut.count(), PAIRS.len());
    scene.instance.stop().await;
}
