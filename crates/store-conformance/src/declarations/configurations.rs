//! Behaviours of the task blocks in force: registering and deciding them.

use std::collections::BTreeMap;
use std::time::Duration;

use cts_core::brake::FleetMaxShrink;
use cts_core::{ApprovalDefaults, ConfigurationFingerprint, Digest, TaskOrigin, TaskSpec, Verdict};

use crate::Fixture;
use crate::scene::{MICROSECOND, Scene, life, member, seconds, spec};
use cts_store::{AppliedConfiguration, Configuration, FLEET_MAX_SHRINK, Member, Registered};

const TTL: Duration = Duration::from_secs(15);

pub(crate) fn configuration(tasks: &[TaskSpec]) -> Configuration {
    Configuration {
        tasks: tasks.to_vec(),
        fingerprint: ConfigurationFingerprint::of(tasks).expect("tasks are JSON"),
        settings: BTreeMap::from([("version".to_owned(), "1".to_owned())]),
        fleet_max_shrink: None,
        approvals: ApprovalDefaults::default(),
    }
}

fn named(names: &[&str]) -> Configuration {
    let tasks: Vec<_> = names.iter().map(|name| spec(name)).collect();
    configuration(&tasks)
}

/// A configuration with a brake of the fleet.
fn braked(configuration: &Configuration, brake: FleetMaxShrink) -> Configuration {
    let mut braked = configuration.clone();
    braked.fleet_max_shrink = Some(brake);
    let text = (FLEET_MAX_SHRINK.to_owned(), brake.to_string());
    braked.settings.extend([text]);
    braked
}

/// The member lives.
async fn seen<F: Fixture>(scene: &Scene<F>, member: &Member) {
    scene.lead_in_life(member, None, TTL).await;
}

async fn register<F: Fixture>(
    scene: &Scene<F>,
    member: &Member,
    configuration: &Configuration,
) -> (Verdict, u64) {
    let registered = scene
        .store()
        .register_configuration(member, configuration, TTL)
        .await;
    let Registered { verdict, number } = registered.expect("a configuration can be registered");
    (verdict, number)
}

async fn started<F: Fixture>(
    scene: &Scene<F>,
    member: &Member,
    configuration: &Configuration,
) -> (Verdict, u64) {
    seen(scene, member).await;
    register(scene, member, configuration).await
}

async fn in_force<F: Fixture>(scene: &Scene<F>) -> Option<(u64, Vec<String>, String)> {
    let in_force = scene.store().configuration_in_force().await;
    let in_force = in_force.expect("it can be read")?;
    let names = in_force.tasks.iter().map(|task| task.name().to_string());
    Some((in_force.number, names.collect(), in_force.decided_by))
}

fn decided(number: u64, names: &[&str], by: &str) -> (u64, Vec<String>, String) {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    (number, names, by.to_owned())
}

pub async fn the_configuration_of_one_member_takes_effect_when_it_starts<F: Fixture>() {
    let mut scene = Scene::<F>::unled().await;
    assert_eq!(in_force(&scene).await, None);
    let (a, again) = (life("a", 1), life("a", 2));
    let first = started(&scene, &a, &named(&["x"])).await;
    assert_eq!(first, (Verdict::TakesEffect, 1));
    assert_eq!(in_force(&scene).await, Some(decided(1, &["x"], "a")));
    scene.restart().await;
    assert_eq!(in_force(&scene).await, Some(decided(1, &["x"], "a")));
    scene.resign(&a).await;
    let second = started(&scene, &again, &named(&["y"])).await;
    assert_eq!(second, (Verdict::TakesEffect, 2));
    assert_eq!(in_force(&scene).await, Some(decided(2, &["y"], "a")));
}

pub async fn a_rolling_restart_takes_effect_with_its_last_member<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let (old, new) = (named(&["x"]), named(&["x", "y"]));
    let [a, b, c] = ["a", "b", "c"].map(member);
    for member in [&a, &b, &c] {
        started(&scene, member, &old).await;
    }
    assert_eq!(in_force(&scene).await, Some(decided(1, &["x"], "a")));
    for (id, last) in [("a", false), ("b", false), ("c", true)] {
        scene.advance(seconds(1));
        for member in [&a, &b, &c] {
            if member.id != id {
                seen(&scene, member).await;
            }
        }
        scene.resign(&member(id)).await;
        let next = life(id, 2);
        let (verdict, number) = started(&scene, &next, &new).await;
        if last {
            assert_eq!((verdict, number), (Verdict::TakesEffect, 2));
        } else {
            assert_eq!((verdict, number), (Verdict::Open, 1), "{id}");
            // They live.
            scene.advance(seconds(1));
            for member in [&a, &b, &c] {
                if member.id.as_str() > id {
                    seen(&scene, member).await;
                }
            }
            let (verdict, number) = register(&scene, &next, &new).await;
            assert_eq!((verdict, number), (Verdict::StaysOut, 1), "{id}");
        }
    }
    assert_eq!(in_force(&scene).await, Some(decided(2, &["x", "y"], "c")));
}

pub async fn members_that_are_dead_are_waited_for_and_do_not_count<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let [a, b] = ["a", "b"].map(member);
    started(&scene, &a, &named(&["x"])).await;
    scene.advance(seconds(5));
    let started = started(&scene, &b, &named(&["y"])).await;
    assert_eq!(started, (Verdict::Open, 1));
    scene.advance(TTL.saturating_sub(seconds(5)).saturating_sub(MICROSECOND));
    seen(&scene, &b).await;
    assert_eq!(register(&scene, &b, &named(&["y"])).await.0, Verdict::Open);
    scene.advance(MICROSECOND);
    let registered = register(&scene, &b, &named(&["y"])).await;
    assert_eq!(registered, (Verdict::TakesEffect, 2));
    // The paused member changes nothing when it wakes, and starts with a stale file.
    seen(&scene, &a).await;
    seen(&scene, &b).await;
    let stale = register(&scene, &life("a", 2), &named(&["x"])).await;
    assert_eq!(stale.1, 2);
    assert_eq!(in_force(&scene).await, Some(decided(2, &["y"], "b")));
}

pub async fn a_member_that_says_nothing_of_its_configuration_decides_nothing<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let [a, b] = ["a", "b"].map(member);
    seen(&scene, &a).await;
    let (verdict, number) = started(&scene, &b, &named(&["y"])).await;
    assert_eq!((verdict, number), (Verdict::Open, 0));
    assert_eq!(in_force(&scene).await, None);
    // The last of them decides.
    let last = register(&scene, &a, &named(&["y"])).await;
    assert_eq!(last, (Verdict::TakesEffect, 1));
    assert_eq!(register(&scene, &b, &named(&["y"])).await, last);
}

pub async fn configuration_in_force_stays_as_it_is_stored<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let elsewhere = |content: Option<&[u8]>| {
        let mut task = spec("x");
        task.definition.module_source = "/elsewhere/module".into();
        task.definition.module_digest = content.map(Digest::of);
        configuration(&[task])
    };
    let [a, b] = ["a", "b"].map(member);
    started(&scene, &a, &elsewhere(Some(b"1"))).await;
    // Another directory, without the module.
    let same = named(&["x"]);
    assert_eq!(started(&scene, &b, &same).await, (Verdict::TakesEffect, 1));
    let stored = scene.store().configuration_in_force().await;
    let stored = stored.expect("it can be read").expect("there is one");
    assert_eq!(stored.tasks, elsewhere(Some(b"1")).tasks);
    // A member that is alone refreshes the path of its module; a digest that it does not have stays.
    scene.resign(&a).await;
    assert_eq!(register(&scene, &b, &same).await, (Verdict::TakesEffect, 2));
    let stored = scene.store().configuration_in_force().await;
    let stored = stored.expect("it can be read").expect("there is one");
    let definition = &stored.tasks[0].definition;
    assert_eq!(definition.module_source, "/modules/module");
    assert_eq!(definition.module_digest, Some(Digest::of(b"1")));
    assert_eq!(register(&scene, &b, &same).await, (Verdict::TakesEffect, 2));
}

pub async fn a_leader_adopts_its_own_only_if_there_is_none<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let own = member("leader");
    let adopt = async |configuration: &Configuration, replace| {
        let adopted = scene
            .store()
            .adopt_configuration(scene.leader(), &own, configuration, replace)
            .await;
        let adopted = adopted.expect("the leader can adopt");
        (adopted.number, adopted.tasks.len())
    };
    assert_eq!(adopt(&named(&["x"]), false).await, (1, 1));
    assert_eq!(adopt(&named(&[]), false).await, (1, 1));
    assert_eq!(adopt(&named(&["y", "z"]), true).await, (2, 2));
    let old = scene.leader();
    scene.lead().await;
    let late = scene
        .store()
        .adopt_configuration(old, &own, &named(&[]), true)
        .await;
    assert!(late.is_err());
    assert_eq!(
        in_force(&scene).await,
        Some(decided(2, &["y", "z"], "leader"))
    );
}

pub async fn configurations_are_those_of_living_members<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let listed = async || {
        let all = scene.store().configurations(TTL).await;
        let all = all.expect("configurations can be listed");
        let all = all.into_iter().map(|one| (one.id, one.incarnation));
        all.collect::<Vec<_>>()
    };
    let version = async || {
        let version = scene.store().configuration_version().await;
        version.expect("it has a version")
    };
    let [a, b] = ["a", "b"].map(member);
    let before = version().await;
    started(&scene, &a, &named(&["x"])).await;
    let one = version().await;
    assert_ne!(before, one);
    started(&scene, &b, &named(&["x"])).await;
    assert_ne!(version().await, one);
    let both = [&a, &b].map(|member| (member.id.clone(), member.incarnation));
    assert_eq!(listed().await, both);
    scene.resign(&a).await;
    assert_eq!(listed().await, both[1..]);
    // Another life has not registered yet.
    scene.advance(TTL);
    seen(&scene, &life("b", 2)).await;
    assert_eq!(listed().await, []);
}

async fn decide<F: Fixture>(
    scene: &Scene<F>,
    configuration: &Configuration,
    number: u64,
    prune: bool,
) -> Option<u64> {
    let wanted = AppliedConfiguration {
        configuration: configuration.clone(),
        decided_by: "someone".to_owned(),
        number,
        prune,
    };
    let decided = scene.store().put_in_force(&wanted).await;
    decided.expect("a configuration can be put in force")
}

/// As a leader does it.
async fn bring_in<F: Fixture>(scene: &Scene<F>) {
    let in_force = scene.store().configuration_in_force().await;
    let in_force = in_force.expect("it can be read").expect("there is one");
    scene.configure(&in_force.tasks).await;
}

pub async fn decision_replaces_only_the_configuration_that_it_is_based_on<F: Fixture>() {
    let mut scene = Scene::<F>::unled().await;
    assert_eq!(decide(&scene, &named(&["x"]), 1, false).await, None);
    assert_eq!(in_force(&scene).await, None);
    assert_eq!(decide(&scene, &named(&["x"]), 0, false).await, Some(1));
    assert_eq!(in_force(&scene).await, Some(decided(1, &["x"], "someone")));
    let version = scene.store().configuration_version().await;
    assert_eq!(decide(&scene, &named(&["y"]), 1, false).await, Some(2));
    assert_ne!(
        scene
            .store()
            .configuration_version()
            .await
            .expect("it can be read"),
        version.expect("it can be read")
    );
    // A decision that is based on an earlier number changes nothing.
    assert_eq!(decide(&scene, &named(&["x"]), 1, false).await, None);
    scene.restart().await;
    assert_eq!(in_force(&scene).await, Some(decided(2, &["y"], "someone")));
    // A member that starts with the same configuration changes nothing, and one with another configuration
    // reports that.
    let same = started(&scene, &member("a"), &named(&["y"])).await;
    assert_eq!(same, (Verdict::TakesEffect, 2));
    assert_eq!(in_force(&scene).await, Some(decided(2, &["y"], "someone")));
    let (verdict, number) = started(&scene, &member("b"), &named(&["z"])).await;
    assert_eq!((verdict, number), (Verdict::Open, 2));
}

pub async fn decided_configuration_undoes_api_changes_of_its_tasks<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["off", "deleted", "same", "gone"]).await;
    scene.enable("off", false).await;
    assert!(scene.delete("deleted").await);
    scene.created("made").await;
    let wanted = named(&["deleted", "off", "same"]);
    // Nothing is decided, nothing is forgotten.
    assert_eq!(decide(&scene, &wanted, 7, true).await, None);
    scene
        .configure(&["off", "deleted", "same", "gone"].map(spec))
        .await;
    assert_eq!(scene.names().await, ["off", "same", "gone", "made"]);
    assert_eq!(decide(&scene, &wanted, 0, false).await, Some(1));
    // The process dies here.
    scene.restart().await;
    scene.lead().await;
    bring_in(&scene).await;
    assert_eq!(scene.names().await, ["deleted", "off", "same", "made"]);
    let off = scene.there("off").await;
    assert_eq!((off.spec, off.revision), (spec("off"), 3));
    let same = scene.there("same").await;
    assert_eq!((same.spec, same.revision), (spec("same"), 1));
    let made = scene.there("made").await;
    assert_eq!(made.origin, TaskOrigin::Api);
    // From here on changes over the API last again.
    scene.enable("off", false).await;
    bring_in(&scene).await;
    let off = scene.there("off").await;
    assert!(!off.spec.enabled);
}

pub async fn other_tasks_of_the_api_go_with_a_decided_one_if_they_are_to<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.created("made").await;
    scene.created("named").await;
    let wanted = named(&["a", "named"]);
    assert_eq!(decide(&scene, &wanted, 0, true).await, Some(1));
    bring_in(&scene).await;
    assert_eq!(scene.names().await, ["a", "named"]);
    let named = scene.there("named").await;
    assert_eq!(named.origin, TaskOrigin::Config);
}

pub async fn a_decided_one_has_the_modules_that_are_known<F: Fixture>() {
    let scene = Scene::<F>::unled().await;
    let mut known = spec("x");
    known.definition.module_source = "/modules/x".into();
    known.definition.module_digest = Some(Digest::of(b"known"));
    let mut lacking = known.clone();
    lacking.definition.module_source = "/elsewhere/x".into();
    lacking.definition.module_digest = None;
    decide(&scene, &configuration(&[known.clone()]), 0, false).await;
    decide(&scene, &configuration(&[lacking]), 1, false).await;
    let in_force = scene.store().configuration_in_force().await;
    let in_force = in_force.expect("it can be read").expect("there is one");
    let definition = &in_force.tasks[0].definition;
    assert_eq!(definition.module_digest, known.definition.module_digest);
    assert_eq!(definition.module_source, "/elsewhere/x");
    assert_eq!(
        in_force.fingerprint,
        configuration(&in_force.tasks).fingerprint
    );
}

async fn brake_in_force<F: Fixture>(scene: &Scene<F>) -> Option<FleetMaxShrink> {
    let in_force = scene.store().configuration_in_force().await;
    let in_force = in_force.expect("it can be read").expect("there is one");
    in_force.fleet_max_shrink
}

pub async fn the_brake_of_the_fleet_takes_effect_when_all_members_have_the_same<F: Fixture>() {
    let mut scene = Scene::<F>::unled().await;
    let brake = |share| FleetMaxShrink {
        share,
        within: seconds(600),
        at_least: 20,
    };
    let off = named(&["x"]);
    let (on, other) = (braked(&off, brake(20)), braked(&off, brake(30)));
    let [a, b] = ["a", "b"].map(member);
    started(&scene, &a, &off).await;
    assert_eq!(started(&scene, &b, &off).await.0, Verdict::TakesEffect);
    scene.advance(seconds(1));
    // One after the other is started with a brake, at first with different ones.
    scene.resign(&a).await;
    let a = life("a", 2);
    assert_eq!(started(&scene, &a, &on).await, (Verdict::Open, 1));
    scene.advance(seconds(1));
    scene.resign(&b).await;
    let b = life("b", 2);
    assert_eq!(started(&scene, &b, &other).await, (Verdict::Open, 1));
    scene.advance(seconds(1));
    seen(&scene, &a).await;
    seen(&scene, &b).await;
    for (member, own) in [(&a, &on), (&b, &other)] {
        let registered = register(&scene, member, own).await;
        assert_eq!(registered, (Verdict::StaysOut, 1));
    }
    assert_eq!(brake_in_force(&scene).await, None);
    let registered = register(&scene, &b, &on).await;
    assert_eq!(registered, (Verdict::TakesEffect, 2));
    let registered = register(&scene, &a, &on).await;
    assert_eq!(registered, (Verdict::TakesEffect, 2));
    scene.restart().await;
    assert_eq!(brake_in_force(&scene).await, Some(brake(20)));

    // A file without the brake waits for the others, as at a start, although the life is the same.
    scene.advance(seconds(1));
    let version = scene.store().configuration_version().await;
    assert_eq!(register(&scene, &b, &off).await, (Verdict::Open, 2));
    assert_ne!(
        scene
            .store()
            .configuration_version()
            .await
            .expect("it can be read"),
        version.expect("it can be read")
    );
    scene.advance(seconds(1));
    seen(&scene, &a).await;
    assert_eq!(register(&scene, &b, &off).await, (Verdict::StaysOut, 2));
    assert_eq!(brake_in_force(&scene).await, Some(brake(20)));
    scene.resign(&a).await;
    assert_eq!(register(&scene, &b, &off).await, (Verdict::TakesEffect, 3));
    assert_eq!(brake_in_force(&scene).await, None);

    // A decision carries the brake, whatever the members have.
    assert_eq!(decide(&scene, &other, 3, false).await, Some(4));
    assert_eq!(brake_in_force(&scene).await, Some(brake(30)));
    let registered = started(&scene, &life("a", 3), &other).await;
    assert_eq!(registered, (Verdict::TakesEffect, 4));
    assert_eq!(brake_in_force(&scene).await, Some(brake(30)));
}
