//! The service as its composition root sees it.

use cts_consul::ConsulClient;
use cts_core::Clock;
use cts_proto::watch::v1::watch_service_server::WatchServiceServer;
use cts_telemetry::Signals;
use std::convert::Infallible;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::change_traces::ChangeTraces;
use crate::observed_metrics::observe;
use crate::service::Watches;
use crate::views::Views;
use crate::watch_options::WatchOptions;

/// Follows views in Consul for its subscribers. Cheap to clone; all clones are one watcher.
#[derive(Debug, Clone)]
pub struct Watcher {
    views: Views,
}

impl Watcher {
    /// A watcher; nothing is requested from Consul before the first subscription. Must be used inside a runtime.
    /// Lines about outages have the times of `clock`.
    pub fn new(
        client: ConsulClient,
        options: WatchOptions,
        signals: &Signals,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let traces = ChangeTraces::new(signals.traces.clone());
        let views = Views::new(client, options, (&signals.meter, traces), clock);
        observe(&signals.meter, &Arc::downgrade(&views.0));
        Self { views }
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
        tokio::select! {
            () = shutdown.cancelled() => {}
            never = self.views.look_for_silence() => match never {},
        }
        self.views.stop().await;
        Ok(())
    }
}
