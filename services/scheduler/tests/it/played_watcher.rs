//! A watcher that says what the test wants.

use std::pin::Pin;
use std::sync::Arc;

use cts_core::{ServiceInstance, ViewId, ViewSnapshot};
use cts_proto::watch::v1 as proto;
use cts_proto::watch::v1::watch_service_server::WatchService;
use cts_rpc::convert;
use tokio::sync::watch;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

/// Sends a full snapshot of each subscribed view at every change of the scene.
#[derive(Debug, Clone)]
pub(crate) struct PlayedWatcher {
    scene: Arc<watch::Sender<Scene>>,
}

#[derive(Debug, Clone, Default)]
struct Scene {
    revision: u64,
    /// `None` keeps silent about every view.
    instances: Option<Vec<ServiceInstance>>,
    /// Streams begun before this count end.
    generation: u64,
}

impl PlayedWatcher {
    pub(crate) fn silent() -> Self {
        Self {
            scene: Arc::new(watch::Sender::new(Scene::default())),
        }
    }

    pub(crate) fn show(&self, instances: Vec<ServiceInstance>) {
        self.scene.send_modify(|scene| {
            scene.revision += 1;
            scene.instances = Some(instances);
        });
    }

    /// Ends all streams, as a restart does; the count of revisions begins anew.
    pub(crate) fn restart(&self) {
        self.scene.send_modify(|scene| {
            scene.generation += 1;
            scene.revision = 1;
        });
    }
}

#[tonic::async_trait]
impl WatchService for PlayedWatcher {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<proto::WatchResponse, Status>> + Send>>;

    async fn watch(
        &self,
        request: Request<Streaming<proto::WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let first = request.into_inner().message().await?.unwrap();
        let Some(proto::watch_request::Change::Subscribe(subscribe)) = first.change else {
            panic!("the first message subscribes");
        };
        let views: Vec<ViewId> = subscribe
            .views
            .into_iter()
            .map(|view| convert::view_from_wire(view).unwrap().id())
            .collect();
        let generation = self.scene.borrow().generation;
        let scenes = tokio_stream::wrappers::WatchStream::new(self.scene.subscribe());
        let messages = scenes
            .take_while(move |scene| scene.generation == generation)
            .filter_map(|scene| Some((scene.revision, scene.instances?)))
            .map(move |(revision, instances)| {
                let snapshot = ViewSnapshot::new(revision, instances);
                let delta = snapshot.delta_from(None);
                let messages = views
                    .iter()
                    .flat_map(|view| convert::delta_to_wire(view, &delta));
                let messages: Vec<_> = messages
                    .map(|delta| {
                        let event = Some(proto::watch_response::Event::Delta(delta));
                        Ok(proto::WatchResponse { event })
                    })
                    .collect();
                tokio_stream::iter(messages)
            });
        Ok(Response::new(Box::pin(futures::StreamExt::flatten(
            messages,
        ))))
    }
}
