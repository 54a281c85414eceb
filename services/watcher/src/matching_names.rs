//! The names in the catalog that match an expression: selected from one shared view of all names.

use cts_consul::ReadRequests;
use cts_core::{CatalogServicesView, Item, ItemKey, Regexp, View, ViewSnapshot};
use tokio::time::Instant;

use crate::state::{Failure, StateSender, ViewState};
use crate::views::{Source, Views};

/// Days until the next try if only a changed task can mend the failure.
const NEVER: u64 = 365;

/// Keeps `state` up to date until it is dropped, or until the watcher stops.
pub(crate) async fn choose(
    views: &Views,
    view: CatalogServicesView,
    requests: &ReadRequests,
    state: StateSender,
) {
    let Some(regexp) = compiled(&view.regexp, &state) else {
        return std::future::pending().await;
    };
    let all = views.follow(all_names(view));
    let mut seen = all.state();
    let mut taken = 0;
    // The requested read that is under way, and its number at the view of all names.
    let mut reading: Option<(u64, u64)> = None;
    loop {
        tokio::select! {
            changed = seen.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            (number, gather) = requests.next(taken), if reading.is_none() => {
                taken = number;
                reading = Some((number, all.request_read(gather)));
                continue;
            }
        }
        let ViewState {
            snapshot,
            failure,
            answered,
            read,
            ..
        } = seen.borrow_and_update().clone();
        let chosen = snapshot.map(|snapshot| {
            let items = matching(&snapshot, &regexp);
            items
                .map(|(key, item)| (key.clone(), item.clone()))
                .collect()
        });
        state.shows(chosen, failure, answered);
        if let Some((number, _of_all)) = reading.take_if(|(_number, of_all)| *of_all <= read) {
            state.read(number);
        }
    }
}

/// The view that all expressions over these names are applied to.
pub(crate) fn all_names(view: CatalogServicesView) -> Source {
    Source::View(View::CatalogServices(CatalogServicesView {
        regexp: String::new(),
        ..view
    }))
}

/// The names that match.
pub(crate) fn matching<'a>(
    names: &'a ViewSnapshot,
    regexp: &'a Regexp,
) -> impl Iterator<Item = (&'a ItemKey, &'a Item)> {
    names.items.iter().filter(|(_key, item)| match item {
        Item::Service(service) => regexp.is_match(&service.name),
        Item::Instance(_) | Item::Key(_) | Item::UnreadableKey(_) => false,
    })
}

/// Compiles the expression. An invalid expression is a failure of the view; tasks are checked before they get
/// here.
pub(crate) fn compiled(regexp: &str, state: &StateSender) -> Option<Regexp> {
    match Regexp::new(regexp) {
        Ok(regexp) => Some(regexp),
        Err(error) => {
            refuse(state, format!("the regexp cannot be used: {error}"));
            None
        }
    }
}

/// Publishes a failure that lasts as long as the view.
pub(crate) fn refuse(state: &StateSender, message: String) {
    let now = Instant::now();
    state.failed(Failure {
        message,
        refused: true,
        outage: false,
        failures: 1,
        since: now,
        next_try: now + std::time::Duration::from_hours(24 * NEVER),
    });
}
