//! The usual beginning of tests of clusters.

use std::time::Duration;

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, Cluster, DEADLINE, Plan, Site, task};

/// Added to a time that is promised: processes start, poll and compete for two processors.
pub(crate) const POLL: Duration = Duration::from_secs(1);

/// A cluster with the task "pool", which has applied web-1.
pub(crate) struct Scene {
    pub(crate) cluster: Cluster,
    pub(crate) site: Site,
    pub(crate) consul: ConsulAgent,
    next: u16,
}

impl Scene {
    pub(crate) async fn start(plan: Plan) -> Self {
        Self::start_at(Site::new(), plan).await
    }

    /// Starts in a site that already has files.
    pub(crate) async fn start_at(site: Site, plan: Plan) -> Self {
        let consul = ConsulAgent::start().await;
        pool(&site, &consul.address());
        consul.register_service("web", "web-1", 1, &[], &[]).await;
        let cluster = Cluster::start(&site, plan).await;
        let scene = Self {
            cluster,
            site,
            consul,
            next: 2,
        };
        scene.wait_until_applied().await;
        scene
    }

    /// Registers one more instance of the service.
    pub(crate) async fn change(&mut self) {
        let id = format!("web-{}", self.next);
        let port = self.next;
        self.consul
            .register_service("web", &id, port, &[], &[])
            .await;
        self.next += 1;
    }

    /// The ids of all that is registered, as they are in the journal.
    pub(crate) fn ids(&self) -> String {
        let mut ids: Vec<String> = (1..self.next)
            .map(|number| format!("web-{number}"))
            .collect();
        ids.sort();
        ids.join(",")
    }

    /// Waits until all that is registered is applied.
    pub(crate) async fn wait_until_applied(&self) {
        self.site.wait_for_step("pool", "end", &self.ids()).await;
    }

    /// Registers one more instance and waits until it is applied.
    pub(crate) async fn change_is_applied(&mut self) {
        self.change().await;
        self.wait_until_applied().await;
    }

    /// Waits until the API of a gateway answers.
    pub(crate) async fn wait_until_api_answers(&self, gateway: usize) {
        let api = self.cluster.api(gateway);
        eventually(DEADLINE, async || match api.ask("/v1/health").await {
            Ok((200, _)) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
    }

    /// The newest events of the task, once all its runs are reported.
    pub(crate) async fn settled_events(&self) -> Vec<serde_json::Value> {
        let api = self.cluster.api(0);
        eventually(DEADLINE, async || {
            // A process that was killed a moment ago may have delayed one of the answers.
            let queue = match api.ask("/v1/queue").await {
                Ok((200, queue)) => queue,
                other => return Err(format!("{other:?}")),
            };
            let status = match api.ask("/v1/status/tasks/pool?include=events").await {
                Ok((200, mut statuses)) => statuses["pool"].take(),
                other => return Err(format!("{other:?}")),
            };
            match (&status["status"], status["events"].as_array()) {
                (state, Some(events))
                    if state == "successful" && queue["queued"] == 0 && queue["running"] == 0 =>
                {
                    Ok(events.clone())
                }
                _ => Err(format!("{status} {queue}")),
            }
        })
        .await
    }

    /// Panics if two were at work on the task at once, or a step was made more than once.
    pub(crate) fn assert_each_step_once(&self) {
        self.assert_no_overlap();
        let journal = self.site.journal("pool");
        let mut steps: Vec<&str> = journal
            .iter()
            .filter(|line| line.starts_with("begin"))
            .filter_map(|line| line.rsplit(' ').next())
            .collect();
        let all = steps.len();
        steps.sort_unstable();
        steps.dedup();
        assert_eq!(steps.len(), all, "repeated: {journal:?}");
    }

    /// Panics if two were at work on the task at once.
    pub(crate) fn assert_no_overlap(&self) {
        let journal = self.site.journal("pool");
        let overlaps = journal.iter().any(|line| line.starts_with("overlap"));
        assert!(!overlaps, "two at work at once: {journal:?}");
    }
}

/// The module and configuration of the task "pool", whose state every worker reaches.
pub(crate) fn pool(site: &Site, consul: &str) {
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(consul, Backend::Shared, &pool);
}
