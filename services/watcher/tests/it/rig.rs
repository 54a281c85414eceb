//! A watcher with its transport, and a subscriber that puts deltas together.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cts_consul::{ConsulClient, ConsulSettings};
use cts_core::{Item, ServiceInstance, ServiceView, View, ViewSnapshot};
use cts_proto::watch::v1::watch_request::Change;
use cts_proto::watch::v1::watch_response::Event;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_proto::watch::v1::{
    ReadViews, Unsubscribe, ViewDelta, ViewFailure, ViewRead, WatchRequest, WatchResponse,
};
use cts_rpc::convert::{append_part, delta_from_wire, subscribe_to_wire};
use cts_rpc::{Endpoints, memory_transport};
use cts_runtime::SystemClock;
use cts_telemetry::Signals;
use cts_watcher::{WatchOptions, Watcher};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::DEADLINE;

pub(crate) struct Rig {
    pub(crate) watcher: Watcher,
    pub(crate) stop: CancellationToken,
    /// Ends when the watcher does.
    pub(crate) running: JoinSet<()>,
    _server: JoinSet<()>,
    channel: Channel,
}

impl Rig {
    pub(crate) fn start(consul: &str) -> Self {
        Self::lingering(consul, Duration::from_millis(50))
    }

    pub(crate) fn lingering(consul: &str, linger: Duration) -> Self {
        let settings = ConsulSettings {
            address: consul.to_owned(),
            ..ConsulSettings::default()
        };
        Self::of(&settings, linger)
    }

    pub(crate) fn with(settings: &ConsulSettings) -> Self {
        Self::of(settings, Duration::from_millis(50))
    }

    fn of(settings: &ConsulSettings, linger: Duration) -> Self {
        let client = ConsulClient::new(settings).unwrap();
        let watcher = Watcher::new(
            client,
            WatchOptions {
                linger,
                ..WatchOptions::default()
            },
            &Signals::off(),
            Arc::new(SystemClock),
        );
        let stop = CancellationToken::new();
        let (listener, channel) = memory_transport();
        let mut server = JoinSet::new();
        let endpoints = Endpoints::new().with(watcher.service());
        server.spawn(async move {
            let served = endpoints.serve_memory(listener, std::future::pending());
            served.await.unwrap();
        });
        let mut running = JoinSet::new();
        let work = watcher.clone().run(stop.clone());
        running.spawn(async { work.await.unwrap() });
        Self {
            watcher,
            stop,
            running,
            _server: server,
            channel,
        }
    }

    pub(crate) async fn subscriber(&self) -> Subscriber {
        let (requests, outgoing) = mpsc::unbounded_channel();
        let outgoing = UnboundedReceiverStream::new(outgoing);
        let mut client = WatchServiceClient::new(self.channel.clone());
        let answer = timeout(DEADLINE, client.watch(outgoing)).await.unwrap();
        Subscriber {
            requests: Some(requests),
            responses: answer.unwrap().into_inner(),
            parts: None,
            snapshots: HashMap::new(),
        }
    }

    /// A subscriber that already has the first snapshot of a view.
    pub(crate) async fn follower(&self, view: &View) -> Subscriber {
        let mut subscriber = self.subscriber().await;
        subscriber.subscribe([view]);
        let (base, _) = subscriber.delta().await;
        assert_eq!(base, None);
        subscriber
    }
}

/// A view of everything that is registered under a name and passes.
pub(crate) fn view(name: &str) -> View {
    View::Service(ServiceView {
        name: name.to_owned(),
        datacenter: String::new(),
        namespace: String::new(),
        filter: String::new(),
    })
}

/// Something complete that was received.
#[derive(Debug)]
pub(crate) enum Update {
    Delta {
        view_id: String,
        base: Option<u64>,
        snapshot: ViewSnapshot,
    },
    Failure(ViewFailure),
    Read(ViewRead),
}

pub(crate) struct Subscriber {
    requests: Option<mpsc::UnboundedSender<WatchRequest>>,
    responses: Streaming<WatchResponse>,
    parts: Option<ViewDelta>,
    snapshots: HashMap<String, ViewSnapshot>,
}

impl Subscriber {
    pub(crate) fn send(&self, change: Option<Change>) {
        let requests = self.requests.as_ref().unwrap();
        requests.send(WatchRequest { change }).unwrap();
    }

    pub(crate) fn subscribe<'a>(&self, views: impl IntoIterator<Item = &'a View>) {
        self.subscribe_as(0, views);
    }

    /// Subscribes with this id of the subscription.
    pub(crate) fn subscribe_as<'a>(
        &self,
        subscription_id: u64,
        views: impl IntoIterator<Item = &'a View>,
    ) {
        let subscribe = subscribe_to_wire(views.into_iter().cloned(), subscription_id);
        self.send(Some(Change::Subscribe(subscribe)));
    }

    pub(crate) fn unsubscribe(&self, view: &View) {
        let view_ids = vec![view.id().to_string()];
        self.send(Some(Change::Unsubscribe(Unsubscribe { view_ids })));
    }

    /// Ends the stream of requests.
    pub(crate) fn close_requests(&mut self) {
        self.requests = None;
    }

    /// Receives one message as it is.
    pub(crate) async fn message(&mut self) -> Result<Event, Status> {
        let message = timeout(DEADLINE, self.responses.message()).await;
        let message = message.unwrap_or_else(|_| panic!("no message within {DEADLINE:?}"))?;
        let message = message.ok_or_else(|| Status::ok("the stream has ended"))?;
        Ok(message.event.unwrap())
    }

    /// Receives one message; puts it to the parts of its delta.
    pub(crate) async fn receive(&mut self) -> Result<Option<Update>, Status> {
        let part = match self.message().await? {
            Event::Failure(failure) => return Ok(Some(Update::Failure(failure))),
            Event::Read(read) => return Ok(Some(Update::Read(read))),
            Event::Delta(part) => part,
        };
        let complete = part.complete;
        match &mut self.parts {
            None => self.parts = Some(part),
            Some(parts) => {
                assert_eq!(
                    (&parts.view_id, parts.revision),
                    (&part.view_id, part.revision)
                );
                append_part(parts, part);
            }
        }
        Ok(self
            .parts
            .take_if(|_| complete)
            .map(|whole| self.apply(whole)))
    }

    fn apply(&mut self, whole: ViewDelta) -> Update {
        let view_id = whole.view_id.clone();
        let delta = delta_from_wire(whole);
        let base = delta.base;
        let snapshot = ViewSnapshot::after(self.snapshots.remove(&view_id), delta).unwrap();
        self.snapshots.insert(view_id.clone(), snapshot.clone());
        Update::Delta {
            view_id,
            base,
            snapshot,
        }
    }

    /// The last snapshot of a view.
    pub(crate) fn snapshot(&self, view_id: &str) -> Option<&ViewSnapshot> {
        self.snapshots.get(view_id)
    }

    pub(crate) async fn update(&mut self) -> Update {
        loop {
            if let Some(update) = self.receive().await.unwrap() {
                return update;
            }
        }
    }

    /// The next update, which must be a delta: its base and the snapshot that it leads to.
    pub(crate) async fn delta(&mut self) -> (Option<u64>, ViewSnapshot) {
        match self.update().await {
            Update::Delta { base, snapshot, .. } => (base, snapshot),
            other => panic!("{other:?}"),
        }
    }

    /// Asks for a read of the views with this mark.
    pub(crate) fn read<'a>(&self, mark: u64, views: impl IntoIterator<Item = &'a View>) {
        let view_ids = views
            .into_iter()
            .map(|view| view.id().to_string())
            .collect();
        let gather = false;
        let read = ReadViews {
            view_ids,
            mark,
            gather,
        };
        self.send(Some(Change::Read(read)));
    }

    /// How the stream ends: the status that comes after everything else.
    pub(crate) async fn end(&mut self) -> Status {
        loop {
            if let Err(status) = self.receive().await {
                return status;
            }
        }
    }
}

pub(crate) fn instances(snapshot: &ViewSnapshot) -> Vec<&ServiceInstance> {
    let instances = snapshot.items.values().map(|item| match item {
        Item::Instance(instance) => &**instance,
        other => panic!("no instance but {other:?}"),
    });
    instances.collect()
}

pub(crate) fn ids(snapshot: &ViewSnapshot) -> Vec<&str> {
    let instances = instances(snapshot).into_iter();
    instances.map(|instance| instance.id.as_str()).collect()
}
