//! The verdict: what everything that was written down proves.

use crate::audit::{self, Audit};
use crate::history::History;
use crate::journal;
use crate::plan::Plan;
use crate::report::Report;
use crate::scene::Scene;
use crate::sightings::{self, Lookout};
use crate::violation::{Rule, Violation};

/// Adds violations and figures to the report. Everything has ended but Consul and Postgres.
pub(crate) async fn judge(
    scene: &Scene,
    plan: &Plan,
    history: &History,
    lookout: Lookout,
    report: &mut Report,
) {
    let mut seen = lookout.end();
    let audit = Audit::read(&scene.database).await.unwrap();
    let (mut begun, mut ended, mut superseded) = (0, 0, 0);
    let violations = &mut report.violations;
    violations.extend(sightings::overlaps(&seen));
    let commands = seen.len();
    for (number, watched) in plan.tasks.iter().enumerate() {
        let name = Plan::task(number);
        match journal::parse(&scene.journal(number)) {
            Ok(lines) => {
                violations.extend(journal::overlaps(&name, &lines));
                seen.extend(journal::sightings(&name, &lines));
                let counts = journal::counts(&lines);
                begun += counts.0;
                ended += counts.1;
                let other = journal::last_applied(&lines) != Some(&*scene.wanted.text(watched));
                superseded += usize::from(other && !plan.disabled.contains(&number));
                if plan.disabled.contains(&number) && counts.0 > 0 {
                    violations.push(Violation::new(
                        Rule::NothingLost,
                        name,
                        "disabled, but at work",
                    ));
                }
            }
            Err(complaint) => {
                violations.push(Violation::new(Rule::OneApplyAtATime, name, complaint));
            }
        }
    }
    violations.extend(audit::runs(&audit, &seen));
    violations.extend(audit::leaders(&audit.leaders));
    violations.extend(audit::lone_events(&audit.events));
    violations.extend(history.check(&audit.events));
    let of = |old: &str, new: &str| {
        let writes = audit.runs.iter().filter(|write| {
            write.new.status == new
                && write
                    .old
                    .as_ref()
                    .is_some_and(|before| before.status == old)
        });
        writes.count().to_string()
    };
    let grants = audit.runs.iter().filter(|write| {
        write.new.status == "running"
            && write.old.as_ref().is_some_and(|old| old.status == "queued")
    });
    let waited = grants
        .map(|grant| grant.at - grant.due)
        .max()
        .unwrap_or_default();
    let numbers = &mut report.figures;
    numbers.insert("steps begun and ended", format!("{begun} and {ended}"));
    numbers.insert(
        "last step of another content than the state",
        superseded.to_string(),
    );
    numbers.insert("commands of Terraform seen", commands.to_string());
    numbers.insert("leases granted", of("queued", "running"));
    numbers.insert("leases taken back or returned", of("running", "queued"));
    numbers.insert("runs succeeded", of("running", "succeeded"));
    numbers.insert("runs failed", of("running", "failed"));
    numbers.insert("runs cancelled at work", of("running", "cancelled"));
    let epochs = audit.leaders.last().map_or(0, |write| write.epochs[1]);
    numbers.insert("leader epochs", epochs.to_string());
    numbers.insert("longest wait of a due run", format!("{} ms", waited / 1000));
}
