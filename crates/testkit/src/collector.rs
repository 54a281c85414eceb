//! A collector that speaks OTLP over gRPC and keeps what is exported to it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{
    LogsService, LogsServiceServer,
};
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::metrics::v1::ResourceMetrics;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::metadata::MetadataMap;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// Takes OTLP on a loopback port and keeps all requests. Ends when dropped.
#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    captured: Captured,
    _server: JoinSet<()>,
}

#[derive(Debug, Clone, Default)]
struct Captured(Arc<Mutex<Requests>>);

#[derive(Debug, Default)]
struct Requests {
    traces: Vec<ExportTraceServiceRequest>,
    metrics: Vec<ExportMetricsServiceRequest>,
    logs: Vec<ExportLogsServiceRequest>,
    headers: Vec<MetadataMap>,
}

impl Collector {
    /// A collector without TLS.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("loopback has free ports");
        let address = listener.local_addr().expect("the listener is bound");
        let captured = Captured::default();
        let routes = Server::builder()
            .add_service(TraceServiceServer::new(captured.clone()))
            .add_service(MetricsServiceServer::new(captured.clone()))
            .add_service(LogsServiceServer::new(captured.clone()));
        let mut server = JoinSet::new();
        server.spawn(async move {
            let serving = routes.serve_with_incoming(TcpListenerStream::new(listener));
            serving.await.expect("the collector serves");
        });
        Self {
            address,
            captured,
            _server: server,
        }
    }

    /// URL for `telemetry.otlp.endpoint`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Exported spans with their resources, in the order of arrival.
    pub fn spans(&self) -> Vec<ResourceSpans> {
        let requests = self.captured.0.lock();
        let exported = requests.traces.iter();
        exported
            .flat_map(|request| request.resource_spans.clone())
            .collect()
    }

    /// Exported metrics with their resources, in the order of arrival.
    pub fn metrics(&self) -> Vec<ResourceMetrics> {
        let requests = self.captured.0.lock();
        let exported = requests.metrics.iter();
        exported
            .flat_map(|request| request.resource_metrics.clone())
            .collect()
    }

    /// Exported log records with their resources, in the order of arrival.
    pub fn logs(&self) -> Vec<ResourceLogs> {
        let requests = self.captured.0.lock();
        let exported = requests.logs.iter();
        exported
            .flat_map(|request| request.resource_logs.clone())
            .collect()
    }

    /// Headers of all requests, in the order of arrival.
    pub fn headers(&self) -> Vec<MetadataMap> {
        self.captured.0.lock().headers.clone()
    }
}

/// The text of an attribute; `None` if it is missing or has another type.
pub fn attribute<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

#[tonic::async_trait]
impl TraceService for Captured {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut requests = self.0.lock();
        requests.headers.push(request.metadata().clone());
        requests.traces.push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Captured {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let mut requests = self.0.lock();
        requests.headers.push(request.metadata().clone());
        requests.metrics.push(request.into_inner());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Captured {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        let mut requests = self.0.lock();
        requests.headers.push(request.metadata().clone());
        requests.logs.push(request.into_inner());
        Ok(Response::new(ExportLogsServiceResponse::default()))
    }
}
