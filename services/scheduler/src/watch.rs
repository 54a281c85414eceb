//! Watching views at watchers: a [`WatchSet`] gives every view to one watcher, with one stream for each of them.

mod event;
mod read_request;
mod watch_set;
mod watch_stream;

pub(crate) use self::event::{WatchError, WatchEvent};
pub(crate) use self::read_request::ReadRequest;
pub(crate) use self::watch_set::WatchSet;
