//! The service as its composition root sees it.

use cts_consul::ConsulClient;
use cts_proto::watch::v1::watch_service_server::WatchServiceServer;
use std::convert::Infallible;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::service::Watches;
use crate::views::Views;

/// How views are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchOptions {
    /// How long a view without subscribers is followed: a scheduler that has lost its stream comes back sooner.
    pub linger: Duration,
    /// Items that vanish from a view when Consul begins to filter its answers by the rights of the token stay
    /// in the view until Consul shows them, or everything.
    pub hold_filtered: bool,
}

impl Default for WatchOptions {
    /// 10 s, and nothing stays.
    fn default() -> Self {
        Self {
            linger: Duration::from_secs(10),
            hold_filtered: false,
        }
    }
}

/// Follows views in Consul for its subscribers. Cheap to clone; all clones are one watcher.
#[derive(Debug, Clone)]
pub struct Watcher {
    views: Views,
}

impl Watcher {
    /// A watcher; nothing is requested from Consul before the first subscription. Must be used inside a runtime.
    pub fn new(client: ConsulClient, options: WatchOptions) -> Self {
        Self {
            views: Views::new(client, options),
        }
    }

    /// The gRPC service, for a server in memory or on a socket.
    pub fn service(&self) -> WatchServiceServer<Watches> {
        WatchServiceServer::new(Watches::new(self.views.clone()))
    }

    /// Number of views that are being followed.
    pub fn followed_views(&self) -> usize {
        self.views.count()
    }

    /// Lets the watcher work until `shutdown`; then ends all streams as unavailable and returns when
    /// the last poller is gone.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Infallible> {
        shutdown.cancelled().await;
        self.views.stop().await;
        Ok(())
    }
}
