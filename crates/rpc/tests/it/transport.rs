//! Servers over the in-memory transport and over TCP behave the same.

use cts_listen::{ClientLimit, ClientLimiter};
use cts_rpc::{Endpoints, connect, memory_transport};
use tokio::sync::oneshot;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::reflected::services;

async fn check(channel: Channel) {
    let health = HealthClient::new(channel.clone())
        .check(HealthCheckRequest {
            service: String::new(),
        })
        .await
        .unwrap();
    assert_eq!(health.into_inner().status, 1);
    let expected = [
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
    ];
    assert_eq!(services(&channel).await, expected.map(String::from).into());
}

#[tokio::test]
async fn memory_and_network_serve_health_and_reflection() {
    let (stop_memory, memory_stopped) = oneshot::channel::<()>();
    let (stop_network, network_stopped) = oneshot::channel::<()>();
    let (listener, channel) = memory_transport();
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", socket.local_addr().unwrap());

    let memory = Endpoints::new().serve_memory(listener, async { drop(memory_stopped.await) });
    let limiter = ClientLimiter::new(ClientLimit::UNLIMITED);
    let network =
        Endpoints::new().serve_tcp(socket, limiter, async { drop(network_stopped.await) });
    let client = async {
        check(channel).await;
        check(connect(&address).unwrap()).await;
        drop((stop_memory, stop_network));
    };
    let (memory, network, ()) = tokio::join!(memory, network, client);
    memory.unwrap();
    network.unwrap();
}

#[tokio::test]
async fn a_lost_listener_is_unavailable() {
    let (listener, channel) = memory_transport();
    drop(listener);
    let refused = HealthClient::new(channel)
        .check(HealthCheckRequest {
            service: String::new(),
        })
        .await
        .unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unavailable);
}
