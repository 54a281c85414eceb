use super::*;
use crate::task::buffer::BufferPeriod;
use crate::task::spec::{BundleReference, TaskDefinition};
use crate::view::condition::Condition;

fn spec(name: &str) -> TaskSpec {
    serde_json::from_value(serde_json::json!({
        "definition": {
            "name": name,
            "description": "",
            "module": "./m",
            "module_source": "/one/m",
            "module_digest": Digest::of(b"content"),
            "version": "",
            "providers": [],
            "condition": Condition::NoCondition,
            "variables": {},
            "working_dir": name,
        },
        "enabled": true,
        "buffer_setting": null,
        "buffer_period": BufferPeriod::DISABLED,
        "skip_unchanged": true,
        "retry_failed": true,
    }))
    .unwrap()
}

fn changed(change: impl FnOnce(&mut TaskDefinition)) -> TaskSpec {
    let mut spec = spec("a");
    change(&mut spec.definition);
    spec
}

fn fingerprint(tasks: &[TaskSpec]) -> ConfigurationFingerprint {
    ConfigurationFingerprint::of(tasks).unwrap()
}

#[test]
fn ignores_differences_between_machines() {
    let own = fingerprint(&[spec("a")]);
    for same in [
        changed(|definition| definition.module_source = "/other/m".into()),
        changed(|definition| definition.module_digest = None),
        changed(|definition| {
            definition.bundle = Some(BundleReference {
                hash: Digest::of(b"content"),
                module: "m".into(),
            });
        }),
    ] {
        let other = fingerprint(std::slice::from_ref(&same));
        assert!(own.agrees_with(&other), "{same:?}");
        assert!(other.agrees_with(&own), "{same:?}");
    }
    let mut required = spec("a");
    required.requirement.version = Some("1.9.8".into());
    assert!(own.agrees_with(&fingerprint(&[required])));
}

#[test]
fn compares_declared_settings_and_the_content_of_modules() {
    let own = fingerprint(&[spec("a")]);
    for other in [
        changed(|definition| definition.module = "./n".into()),
        changed(|definition| definition.module_source = "registry/m".into()),
        changed(|definition| definition.module_digest = Some(Digest::of(b"edited"))),
        changed(|definition| definition.description = "other".into()),
        changed(|definition| definition.working_dir = "elsewhere".into()),
    ] {
        let other = fingerprint(std::slice::from_ref(&other));
        let a = TaskName::new("a").unwrap();
        assert_eq!(own.differences(&other), [(a, TaskDifference::Changed)]);
        assert!(!own.agrees_with(&other));
        assert_ne!(own.digest(), other.digest());
    }
}

#[test]
fn tasks_that_one_lacks_differ_and_the_order_does_not() {
    let both = fingerprint(&[spec("a"), spec("b")]);
    assert_eq!(both, fingerprint(&[spec("b"), spec("a")]));
    let one = fingerprint(&[spec("a")]);
    let b = || TaskName::new("b").unwrap();
    assert_eq!(both.differences(&one), [(b(), TaskDifference::Added)]);
    assert_eq!(one.differences(&both), [(b(), TaskDifference::Removed)]);
}

#[test]
fn a_module_that_is_missing_comes_from_another_member() {
    let lacking = || changed(|definition| definition.module_digest = None);
    let mut tasks = [lacking()];
    let edited = changed(|definition| definition.description = "other".into());
    complete_modules(&mut tasks, &[edited, lacking()]).unwrap();
    assert_eq!(tasks, [lacking()]);
    complete_modules(&mut tasks, &[spec("b"), spec("a")]).unwrap();
    assert_eq!(tasks, [spec("a")]);
    // The other task keeps its own content.
    let other = changed(|definition| definition.module_digest = Some(Digest::of(b"edited")));
    complete_modules(&mut tasks, &[other]).unwrap();
    assert_eq!(tasks, [spec("a")]);
}

#[test]
fn a_configuration_takes_effect_when_all_that_live_agree() {
    use Verdict::{Open, StaysOut, TakesEffect};
    let other = |agrees, seen_since| OtherMember { agrees, seen_since };
    let agrees = other(Some(true), false);
    let cases = [
        (vec![], TakesEffect, TakesEffect),
        (vec![agrees, agrees], TakesEffect, TakesEffect),
        (vec![agrees, other(Some(false), true)], StaysOut, StaysOut),
        (vec![agrees, other(Some(false), false)], Open, StaysOut),
        (vec![other(None, true)], Open, StaysOut),
        (vec![other(None, false)], Open, StaysOut),
    ];
    for (others, early, late) in cases {
        assert_eq!(judge(&others, false), early, "{others:?}");
        assert_eq!(judge(&others, true), late, "{others:?}");
    }
}
