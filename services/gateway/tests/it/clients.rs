//! Clients that are slow, hostile, many, or use TLS.

mod browsers;
mod certificates;
mod crowds;
mod gone_followers;
mod hostile;
pub(crate) mod page;
mod slow_readers;
mod strict_follower;
mod tls;
