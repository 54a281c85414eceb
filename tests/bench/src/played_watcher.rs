//! A watcher that has no Consul: what it tells is made up here, at moments that are known to the
//! nanosecond.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use cts_proto::watch::v1::watch_request::Change;
use cts_proto::watch::v1::watch_response::Event;
use cts_proto::watch::v1::watch_service_server::{WatchService, WatchServiceServer};
use cts_proto::watch::v1::{
    HealthStatus, ServiceInstance, ServiceView, ViewDelta, WatchRequest, WatchResponse,
};
use cts_rpc::{Endpoints, convert};
use futures::{Stream, StreamExt as _, future, stream};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tonic::{Request, Response, Status, Streaming};

use crate::clock::Moment;
use crate::report::say;

/// See the module. Every service has one instance, whose port and metadata tell its revision.
#[derive(Debug)]
pub(crate) struct PlayedWatcher {
    part: Part,
    /// Ends the serving when dropped.
    _serving: JoinSet<()>,
}

#[derive(Debug, Clone, Default)]
struct Part(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    /// Of services that have changed.
    revisions: HashMap<String, u64>,
    followed: Vec<Followed>,
}

#[derive(Debug)]
struct Followed {
    service: String,
    view: String,
    subscription: u64,
    tell: mpsc::UnboundedSender<WatchResponse>,
}

impl PlayedWatcher {
    pub(crate) async fn start(address: &str) -> Result<Self> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.context("the played watcher cannot listen")?;
        let part = Part::default();
        let endpoints = Endpoints::new().with(WatchServiceServer::new(part.clone()));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            if let Err(error) = endpoints.serve_tcp(listener, future::pending()).await {
                say(&format!("the played watcher has ended: {error}"));
            }
        });
        Ok(Self {
            part,
            _serving: serving,
        })
    }

    /// Changes a service; gives the moment just before that is told.
    pub(crate) fn change(&self, service: &str) -> Moment {
        let mut script = self.part.script();
        let revision = script.revisions.entry(service.to_owned()).or_insert(1);
        *revision += 1;
        let revision = *revision;
        let before = Moment::now();
        script.followed.retain(|followed| {
            followed.service != service
                || followed
                    .tell
                    .send(delta(followed, revision, Some(revision - 1)))
                    .is_ok()
        });
        before
    }
}

impl Part {
    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscribe(
        &self,
        request: Result<WatchRequest, Status>,
        tell: &mpsc::UnboundedSender<WatchResponse>,
    ) -> Result<(), Status> {
        if let Some(Change::Subscribe(subscribe)) = request?.change {
            for view in subscribe.views {
                self.follow(view, subscribe.subscription_id, tell)?;
            }
        }
        Ok(())
    }

    fn follow(
        &self,
        view: ServiceView,
        subscription: u64,
        tell: &mpsc::UnboundedSender<WatchResponse>,
    ) -> Result<(), Status> {
        let service = view.name.clone();
        let view = convert::view_from_wire(view)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let mut script = self.script();
        let revision = script.revisions.get(&service).copied().unwrap_or(1);
        let followed = Followed {
            service,
            view: view.id().as_str().to_owned(),
            subscription,
            tell: tell.clone(),
        };
        // The caller may have gone; the next change finds out.
        drop(tell.send(delta(&followed, revision, None)));
        script.followed.push(followed);
        Ok(())
    }
}

fn delta(followed: &Followed, revision: u64, base: Option<u64>) -> WatchResponse {
    let service = &followed.service;
    let instance = ServiceInstance {
        id: format!("{service}-1"),
        name: service.clone(),
        address: "10.20.0.1".to_owned(),
        port: u32::try_from(1024 + revision % 60_000).unwrap_or(1024),
        meta: HashMap::from([("revision".to_owned(), revision.to_string())])
            .into_iter()
            .collect(),
        status: HealthStatus::Passing.into(),
        node: "node".to_owned(),
        ..ServiceInstance::default()
    };
    WatchResponse {
        event: Some(Event::Delta(ViewDelta {
            view_id: followed.view.clone(),
            base_revision: base,
            revision,
            upserts: vec![instance],
            removals: Vec::new(),
            complete: true,
            subscription_id: followed.subscription,
            part_number: 1,
        })),
    }
}

#[tonic::async_trait]
impl WatchService for Part {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<WatchResponse, Status>> + Send>>;

    async fn watch(
        &self,
        request: Request<Streaming<WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let (tell, mut told) = mpsc::unbounded_channel();
        let part = self.clone();
        let complaints = request.into_inner().filter_map(move |request| {
            let complaint = part.subscribe(request, &tell).err();
            future::ready(complaint.map(Err))
        });
        let told = stream::poll_fn(move |context| told.poll_recv(context)).map(Ok);
        Ok(Response::new(Box::pin(stream::select(complaints, told))))
    }
}
