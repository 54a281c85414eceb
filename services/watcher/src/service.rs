//! The rpc.

use cts_core::{InvalidTraceContext, TraceContext};
use cts_proto::watch::v1::watch_service_server::WatchService;
use cts_proto::watch::v1::{
    GetConsulRequest, GetConsulResponse, KeepTracesRequest, KeepTracesResponse, WatchRequest,
    WatchResponse,
};
use cts_rpc::convert::duration_to_wire;
use futures::stream::BoxStream;
use tonic::{Request, Response, Status, Streaming};

use crate::subscriber;
use crate::views::Views;

/// Answers `cts.watch.v1.WatchService`.
#[derive(Debug)]
pub struct Watches {
    views: Views,
}

impl Watches {
    pub(crate) const fn new(views: Views) -> Self {
        Self { views }
    }
}

#[tonic::async_trait]
impl WatchService for Watches {
    type WatchStream = BoxStream<'static, Result<WatchResponse, Status>>;

    async fn watch(
        &self,
        request: Request<Streaming<WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let stream = subscriber::responses(self.views.clone(), request.into_inner());
        Ok(Response::new(stream))
    }

    async fn get_consul(
        &self,
        _request: Request<GetConsulRequest>,
    ) -> Result<Response<GetConsulResponse>, Status> {
        let shared = &self.views.0;
        Ok(Response::new(GetConsulResponse {
            address: shared.client.address().to_owned(),
            silent_for: shared.silence.lasts().map(duration_to_wire),
        }))
    }

    async fn keep_traces(
        &self,
        request: Request<KeepTracesRequest>,
    ) -> Result<Response<KeepTracesResponse>, Status> {
        for text in request.into_inner().traceparents {
            let context: TraceContext = text.parse().map_err(|error: InvalidTraceContext| {
                Status::invalid_argument(error.to_string())
            })?;
            self.views.0.traces.keep(context.trace);
        }
        Ok(Response::new(KeepTracesResponse {}))
    }
}
