//! A watcher that the test plays.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cts_core::{Item, ServiceInstance, View, ViewId, ViewSnapshot};
use cts_proto::watch::v1 as proto;
use cts_proto::watch::v1::watch_request::Change;
use cts_proto::watch::v1::watch_service_server::WatchService;
use cts_rpc::convert;
use tokio::sync::watch;
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

/// Sends a full snapshot of each subscribed view at every change of the scene.
#[derive(Debug, Clone)]
pub(crate) struct PlayedWatcher {
    scene: Arc<watch::Sender<Scene>>,
    streams: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, Default)]
struct Scene {
    revision: u64,
    /// `None` keeps silent about every view.
    instances: Option<Vec<ServiceInstance>>,
    /// Instances of these views in the place of `instances`.
    of_views: BTreeMap<ViewId, Vec<ServiceInstance>>,
    /// Items of every view of keys; `None` keeps silent.
    keys: Option<Vec<Item>>,
    /// Views for which nothing is sent.
    hidden: BTreeSet<ViewId>,
    /// Views that cannot be read, with the error that is sent for each.
    failing: BTreeMap<ViewId, String>,
    /// The errors are those of an outage of Consul.
    outage: bool,
    /// The condition of Consul.
    consul: proto::GetConsulResponse,
    /// Streams begun before this count end.
    generation: u64,
}

impl PlayedWatcher {
    pub(crate) fn silent() -> Self {
        Self {
            scene: Arc::new(watch::Sender::new(Scene::default())),
            streams: Arc::default(),
        }
    }

    pub(crate) fn show(&self, instances: Vec<ServiceInstance>) {
        self.scene.send_modify(|scene| {
            scene.revision += 1;
            scene.instances = Some(instances);
        });
    }

    /// Shows these instances of services, each in the view of its service alone, all at once.
    pub(crate) fn show_services(&self, services: Vec<(String, Vec<ServiceInstance>)>) {
        self.scene.send_modify(|scene| {
            scene.revision += 1;
            for (service, instances) in services {
                let view = ViewId::new(format!("health.service({service})"));
                scene.of_views.insert(view, instances);
            }
        });
    }

    /// Shows these instances in a view.
    pub(crate) fn show_in(&self, view: ViewId, instances: Vec<ServiceInstance>) {
        self.scene.send_modify(|scene| {
            scene.revision += 1;
            scene.of_views.insert(view, instances);
        });
    }

    /// Shows these keys in every view of keys.
    pub(crate) fn show_keys(&self, keys: Vec<Item>) {
        self.scene.send_modify(|scene| {
            scene.revision += 1;
            scene.keys = Some(keys);
        });
    }

    /// Says nothing of a service, until it is revealed.
    pub(crate) fn hide(&self, service: &str) {
        let view = ViewId::new(format!("health.service({service})"));
        self.scene.send_modify(|scene| {
            scene.hidden.insert(view);
        });
    }

    /// Speaks of a service that was hidden.
    pub(crate) fn reveal(&self, service: &str) {
        let view = ViewId::new(format!("health.service({service})"));
        self.scene.send_modify(|scene| {
            scene.hidden.remove(&view);
        });
    }

    /// Reports that a service has not been readable from Consul for a minute.
    pub(crate) fn fail(&self, service: &str, message: &str) {
        let view = ViewId::new(format!("health.service({service})"));
        self.scene.send_modify(|scene| {
            scene.failing.insert(view, message.to_owned());
        });
    }

    /// From now on errors are those of an outage of Consul.
    pub(crate) fn begin_outage(&self) {
        self.scene.send_modify(|scene| scene.outage = true);
    }

    /// Reports that Consul answers nothing, for so long; `None` if it answers.
    pub(crate) fn stand_still(&self, silent_for: Option<Duration>) {
        self.scene.send_modify(|scene| {
            scene.consul = proto::GetConsulResponse {
                address: "consul:8500".to_owned(),
                silent_for: silent_for.map(convert::duration_to_wire),
            };
        });
    }

    /// Says no longer that a service cannot be read.
    pub(crate) fn mend(&self, service: &str) {
        let view = ViewId::new(format!("health.service({service})"));
        self.scene.send_modify(|scene| {
            scene.failing.remove(&view);
        });
    }

    /// How many streams were begun.
    pub(crate) fn streams(&self) -> usize {
        self.streams.load(Ordering::SeqCst)
    }

    /// Ends all streams, as a restart does; the count of revisions starts from the beginning.
    pub(crate) fn restart(&self) {
        self.scene.send_modify(|scene| {
            scene.generation += 1;
            scene.revision = 1;
        });
    }
}

/// One stream.
struct Played {
    requests: Streaming<proto::WatchRequest>,
    scenes: watch::Receiver<Scene>,
    generation: u64,
    /// Views with the id of their subscription.
    views: BTreeMap<ViewId, u64>,
    ready: VecDeque<proto::WatchResponse>,
}

impl Played {
    async fn next(&mut self) -> Option<proto::WatchResponse> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            tokio::select! {
                request = self.requests.message() => self.change(request.ok()??),
                changed = self.scenes.changed() => {
                    changed.ok()?;
                    let scene = self.scenes.borrow_and_update().clone();
                    if scene.generation != self.generation {
                        return None;
                    }
                    let all: Vec<_> = self.views.keys().cloned().collect();
                    self.tell(&scene, &all);
                }
            }
        }
    }

    fn change(&mut self, request: proto::WatchRequest) {
        match request.change.unwrap() {
            Change::Subscribe(subscribe) => {
                let id = subscribe.subscription_id;
                let views = convert::views_from_wire(subscribe).unwrap();
                let views: Vec<_> = views.iter().map(View::id).collect();
                self.views
                    .extend(views.iter().cloned().map(|view| (view, id)));
                let scene = self.scenes.borrow().clone();
                self.tell(&scene, &views);
            }
            // Not offered, so not requested.
            Change::Read(_) => {}
            Change::Unsubscribe(unsubscribe) => {
                for id in unsubscribe.view_ids {
                    let subscribed = self.views.remove(&ViewId::new(id));
                    assert!(subscribed.is_some(), "it was subscribed");
                }
            }
        }
    }

    fn tell(&mut self, scene: &Scene, views: &[ViewId]) {
        let (failing, views): (Vec<_>, Vec<_>) = views
            .iter()
            .cloned()
            .partition(|view| scene.failing.contains_key(view));
        for view in failing {
            let failure = proto::ViewFailure {
                view_id: view.as_str().to_owned(),
                message: scene.failing[&view].clone(),
                failures: 7,
                refused: false,
                outage: scene.outage,
                subscription_id: self.views[&view],
                retry_after: Some(convert::duration_to_wire(Duration::from_mins(5))),
                failing_for: Some(convert::duration_to_wire(Duration::from_mins(1))),
                since_answer: None,
            };
            self.ready.push_back(proto::WatchResponse {
                event: Some(proto::watch_response::Event::Failure(failure)),
            });
        }
        let instances = scene.instances.clone();
        let instances = instances.map(|shown| shown.into_iter().map(Item::from).collect());
        for view in views.iter().filter(|view| !scene.hidden.contains(view)) {
            let of_keys = view.as_str().starts_with("kv.");
            let of_view = scene.of_views.get(view).cloned();
            let of_view = of_view.map(|shown| shown.into_iter().map(Item::from).collect());
            let shown: Option<Vec<Item>> = if of_keys {
                scene.keys.clone()
            } else {
                of_view.or_else(|| instances.clone())
            };
            let Some(shown) = shown else { continue };
            let delta = ViewSnapshot::new(scene.revision, shown).delta_from(None);
            let messages = convert::delta_to_wire(view, self.views[view], &delta);
            self.ready
                .extend(messages.into_iter().map(|delta| proto::WatchResponse {
                    event: Some(proto::watch_response::Event::Delta(delta)),
                }));
        }
    }
}

#[tonic::async_trait]
impl WatchService for PlayedWatcher {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<proto::WatchResponse, Status>> + Send>>;

    async fn watch(
        &self,
        request: Request<Streaming<proto::WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        self.streams.fetch_add(1, Ordering::SeqCst);
        let scenes = self.scene.subscribe();
        let generation = scenes.borrow().generation;
        let played = Played {
            requests: request.into_inner(),
            scenes,
            generation,
            views: BTreeMap::new(),
            ready: VecDeque::new(),
        };
        let messages = futures::stream::unfold(played, |mut played| async move {
            let message = played.next().await?;
            Some((Ok(message), played))
        });
        Ok(Response::new(Box::pin(messages)))
    }

    async fn get_consul(
        &self,
        _request: Request<proto::GetConsulRequest>,
    ) -> Result<Response<proto::GetConsulResponse>, Status> {
        Ok(Response::new(self.scene.borrow().consul.clone()))
    }

    async fn keep_traces(
        &self,
        _request: Request<proto::KeepTracesRequest>,
    ) -> Result<Response<proto::KeepTracesResponse>, Status> {
        Ok(Response::new(proto::KeepTracesResponse {}))
    }
}
