//! Answers of the API over time, and whether a later one took something back.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::plan::Plan;
use crate::violation::{Rule, Violation};
use crate::writes::{Book, TaskState};

/// Events that the API shows of a task.
const SHOWN: usize = 5;

/// Events that were shown of each task, in the order of the answers.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Lists of ids of events, newest first, without repetitions.
    events: BTreeMap<String, Vec<Vec<String>>>,
    /// Events of ticks, which have no run: only the newest of a task are stored.
    ticks: BTreeSet<String>,
    /// Number of answers.
    pub answers: usize,
}

impl History {
    /// Adds an answer of `/v1/status/tasks?include=events`.
    pub fn add(&mut self, answer: &Value) {
        self.answers += 1;
        for (task, status) in answer.as_object().into_iter().flatten() {
            let events = status["events"].as_array().into_iter().flatten();
            let mut ids = Vec::new();
            for event in events {
                let Some(id) = event["id"].as_str() else {
                    continue;
                };
                if event["run_id"].is_null() {
                    self.ticks.insert(id.to_owned());
                }
                ids.push(id.to_owned());
            }
            self.show(task, ids);
        }
    }

    /// Forgets all answers: a failover may have lost the events that they showed.
    pub fn begin_anew(&mut self) {
        self.events.clear();
    }

    /// Tasks of this name have come and gone, each with events of its own.
    pub fn leave_out(&mut self, task: &str) {
        self.events.remove(task);
    }

    fn show(&mut self, task: &str, ids: Vec<String>) {
        let lists = self.events.entry(task.to_owned()).or_default();
        if lists.last() != Some(&ids) {
            lists.push(ids);
        }
    }

    /// Events that were shown and are gone. `stored` are the events in the end: task, run and id, oldest first.
    pub fn check(&self, stored: &[(String, String, String)]) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (task, lists) in &self.events {
            let mut broken = |evidence| {
                violations.push(Violation::new(Rule::NothingLost, task, evidence));
            };
            for pair in lists.windows(2) {
                if !follows(&pair[0], &pair[1]) {
                    broken(format!(
                        "events {:?} were shown after {:?}",
                        pair[1], pair[0]
                    ));
                }
            }
            let is_stored = |id: &String| {
                stored
                    .iter()
                    .any(|(of, _, stored)| of == task && stored == id)
            };
            for id in lists.iter().flatten() {
                if !self.ticks.contains(id) && !is_stored(id) {
                    broken(format!("event {id} was shown and is not stored"));
                }
            }
        }
        violations
    }
}

/// Tasks that `statuses` of the API shows enabled or disabled although they are not, leaves out, or shows
/// although they do not exist.
pub fn wrong_flags(book: &Book, statuses: &Value) -> Vec<Violation> {
    let numbers = book.numbers();
    numbers
        .filter_map(|number| {
            let wanted = match book.certain(number)? {
                TaskState::Absent => None,
                TaskState::Present(declared) => Some(declared.enabled),
            };
            let name = Plan::task(number);
            let shown = statuses[&name]["enabled"].as_bool();
            let evidence = format!("enabled is {wanted:?}, but {shown:?} is shown");
            (shown != wanted).then(|| Violation::new(Rule::NothingLost, name, evidence))
        })
        .collect()
}

/// Whether `later` is `earlier` with new ones before it, cut off after as many as are shown.
fn follows(earlier: &[String], later: &[String]) -> bool {
    let new = later.iter().take_while(|id| !earlier.contains(id)).count();
    let kept = &later[new..];
    earlier.starts_with(kept) && (kept.len() == earlier.len() || later.len() == SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Engine, Extent, Setup, Shape, Size};
    use serde_json::json;

    fn shown(lists: &[&[&str]]) -> History {
        let mut history = History::default();
        for list in lists {
            let event = |id: &&str| json!({"id": id, "run_id": format!("run of {id}")});
            let events: Vec<Value> = list.iter().map(event).collect();
            history.add(&json!({"t": {"events": events}}));
        }
        history
    }

    fn stored(ids: &[&str]) -> Vec<(String, String, String)> {
        let of = |id: &&str| ("t".to_owned(), format!("run of {id}"), (*id).to_owned());
        ids.iter().map(of).collect()
    }

    const ALL: [&str; 7] = ["1", "2", "3", "4", "5", "6", "7"];

    #[test]
    fn a_list_that_grows_and_is_cut_off_is_no_violation() {
        let history = shown(&[
            &[],
            &["2", "1"],
            &["2", "1"],
            &["5", "4", "3", "2", "1"],
            &["7", "6", "5", "4", "3"],
        ]);
        assert_eq!(history.check(&stored(&ALL)), []);
        assert_eq!(history.answers, 5);
    }

    #[test]
    fn ticks_keep_their_places_and_are_forgotten() {
        let mut history = shown(&[&["1"]]);
        let tick = json!({"id": "tick"});
        let run = json!({"id": "1", "run_id": "run of 1"});
        history.add(&json!({"t": {"events": [tick, run]}}));
        assert_eq!(history.check(&stored(&["1"])), []);
        history.add(&json!({"t": {"events": [run]}}));
        assert_eq!(history.check(&stored(&["1"])).len(), 1);
    }

    #[test]
    fn events_that_vanish_or_change_places_are_found() {
        for lists in [
            [&["2", "1"][..], &["2"]],
            [&["2", "1"], &["1"]],
            [&["2", "1"], &["1", "2"]],
            [&["2", "1"], &[]],
            [&["2", "1"], &["3", "1"]],
            [&["2", "1"], &["3"]],
        ] {
            assert_eq!(shown(&lists).check(&stored(&ALL)).len(), 1, "{lists:?}");
        }
    }

    #[test]
    fn an_event_that_was_shown_but_is_not_stored_is_found() {
        let history = shown(&[&["2", "1"]]);
        assert_eq!(history.check(&stored(&["1"])).len(), 1);
    }

    #[test]
    fn events_lost_by_a_failover_or_with_their_task_are_no_violation() {
        let mut history = shown(&[&["2", "1"]]);
        history.begin_anew();
        history.add(&json!({"t": {"events": [{"id": "1", "run_id": "run of 1"}]}}));
        assert_eq!(history.check(&stored(&["1"])), []);
        let mut history = shown(&[&["2", "1"], &["3"]]);
        history.leave_out("t");
        assert_eq!(history.check(&stored(&["3"])), []);
    }

    #[test]
    fn flags_that_differ_from_what_is_known_are_found() {
        let size = Size {
            tasks: 6,
            spare: 1,
            services: 1,
        };
        let setup = Setup::new(1, Shape::Cluster, Engine::Real);
        let plan = Plan::new(1, size, setup, Extent::Changes(1));
        let book = Book::new(&plan);
        let mut statuses = Value::Null;
        for number in 0..6 {
            statuses[Plan::task(number)] = json!({"enabled": number != 5});
        }
        assert_eq!(wrong_flags(&book, &statuses), []);
        statuses["task-5"]["enabled"] = json!(true);
        statuses["task-0"] = Value::Null;
        statuses["task-6"] = json!({"enabled": true});
        assert_eq!(wrong_flags(&book, &statuses).len(), 3);
    }
}
