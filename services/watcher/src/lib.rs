//! The watcher: turns Consul into streams of normalised deltas.
//!
//! Each view has one poller for all its subscribers, and ends with its last subscriber. Tasks and SQL are unknown here:
//! the meaning of a change is the scheduler's business.
//!
//! From Consul's answer to the subscriber's connection there is one hop: the poller stores the new state in a
//! `tokio::sync::watch`, and that wakes the response stream itself, which computes the delta when, and only when, the
//! connection takes another message. So a subscriber that reads slowly does not delay other subscribers, and gets
//! fewer, larger deltas.
//!
//! A view over a regexp has no poller of its own: it combines the view of all names and one view per matching name. All
//! views over a regexp share these views (docs/runs.md#views-and-blocking-queries).
//!
//! Start with [`Watcher`].

mod change_traces;
mod matching_names;
mod matching_services;
mod metrics;
mod observed_metrics;
mod outage;
mod poller;
mod publisher;
mod revisions;
mod service;
mod silence;
mod silence_probe;
mod state;
mod subscriber;
mod views;
mod watch_options;
mod watcher;

pub use service::Watches;
pub use watch_options::WatchOptions;
pub use watcher::Watcher;
