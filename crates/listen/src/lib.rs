//! Listeners whose clients cannot use them up (docs/configuration.md#limits): places in total and for each client, time
//! for the beginning of a connection, and errors of accepting that end nothing. [`Browsers`] tells the requests of foreign
//! pages from others.

mod accept;
mod browsers;
mod client_limiter;
mod limited_listener;
mod warn_throttle;

pub use browsers::{Browsers, ForeignRequest};
pub use client_limiter::{ClientLimit, ClientLimiter, ClientPermit, LimitReached, client_key};
pub use limited_listener::{
    Accepted, LimitedListener, OpenConnection, OpenedConnection, RejectedConnection,
};
pub use warn_throttle::WarnThrottle;
