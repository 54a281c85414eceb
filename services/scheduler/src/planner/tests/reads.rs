//! Inputs wait for reads of the views that trigger nothing, which begin after the trigger.

use chrono::{TimeDelta, TimeZone as _, Utc};
use cts_core::{ModuleInput, ScheduleCondition, ServicesQuery};

use super::later::{active, empty_planner};
use super::*;
use crate::options::NextTick;
use crate::watch::ReadRequest;

pub(super) const VIEWS: [&str; 3] = ["web", "db", "mail"];

fn inputs(names: &[&str], datacenter: &str) -> ModuleInput {
    ModuleInput::Services(ServicesQuery {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        datacenter: datacenter.to_owned(),
        ..ServicesQuery::default()
    })
}

/// A task that runs with "web" and reads these.
pub(super) fn reader(name: &str, names: &[&str]) -> TaskSpec {
    let mut spec = task(name, &["web"], BufferPeriod::DISABLED);
    spec.definition.module_inputs = vec![inputs(names, "")];
    spec
}

pub(super) fn scheduled(name: &str) -> TaskSpec {
    let mut spec = reader(name, &["db", "mail"]);
    spec.definition.condition = Condition::Schedule(ScheduleCondition {
        cron: "* * * * *".to_owned(),
    });
    spec
}

pub(super) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn show(planner: &mut Planner, service: &str, port: i64, now: Duration) {
    let revision = u64::try_from(port).unwrap();
    let content = full(revision, [instance(service, "i", port)]);
    sees(planner, service, content, now);
}

/// The watcher sends the change of a view that it has sent before.
fn change(planner: &mut Planner, service: &str, ports: [i64; 2], now: Duration) {
    let [before, after] = ports.map(|port| {
        let revision = u64::try_from(port).unwrap();
        ViewSnapshot::new(revision, [instance(service, "i", port)])
    });
    let delta = after.delta_from(Some(&before));
    sees(planner, service, delta, now);
}

/// A planner whose first inputs are frozen, with all views at port 1, and that owes no read.
pub(super) fn running(specs: &[TaskSpec]) -> Planner {
    let mut planner = empty_planner().with_reads();
    planner.reconcile(specs.iter().map(active), ms(0));
    for service in VIEWS {
        show(&mut planner, service, 1, ms(0));
    }
    planner.take_due(ms(0));
    planner
}

fn one(planner: &mut Planner) -> ReadRequest {
    let mut requests = planner.take_reads();
    assert_eq!(requests.len(), 1, "{requests:?}");
    requests.remove(0)
}

pub(super) fn port_of(due: &DueTask, name: &str) -> i64 {
    let services = services(due);
    services
        .iter()
        .find(|service| service.name == name)
        .unwrap()
        .port
}

fn unread(due: &DueTask) -> Vec<(&str, UnreadReason)> {
    let unread = due.unread.iter();
    unread
        .map(|unread| (unread.view.as_str(), unread.reason))
        .collect()
}

#[test]
fn an_input_is_frozen_when_each_silent_view_was_read_after_its_trigger() {
    let mut planner = running(&[reader("t", &["db", "mail"])]);
    show(&mut planner, "web", 2, ms(10));
    assert!(planner.take_due(ms(10)).tasks.is_empty());
    let request = one(&mut planner);
    assert_eq!(request.views, [id("db"), id("mail")]);
    assert!(!request.gather, "a change is in haste");
    planner.read(&id("mail"), request.mark, ms(12));
    show(&mut planner, "db", 2, ms(13));
    assert_eq!(planner.next_due(), Some(ms(1010)), "a delta is not a read");
    planner.read(&id("db"), request.mark - 2, ms(13));
    assert!(planner.take_due(ms(13)).tasks.is_empty(), "an earlier read");
    planner.read(&id("db"), request.mark, ms(14));
    let due = planner.take_due(ms(14)).tasks;
    assert_eq!((names(&due), port_of(&due[0], "db")), (vec!["t"], 2));
    assert_eq!(unread(&due[0]), []);
    assert_eq!(planner.next_due(), None);
}

#[test]
fn a_task_whose_views_all_trigger_waits_for_nothing() {
    let spec = task("t", &["web", "db"], BufferPeriod::DISABLED);
    let mut planner = running(&[spec]);
    show(&mut planner, "web", 2, ms(10));
    assert_eq!(names(&planner.take_due(ms(10)).tasks), ["t"]);
    assert!(planner.take_reads().is_empty());
}

#[test]
fn a_further_trigger_needs_further_reads_and_does_not_extend_the_wait() {
    let mut planner = running(&[reader("t", &["db"])]);
    show(&mut planner, "web", 2, ms(0));
    planner.take_due(ms(0));
    let first = one(&mut planner);
    show(&mut planner, "web", 3, ms(600));
    planner.take_due(ms(600));
    let second = one(&mut planner);
    planner.read(&id("db"), first.mark, ms(700));
    assert!(planner.take_due(ms(700)).tasks.is_empty());
    assert_eq!(planner.next_due(), Some(ms(1000)));
    let due = planner.take_due(ms(1000)).tasks;
    assert_eq!(
        unread(&due[0]),
        [("health.service(db)", UnreadReason::Late)]
    );
    // The late read comes, with the same data.
    planner.read(&id("db"), second.mark, ms(1500));
    assert_eq!(planner.next_due(), None);
}

#[test]
fn a_late_read_with_other_data_runs_the_task_once_more() {
    let mut planner = running(&[reader("t", &["db"])]);
    show(&mut planner, "web", 2, ms(0));
    planner.take_due(ms(0));
    let request = one(&mut planner);
    assert_eq!(names(&planner.take_due(ms(1000)).tasks), ["t"]);
    change(&mut planner, "db", [1, 2], ms(3000));
    assert_eq!(planner.next_due(), None, "until it is all");
    planner.read(&id("db"), request.mark, ms(3000));
    let due = planner.take_due(ms(3000)).tasks;
    assert_eq!((names(&due), port_of(&due[0], "db")), (vec!["t"], 2));
    assert!(planner.take_reads().is_empty() && unread(&due[0]).is_empty());
    planner.read(&id("db"), request.mark, ms(3001));
    assert_eq!(planner.next_due(), None, "once");
}

#[test]
fn a_read_that_is_owed_is_requested_again_when_its_view_begins_anew() {
    let mut planner = running(&[reader("t", &["db"])]);
    show(&mut planner, "web", 2, ms(0));
    planner.take_due(ms(0));
    let lost = one(&mut planner);
    planner.take_due(ms(1000));
    // Another watcher has the view, and its data may be old.
    show(&mut planner, "db", 1, ms(2000));
    let again = one(&mut planner);
    assert!(again.mark > lost.mark && again.views == [id("db")]);
    change(&mut planner, "db", [1, 2], ms(2001));
    planner.read(&id("db"), lost.mark, ms(2001));
    assert_eq!(planner.next_due(), None, "an earlier read");
    planner.read(&id("db"), again.mark, ms(2002));
    assert_eq!(port_of(&planner.take_due(ms(2002)).tasks[0], "db"), 2);
}

#[test]
fn views_that_fail_or_are_far_or_have_an_earlier_watcher_are_not_waited_for_and_named() {
    let mut spec = reader("t", &["db", "mail"]);
    spec.definition.module_inputs.push(inputs(&["far"], "dc2"));
    let far = ViewId::new("health.service(far@dc2)");
    let mut planner = empty_planner().with_reads();
    planner.reconcile([active(&spec)], ms(0));
    for service in VIEWS {
        show(&mut planner, service, 1, ms(0));
    }
    planner
        .observe(&far, full(1, [instance("far", "i", 1)]), ms(0))
        .unwrap();
    let problem = ViewProblem {
        text: "away".into(),
        refused: false,
        outage: false,
        since: Utc.timestamp_opt(0, 0).unwrap(),
        next_try: None,
        last_answer: None,
    };
    show(&mut planner, "web", 2, ms(1));
    planner.note_problem(&id("mail"), problem.clone());
    planner.take_due(ms(1));
    assert_eq!(one(&mut planner).views, [id("db")]);
    planner.not_readable(&[id("db")]);
    let due = planner.take_due(ms(1)).tasks;
    let expected = [
        ("health.service(db)", UnreadReason::NotOnRequest),
        ("health.service(far@dc2)", UnreadReason::OtherDatacenter),
        ("health.service(mail)", UnreadReason::Failing),
    ];
    assert_eq!(unread(&due[0]), expected);
    let texts: Vec<String> = due[0].unread.iter().map(ToString::to_string).collect();
    assert!(
        texts[2].ends_with("Consul does not answer for it"),
        "{texts:?}"
    );
    // A view that begins to fail during the wait.
    show(&mut planner, "web", 3, ms(2));
    planner.take_due(ms(2));
    planner.take_reads();
    planner.note_problem(&id("db"), problem);
    assert_eq!(names(&planner.take_due(ms(2)).tasks), ["t"]);
}

#[test]
fn the_reads_of_a_thousand_tasks_that_tick_together_are_one_request() {
    let specs: Vec<TaskSpec> = (0..1000).map(|n| scheduled(&format!("t{n}"))).collect();
    let mut planner = running(&specs);
    let noon = Utc.with_ymd_and_hms(2026, 5, 1, 12, 0, 30).unwrap();
    let next_tick = NextTick::of(Utc);
    planner.tick(ms(0), noon, &next_tick);
    planner.tick(at(30), noon + TimeDelta::seconds(30), &next_tick);
    assert!(planner.take_due(at(30)).tasks.is_empty());
    let request = one(&mut planner);
    assert_eq!(request.views, [id("db"), id("mail")]);
    assert!(request.gather);
    for view in &request.views {
        planner.read(view, request.mark, at(30));
    }
    assert_eq!(planner.take_due(at(30)).tasks.len(), 1000);
}

#[test]
fn the_first_input_under_a_leader_owes_the_reads_and_waits_for_none() {
    let spec = reader("t", &["db"]);
    let mut planner = Planner::new([&spec]).with_reads();
    show(&mut planner, "web", 1, ms(0));
    show(&mut planner, "db", 1, ms(0));
    let due = planner.take_due(ms(0)).tasks;
    assert_eq!((names(&due), unread(&due[0])), (vec!["t"], vec![]));
    let request = one(&mut planner);
    assert_eq!((&*request.views, request.gather), (&[id("db")][..], true));
    change(&mut planner, "db", [1, 2], ms(1));
    planner.read(&id("db"), request.mark, ms(2));
    assert_eq!(port_of(&planner.take_due(ms(2)).tasks[0], "db"), 2);
}

#[test]
fn a_buffered_task_reads_when_its_buffer_ends() {
    let mut spec = reader("t", &["db"]);
    spec.buffer_period = BufferPeriod::BUILT_IN;
    let mut planner = running(&[spec]);
    show(&mut planner, "web", 2, at(1));
    planner.take_due(at(1));
    assert!(planner.take_reads().is_empty(), "not yet");
    assert!(planner.take_due(at(6)).tasks.is_empty());
    one(&mut planner);
    // The task is buffered again, and the wait begins again at the end of the buffer period.
    show(&mut planner, "web", 3, at(6) + ms(500));
    assert_eq!(planner.next_due(), Some(at(11) + ms(500)));
    planner.take_due(at(11) + ms(500));
    let request = one(&mut planner);
    assert_eq!(planner.next_due(), Some(at(12) + ms(500)));
    planner.read(&id("db"), request.mark, at(12));
    assert_eq!(names(&planner.take_due(at(12)).tasks), ["t"]);
}
