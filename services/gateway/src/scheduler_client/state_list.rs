//! The states of all tasks as JSON, one piece for each task, kept by what has changed.
//!
//! A gateway asks each scheduler for the changes since that scheduler's last answer (`ListCurrentStates`).

use std::collections::BTreeMap;

use cts_proto::json::{LocalTime, in_local_time};
use cts_proto::task::v1::NamedState;
use prost::Message as _;

use crate::json;

/// States that have changed since an earlier answer of the same scheduler.
#[derive(Debug, Default)]
pub(crate) struct StateChanges {
    /// The version of the states after these changes; empty from a scheduler that has none.
    pub(crate) version: String,
    /// The version that these states follow; empty if these are all states.
    pub(crate) after: String,
    pub(crate) states: Vec<NamedState>,
    /// Names of tasks that are gone.
    pub(crate) gone: Vec<String>,
}

/// The states of all tasks as one scheduler reported them.
#[derive(Debug, Default)]
pub(crate) struct StateList {
    version: String,
    pieces: BTreeMap<String, Piece>,
    /// Bytes of all messages on the wire.
    bytes: usize,
}

#[derive(Debug)]
struct Piece {
    json: Box<[u8]>,
    /// Bytes of the message on the wire.
    bytes: usize,
}

impl StateList {
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Bytes of all states on the wire.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes changes over that follow the version of this list, or all states.
    pub(crate) fn change(&mut self, changes: StateChanges, local_time: &LocalTime) {
        if changes.after.is_empty() {
            *self = Self::default();
        }
        self.version = changes.version;
        for name in &changes.gone {
            self.remove(name);
        }
        in_local_time(local_time, || {
            for state in changes.states {
                self.put(state);
            }
        });
    }

    fn put(&mut self, state: NamedState) {
        let bytes = state.encoded_len();
        let mut json = json::line(&state);
        // The pieces stand in one line.
        json.pop();
        self.remove(&state.task_name);
        self.bytes += bytes;
        let json = json.into_boxed_slice();
        self.pieces.insert(state.task_name, Piece { json, bytes });
    }

    fn remove(&mut self, name: &str) {
        if let Some(piece) = self.pieces.remove(name) {
            self.bytes -= piece.bytes;
        }
    }

    /// An object with these tasks, and a newline.
    pub(crate) fn object(&self, is_shown: impl Fn(&str) -> bool) -> Vec<u8> {
        let mut object = b"{\"tasks\":[".to_vec();
        let shown = self.pieces.iter().filter(|(name, _)| is_shown(name));
        for (place, (_, piece)) in shown.enumerate() {
            if place > 0 {
                object.push(b',');
            }
            object.extend_from_slice(&piece.json);
        }
        object.extend_from_slice(b"]}\n");
        object
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chrono::FixedOffset;
    use cts_proto::task::v1::{CurrentState, CurrentStateName};
    use serde_json::{Value, json};

    use super::*;

    fn local_time() -> LocalTime {
        Arc::new(|at| at.with_timezone(&FixedOffset::east_opt(3600).unwrap()))
    }

    fn named(name: &str, text: &str) -> NamedState {
        NamedState {
            task_name: name.to_owned(),
            state: Some(CurrentState {
                name: CurrentStateName::Blind.into(),
                since: Some(prost_types::Timestamp {
                    seconds: 1_770_110_130,
                    nanos: 0,
                }),
                text: text.to_owned(),
                ..CurrentState::default()
            }),
        }
    }

    fn changes(version: &str, after: &str, states: &[(&str, &str)], gone: &[&str]) -> StateChanges {
        StateChanges {
            version: version.to_owned(),
            after: after.to_owned(),
            states: states
                .iter()
                .map(|(name, text)| named(name, text))
                .collect(),
            gone: gone.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn read(list: &StateList, is_shown: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let object: Value = serde_json::from_slice(&list.object(is_shown)).unwrap();
        let tasks = object["tasks"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        tasks
            .map(|task| (text(&task["name"]), text(&task["state"]["text"])))
            .collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    }

    #[test]
    fn a_list_is_as_if_it_had_been_made_at_once() {
        let mut list = StateList::default();
        let states = [("b", "x <y>"), ("a", "")];
        list.change(changes("1", "", &states, &[]), &local_time());
        let mut all: Vec<_> = states.map(|(name, text)| named(name, text)).into();
        all.sort_by(|a, b| a.task_name.cmp(&b.task_name));
        let at_once = in_local_time(&local_time(), || {
            json::line(&std::collections::BTreeMap::from([("tasks", all)]))
        });
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let object = text(list.object(|_| true));
        assert_eq!(object, text(at_once));
        assert!(object.contains("2026-02-03T10:15:30+01:00"), "{object}");
        let empty = StateList::default().object(|_| true);
        assert_eq!(text(empty), format!("{}\n", json!({"tasks": []})));
    }

    #[test]
    fn a_list_follows_changes_and_forgets_what_is_gone() {
        let mut list = StateList::default();
        let first = [("a", "1"), ("b", "1"), ("c", "1")];
        list.change(changes("1", "", &first, &[]), &local_time());
        list.change(
            changes("2", "1", &[("b", "2"), ("d", "2")], &["a"]),
            &local_time(),
        );
        let all = read(&list, |_| true);
        assert_eq!(all, pairs(&[("b", "2"), ("c", "1"), ("d", "2")]));
        assert_eq!(list.version(), "2");
        assert_eq!(
            read(&list, |name| name != "c"),
            pairs(&[("b", "2"), ("d", "2")])
        );
        let sum = [("b", "2"), ("c", "1"), ("d", "2")].map(|(a, b)| named(a, b).encoded_len());
        assert_eq!(list.bytes(), sum.iter().sum::<usize>());
        list.change(changes("7", "", &[("z", "1")], &[]), &local_time());
        assert_eq!(read(&list, |_| true), pairs(&[("z", "1")]));
    }
}
