//! The watcher: turns Consul into streams of normalised deltas.
//!
//! One poller per view, however many subscribers follow it; the last one that leaves ends it. It knows
//! no tasks and touches no SQL: what a change means is the scheduler's business.
//!
//! From Consul's answer to the subscriber's connection there is one hop: the poller stores the new
//! state in a `tokio::sync::watch`, and that wakes the response stream itself, which works out the
//! delta when, and only when, the connection takes another message. So a subscriber that reads slowly
//! holds up no other and gets fewer, larger deltas.
//!
//! Start with [`Watcher`].
#![warn(missing_docs)]

mod options;
mod revisions;
mod service;
mod subscriber;
mod view;
mod views;
mod watcher;

pub use options::Options;
pub use service::Watches;
pub use watcher::Watcher;
