use cts_core::KvQuery;
use cts_rpc::{MemoryListener, memory_transport};
use tokio::time::advance;

use super::*;

fn delta(base: Option<u64>) -> ViewDelta {
    ViewDelta {
        base,
        revision: 7,
        upserts: Vec::new(),
        removals: Vec::new(),
        trace: None,
    }
}

fn view(name: &str) -> View {
    View::ConsulKv(KvQuery {
        path: name.into(),
        ..KvQuery::default()
    })
}

/// A watcher that never answers, which breaks no stream.
fn watcher(id: &str) -> (Peer, MemoryListener) {
    let (listener, channel) = memory_transport();
    (Peer::fixed(id, channel), listener)
}

fn followed(peers: &[Peer], views: Vec<View>) -> (watch::Sender<Arc<[Peer]>>, WatchSet) {
    let (sender, receiver) = watch::channel(Arc::from(peers));
    (sender, WatchSet::new(receiver, views))
}

#[tokio::test]
async fn views_come_and_go_and_one_that_comes_back_begins_afresh() {
    let (owner, _listener) = watcher("a");
    let [web, api] = [view("web"), view("api")];
    let (_peers, mut watches) = followed(std::slice::from_ref(&owner), Vec::new());
    let owner = owner.id();
    assert!(!watches.counts(owner, &web.id(), &delta(None)));
    watches.set_views(vec![web.clone()]);
    assert!(watches.counts(owner, &web.id(), &delta(None)));
    watches.set_views(vec![web.clone(), api.clone()]);
    assert!(
        watches.counts(owner, &web.id(), &delta(Some(6))),
        "what stays goes on"
    );
    assert!(!watches.counts(owner, &api.id(), &delta(Some(6))));
    watches.set_views(vec![api]);
    assert!(!watches.counts(owner, &web.id(), &delta(Some(6))));
    watches.set_views(vec![web.clone()]);
    assert!(!watches.counts(owner, &web.id(), &delta(Some(6))));
    assert!(watches.counts(owner, &web.id(), &delta(None)));
}

#[tokio::test]
async fn a_view_counts_from_its_full_snapshot_on_and_from_its_owner_only() {
    let (owner, _listener) = watcher("a");
    let web = view("web");
    let id = web.id();
    let (_peers, mut watches) = followed(std::slice::from_ref(&owner), vec![web]);
    let owner = owner.id();
    // A revision of another watcher may have the same number by chance.
    assert!(!watches.counts(owner, &id, &delta(Some(6))));
    assert!(!watches.counts("another", &id, &delta(None)));
    assert!(watches.counts(owner, &id, &delta(None)));
    assert!(watches.counts(owner, &id, &delta(Some(6))));
    watches.again(&id);
    assert!(!watches.counts(owner, &id, &delta(Some(7))));
    assert!(watches.counts(owner, &id, &delta(None)));
}
/// Two watchers, the second of which has just become unhealthy: its peer, and which watcher has which view.
struct Late {
    peers: watch::Sender<Arc<[Peer]>>,
    both: Arc<[Peer]>,
    watches: WatchSet,
    owners: HashMap<ViewId, String>,
    _listeners: [MemoryListener; 2],
}

impl Late {
    fn new() -> Self {
        let ((a, of_a), (b, of_b)) = (watcher("a"), watcher("b"));
        let views = (0..20).map(|number| view(&number.to_string())).collect();
        let both: Arc<[Peer]> = [a, b].into();
        let (peers, watches) = followed(&both, views);
        let owners = watches.owners.clone();
        assert!(
            ["a", "b"]
                .iter()
                .all(|id| owners.values().any(|owner| owner == id))
        );
        let mut late = Self {
            peers,
            both,
            watches,
            owners,
            _listeners: [of_a, of_b],
        };
        late.publish(1);
        assert_eq!(late.watches.owners, late.owners);
        late
    }

    /// The first `healthy` watchers are healthy.
    fn publish(&mut self, healthy: usize) {
        self.peers.send_replace(self.both[..healthy].into());
        self.watches.assign();
    }

    fn all_are_at_the_first(&self) -> bool {
        self.watches.owners.values().all(|owner| owner == "a")
    }
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_answers_late_keeps_its_views_for_a_while() {
    let mut late = Late::new();
    advance(GRACE / 2).await;
    late.publish(2);
    advance(GRACE).await;
    late.watches.assign();
    assert_eq!(late.watches.owners, late.owners, "it is healthy again");

    late.publish(1);
    let silent = tokio::time::timeout(2 * GRACE, late.watches.next());
    assert!(silent.await.is_err());
    assert!(late.all_are_at_the_first());
    late.publish(2);
    assert_eq!(late.watches.owners, late.owners);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_is_late_and_loses_its_stream_loses_its_views() {
    let mut late = Late::new();
    let broken = StreamEvent::Broken("cut".to_owned());
    let event = late.watches.take("b".to_owned(), broken);
    assert!(matches!(event, Some(WatchEvent::Failure(..))), "{event:?}");
    assert!(late.all_are_at_the_first());
}
