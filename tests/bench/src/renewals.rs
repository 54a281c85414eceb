//! How regularly the leadership is renewed, as the database shows it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use sqlx::{Connection as _, PgConnection};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;

/// Time between two polls: much less than any delay that matters.
const POLL: Duration = Duration::from_millis(5);

/// Life of the leadership where its renewals are watched: renewed often enough to show any delay.
pub(crate) const SESSION_TTL: Duration = Duration::from_millis(1500);

/// Observes the leadership until the longest delay is requested.
#[derive(Debug)]
pub(crate) struct Renewals {
    enough: oneshot::Sender<()>,
    watching: JoinSet<Result<Duration>>,
    /// Time between two renewals without a delay.
    usual: Duration,
}

impl Renewals {
    /// Begins to look.
    pub(crate) async fn watch(cluster: &Cluster) -> Result<Self> {
        let database = PgConnection::connect(cluster.database()).await;
        let database = database.context("the leadership cannot be looked at")?;
        let (enough, asked) = oneshot::channel();
        let mut watching = JoinSet::new();
        watching.spawn(longest_gap(database, asked));
        Ok(Self {
            enough,
            watching,
            usual: cluster.session_ttl() / 3,
        })
    }

    /// How much longer than usual the longest time between two renewals was; waits for the next one.
    pub(crate) async fn longest_delay(mut self) -> Result<Duration> {
        // A failed watch is reported by its result.
        let _sent = self.enough.send(());
        let longest = self.watching.join_next().await;
        let longest = longest.context("the watch was lost")???;
        Ok(longest.saturating_sub(self.usual))
    }
}

async fn longest_gap(
    mut database: PgConnection,
    mut enough: oneshot::Receiver<()>,
) -> Result<Duration> {
    let mut known = None;
    let mut since = Instant::now();
    let mut longest = Duration::ZERO;
    let mut is_last = false;
    loop {
        let expires: i64 = sqlx::query_scalar("SELECT expires_at FROM leadership")
            .fetch_one(&mut database)
            .await
            .context("the leadership cannot be read")?;
        let now = Instant::now();
        longest = longest.max(now - since);
        if known.replace(expires) != Some(expires) {
            since = now;
            if is_last {
                return Ok(longest);
            }
        }
        tokio::select! {
            _ = &mut enough, if !is_last => is_last = true,
            () = sleep(POLL) => {}
        }
    }
}
