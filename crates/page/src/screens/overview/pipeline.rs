//! The way of a change as a strip: Consul, watcher, scheduler, queue, workers, applied.

use cts_proto::cluster::v1::{GetOverviewResponse, OverviewWatcher, WorkerCondition};

/// A stage with its number.
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) number: String,
    /// Unit of the number, and the reason if the stage stands still.
    pub(super) note: String,
    /// The screen that has more about it.
    pub(super) path: &'static str,
    /// Why changes do not get through, or not all of them, in one word.
    pub(super) stale: Option<&'static str>,
}

/// The stages, in the order in which a change passes them.
pub(super) fn stages(overview: &GetOverviewResponse, sees_all: bool) -> [Stage; 6] {
    [
        consul(overview),
        watcher(overview, sees_all),
        scheduler(overview),
        queue(overview),
        workers(overview),
        applied(overview),
    ]
}

fn consul(overview: &GetOverviewResponse) -> Stage {
    let data = overview.data.clone().unwrap_or_default();
    Stage {
        name: "Consul",
        number: data.views.to_string(),
        note: match (data.unreadable, data.incomplete) {
            (0, 0) => "views".to_owned(),
            (0, incomplete) => format!("views, {incomplete} not read yet"),
            (unreadable, _) => format!("views, {unreadable} cannot be read"),
        },
        path: "tasks?view=list&state=blind,waiting",
        stale: (data.unreadable > 0).then_some("stale"),
    }
}

/// The watchers of their own processes; else the watcher is a part of the scheduler.
fn watcher(overview: &GetOverviewResponse, sees_all: bool) -> Stage {
    let watchers = &overview.watchers;
    let healthy = watchers.iter().filter(|watcher| watcher.healthy).count();
    // A watcher without a reason was not checked yet.
    let is_away = |watcher: &&OverviewWatcher| !watcher.healthy && !watcher.reason.is_empty();
    let away = watchers.iter().find(is_away);
    let (number, note) = match (watchers.len(), away) {
        (0, _) if sees_all => ("–".to_owned(), "within the scheduler".to_owned()),
        (0, _) => ("–".to_owned(), "not shown to you".to_owned()),
        (all, None) => (format!("{healthy} of {all}"), "healthy".to_owned()),
        (all, Some(away)) => (
            format!("{healthy} of {all}"),
            format!("healthy; {}: {}", away.address, away.reason),
        ),
    };
    Stage {
        name: "Watcher",
        number,
        note,
        path: "cluster",
        stale: away.map(|_| "stale"),
    }
}

fn scheduler(overview: &GetOverviewResponse) -> Stage {
    let members = &overview.members;
    let healthy = members.iter().filter(|member| member.healthy).count();
    let leader = members.iter().find(|member| member.leader);
    let sick = (healthy < members.len()).then_some("sick");
    Stage {
        name: "Scheduler",
        number: format!("{healthy} of {}", members.len()),
        note: match leader {
            Some(leader) => format!("healthy, {} leads", leader.id),
            None => "healthy, none leads".to_owned(),
        },
        path: "cluster",
        stale: leader.map_or(Some("stale"), |_| sick),
    }
}

fn queue(overview: &GetOverviewResponse) -> Stage {
    let queue = overview.queue.clone().unwrap_or_default();
    let stuck: u64 = queue.waiting.iter().map(|waiting| waiting.runs).sum();
    let mut note = format!("queued, {} ready", queue.ready);
    if queue.awaiting_consent > 0 {
        note = format!("{note}, {} wait for consent", queue.awaiting_consent);
    }
    if stuck > 0 {
        note = format!("{note}, no worker takes {stuck}");
    }
    Stage {
        name: "Queue",
        number: queue.queued.to_string(),
        note,
        path: "runs?status=queued",
        stale: (stuck > 0).then_some("stuck"),
    }
}

fn workers(overview: &GetOverviewResponse) -> Stage {
    let queue = overview.queue.clone().unwrap_or_default();
    let workers = &overview.workers;
    let count = |condition| {
        let workers = workers.iter();
        workers
            .filter(|worker| worker.condition() == condition)
            .count()
    };
    let (active, lost) = (count(WorkerCondition::Active), count(WorkerCondition::Lost));
    let sick = workers
        .iter()
        .filter(|worker| !worker.problem.is_empty())
        .count();
    let mut note = format!("slots in use, {active} active");
    for (number, word) in [(lost, "lost"), (sick, "sick")] {
        if number > 0 {
            note = format!("{note}, {number} {word}");
        }
    }
    Stage {
        name: "Workers",
        number: format!("{} of {}", queue.running, queue.slots),
        note,
        path: "cluster",
        stale: match active {
            0 => Some("stale"),
            _ => (lost + sick > 0).then_some("sick"),
        },
    }
}

fn applied(overview: &GetOverviewResponse) -> Stage {
    let count = |state: &str| overview.tasks.get(state).copied().unwrap_or_default();
    let problems = ["blocked", "critical", "errored", "blind", "retrying"];
    let problems: u32 = problems.map(count).iter().sum();
    Stage {
        name: "Applied",
        number: format!(
            "{} of {}",
            count("successful"),
            cts_proto::overview::tasks(overview)
        ),
        note: match problems {
            0 => "tasks".to_owned(),
            problems => format!("tasks, {problems} with"),
        },
        path: "tasks?view=list&state=blocked,critical,errored,blind,retrying",
        stale: (problems > 0).then_some("problems"),
    }
}
