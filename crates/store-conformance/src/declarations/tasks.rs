//! Tasks as declared.

use std::time::Duration;

use cts_core::{
    BufferPeriod, BufferSetting, BundleReference, Condition, Digest, Requirement,
    ServicesCondition, ServicesQuery, TaskOrigin, TaskPhase, TaskSpec,
};
use serde_json::json;

use crate::Fixture;
use crate::scene::{Scene, spec, task};
use cts_store::StoredTask;

async fn specs<F: Fixture>(scene: &Scene<F>) -> Vec<TaskSpec> {
    let tasks = scene.store().tasks().await.expect("tasks can be read");
    let specs = tasks.into_iter().map(|task| {
        assert_eq!(task.origin, TaskOrigin::Config);
        task.spec
    });
    specs.collect()
}

/// A task in which nothing has its default.
fn unusual(name: &str) -> TaskSpec {
    let mut spec = spec(name);
    spec.definition.description = "quotes \" ' ` and\nbreaks, ünïcödé ☃ ${not} %{evaluated}".into();
    spec.definition.module = "org/module/provider".into();
    spec.definition.module_source = "org/module/provider".into();
    spec.definition.module_digest = Some(Digest::of(b"module"));
    spec.definition.bundle = Some(BundleReference {
        hash: Digest::of(b"bundle"),
        module: "modules/module".into(),
    });
    spec.definition.version = ">= 1.0, < 2".into();
    spec.definition.variables = [
        ("list".to_owned(), json!([1, -2.5, null, true, {"a": "b"}])),
        ("großes".to_owned(), json!(u64::MAX)),
        ("text".to_owned(), json!("line\nbreak \\ \u{1}")),
    ]
    .into();
    spec.definition.condition = Condition::Services(ServicesCondition {
        query: ServicesQuery {
            regexp: None,
            declared: std::collections::BTreeMap::default(),
            names: vec!["web".into(), "api".into()],
            datacenter: "dc2".into(),
            namespace: "team".into(),
            filter: "Service.Tags contains \"a\"\n".into(),
            cts_user_defined_meta: [("key".to_owned(), "value".to_owned())].into(),
        },
        use_as_module_input: false,
    });
    spec.enabled = false;
    spec.buffer_setting = Some(BufferSetting {
        enabled: Some(true),
        min: Some(Duration::from_millis(1500)),
        max: None,
    });
    spec.buffer_period = BufferPeriod {
        enabled: true,
        min: Duration::from_millis(1500),
        max: Duration::from_secs(6),
    };
    spec.file_settings.skip_unchanged = false;
    spec.file_settings.retry_failed = false;
    spec.requirement = Requirement {
        driver: "tofu".into(),
        version: Some("1.8.0".into()),
        bundle: true,
        ..Requirement::default()
    };
    spec.file_settings.timeouts.init = Some(Duration::from_millis(1));
    spec
}

pub async fn configured_tasks_come_back_whole_and_in_their_order<F: Fixture>() {
    let wanted = [spec("zebra"), unusual("ant"), spec("middle")];
    let scene = Scene::<F>::configured(&wanted).await;
    assert_eq!(specs(&scene).await, wanted);
    let one = scene
        .store()
        .task(&task("ant"))
        .await
        .expect("a task can be read");
    assert_eq!(
        one,
        Some(StoredTask {
            spec: wanted[1].clone(),
            origin: TaskOrigin::Config,
            phase: TaskPhase::Ready,
            revision: 1,
            destroy_run: None,
            destruction_suspended: false,
        })
    );
}

pub async fn replaced_tasks_are_added_changed_moved_and_removed<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    let mut changed = spec("a");
    changed.definition.description = "changed".into();
    changed.enabled = false;
    let wanted = [spec("d"), spec("c"), changed];
    scene.configure(&wanted).await;
    assert_eq!(specs(&scene).await, wanted);
    scene.configure(&wanted).await;
    assert_eq!(specs(&scene).await, wanted);
    assert!(!scene.state("a").await.enabled);
    assert!(scene.state("c").await.enabled);
    scene.configure(&[]).await;
    assert_eq!(specs(&scene).await, []);
}

pub async fn every_allowed_name_works<F: Fixture>() {
    let long = "x".repeat(500);
    let names = [
        "été-1_·",
        "_",
        "A",
        "a",
        "a-",
        "a_",
        "Ünï-ⅷ",
        "日本語",
        "x--y__",
        "select",
        &long,
    ];
    let scene = Scene::<F>::new(&names).await;
    for name in names {
        let run = scene.apply(name, "1").await;
        assert_eq!(scene.run(run).await.task, task(name));
        let state = scene.state(name).await;
        assert_eq!((state.task, state.events.len()), (task(name), 1));
        let stored = scene
            .store()
            .task(&task(name))
            .await
            .expect("a task can be read");
        assert_eq!(stored.map(|stored| stored.spec), Some(spec(name)));
    }
    let mut sorted = names.map(task);
    sorted.sort();
    let states = scene.states(None).await;
    let by_name: Vec<_> = states.into_iter().map(|state| state.task).collect();
    assert_eq!(by_name, sorted);
}
