//! Changes that run a task: changes of its condition, not of its module inputs; and ticks.

use chrono::{DateTime, TimeZone as _, Utc};
use cts_core::{
    CatalogService, CatalogServicesCondition, ConsulKvCondition, KeyValue, KvQuery, ModuleInput,
    ScheduleCondition, ServicesQuery,
};

use super::later::{active, desired, empty_planner};
use super::*;
use crate::options::NextTick;

fn on(condition: Condition, module_inputs: Vec<ModuleInput>) -> TaskSpec {
    let mut task = task("t", &[], BufferPeriod::DISABLED);
    task.definition.condition = condition;
    task.definition.module_inputs = module_inputs;
    task
}

fn key(path: &str) -> KvQuery {
    KvQuery {
        path: path.to_owned(),
        ..KvQuery::default()
    }
}

fn services_input(names: &[&str]) -> ModuleInput {
    ModuleInput::Services(ServicesQuery {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        ..ServicesQuery::default()
    })
}

fn catalog_condition() -> Condition {
    Condition::CatalogServices(CatalogServicesCondition {
        regexp: "^web".to_owned(),
        datacenter: String::new(),
        namespace: String::new(),
        node_meta: std::collections::BTreeMap::new(),
        use_as_module_input: true,
    })
}

fn schedule() -> Condition {
    Condition::Schedule(ScheduleCondition {
        cron: "*/10 * * * *".to_owned(),
    })
}

fn pair(value: &str) -> KeyValue {
    KeyValue {
        key: "limits".to_owned(),
        value: value.to_owned(),
    }
}

fn service(name: &str, tag: &str) -> CatalogService {
    CatalogService {
        name: name.to_owned(),
        tags: vec![tag.to_owned()],
    }
}

fn shows<T: Into<Item>>(revision: u64, items: impl IntoIterator<Item = T>) -> ViewDelta {
    ViewSnapshot::new(revision, items).delta_from(None)
}

fn input(due: &DueTask) -> RunInput {
    let DueData::Complete(input) = &due.data else {
        panic!("{due:?} has no data");
    };
    let frozen = input.freeze(Digest::of(b"settings")).unwrap();
    RunInput::thaw(frozen.contents.iter().map(|content| &*content.bytes)).unwrap()
}

#[test]
fn a_module_input_supplies_values_and_triggers_nothing() {
    let kv = ViewId::new("kv.exists.get(limits)");
    let condition = Condition::Services(fixtures::services(&["web"]));
    let spec = on(condition, vec![ModuleInput::ConsulKv(key("/limits"))]);
    let mut planner = Planner::new([&spec]);
    sees(&mut planner, "web", full(1, []), at(0));
    assert_eq!(planner.next_due(), None, "the input is not complete");
    planner.observe(&kv, shows(1, [pair("1")]), at(0)).unwrap();
    assert_eq!(planner.take_due(at(0)).tasks.len(), 1);

    planner.observe(&kv, shows(2, [pair("2")]), at(1)).unwrap();
    assert_eq!(planner.next_due(), None, "it waits for another reason");
    let web = full(2, [instance("web", "w", 1)]);
    sees(&mut planner, "web", web, at(2));
    let due = planner.take_due(at(2)).tasks;
    assert_eq!(*input(&due[0]).consul_kv[0], pair("2"));

    let triggers = |planner: &Planner| -> Vec<bool> {
        let snapshot = planner.task_snapshots().next().unwrap();
        snapshot.views.iter().map(|view| view.triggers).collect()
    };
    assert_eq!(triggers(&planner), [true, false]);
    // With condition and module input swapped.
    let condition = Condition::ConsulKv(ConsulKvCondition {
        query: key("limits"),
        use_as_module_input: true,
    });
    let turned = on(condition, vec![services_input(&["web"])]);
    planner.reconcile([active(&turned)], at(3));
    planner.take_due(at(3));
    sees(&mut planner, "web", full(3, []), at(4));
    assert!(planner.take_due(at(4)).tasks.is_empty());
    planner.observe(&kv, shows(3, [pair("3")]), at(5)).unwrap();
    assert_eq!(planner.take_due(at(5)).tasks.len(), 1);
}

#[test]
fn names_in_the_catalog_trigger_and_tags_do_not() {
    let spec = on(catalog_condition(), vec![]);
    let view = ViewId::new("catalog.services.registration(regexp=^web)");
    let mut planner = Planner::new([&spec]);
    let mut last = ViewSnapshot::default();
    let mut see = |services: Vec<CatalogService>, whole: bool| {
        let next = ViewSnapshot::new(last.revision + 1, services);
        let known = (!whole && last.revision > 0).then_some(&last);
        let delta = next.delta_from(known);
        last = next;
        planner.observe(&view, delta, at(1)).unwrap();
        let due = planner.take_due(at(1)).tasks;
        due.first().map(|due| {
            let services = input(due).catalog_services;
            services
                .iter()
                .map(|service| service.tags[0].clone())
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(see(vec![service("web", "a")], true).unwrap(), ["a"]);
    for whole in [true, false] {
        assert_eq!(see(vec![service("web", "b")], whole), None);
        assert_eq!(see(vec![service("web", "c")], whole), None);
        let two = vec![service("web", "d"), service("web-2", "e")];
        assert_eq!(see(two, whole).unwrap(), ["d", "e"]);
        assert_eq!(see(vec![service("web-2", "f")], whole).unwrap(), ["f"]);
        assert_eq!(see(vec![service("web", "g")], whole).unwrap(), ["g"]);
    }
}

fn clock(text: &str) -> DateTime<Utc> {
    let date = Utc.with_ymd_and_hms(2026, 3, 1, 0, 0, 0).unwrap();
    let (hours, minutes) = text.split_once(':').unwrap();
    let seconds = hours.parse::<i64>().unwrap() * 3600 + minutes.parse::<i64>().unwrap() * 60;
    date + chrono::TimeDelta::seconds(seconds)
}

/// Number of due tasks at a moment of both clocks.
fn due(planner: &mut Planner, now: u64, time: &str) -> usize {
    planner.tick(at(now), clock(time), &NextTick::of(Utc));
    planner.take_due(at(now)).tasks.len()
}

fn next_tick(planner: &Planner) -> Option<DateTime<Utc>> {
    planner.task_snapshots().next().unwrap().next_tick
}

#[test]
fn a_schedule_runs_at_the_beginning_and_then_at_its_ticks() {
    let spec = on(schedule(), vec![]);
    let mut planner = Planner::new([&spec]);
    assert_eq!(due(&mut planner, 0, "10:01"), 1, "as every task");
    assert_eq!(next_tick(&planner), Some(clock("10:10")));
    assert_eq!(planner.next_due(), Some(at(60)), "the clock may be set");
    assert_eq!(due(&mut planner, 60, "10:02"), 0);
    let changes = planner.changes();
    planner.tick(at(540), clock("10:10"), &NextTick::of(Utc));
    assert_eq!(planner.changes(), changes + 1, "the next tick is shown");
    assert_eq!(due(&mut planner, 540, "10:10"), 1);
    assert_eq!(next_tick(&planner), Some(clock("10:20")));
    // The clock was set forward past two ticks, and back.
    assert_eq!(
        due(&mut planner, 600, "10:41"),
        1,
        "the missed are not made up for"
    );
    assert_eq!(next_tick(&planner), Some(clock("10:50")));
    assert_eq!(due(&mut planner, 660, "10:05"), 0);
    assert_eq!(next_tick(&planner), Some(clock("10:10")));
    assert_eq!(due(&mut planner, 720, "10:50"), 1);
}

#[test]
fn a_tick_takes_the_newest_data_and_waits_until_there_is_some() {
    let spec = on(schedule(), vec![services_input(&["web", ""])]);
    let mut planner = Planner::new([&spec]);
    assert_eq!(due(&mut planner, 0, "10:01"), 0);
    assert_eq!(
        due(&mut planner, 540, "10:10"),
        0,
        "nothing is known of web"
    );
    sees(&mut planner, "web", full(1, []), at(541));
    assert_eq!(due(&mut planner, 541, "10:10"), 1);
    let web = full(2, [instance("web", "w", 1)]);
    sees(&mut planner, "web", web, at(542));
    assert_eq!(
        due(&mut planner, 542, "10:11"),
        0,
        "it is not triggered by it"
    );
    planner.tick(at(1200), clock("10:20"), &NextTick::of(Utc));
    assert_eq!(services(&planner.take_due(at(1200)).tasks[0]).len(), 1);
}

#[test]
fn a_due_task_tells_whether_its_schedule_has_ticked() {
    let spec = on(schedule(), vec![]);
    let mut planner = Planner::new([&spec]);
    let mut reason = |now, time| {
        planner.tick(at(now), clock(time), &NextTick::of(Utc));
        let due = planner.take_due(at(now)).tasks;
        due.first().map(|due| due.reason)
    };
    let change = |first, tick| Some(EnqueueReason::Change { first, tick });
    assert_eq!(reason(0, "10:01"), change(true, false));
    assert_eq!(reason(540, "10:10"), change(false, true));
    assert_eq!(reason(541, "10:11"), None);
    planner.settings_changed(at(600), |_definition| true);
    let due = planner.take_due(at(600)).tasks;
    assert_eq!(Some(due[0].reason), change(false, false));
}

#[test]
fn ticks_end_with_the_schedule_and_while_the_task_is_disabled() {
    let scheduled = on(schedule(), vec![services_input(&["web"])]);
    let mut planner = empty_planner();
    planner.reconcile([active(&scheduled)], at(0));
    sees(&mut planner, "web", full(1, []), at(0));
    assert_eq!(
        due(&mut planner, 0, "10:01"),
        0,
        "its creator has asked for a run"
    );
    assert_eq!(due(&mut planner, 540, "10:10"), 1);
    planner.reconcile([desired(&scheduled, TaskMode::Disabled, vec![])], at(541));
    assert_eq!(due(&mut planner, 1200, "10:21"), 0);
    planner.reconcile([active(&scheduled)], at(1201));
    sees(&mut planner, "web", full(2, []), at(1201));
    assert_eq!(due(&mut planner, 1201, "10:21"), 0);
    assert_eq!(next_tick(&planner), Some(clock("10:30")));
    let changed = on(Condition::NoCondition, vec![services_input(&["web"])]);
    planner.reconcile([active(&changed)], at(1202));
    assert_eq!(
        (next_tick(&planner), due(&mut planner, 9999, "23:00")),
        (None, 0)
    );
}
