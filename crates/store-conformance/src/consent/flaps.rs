//! A service that flaps every five seconds for ten minutes, with an equal destruction at each loss.

use std::time::Duration;

use cts_core::Permit;
use cts_core::runs::RunStatus;
use cts_store::PermitAnswer;

use super::asking::{
    FREE, Plan, USED, approve, asked, begin, consents, harmless, nothing, permit, ruled, sweep,
};
use crate::Fixture;
use crate::scene::{Scene, input, seconds};

/// Length of a loss, and of the time between two losses, in seconds.
const HALF: u64 = 5;

/// Length of all, in seconds.
const ALL: u64 = 600;

/// Most plans in that time.
const PLANS: u32 = 13;

const DESTROYS: &str = "destroys";

/// A task whose only object exists while the data show its service.
struct Flapping<F> {
    scene: Scene<F>,
    /// Each loss has data of its own.
    data_differ: bool,
    /// The object exists.
    exists: bool,
    plans: u32,
    notices: u32,
    /// When the object was destroyed, in seconds.
    destroyed: Vec<u64>,
}

impl<F: Fixture> Flapping<F> {
    async fn new(data_differ: bool) -> Self {
        let scene = Scene::<F>::configured(&[ruled("a")]).await;
        let lease = begin(&scene, "a", "full").await;
        assert_eq!(
            permit(&scene, &lease, &harmless("makes")).await.permit,
            FREE
        );
        scene.applied(&lease).await;
        Self {
            scene,
            data_differ,
            exists: true,
            plans: 0,
            notices: 0,
            destroyed: Vec::new(),
        }
    }

    /// Lets all seconds pass; a person approves the effect once, at this second.
    async fn run(&mut self, approved_at: u64) {
        for second in 1..=ALL {
            self.scene.advance(seconds(1));
            if second % HALF == 0 {
                let is_lost = second / HALF % 2 == 1;
                self.show(is_lost, second).await;
            }
            if second % 10 == 7 {
                assert_eq!(sweep(&self.scene).await, 0, "{second}");
            }
            if second == approved_at {
                approve(&self.scene, &[("a", DESTROYS)]).await;
            }
            self.work(second).await;
        }
    }

    /// The data show the service, or its loss.
    async fn show(&self, is_lost: bool, second: u64) {
        let loss = if self.data_differ { second } else { 0 };
        let text = if is_lost {
            format!("less {loss}")
        } else {
            "full".to_owned()
        };
        self.scene.enqueue("a", &text).await;
    }

    /// A worker takes what is due.
    async fn work(&mut self, second: u64) {
        while let Some(lease) = self.scene.acquire().await {
            let keeps = lease.input == input("full").hash;
            let plan = match (keeps, self.exists) {
                (true, false) => harmless("makes"),
                (false, true) => asked(DESTROYS),
                _ => nothing(),
            };
            let answer = self.ask(&lease, &plan).await;
            if let Permit::Permitted { .. } = answer.permit {
                if self.exists && !keeps {
                    assert_eq!(answer.permit, USED, "{second}");
                    self.destroyed.push(second);
                }
                self.exists = keeps;
                let applied = self.scene.applied(&lease).await;
                assert_eq!(applied.status, RunStatus::Succeeded);
            } else {
                self.scene.interrupted(&lease).await;
            }
        }
    }

    async fn ask(&mut self, lease: &cts_store::Lease, plan: &Plan) -> PermitAnswer {
        let answer = permit(&self.scene, lease, plan).await;
        self.plans += 1;
        self.notices += u32::from(answer.is_new);
        answer
    }
}

async fn flap<F: Fixture>(data_differ: bool) {
    // While the service is lost, and while it is not.
    for (approved_at, next_loss) in [(307, 315), (302, 305)] {
        let mut flapping = Flapping::<F>::new(data_differ).await;
        flapping.run(approved_at).await;
        let &[destroyed] = &*flapping.destroyed else {
            unreachable!("one consent, but {:?}", flapping.destroyed);
        };
        let in_time = approved_at..=next_loss + 10;
        assert!(in_time.contains(&destroyed), "{approved_at}: {destroyed}");
        let counts = (flapping.plans, flapping.notices);
        assert!(counts.0 <= PLANS && counts.1 == 2, "{counts:?}");
        assert_eq!(consents(&flapping.scene).await.len(), 1);
    }
}

pub async fn a_flapping_service_is_planned_rarely_and_asked_about_twice<F: Fixture>() {
    flap::<F>(false).await;
}

pub async fn a_service_that_flaps_with_other_data_each_time_is_asked_about_twice<F: Fixture>() {
    flap::<F>(true).await;
}

/// The consent counts at once for data that are newer than the plan.
pub async fn an_approved_effect_does_not_wait_for_the_next_plan<F: Fixture>() {
    let mut flapping = Flapping::<F>::new(true).await;
    flapping.show(true, 1).await;
    flapping.work(1).await;
    flapping.scene.advance(Duration::from_secs(1));
    flapping.show(true, 2).await;
    flapping.work(2).await;
    assert_eq!((flapping.plans, flapping.notices), (1, 1));
    approve(&flapping.scene, &[("a", DESTROYS)]).await;
    flapping.work(2).await;
    assert_eq!(flapping.destroyed, [2]);
}
