//! A system with a task in each state, without authentication, for all tests that look at it.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use cts_page_tests::{Browser, Browsers, Look};
use cts_testkit::eventually;
use cts_tests::{Api, DEADLINE, Site, task as block};
use tokio::sync::{Mutex, oneshot};

use crate::scene::{MODULE, Scene, text};

/// A module whose plan fails.
const BROKEN: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "broken" {
  lifecycle {
    precondition {
      condition     = length(var.services) > 100
      error_message = "The load balancer does not exist."
    }
  }
}
"#;

static OPEN: Mutex<Weak<Shown>> = Mutex::const_new(Weak::new());

/// The shared system. It runs in a thread of its own, because each test has a runtime of its own.
#[derive(Debug)]
pub(crate) struct Shown {
    address: SocketAddr,
    /// The newest run of `web`, which made an update.
    pub(crate) applied: String,
    /// The newest run of `broken`.
    pub(crate) failed: String,
    /// The run of `asks`, which waits for consent.
    pub(crate) waiting: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A screen, with texts that it has of this system.
#[derive(Debug)]
pub(crate) struct Screen {
    /// Name of its picture.
    pub(crate) name: &'static str,
    /// Path below the origin.
    pub(crate) path: String,
    pub(crate) texts: &'static [&'static str],
}

/// The shared system: it starts with the first test and ends with the last one that has it.
pub(crate) async fn shown() -> Arc<Shown> {
    let mut open = OPEN.lock().await;
    if let Some(shown) = open.upgrade() {
        return shown;
    }
    let shown = Arc::new(Shown::start().await);
    *open = Arc::downgrade(&shown);
    shown
}

impl Shown {
    async fn start() -> Self {
        let (end, ended) = oneshot::channel();
        let (tell, told) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                let scene = scene().await;
                let runs = runs(&scene).await;
                let _given_up = tell.send((scene.instance.api.address(), runs));
                let _dropped = ended.await;
                scene.site.release();
                scene.instance.stop().await;
            });
        });
        let (address, [applied, failed, waiting]) =
            told.await.expect("the system starts, see the panic above");
        Self {
            address,
            applied,
            failed,
            waiting,
            end: Some(end),
            thread: Some(thread),
        }
    }

    /// Origin of its page.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its REST API.
    pub(crate) fn api(&self) -> Api {
        Api::new(self.address)
    }

    /// Opens a browser at its page.
    pub(crate) async fn open(&self, browsers: &Browsers, look: &Look) -> Browser {
        browsers.open(&self.origin(), look).await
    }

    /// All screens.
    pub(crate) fn screens(&self) -> Vec<Screen> {
        let screen = |name, path: &str, texts| Screen {
            name,
            path: format!("/ui/{path}"),
            texts,
        };
        let run = |run: &str| format!("runs/{run}");
        vec![
            screen("overview", "", &["broken", "asks", "pool", "Causes"]),
            screen(
                "tasks",
                "tasks?view=list",
                &["asks", "broken", "off", "pool", "web"],
            ),
            screen("grid", "tasks?view=grid", &["1–6"]),
            screen(
                "task",
                "tasks/web",
                &["successful", "Why?", "web-2", "cts task"],
            ),
            screen("failed-task", "tasks/broken", &["load balancer", "Why?"]),
            screen("running-task", "tasks/pool", &["running", "Cancel"]),
            screen("disabled-task", "tasks/off", &["disabled", "Enable"]),
            screen(
                "runs",
                "runs",
                &["web", "broken", "running", "failed", "succeeded"],
            ),
            screen(
                "run",
                &run(&self.applied),
                &["Apply complete!", "web-2", "Attempt 1"],
            ),
            screen(
                "failed-run",
                &run(&self.failed),
                &["The load balancer does not exist."],
            ),
            screen("approvals", "approvals", &["asks", "created"]),
            screen(
                "approval",
                &format!("approvals/{}", self.waiting),
                &["asks", "Approve"],
            ),
            screen("cluster", "cluster", &["Slots", "active"]),
            screen("audit", "audit", &["require_auth"]),
            screen(
                "confirmation",
                "tasks/web/delete",
                &["To confirm, type web", "Delete"],
            ),
        ]
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        drop(self.end.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(
            !matches!(ended, Some(Err(_))) || std::thread::panicking(),
            "the shared system did not end in order"
        );
    }
}

/// Tasks that succeeded, failed, run, wait for consent, and are disabled. `switched` is for a test that switches it.
async fn scene() -> Scene {
    let site = Site::new();
    site.write_steps("pool");
    site.write("modules/broken/main.tf", BROKEN);
    let tasks = [
        block(
            "web",
            MODULE,
            &["web"],
            "description = \"Instances behind the load balancer\"",
        ),
        block("broken", "./modules/broken", &["db"], ""),
        block("asks", MODULE, &["db"], "approval = \"always\""),
        block("pool", "./modules/pool", &["api"], ""),
        block("off", MODULE, &["web"], "enabled = false"),
        block("switched", MODULE, &["web"], "enabled = false"),
    ];
    let scene = Scene::start(site, &tasks.concat()).await;
    let api = &scene.instance.api;
    api.wait_for_events("web", 1).await;
    scene.register("web", "web-2").await;
    api.wait_for_events("web", 2).await;
    api.wait_for_events("broken", 1).await;
    api.wait_for_events("pool", 1).await;
    scene.site.hold();
    scene.register("api", "api-1").await;
    scene.site.wait_for_step("pool", "begin", "api-1").await;
    scene
}

/// The newest runs of `web` and `broken`, and the waiting one of `asks`.
async fn runs(scene: &Scene) -> [String; 3] {
    let newest = async |task: &str, status: &str| {
        let path = format!("/v1/runs?task={task}&status={status}&limit=1");
        eventually(DEADLINE, async || {
            let runs = scene.instance.api.get(&path).await;
            let id = runs["runs"][0]["id"].as_str();
            id.map(str::to_owned).ok_or(runs)
        })
        .await
    };
    let waiting = scene.waiting("", "asks", "").await;
    [
        newest("web", "succeeded").await,
        newest("broken", "failed").await,
        text(&waiting, "run_id").to_owned(),
    ]
}
