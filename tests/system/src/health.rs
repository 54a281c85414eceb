//! The standard health service of a gRPC server.

use std::time::Duration;

use tokio::time::timeout;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Whether the server reports that it serves; otherwise its report, or the error of the call.
pub async fn serving(channel: &Channel) -> Result<(), String> {
    let request = HealthCheckRequest {
        service: String::new(),
    };
    let mut client = HealthClient::new(channel.clone());
    match timeout(TIMEOUT, client.check(request)).await {
        Ok(Ok(answer)) => match answer.into_inner().status() {
            ServingStatus::Serving => Ok(()),
            other => Err(format!("{other:?}")),
        },
        Ok(Err(status)) => Err(status.to_string()),
        Err(elapsed) => Err(elapsed.to_string()),
    }
}
