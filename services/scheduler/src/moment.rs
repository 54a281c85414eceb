//! Waiting for moments that may never come.

use tokio::time::{Instant, sleep_until};

/// Returns at this moment; never returns for `None`.
pub(crate) async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
