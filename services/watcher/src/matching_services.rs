//! The instances of all services whose names match an expression: one view of the names, and one of the
//! instances of each name that matches. The view shows nothing before each of them has answered.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cts_core::{
    CatalogServicesView, Item, ItemKey, Regexp, ServiceView, ServicesView, ViewSnapshot,
};
use futures::FutureExt as _;
use futures::stream::{self, AbortHandle, Abortable, BoxStream, SelectAll, StreamExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::matching_names::{all_names, compiled, matching};
use crate::state::{Failure, StateSender, ViewState};
use crate::views::{FollowedView, Source, Views};

/// Changes gather after each update of the view, for so many times as long as the update took.
const PAUSE: u32 = 4;

/// Keeps `state` up to date until it is dropped, or until the watcher stops.
pub(crate) async fn combine(views: &Views, view: ServicesView, state: StateSender) {
    let Some(regexp) = compiled(&view.regexp, &state) else {
        return std::future::pending().await;
    };
    let names = views.follow(all_names(CatalogServicesView {
        regexp: String::new(),
        datacenter: view.datacenter.clone(),
        namespace: view.namespace.clone(),
        node_meta: BTreeMap::new(),
    }));
    let mut combination = Combination {
        views,
        view,
        regexp: Arc::new(regexp),
        names: names.state(),
        members: BTreeMap::new(),
        changes: SelectAll::new(),
        waiting: BTreeSet::new(),
        failing: BTreeMap::new(),
        items: BTreeMap::new(),
        changed: true,
    };
    loop {
        let Some(change) = combination.next().await else {
            return;
        };
        combination.apply_event(change);
        while let Some(Some(change)) = combination.next().now_or_never() {
            combination.apply_event(change);
        }
        let begun = Instant::now();
        combination.show(&state);
        let shown = Instant::now();
        sleep_until(shown + (shown - begun) * PAUSE).await;
    }
}

struct Combination<'a> {
    views: &'a Views,
    view: ServicesView,
    regexp: Arc<Regexp>,
    names: watch::Receiver<ViewState>,
    members: BTreeMap<String, Member>,
    /// One per member, and the streams of members that have just gone.
    changes: SelectAll<Abortable<BoxStream<'static, String>>>,
    /// Names whose instances are not known yet.
    waiting: BTreeSet<String>,
    failing: BTreeMap<String, (Arc<Failure>, Option<Instant>)>,
    /// All instances that are known.
    items: BTreeMap<ItemKey, Item>,
    /// `items` may differ from the items that are shown.
    changed: bool,
}

/// One of the services.
struct Member {
    followed: Arc<FollowedView>,
    /// The snapshot of it that is in the combination.
    taken: Option<Arc<ViewSnapshot>>,
    changes: AbortHandle,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.changes.abort();
    }
}

enum Change {
    Names,
    Instances(String),
}

impl Combination<'_> {
    /// The next change; `None` after the last. Cancel safe.
    async fn next(&mut self) -> Option<Change> {
        tokio::select! {
            biased;
            names = self.names.changed() => names.ok().map(|()| Change::Names),
            Some(name) = self.changes.next() => Some(Change::Instances(name)),
        }
    }

    fn apply_event(&mut self, change: Change) {
        match change {
            Change::Names => self.follow_names(),
            Change::Instances(name) => self.take_instances(&name),
        }
    }

    fn follow_names(&mut self) {
        let Some(names) = self.names.borrow_and_update().snapshot.clone() else {
            return;
        };
        let regexp = Arc::clone(&self.regexp);
        let wanted: BTreeSet<&str> = matching(&names, &regexp)
            .filter_map(|(key, _item)| match key {
                ItemKey::Name(name) => Some(name.as_str()),
                ItemKey::Instance(_) => None,
            })
            .collect();
        let known = self.members.keys();
        let gone: Vec<String> = known
            .filter(|name| !wanted.contains(name.as_str()))
            .cloned()
            .collect();
        for name in gone {
            if let Some(member) = self.members.remove(&name) {
                self.replace(member.taken.as_deref(), None);
            }
            self.waiting.remove(&name);
            self.failing.remove(&name);
        }
        for name in wanted {
            if !self.members.contains_key(name) {
                self.follow(name);
            }
        }
    }

    fn follow(&mut self, name: &str) {
        let followed = self.views.follow(Source::Member(ServiceView {
            name: name.to_owned(),
            datacenter: self.view.datacenter.clone(),
            namespace: self.view.namespace.clone(),
            filter: self.view.filter.clone(),
        }));
        let changes = stream::unfold(
            (followed.state(), name.to_owned()),
            |(mut state, name)| async move {
                state.changed().await.ok()?;
                state.mark_unchanged();
                Some((name.clone(), (state, name)))
            },
        );
        let (changes, handle) = stream::abortable(changes.boxed());
        self.changes.push(changes);
        self.waiting.insert(name.to_owned());
        let member = Member {
            followed,
            taken: None,
            changes: handle,
        };
        self.members.insert(name.to_owned(), member);
    }

    fn take_instances(&mut self, name: &str) {
        let Some(member) = self.members.get_mut(name) else {
            return;
        };
        let ViewState {
            snapshot,
            failure,
            answered,
            ..
        } = member.followed.now();
        match failure {
            Some(failure) => drop(self.failing.insert(name.to_owned(), (failure, answered))),
            None => drop(self.failing.remove(name)),
        }
        if let Some(snapshot) = snapshot {
            let before = member.taken.replace(Arc::clone(&snapshot));
            self.waiting.remove(name);
            self.replace(before.as_deref(), Some(&snapshot));
        }
    }

    /// Replaces the instances of one name. An instance that another name has taken over stays.
    fn replace(&mut self, before: Option<&ViewSnapshot>, after: Option<&ViewSnapshot>) {
        let before = before.map(|snapshot| &snapshot.items).into_iter().flatten();
        for (key, item) in before {
            let stays = after.is_some_and(|after| after.items.contains_key(key));
            if !stays
                && let Entry::Occupied(entry) = self.items.entry(key.clone())
                && entry.get() == item
            {
                entry.remove();
                self.changed = true;
            }
        }
        let after = after.map(|snapshot| &snapshot.items).into_iter().flatten();
        for (key, item) in after {
            if self.items.get(key) != Some(item) {
                self.items.insert(key.clone(), item.clone());
                self.changed = true;
            }
        }
    }

    fn show(&mut self, state: &StateSender) {
        let names = self.names.borrow().clone();
        let failing = match names.failure {
            Some(failure) => Some((failure, names.answered)),
            None => self.failing.values().next().cloned(),
        };
        let is_complete = names.snapshot.is_some() && self.waiting.is_empty();
        let items = (is_complete && self.changed).then(|| self.items.clone());
        if is_complete {
            self.changed = false;
        }
        let (failure, answered) = match failing {
            Some((failure, answered)) => (Some(failure), answered),
            None => (None, Some(Instant::now())),
        };
        state.shows(items, failure, answered);
    }
}
