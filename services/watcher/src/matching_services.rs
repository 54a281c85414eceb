//! The instances of all services whose names match an expression: one view of the names, and one view of the instances
//! of each matching name. The view shows nothing before each of them has answered.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cts_consul::{ConsulError, ReadRequests};
use cts_core::{
    CatalogServicesView, FilterLimits, Item, ItemKey, Regexp, ServiceView, ServicesView,
    ViewSnapshot,
};
use futures::FutureExt as _;
use futures::stream::{self, AbortHandle, Abortable, BoxStream, SelectAll, StreamExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::matching_names::{all_names, compiled, matching, refuse};
use crate::state::{Failure, StateSender, ViewState};
use crate::views::{FollowedView, Source, Views};

/// Pause after an update of the view, as a multiple of its duration, so that changes are batched.
const PAUSE: u32 = 4;

/// Most services whose instances a requested read reads along. With more services, only instances of new names are read
/// along.
const READ_ALONG: usize = 64;

/// Keeps `state` up to date until it is dropped, or until the watcher stops.
pub(crate) async fn combine(
    views: &Views,
    view: ServicesView,
    requests: &ReadRequests,
    state: StateSender,
) {
    // Each member would be refused with a line of its own.
    if let Err(error) = FilterLimits::FILE.check(&view.filter) {
        refuse(&state, ConsulError::UnusableFilter(error).to_string());
        return std::future::pending().await;
    }
    let Some(regexp) = compiled(&view.regexp, &state) else {
        return std::future::pending().await;
    };
    let all_names = views.follow(all_names(CatalogServicesView {
        regexp: String::new(),
        datacenter: view.datacenter.clone(),
        namespace: view.namespace.clone(),
        node_meta: BTreeMap::new(),
    }));
    let mut combination = Combination {
        views,
        view,
        regexp: Arc::new(regexp),
        names: all_names.state(),
        all_names,
        requests,
        taken: 0,
        reading: None,
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
        combination.end_reading(&state);
        let shown = Instant::now();
        sleep_until(shown + (shown - begun) * PAUSE).await;
    }
}

struct Combination<'a> {
    views: &'a Views,
    view: ServicesView,
    regexp: Arc<Regexp>,
    all_names: Arc<FollowedView>,
    names: watch::Receiver<ViewState>,
    requests: &'a ReadRequests,
    /// Number of the newest requested read that was taken up.
    taken: u64,
    reading: Option<Reading>,
    members: BTreeMap<String, Member>,
    /// One stream per member, and the streams of members that were just removed.
    changes: SelectAll<Abortable<BoxStream<'static, String>>>,
    /// Names whose instances are not known yet.
    waiting: BTreeSet<String>,
    failing: BTreeMap<String, (Arc<Failure>, Option<Instant>)>,
    /// All known instances.
    items: BTreeMap<ItemKey, Item>,
    /// `items` may differ from the items that are shown.
    changed: bool,
}

/// A service with a matching name.
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

/// A requested read that is under way.
struct Reading {
    number: u64,
    /// Number of the request at the view of all names.
    names: u64,
    /// Names whose instances are to be read, each with the number of the request at its view.
    members: BTreeMap<String, u64>,
}

enum Change {
    Requested { number: u64, gather: bool },
    Names,
    Instances(String),
}

impl Combination<'_> {
    /// The next change; `None` after the last. Cancel safe.
    async fn next(&mut self) -> Option<Change> {
        tokio::select! {
            biased;
            (number, gather) = self.requests.next(self.taken), if self.reading.is_none() => {
                Some(Change::Requested { number, gather })
            }
            names = self.names.changed() => names.ok().map(|()| Change::Names),
            Some(name) = self.changes.next() => Some(Change::Instances(name)),
        }
    }

    fn apply_event(&mut self, change: Change) {
        match change {
            Change::Requested { number, gather } => self.begin_reading(number, gather),
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
            if let Some(reading) = &mut self.reading {
                reading.members.remove(&name);
            }
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
        // Another view may have followed the service for a long time.
        if let Some(reading) = &mut self.reading {
            let number = followed.request_read(false);
            reading.members.insert(name.to_owned(), number);
        }
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
            read,
            ..
        } = member.followed.now();
        if let Some(reading) = &mut self.reading {
            reading
                .members
                .retain(|of, number| of != name || *number > read);
        }
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

    /// Takes up a requested read: of the names, and of instances.
    fn begin_reading(&mut self, number: u64, gather: bool) {
        self.taken = number;
        let all = self.members.len() <= READ_ALONG;
        let members = self.members.iter();
        let members = members.filter(|(name, _member)| all || self.waiting.contains(*name));
        let members = members.map(|(name, member)| {
            let number = member.followed.request_read(gather);
            (name.clone(), number)
        });
        self.reading = Some(Reading {
            number,
            members: members.collect(),
            names: self.all_names.request_read(gather),
        });
    }

    /// Ends the requested read if all its parts were read and are shown.
    fn end_reading(&mut self, state: &StateSender) {
        let names_are_read = |reading: &Reading| {
            // A change that is not taken up yet does not count.
            !self.names.has_changed().unwrap_or(true) && self.names.borrow().read >= reading.names
        };
        if self.waiting.is_empty()
            && let Some(reading) = self
                .reading
                .take_if(|reading| reading.members.is_empty() && names_are_read(reading))
        {
            state.read(reading.number);
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
