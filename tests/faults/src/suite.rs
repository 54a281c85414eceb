//! A plan from its begin to the verdict.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cts_tests::{Backend, Cluster, Service};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::audit;
use crate::campaign::Campaign;
use crate::evidence::{KeepOnPanic, keep, show};
use crate::history::{self, History};
use crate::judge::judge;
use crate::plan::{Change, MEMBERS, Plan};
use crate::report::{Report, say};
use crate::scene::Scene;
use crate::sightings::{self, Lookout};
use crate::violation::{Rule, Violation};
use crate::wanted::Wanted;

const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
const BETWEEN_WORDS: Duration = Duration::from_secs(20);
/// Guards and Terraform processes end after their worker.
const LEAVING: Duration = Duration::from_secs(20);

/// How a plan is carried out.
#[derive(Debug, Clone)]
pub struct Course {
    /// Where Terraform keeps its state.
    pub backend: Backend,
    /// Where files go if something must not be.
    pub keep: PathBuf,
    /// How long it may take after the last fault until everything is applied. A failed run is tried again
    /// after a minute, which doubles with every further failure.
    pub patience: Duration,
}

/// Carries out a plan and judges what has happened.
pub async fn carry_out(plan: &Plan, course: &Course) -> Report {
    say(&format!(
        "seed {}: {} tasks on {} services, {} faults and {} changes in {:?}",
        plan.seed,
        plan.size.tasks,
        plan.size.services,
        plan.faults.len(),
        plan.changes.len(),
        plan.size.length,
    ));
    let mut scene = Scene::start(plan, course.backend).await;
    let keeper = KeepOnPanic {
        site: scene.site.path().to_owned(),
        to: course.keep.clone(),
    };
    let lookout = Lookout::begin(scene.site.path().to_owned());
    let mut report = Report {
        seed: plan.seed,
        length: plan.size.length,
        ..Report::default()
    };
    let begun = Instant::now();
    let history = trouble(&mut scene, plan, &mut report).await;
    say("the trouble is over; waiting for quiet");
    let calm = Instant::now();
    let mut campaign = Campaign::new(Arc::clone(&scene.consul), Arc::clone(&scene.postgres));
    if let Err(complaint) = settle(
        &mut scene,
        &mut campaign,
        plan,
        course.patience,
        &mut report,
    )
    .await
    {
        report.violations.push(Violation::new(
            Rule::EndsLikeTheCatalog,
            "everything",
            complaint,
        ));
    }
    report.figures.insert(
        "time to quiet after the last fault",
        format!("{:?}", calm.elapsed()),
    );
    report
        .figures
        .insert("time in all", format!("{:?}", begun.elapsed()));
    end_all(&mut scene, &mut campaign, &mut report).await;
    report.violations.append(&mut campaign.violations);
    judge(&scene, plan, &history, lookout, &mut report).await;
    if !report.violations.is_empty() {
        show(&scene, plan, &report);
        keep(scene.site.path(), &course.keep);
    }
    drop(keeper);
    report
}

/// Faults, changes, and somebody who asks the API all the time.
async fn trouble(scene: &mut Scene, plan: &Plan, report: &mut Report) -> History {
    let mut history = History::default();
    let urls: Vec<_> = gateways(&scene.cluster).collect();
    let mut campaign = Campaign::new(Arc::clone(&scene.consul), Arc::clone(&scene.postgres));
    let over = CancellationToken::new();
    let both = async {
        let faults = campaign.run(&mut scene.cluster, &plan.faults);
        tokio::join!(faults, order(&mut scene.wanted, &plan.changes));
        over.cancel();
    };
    tokio::join!(both, watch(&urls, &mut history, &over));
    report.violations.append(&mut campaign.violations);
    let figures = campaign.figures;
    report.faults = figures.faults;
    let numbers = &mut report.figures;
    numbers.insert("faults left out", figures.left_out.to_string());
    numbers.insert(
        "starts that failed during a fault",
        figures.failed_starts.to_string(),
    );
    numbers.insert(
        "longest time from a start to health",
        format!("{:?}", figures.longest_start),
    );
    numbers.insert(
        "longest time from SIGTERM to the end",
        format!("{:?}", figures.longest_end),
    );
    numbers.insert("changes confirmed", scene.wanted.confirmed.to_string());
    numbers.insert(
        "changes without an answer",
        scene.wanted.unanswered.to_string(),
    );
    numbers.insert("changes left out", scene.wanted.left_out.to_string());
    numbers.insert("answers of the API", history.answers.to_string());
    history
}

async fn order(wanted: &mut Wanted, changes: &[(Duration, Change)]) {
    let begun = Instant::now();
    for (at, change) in changes {
        sleep_until(begun + *at).await;
        wanted.order(change).await;
    }
}

async fn watch(apis: &[cts_tests::Api], history: &mut History, over: &CancellationToken) {
    for api in apis.iter().cycle() {
        let ask = api.ask("/v1/status/tasks?include=events");
        if let Ok(Ok((200, answer))) = timeout(Duration::from_secs(5), ask).await {
            history.add(&answer);
        }
        tokio::select! {
            () = over.cancelled() => return,
            () = sleep(BETWEEN_LOOKS) => {}
        }
    }
}

fn gateways(cluster: &Cluster) -> impl Iterator<Item = cts_tests::Api> {
    (0..cluster.count(Service::Gateway)).map(|index| cluster.api(index))
}

/// Waits until everything is applied and nothing waits or is at work.
async fn settle(
    scene: &mut Scene,
    campaign: &mut Campaign,
    plan: &Plan,
    patience: Duration,
    report: &mut Report,
) -> Result<(), String> {
    let end = Instant::now() + patience;
    retry(end, async || scene.wanted.settle().await).await?;
    check_flags(scene, plan, report).await?;
    for (number, watched) in plan.tasks.iter().enumerate() {
        let in_catalog = retry(end, async || scene.wanted.text_in_catalog(watched).await).await?;
        let wanted = scene.wanted.text(watched);
        if in_catalog != wanted {
            return Err(format!(
                "{number}: the catalog has {in_catalog} and not {wanted}"
            ));
        }
    }
    let mut last = String::new();
    let mut told = Instant::now();
    while Instant::now() < end {
        campaign.look_after(&mut scene.cluster).await;
        match quiet(scene, plan).await {
            Ok(()) => return Ok(()),
            Err(complaint) => last = complaint,
        }
        if told.elapsed() > BETWEEN_WORDS {
            told = Instant::now();
            say(&format!("not quiet yet: {last}"));
        }
        sleep(BETWEEN_LOOKS).await;
    }
    Err(format!("not quiet after {patience:?}: {last}"))
}

/// Tasks that are to be applied, by number, with what they watch.
fn enabled(plan: &Plan) -> impl Iterator<Item = (usize, &Vec<usize>)> {
    let all = plan.tasks.iter().enumerate();
    all.filter(|(number, _)| !plan.disabled.contains(number))
}

async fn quiet(scene: &Scene, plan: &Plan) -> Result<(), String> {
    let unfinished = audit::unfinished(&scene.database).await;
    let unfinished = unfinished.map_err(|error| error.to_string())?;
    if !unfinished.is_empty() {
        return Err(format!("unfinished: {unfinished:?}"));
    }
    for (number, watched) in enabled(plan) {
        let applied = scene.applied(number).await?;
        let wanted = scene.wanted.text(watched);
        if applied != wanted {
            return Err(format!(
                "{} has applied {applied} and not {wanted}",
                Plan::task(number)
            ));
        }
    }
    Ok(())
}

/// The enabled flags as every gateway shows them.
async fn check_flags(scene: &Scene, plan: &Plan, report: &mut Report) -> Result<(), String> {
    for api in gateways(&scene.cluster) {
        let ask = api.ask("/v1/status/tasks");
        let answer = timeout(Duration::from_secs(10), ask)
            .await
            .map_err(|error| error.to_string())?;
        let (_, statuses) = answer.map_err(|error| error.to_string())?;
        report
            .violations
            .extend(history::wrong_flags(plan, &statuses));
    }
    Ok(())
}

async fn retry<T>(
    end: Instant,
    mut probe: impl AsyncFnMut() -> Result<T, String>,
) -> Result<T, String> {
    loop {
        match probe().await {
            Err(_) if Instant::now() < end => sleep(BETWEEN_LOOKS).await,
            result => return result,
        }
    }
}

/// Everybody must be alive and well, leave when told to, and leave nothing behind.
async fn end_all(scene: &mut Scene, campaign: &mut Campaign, report: &mut Report) {
    campaign.look_after(&mut scene.cluster).await;
    let mut broken = |subject: String, evidence: String| {
        report
            .violations
            .push(Violation::new(Rule::NobodyDies, subject, evidence));
    };
    for (index, api) in gateways(&scene.cluster).enumerate() {
        match api.ask("/v1/health").await {
            Ok((200, _)) => {}
            other => broken(format!("gateway-{index}"), format!("health: {other:?}")),
        }
    }
    for (service, count) in MEMBERS.into_iter().rev() {
        for index in 0..count {
            if scene.cluster.is_running(service, index) {
                let exit = scene.cluster.stop(service, index).await;
                if exit.code != Some(0) {
                    broken(
                        format!("{service}-{index}"),
                        format!("ended with {:?}", exit.code),
                    );
                }
            } else {
                broken(
                    format!("{service}-{index}"),
                    "has ended by itself".to_owned(),
                );
            }
        }
    }
    let end = Instant::now() + LEAVING;
    loop {
        let terraform = scene.site.terraform_processes();
        let guards = sightings::guards(scene.site.path());
        if terraform.is_empty() && guards.is_empty() {
            return;
        }
        if Instant::now() > end {
            broken(
                "left behind".to_owned(),
                format!("terraform {terraform:?}, guards {guards:?}"),
            );
            return;
        }
        sleep(BETWEEN_LOOKS).await;
    }
}
