//! A move of a state is killed anywhere and goes on after the restart (docs/terraform.md#moving-a-state).

use std::fs;

use cts_testkit::{ObjectStore, eventually};
use cts_tests::{DEADLINE, Instance, Shape, met};

use super::halting::{HALTING, HaltingTerraform};
use super::state_moves::{BUCKET, Stage, consul, local, pg, s3};

/// Point at which a move is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// The state was read from its old backend.
    Pulled,
    /// The move is recorded, and the state is not pushed yet.
    Recorded,
    /// The state is in the new backend.
    Pushed,
    /// Terraform makes a resource, and has locked the state.
    Applying,
}

impl Point {
    const ALL: [Self; 4] = [Self::Pulled, Self::Recorded, Self::Pushed, Self::Applying];
}

/// A task whose state is in its old backend, and then cts with the new one: it is about to move the state.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    terraform: HaltingTerraform,
}

impl Scene {
    pub(crate) async fn begin(stage: Stage, old: &str) -> Self {
        let scene = Self::of(stage);
        scene.stage.configure(&driver(old));
        scene.stage.apply("web-1", &["web-1"]).await;
        scene
    }

    /// A scene of a task that is not applied yet.
    pub(crate) fn of(stage: Stage) -> Self {
        let terraform = HaltingTerraform::install(&stage.site);
        Self { stage, terraform }
    }

    /// Begins the move.
    pub(crate) async fn start(&self, new: &str) -> Instance {
        self.stage.configure(&driver(new));
        self.stage.register("web-2").await;
        Instance::start(&self.stage.site).await
    }

    fn stop_at(&self, point: Point) {
        match point {
            Point::Pulled => self.terraform.halt_after("*.cts-state-to-move state pull*"),
            Point::Recorded => self.terraform.halt_before("* state push*"),
            Point::Pushed => self.terraform.halt_after("* state push*"),
            Point::Applying => self.stage.site.hold(),
        }
    }

    async fn reached(&self, point: Point) {
        if point == Point::Applying {
            self.wait_until_made("web-2").await;
        } else {
            self.terraform.halted().await;
        }
    }

    fn go_on(&self, point: Point) {
        self.terraform.go_on();
        if point == Point::Applying {
            self.stage.site.release();
        }
    }

    async fn wait_until_made(&self, id: &str) {
        eventually(DEADLINE, async || {
            let made = self.stage.made("pool");
            met(
                made.iter().any(|made| made == id),
                format!("{id} is not among {made:?}"),
            )
        })
        .await;
    }

    /// Kills cts and its Terraform, as when the machine loses its power.
    pub(crate) async fn kill(&self, cts: Instance) {
        cts.kill().await;
        self.stage.site.kill_terraform().await;
    }

    /// After one more change each instance was made once, as if nothing had been killed.
    pub(crate) async fn finish(&self, cts: Instance, point: Point) {
        self.stage.wait_until_applied(&cts).await;
        self.stage.register("web-3").await;
        self.wait_until_made("web-3").await;
        self.stage.wait_until_applied(&cts).await;
        cts.stop().await;
        let mut made = self.stage.made("pool");
        if point == Point::Applying {
            // Terraform was killed while it made web-2.
            made.dedup();
        }
        assert_eq!(made, ["web-1", "web-2", "web-3"], "{point:?}");
        let left = fs::read_dir(self.stage.site.work().join("pool")).unwrap();
        let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: Vec<_> = left.filter(|name| name.starts_with(".cts")).collect();
        assert_eq!(left, Vec::<String>::new(), "{point:?}");
    }

    /// Begins the move, kills cts at this point, and sees that the next one comes to the same end.
    pub(crate) async fn dies_at(&self, point: Point, new: &str) {
        self.stop_at(point);
        let cts = self.start(new).await;
        self.reached(point).await;
        if point == Point::Applying && Shape::of_this_run() == Shape::Cluster {
            // The guard interrupts Terraform, which then writes its state. Killed while it writes, it would leave
            // an empty file.
            cts.kill().await;
            self.stage.site.wait_until_quiet().await;
        } else {
            self.kill(cts).await;
        }
        self.go_on(point);
        let cts = Instance::start(&self.stage.site).await;
        self.finish(cts, point).await;
    }
}

/// The driver block with this backend.
pub(crate) fn driver(backend: &str) -> String {
    format!("{HALTING}\n  {backend}")
}

async fn comes_to_the_same_end(stage: Stage, point: Point, old: &str, new: &str) {
    let scene = Scene::begin(stage, old).await;
    scene.dies_at(point, new).await;
}

#[tokio::test]
async fn a_move_between_directories_that_is_killed_anywhere_comes_to_the_same_end() {
    for point in Point::ALL {
        let stage = Stage::new(&["pool"]).await;
        let (old, new) = (local(&stage.file("old")), local(&stage.file("new")));
        comes_to_the_same_end(stage, point, &old, &new).await;
    }
}

#[tokio::test]
async fn a_move_from_consul_to_postgres_that_is_killed_anywhere_comes_to_the_same_end() {
    for point in Point::ALL {
        let stage = Stage::new(&["pool"]).await;
        comes_to_the_same_end(stage, point, &consul("old"), &pg().await).await;
    }
}

/// A killed Terraform leaves the file that is its lock.
#[tokio::test]
async fn a_move_from_postgres_to_s3_that_is_killed_anywhere_comes_to_the_same_end() {
    for point in Point::ALL {
        let stage = Stage::new(&["pool"]).await;
        let store = ObjectStore::with_bucket(BUCKET).await;
        let new = format!(
            "release_lost_locks = true\n  {}",
            s3(&store.address(), "new")
        );
        comes_to_the_same_end(stage, point, &pg().await, &new).await;
        let objects = store.list(BUCKET).await;
        assert!(!objects.contains(".tflock"), "{point:?}: {objects}");
    }
}

/// The lock of a killed Terraform ends with its session, some time later.
#[tokio::test]
async fn a_move_from_s3_to_consul_that_is_killed_anywhere_comes_to_the_same_end() {
    for point in Point::ALL {
        let stage = Stage::new(&["pool"]).await;
        let store = ObjectStore::with_bucket(BUCKET).await;
        let old = s3(&store.address(), "old");
        comes_to_the_same_end(stage, point, &old, &consul("new")).await;
    }
}
