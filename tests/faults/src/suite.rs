//! A plan from its begin to the verdict.

mod ending;
mod settle;
mod trouble;

use std::path::PathBuf;
use std::time::Duration;

use cts_tests::Api;
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::campaign::Campaign;
use crate::evidence::{KeepOnPanic, keep, show};
use crate::judge::judge;
use crate::observed::brake::Brakes;
use crate::observed::followers::Followed;
use crate::observed::history::History;
use crate::observed::sightings::Lookout;
use crate::plan::Plan;
use crate::report::{Report, say};
use crate::scene::Scene;
use crate::violation::{Rule, Violation};
use crate::writes::Writes;

const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// How a plan is carried out.
#[derive(Debug, Clone)]
pub struct Course {
    /// Directory for the files after a violation.
    pub keep: PathBuf,
    /// How long it may take after the last fault until everything is applied. A failed run is tried again
    /// after a minute, which doubles with every further failure.
    pub settle_limit: Duration,
    /// Executable of an earlier version, for plans with two of them.
    pub previous: Option<PathBuf>,
}

/// All parts at work while a plan is carried out. Fields are dropped in the order of their declaration: the
/// first ones share parts of the scene.
#[derive(Debug)]
pub(crate) struct Suite<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) campaign: Campaign,
    pub(crate) writes: Writes,
    pub(crate) history: History,
    pub(crate) followed: Followed,
    pub(crate) brakes: Brakes,
    pub(crate) report: Report,
    pub(crate) scene: Scene,
}

/// Carries out a plan and judges the outcome.
pub async fn run_plan(plan: &Plan, course: &Course) -> Report {
    // Faults go on side by side, and some of them cannot change threads.
    let together = LocalSet::new();
    let all = Box::pin(from_begin_to_verdict(plan, course));
    together.run_until(all).await
}

async fn from_begin_to_verdict(plan: &Plan, course: &Course) -> Report {
    say(&format!(
        "seed {}: {} tasks on {} services, {:?}, {:?}",
        plan.seed, plan.size.tasks, plan.size.services, plan.extent, plan.setup,
    ));
    let scene = Scene::start(plan, course.previous.as_deref()).await;
    let keeper = KeepOnPanic {
        site: scene.site.path().to_owned(),
        to: course.keep.clone(),
    };
    let lookout = Lookout::begin(scene.site.path().to_owned());
    let mut suite = Suite {
        plan,
        campaign: Campaign::new(&scene.members, scene.outside.clone()),
        writes: Writes::new(plan, scene.system.apis()),
        history: History::default(),
        followed: Followed::default(),
        brakes: Brakes::new(),
        report: Report::of(plan),
        scene,
    };
    let begun = Instant::now();
    if let Err(complaint) = suite.rounds(course.settle_limit).await {
        suite.report.violations.push(Violation::new(
            Rule::EndsLikeTheCatalog,
            "everything",
            complaint,
        ));
    }
    let over = crate::processes::uptime();
    suite.figure("time in all", format!("{:?}", begun.elapsed()));
    suite.end_all().await;
    let violations = suite.campaign.take_violations();
    suite.report.violations.extend(violations);
    let mut followed = std::mem::take(&mut suite.followed);
    let (whole, broken, left) = (followed.whole, followed.broken, followed.left);
    suite.figure(
        "logs that were followed",
        format!("{whole} to the end, {broken} broke off, {left} were left"),
    );
    suite.report.violations.extend(followed.violations());
    judge(&mut suite, lookout, over).await;
    if !suite.report.violations.is_empty() {
        show(&suite);
    }
    if !suite.report.violations.is_empty() {
        keep(suite.scene.site.path(), &course.keep);
    }
    drop(keeper);
    suite.report
}

impl Suite<'_> {
    /// One round of trouble after another, each followed by quiet, a last change of everything, and the last
    /// deletions.
    async fn rounds(&mut self, limit: Duration) -> Result<(), String> {
        let mut number = 0;
        let mut longest = Duration::ZERO;
        while let Some(round) = self.plan.round(number, self.confirmed().await) {
            number += 1;
            self.trouble(&round).await;
            let calm = Instant::now();
            self.settle(limit).await?;
            longest = longest.max(calm.elapsed());
            say(&format!(
                "round {number}: quiet {:?} after its last fault, {} changes confirmed",
                calm.elapsed(),
                self.confirmed().await
            ));
        }
        // Tasks that were to follow from the next change on follow now.
        let services = self.plan.size.services;
        let end = Instant::now() + limit;
        let wanted = std::sync::Arc::clone(&self.scene.outside.wanted);
        settle::retry(end, async || {
            wanted.lock().await.change_everything(services).await
        })
        .await?;
        self.writes.book.everything_changed();
        self.settle(limit).await?;
        let end = Instant::now() + limit;
        self.writes.delete_at_last(end).await?;
        self.settle(limit).await?;
        self.figure("rounds", number.to_string());
        self.figure(
            "longest time from the last fault to quiet",
            format!("{longest:?}"),
        );
        Ok(())
    }

    /// Changes of the catalog and writes to the API that were confirmed.
    async fn confirmed(&self) -> usize {
        self.scene.outside.wanted.lock().await.confirmed + self.writes.confirmed
    }

    pub(crate) fn figure(&mut self, name: &'static str, value: String) {
        self.report.figures.insert(name, value);
    }

    pub(crate) fn apis(&self) -> Vec<Api> {
        self.scene.system.apis()
    }
}
