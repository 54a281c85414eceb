//! The health that a server reports, and the health check of a client.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::watch;
use tonic::Status;
use tonic::transport::Channel;
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus as Answer;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::server::HealthReporter;

/// Changes at run time the health that a server reports (`grpc.health.v1`), for the server as a whole and each
/// of its services: clients that balance leave out a server that does not serve.
///
/// Cloning gives a further handle on the same switch. A new switch reports that the server serves.
#[derive(Debug, Clone)]
pub struct HealthSwitch(Arc<watch::Sender<bool>>);

impl HealthSwitch {
    /// A switch with the value `SERVING`.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(true)))
    }

    /// Reports `SERVING` or `NOT_SERVING` from now on. Open connections and calls are not touched.
    pub fn set_serving(&self, serving: bool) {
        self.0.send_if_modified(|current| {
            let modified = *current != serving;
            *current = serving;
            modified
        });
    }

    /// Returns whether the server reports that it serves.
    pub fn is_serving(&self) -> bool {
        *self.0.borrow()
    }

    /// Keeps `reporter` at the value of the switch, for as long as the future is polled.
    pub(crate) async fn report(&self, reporter: &HealthReporter, names: &[&str]) -> Infallible {
        let mut changes = self.0.subscribe();
        loop {
            let serving = *changes.borrow_and_update();
            set_all(reporter, names, serving).await;
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

impl Default for HealthSwitch {
    fn default() -> Self {
        Self::new()
    }
}

/// Checks whether the server at the other end of `channel` serves, as a whole.
///
/// # Errors
/// If the server cannot be reached, or answers no health checks.
pub async fn serves(channel: Channel) -> Result<bool, Status> {
    let request = HealthCheckRequest {
        service: String::new(),
    };
    let answer = HealthClient::new(channel).check(request).await?;
    Ok(answer.get_ref().status() == Answer::Serving)
}

/// Sets the server as a whole and the services with these names.
pub(crate) async fn set_all(reporter: &HealthReporter, names: &[&str], serving: bool) {
    let status = if serving {
        ServingStatus::Serving
    } else {
        ServingStatus::NotServing
    };
    for name in names.iter().chain([&""]) {
        reporter.set_service_status(name, status).await;
    }
}
