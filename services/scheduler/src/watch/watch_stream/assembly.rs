//! Deltas put together from the messages of one stream.
//!
//! Every subscription of a view has an id of its own on the stream, which the watcher repeats in every message. So late
//! messages of an older subscription, some of which may have been dropped already, are never taken for parts of a newer
//! subscription.

use std::collections::HashMap;

use cts_core::View;
use cts_proto::watch::v1 as proto;
use cts_proto::watch::v1::watch_request::Change;
use cts_rpc::convert;

#[derive(Debug, Default)]
pub(super) struct Assembly {
    last_id: u64,
    /// Subscribed views by the id of the view.
    views: HashMap<String, Subscribed>,
}

#[derive(Debug)]
struct Subscribed {
    id: u64,
    source: View,
    /// A full snapshot has come.
    begun: bool,
    /// The received messages of a delta, merged, with the number of the last message.
    partial: Option<proto::ViewDelta>,
    /// The view was subscribed to again because its messages did not fit, and nothing complete has come since.
    second_chance: bool,
}

/// Messages of a view do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadSequence {
    #[error("message {number} of a delta came where number {expected} was due")]
    Number { number: u32, expected: u32 },
    #[error("a message of the delta to revision {revision} came among those of another")]
    Mixed { revision: u64 },
    #[error("a subscription began with a delta on revision {base} and not with a full snapshot")]
    NotFull { base: u64 },
}

impl Assembly {
    /// The request that subscribes to these views, each from its full snapshot on. Older subscriptions of
    /// them count no longer.
    pub(super) fn subscribe(&mut self, views: Vec<View>) -> proto::WatchRequest {
        self.last_id += 1;
        let id = self.last_id;
        for view in &views {
            let subscribed = Subscribed {
                id,
                source: view.clone(),
                begun: false,
                partial: None,
                second_chance: false,
            };
            self.views.insert(view.id().as_str().to_owned(), subscribed);
        }
        proto::WatchRequest {
            change: Some(Change::Subscribe(convert::subscribe_to_wire(views, id))),
        }
    }

    pub(super) fn unsubscribe(&mut self, views: &[String]) {
        for view in views {
            self.views.remove(view);
        }
    }

    /// Whether this subscription of the view is the newest.
    pub(super) fn is_current(&self, view: &str, subscription: u64) -> bool {
        let subscribed = self.views.get(view);
        subscribed.is_some_and(|subscribed| subscribed.id == subscription)
    }

    /// The delta that `part` completes. Messages of an older subscription are dropped.
    pub(super) fn join(
        &mut self,
        part: proto::ViewDelta,
    ) -> Result<Option<proto::ViewDelta>, BadSequence> {
        if !self.is_current(&part.view_id, part.subscription_id) {
            return Ok(None);
        }
        let Some(view) = self.views.get_mut(&part.view_id) else {
            return Ok(None);
        };
        let expected = view
            .partial
            .as_ref()
            .map_or(1, |last| last.part_number.saturating_add(1));
        if part.part_number != expected {
            let number = part.part_number;
            return Err(BadSequence::Number { number, expected });
        }
        let complete = part.complete;
        let whole = match view.partial.take() {
            None => part,
            Some(mut earlier) => {
                if (earlier.base_revision, earlier.revision) != (part.base_revision, part.revision)
                {
                    let revision = part.revision;
                    return Err(BadSequence::Mixed { revision });
                }
                earlier.part_number = part.part_number;
                convert::append_part(&mut earlier, part);
                earlier
            }
        };
        if let Some(base) = whole.base_revision.filter(|_| !view.begun) {
            return Err(BadSequence::NotFull { base });
        }
        if !complete {
            view.partial = Some(whole);
            return Ok(None);
        }
        view.begun = true;
        view.second_chance = false;
        Ok(Some(whole))
    }

    /// The request that subscribes again to a view whose messages did not fit together; `None` if that has
    /// been done and nothing complete has come since.
    pub(super) fn subscribe_once_more(&mut self, view: &str) -> Option<proto::WatchRequest> {
        let subscribed = self.views.get(view)?;
        if subscribed.second_chance {
            return None;
        }
        let request = self.subscribe(vec![subscribed.source.clone()]);
        if let Some(subscribed) = self.views.get_mut(view) {
            subscribed.second_chance = true;
        }
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use cts_core::ServiceView;
    use proptest::prelude::*;

    use super::*;

    const WEB: &str = "health.service(web)";

    fn web() -> Vec<View> {
        vec![View::Service(ServiceView {
            name: "web".into(),
            datacenter: String::new(),
            namespace: String::new(),
            filter: String::new(),
        })]
    }

    fn instance(id: String) -> proto::ServiceInstance {
        proto::ServiceInstance {
            id,
            ..Default::default()
        }
    }

    /// The messages of a delta, each with an instance that says where it belongs.
    fn delta(
        subscription: u64,
        base: Option<u64>,
        revision: u64,
        count: u32,
    ) -> Vec<proto::ViewDelta> {
        let part = |number| proto::ViewDelta {
            view_id: WEB.into(),
            base_revision: base,
            revision,
            upserts: vec![instance(format!("{subscription}-{revision}-{number}"))],
            complete: number == count,
            subscription_id: subscription,
            part_number: number,
            ..Default::default()
        };
        (1..=count).map(part).collect()
    }

    fn ids(delta: &proto::ViewDelta) -> Vec<&str> {
        delta
            .upserts
            .iter()
            .map(|upsert| upsert.id.as_str())
            .collect()
    }

    #[test]
    fn the_end_of_an_older_snapshot_is_not_a_snapshot() {
        let mut assembly = Assembly::default();
        assembly.subscribe(web());
        let old = delta(1, None, 7, 3);
        assert_eq!(assembly.join(old[0].clone()), Ok(None));
        assembly.unsubscribe(&[WEB.to_owned()]);
        assert_eq!(assembly.join(old[1].clone()), Ok(None));
        assembly.subscribe(web());
        assert_eq!(assembly.join(old[2].clone()), Ok(None), "it says complete");
        let new = delta(2, None, 8, 2);
        assert_eq!(assembly.join(new[0].clone()), Ok(None));
        let whole = assembly.join(new[1].clone()).unwrap().unwrap();
        assert_eq!(ids(&whole), ["2-8-1", "2-8-2"]);
    }

    #[test]
    fn a_snapshot_that_is_asked_for_again_begins_at_its_first_message() {
        let mut assembly = Assembly::default();
        assembly.subscribe(web());
        let old = delta(1, None, 7, 2);
        assert_eq!(assembly.join(old[0].clone()), Ok(None));
        assembly.subscribe(web());
        assert_eq!(assembly.join(old[1].clone()), Ok(None));
        let whole = assembly.join(delta(2, None, 7, 1).remove(0));
        assert_eq!(ids(&whole.unwrap().unwrap()), ["2-7-1"]);
    }

    #[test]
    fn mismatched_parts_are_refused_and_requested_again_once() {
        let mixed = [
            delta(1, None, 7, 2).remove(0),
            delta(1, None, 8, 2).remove(1),
        ];
        let missing = [
            delta(1, None, 7, 3).remove(0),
            delta(1, None, 7, 3).remove(2),
        ];
        let not_full = delta(1, Some(3), 7, 1);
        let unnumbered = [proto::ViewDelta {
            part_number: 0,
            ..delta(1, None, 7, 1).remove(0)
        }];
        for messages in [&mixed[..], &missing, &not_full, &unnumbered] {
            let mut assembly = Assembly::default();
            assembly.subscribe(web());
            let results: Vec<_> = messages
                .iter()
                .map(|part| assembly.join(part.clone()))
                .collect();
            assert!(results.last().unwrap().is_err(), "{results:?}");
            assert!(assembly.subscribe_once_more(WEB).is_some());
            assert!(!assembly.is_current(WEB, 1) && assembly.is_current(WEB, 2));
            assert!(assembly.subscribe_once_more(WEB).is_none(), "a second time");
            assembly.join(delta(2, None, 9, 1).remove(0)).unwrap();
            assert!(assembly.subscribe_once_more(WEB).is_some());
        }
    }

    proptest! {
        #[test]
        fn delta_with_lost_or_repeated_parts_is_whole_or_refused(
            sent in prop::collection::vec((1..4_u64, 1..4_u32, any::<bool>()), 1..8),
            order in prop::collection::vec((0..40_usize, 0..9_u8), 0..60),
        ) {
            let deltas = sent.iter().zip(1..).map(|((subscription, count, full), revision)| {
                let base = (!full).then_some(revision - 1);
                delta(*subscription, base, revision, *count)
            });
            let deltas: Vec<_> = deltas.collect();
            let messages: Vec<_> = deltas.iter().flatten().collect();
            let mut assembly = Assembly::default();
            let mut subscriptions = 1;
            assembly.subscribe(web());
            for (message, other) in order {
                if other == 0 {
                    subscriptions += 1;
                    assembly.subscribe(web());
                }
                let part = messages[message % messages.len()].clone();
                let subscription = part.subscription_id;
                match assembly.join(part) {
                    Ok(None) => {}
                    Ok(Some(joined)) => {
                        let whole = deltas.iter().find(|delta| delta[0].revision == joined.revision);
                        let expected: Vec<_> = whole.unwrap().iter().flat_map(ids).collect();
                        prop_assert_eq!(ids(&joined), expected);
                        prop_assert_eq!(subscription, subscriptions);
                    }
                    Err(_refused) => {
                        subscriptions += 1;
                        assembly.subscribe(web());
                    }
                }
            }
        }
    }
}
