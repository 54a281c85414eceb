//! The verdict: the proofs from all the evidence.

use std::collections::BTreeSet;
use std::time::Duration;

use cts_tests::Backend;

use crate::audit::{self, Audit, InForce, Outage, Remains};
use crate::campaign::Version;
use crate::journal;
use crate::observed::resources;
use crate::observed::sightings::{self, Lookout, Sighting};
use crate::plan::{Plan, Shape};
use crate::scene::{LEASE_TTL, SESSION_TTL, SLOTS};
use crate::suite::Suite;
use crate::terraform;
use crate::violation::{Rule, Violation};
use crate::writes::TaskState;

/// Longest time in which workers report their journals after a failover; nothing is leased before that.
const JOURNALS: Duration = Duration::from_secs(15);

/// A loaded machine, and times between looks.
const ROOM: Duration = Duration::from_secs(10);

/// Adds violations and figures to the report. Everything has ended but Consul and the database; `over` is when it
/// became quiet, in hundredths of a second since the machine was started.
pub(crate) async fn judge(suite: &mut Suite<'_>, lookout: Lookout, over: u64) {
    let mut seen = lookout.end();
    let audit = Audit::read(&suite.scene.outside.database).await.unwrap();
    let forgotten = forgotten(suite, &audit);
    judge_terraform(suite, &audit, &mut seen, &forgotten);
    judge_destructions(suite, &audit, &seen, &forgotten).await;
    for &task in &suite.writes.reborn {
        suite.history.leave_out(&Plan::task(task));
    }
    let violations = &mut suite.report.violations;
    violations.extend(audit::runs(&audit, &seen, !suite.plan.setup.is_on_server()));
    violations.extend(audit::leaders(&audit.leaders));
    violations.extend(audit::lone_events(&audit.events));
    let takeover_runs_all = suite.plan.setup.takeover_runs_all;
    let cancelled = suite.writes.cancelled();
    violations.extend(audit::cancels(&audit, &cancelled, takeover_runs_all));
    if let Some(server) = &suite.scene.outside.server {
        let decided = server.decided();
        violations.extend(audit::decisions(&audit, &decided, |task| server.runs(task)));
    }
    violations.extend(suite.history.check(&audit.events));
    if !takeover_runs_all {
        violations.extend(audit::equal_inputs(&audit, &seen, &forgotten));
    }
    judge_waits(suite, &audit, over);
    judge_brake(suite, &audit, &forgotten);
    figures_of_runs(suite, &audit);
    figures_of_faults(suite).await;
}

/// Periods whose confirmed writes the database has forgotten, extended by the time for which forgotten leases
/// go on.
fn forgotten(suite: &Suite<'_>, audit: &Audit) -> Vec<Outage> {
    let lease = u64::try_from(LEASE_TTL.as_millis() / 10).unwrap_or_default();
    let times = suite.campaign.forgotten.borrow();
    let times = times.iter().map(|[(_, from), (_, until)]| Outage {
        from: audit.by_database(*from),
        until: audit.by_database(*until + lease),
    });
    times.collect()
}

/// Everything that Terraform did, by the journals, by the starts that were noted, and as seen from outside.
fn judge_terraform(
    suite: &mut Suite<'_>,
    audit: &Audit,
    seen: &mut Vec<Sighting>,
    forgotten: &[Outage],
) {
    let mut orphans = suite.campaign.orphans.clone();
    orphans.forgotten.extend(forgotten);
    // Consul may be away when Terraform wants to write.
    let always_written = suite.scene.backend == Backend::Shared;
    // A worker applies a run again that the database has forgotten; a server does not.
    let lost_runs = if suite.plan.setup.is_on_server() {
        forgotten
    } else {
        &[]
    };
    let violations = &mut suite.report.violations;
    let excused = |sighting: &Sighting| orphans.workers.contains(&sighting.worker);
    violations.extend(sightings::overlaps(seen, excused));
    let commands = seen.len();
    match terraform::starts(suite.scene.site.path()) {
        Ok(starts) => seen.extend(starts.iter().map(terraform::Start::sighting)),
        Err(complaint) => {
            violations.push(Violation::new(Rule::NothingLost, "starts", complaint));
        }
    }
    let (mut begun, mut ended) = (0, 0);
    let declared: Vec<Vec<InForce>> = (0..suite.plan.all_tasks())
        .map(|number| in_force(suite.plan, &suite.campaign.rewrites.versions, number))
        .collect();
    for (number, declared) in declared.iter().enumerate() {
        let name = Plan::task(number);
        match journal::parse(&suite.scene.journal(number)) {
            Ok(lines) => {
                violations.extend(journal::overlaps(&name, &lines));
                violations.extend(audit::made_again(audit, &name, &lines, always_written));
                violations.extend(audit::withdrawn(audit, &name, declared, &lines));
                violations.extend(audit::applied_inputs(audit, &name, &lines, lost_runs));
                seen.extend(journal::sightings(&name, &lines));
                let counts = journal::counts(&lines);
                begun += counts.0;
                ended += counts.1;
                let switches = audit.switches.iter();
                let mut of_task = switches.filter(|switched| switched.task == name);
                if counts.0 > 0 && !of_task.any(|switched| switched.enabled == Some(true)) {
                    let evidence = "at work, but it was never enabled";
                    violations.push(Violation::new(Rule::NothingLost, name, evidence));
                }
            }
            Err(complaint) => {
                violations.push(Violation::new(Rule::OneApplyAtATime, name, complaint));
            }
        }
    }
    violations.extend(audit::after_deletion(audit, seen, &orphans));
    let rewrites = suite.campaign.rewrites.versions.len();
    suite.figure("versions of the files", rewrites.to_string());
    suite.figure("steps begun and ended", format!("{begun} and {ended}"));
    suite.figure("commands of Terraform seen", commands.to_string());
}

/// The declarations of a task by the files, as far as it is certain when each came into force: in a cluster the
/// leader decides, whenever it can.
fn in_force(plan: &Plan, versions: &[Version], number: usize) -> Vec<InForce> {
    if !plan.is_of_files(number) || plan.setup.shape != Shape::Embedded {
        return Vec::new();
    }
    let ends = versions.iter().skip(1).map(|next| next.written);
    let times = versions.iter().zip(ends.chain([u64::MAX]));
    times
        .filter_map(|(version, until)| {
            let declared = plan.declared(number, version.number);
            Some(InForce {
                from: version.read?,
                until,
                services: declared
                    .filter(|task| task.enabled)
                    .map(|task| task.services),
            })
        })
        .collect()
}

/// Judges which resources were destroyed with their tasks, and which stayed.
async fn judge_destructions(
    suite: &mut Suite<'_>,
    audit: &Audit,
    seen: &[Sighting],
    forgotten: &[Outage],
) {
    let mut orphans = suite.campaign.orphans.clone();
    orphans.forgotten.extend(forgotten);
    let mut gone = 0;
    let mut violations = Vec::new();
    for number in 0..suite.plan.all_tasks() {
        let name = Plan::task(number);
        // Strange lines are a violation of their own.
        let lines = journal::parse(&suite.scene.journal(number)).unwrap_or_default();
        violations.extend(audit::destructions(audit, &name, &lines, &orphans));
        if suite.writes.book.certain(number) != Some(&TaskState::Absent) {
            continue;
        }
        let state = suite.scene.newest_state(number).await;
        let state = state.and_then(|state| resources::in_state(&state));
        let remains = Remains {
            task: &name,
            // A task that a file no longer has leaves its resources.
            destroys: Plan::destroys(number) && !suite.plan.is_of_files(number),
            deleted: suite.writes.deleted.contains(&number),
            resources: state.ok(),
        };
        gone += usize::from(remains.is_destroyed());
        violations.extend(audit::destroyed(audit, &remains, seen, &orphans));
    }
    suite.report.violations.extend(violations);
    suite.figure("tasks destroyed in the end", gone.to_string());
}

fn judge_waits(suite: &mut Suite<'_>, audit: &Audit, over: u64) {
    // After an outage a new leader may be needed, and leases from before it may have to expire.
    let recovery = LEASE_TTL.max(JOURNALS) + SESSION_TTL + ROOM;
    let wait = LEASE_TTL + SESSION_TTL + ROOM;
    let members = &suite.scene.members;
    let outages = &suite.campaign.outages;
    let bounds = outages.bounds(audit, members, SLOTS, recovery, wait);
    let judged = audit::starvation(audit, &bounds, audit.by_database(over));
    suite.report.violations.extend(judged.violations);
    let millis = |micros: i64| format!("{} ms", micros / 1000);
    let longest = judged.longest.until - judged.longest.since;
    suite.figure("longest wait of a due run", millis(longest));
    suite.figure(
        "longest wait with a free slot and no outage",
        format!(
            "{}, the bound is {wait:?}: life of a lease {LEASE_TTL:?}, of the leadership {SESSION_TTL:?}, {ROOM:?} for the machine",
            millis(judged.longest_idle.idle)
        ),
    );
}

fn judge_brake(suite: &mut Suite<'_>, audit: &Audit, forgotten: &[Outage]) {
    if !suite.plan.setup.brake {
        return;
    }
    let judged = audit::braked(audit, &suite.brakes.seen, forgotten);
    let held = audit.runs.iter().filter(|write| write.kind == "apply");
    let held: BTreeSet<&str> = held.filter(|it| it.is_held()).map(|it| &*it.run).collect();
    let figure = format!(
        "set {} times, {} queued runs held, {} leases compared, releases {:?}",
        judged.times,
        held.len(),
        judged.judged,
        suite.brakes.releases
    );
    suite.report.violations.extend(judged.violations);
    suite.figure("brake of the fleet", figure);
}

fn figures_of_runs(suite: &mut Suite<'_>, audit: &Audit) {
    let of = |old: &str, new: &str| {
        let writes = audit.runs.iter().filter(|write| {
            let before = write.old.as_ref();
            write.new.status == new && before.is_some_and(|before| before.status == old)
        });
        writes.count().to_string()
    };
    let epochs = audit.leaders.last().map_or(0, |write| write.epochs[1]);
    let numbers = &mut suite.report.figures;
    numbers.insert("leases granted", of("queued", "running"));
    numbers.insert("leases taken back or returned", of("running", "queued"));
    numbers.insert("runs succeeded", of("running", "succeeded"));
    numbers.insert("runs failed", of("running", "failed"));
    numbers.insert("runs cancelled at work", of("running", "cancelled"));
    let destroyed = audit.runs.iter().filter(|write| {
        let before = write.old.as_ref();
        write.kind == "destroy"
            && write.new.status == "succeeded"
            && before.is_some_and(|before| before.status == "running")
    });
    numbers.insert("destructions succeeded", destroyed.count().to_string());
    let trusted = audit.settlements.iter().filter(|settled| settled.trusted);
    numbers.insert(
        "timelines on which all workers vouched, of all",
        format!("{} of {}", trusted.count(), audit.settlements.len()),
    );
    numbers.insert("inputs that needed no run", audit.skipped.to_string());
    numbers.insert("leader epochs", epochs.to_string());
}

async fn figures_of_faults(suite: &mut Suite<'_>) {
    let figures = suite.campaign.members.figures.clone();
    suite.report.faults.clone_from(&suite.campaign.faults);
    let left_out = format!("{:?}", suite.campaign.left_out);
    let writes = format!("{:?}", suite.writes.figures);
    let wanted = suite.scene.outside.wanted.lock().await;
    let catalog = [wanted.confirmed, wanted.unanswered, wanted.left_out];
    drop(wanted);
    let memory = figures.memory.iter();
    let memory: Vec<String> = memory
        .map(|(name, most)| format!("{name} {} MiB", most / 1024))
        .collect();
    let numbers = &mut suite.report.figures;
    numbers.insert("faults left out", left_out);
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
    numbers.insert("most memory of a process", memory.join(", "));
    numbers.insert(
        "changes of the catalog confirmed, without an answer, left out",
        format!("{catalog:?}"),
    );
    numbers.insert("writes to the API", writes);
    numbers.insert("answers of the API", suite.history.answers.to_string());
}
