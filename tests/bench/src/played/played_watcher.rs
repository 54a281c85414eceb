//! A watcher that has no Consul: its views are made up here, at moments that are known to the
//! nanosecond.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use cts_core::{Digest, ServiceView, View};
use cts_listen::{ClientLimit, ClientLimiter};
use cts_proto::watch::v1::watch_request::Change;
use cts_proto::watch::v1::watch_response::Event;
use cts_proto::watch::v1::watch_service_server::{WatchService, WatchServiceServer};
use cts_proto::watch::v1::{
    GetConsulRequest, GetConsulResponse, HealthStatus, KeepTracesRequest, KeepTracesResponse,
    ServiceInstance, ViewDelta, WatchRequest, WatchResponse,
};
use cts_rpc::{Endpoints, convert};
use futures::{Stream, StreamExt as _, future, stream};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tonic::{Request, Response, Status, Streaming};

use crate::measures::clock::Moment;
use crate::measures::report::say;
use crate::site::Site;
use crate::stage::Stage;

/// A watcher in which every service has so many instances, by default one; the port and metadata of the first
/// instance follow from the service's revision.
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
    /// Revisions of services that have changed.
    revisions: HashMap<String, u64>,
    /// Instances of each service.
    instances: u32,
    /// Followed views by service.
    followed: HashMap<String, Vec<Followed>>,
}

#[derive(Debug)]
struct Followed {
    view: String,
    subscription: u64,
    tell: mpsc::UnboundedSender<WatchResponse>,
}

impl PlayedWatcher {
    pub(crate) async fn start(address: &str) -> Result<Self> {
        Self::with_instances(address, 1).await
    }

    /// Makes the tables, and starts a scheduler that follows a new watcher, whose services have so many instances
    /// each.
    pub(crate) async fn with_scheduler(
        stage: &mut Stage,
        site: &Site,
        instances: u32,
    ) -> Result<Self> {
        stage.migrate(site).await?;
        let cluster = site.cluster()?;
        let watcher = Self::with_instances(cluster.watcher_address(), instances).await?;
        stage.launch(site, &cluster.scheduler(site, 0)?)?;
        Ok(watcher)
    }

    /// A watcher whose services have so many instances each.
    pub(crate) async fn with_instances(address: &str, instances: u32) -> Result<Self> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.context("the played watcher cannot listen")?;
        let part = Part::default();
        part.script().instances = instances;
        let endpoints = Endpoints::new().with(WatchServiceServer::new(part.clone()));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            if let Err(error) = endpoints
                .serve_tcp(
                    listener,
                    ClientLimiter::new(ClientLimit::UNLIMITED),
                    future::pending(),
                )
                .await
            {
                say(&format!("the played watcher has ended: {error}"));
            }
        });
        Ok(Self {
            part,
            _serving: serving,
        })
    }

    /// Changes a service; returns the moment just before the change is sent.
    pub(crate) fn change(&self, service: &str) -> Moment {
        let mut script = self.part.script();
        let revision = script.revisions.entry(service.to_owned()).or_insert(1);
        *revision += 1;
        let revision = *revision;
        let before = Moment::now();
        if let Some(followed) = script.followed.get_mut(service) {
            let changed = || vec![instance(service, 1, revision)];
            followed.retain(|followed| {
                let delta = delta(followed, revision, Some(revision - 1), changed());
                followed.tell.send(delta).is_ok()
            });
        }
        before
    }
}

impl Part {
    fn script(&self) -> parking_lot::MutexGuard<'_, Script> {
        self.0.lock()
    }

    fn subscribe(
        &self,
        request: Result<WatchRequest, Status>,
        tell: &mpsc::UnboundedSender<WatchResponse>,
    ) -> Result<(), Status> {
        if let Some(Change::Subscribe(subscribe)) = request?.change {
            let id = subscribe.subscription_id;
            for view in convert::views_from_wire(subscribe)? {
                if let View::Service(view) = view {
                    self.follow(&view, id, tell);
                }
            }
        }
        Ok(())
    }

    fn follow(
        &self,
        view: &ServiceView,
        subscription: u64,
        tell: &mpsc::UnboundedSender<WatchResponse>,
    ) {
        let service = view.name.clone();
        let mut script = self.script();
        let revision = script.revisions.get(&service).copied().unwrap_or(1);
        let followed = Followed {
            view: view.id().as_str().to_owned(),
            subscription,
            tell: tell.clone(),
        };
        let all = (1..=script.instances).map(|number| instance(&service, number, revision));
        // The caller may have gone; the next change finds out.
        drop(tell.send(delta(&followed, revision, None, all.collect())));
        script.followed.entry(service).or_default().push(followed);
    }
}

/// An instance whose ids are as random as those of a real catalog, and the same in every run.
fn instance(service: &str, number: u32, revision: u64) -> ServiceInstance {
    // Only the first one changes.
    let revision = if number == 1 { revision } else { 1 };
    let node = number / 10;
    let [_, high, middle, low] = node.to_be_bytes();
    ServiceInstance {
        id: format!("{service}-{}", random_id("instance", number)),
        name: service.to_owned(),
        address: format!("10.{high}.{middle}.{low}"),
        port: i64::try_from(1024 + (revision + u64::from(number) * 7919) % 60_000).unwrap_or(1024),
        node_id: random_id("node", node),
        node_address: format!("10.{high}.{middle}.{low}"),
        node_datacenter: "dc1".to_owned(),
        meta: HashMap::from([("revision".to_owned(), revision.to_string())])
            .into_iter()
            .collect(),
        status: HealthStatus::Passing.into(),
        node: format!("node-{node}"),
        ..ServiceInstance::default()
    }
}

/// A random id in the form of a UUID.
fn random_id(kind: &str, number: u32) -> String {
    let digest = Digest::of(format!("{kind} {number}").as_bytes()).to_string();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
    parts.map(|part| &digest[part]).join("-")
}

fn delta(
    followed: &Followed,
    revision: u64,
    base: Option<u64>,
    upserts: Vec<ServiceInstance>,
) -> WatchResponse {
    WatchResponse {
        event: Some(Event::Delta(ViewDelta {
            view_id: followed.view.clone(),
            base_revision: base,
            revision,
            upserts,
            complete: true,
            subscription_id: followed.subscription,
            part_number: 1,
            ..ViewDelta::default()
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

    async fn get_consul(
        &self,
        _request: Request<GetConsulRequest>,
    ) -> Result<Response<GetConsulResponse>, Status> {
        Ok(Response::new(GetConsulResponse::default()))
    }

    async fn keep_traces(
        &self,
        _request: Request<KeepTracesRequest>,
    ) -> Result<Response<KeepTracesResponse>, Status> {
        Ok(Response::new(KeepTracesResponse {}))
    }
}
