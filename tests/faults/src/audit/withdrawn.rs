//! Checks that nothing runs with a declaration that the files no longer have.

use super::record::Audit;
use crate::journal::{Line, Word};
use crate::violation::{Rule, Violation};

/// A time in which a task was declared like this; hundredths of a second since the machine was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// When the processes that read the file were healthy.
    pub from: u64,
    /// When the next file was written.
    pub until: u64,
    /// Services that the task watches; `None` if it does not run, or is not there.
    pub services: Option<Vec<usize>>,
}

/// Begins in the journal of a task, of runs that were granted and of Terraform that was started while another
/// declaration was in force.
pub fn withdrawn(audit: &Audit, task: &str, times: &[InForce], lines: &[Line]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for line in lines.iter().filter(|line| line.word == Word::Begin) {
        let at = audit.by_database(line.at);
        let mut grants = audit.runs.iter();
        let grant = grants.rfind(|write| {
            write.task == task && write.kind == "apply" && write.new.status == "running" && {
                let was = write.old.as_ref();
                was.is_some_and(|old| old.status == "queued") && write.at <= at
            }
        });
        let is_in = |time: &&InForce| {
            let granted = grant.is_some_and(|grant| audit.by_database(time.from) < grant.at);
            granted && time.from < line.process.started && line.at < time.until
        };
        let Some(time) = times.iter().find(is_in) else {
            continue;
        };
        let why = match &time.services {
            None => "it was not to run",
            Some(services) if !fits(&line.text, services) => "its declaration was withdrawn",
            Some(_) => continue,
        };
        violations.push(Violation::new(
            Rule::DeclaredByFiles,
            task,
            format!("{why}: {line:?}, granted by {grant:?}, in force {time:?}"),
        ));
    }
    violations
}

/// Whether all rows are of these services, or of services that exist only for their names.
fn fits(text: &str, services: &[usize]) -> bool {
    let rows = text.split(';');
    let mut numbers = rows.filter_map(|row| {
        let number = row.strip_prefix("svc-")?;
        let end = number.find(['-', '/']).unwrap_or(number.len());
        number[..end].parse::<usize>().ok()
    });
    numbers.all(|number| services.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::super::record::{RunState, RunWrite};
    use super::*;
    use crate::journal::parse;

    const SECOND: i64 = 1_000_000;

    /// Granted at 20 s; the second declaration is in force from 15 s until 40 s.
    fn found(services: Option<&[usize]>, granted: i64, journal: &str) -> usize {
        let state = |status: &str| RunState {
            status: status.to_owned(),
            epoch: 1,
            holder: None,
            expires: None,
        };
        let audit = Audit {
            runs: vec![RunWrite {
                at: granted * SECOND,
                run: "r".to_owned(),
                task: "t".to_owned(),
                kind: "apply".to_owned(),
                input: "i".to_owned(),
                old: Some(state("queued")),
                new: state("running"),
                due: 0,
                requested: false,
                ordered: false,
            }],
            ..Audit::default()
        };
        let time = InForce {
            from: 1500,
            until: 4000,
            services: services.map(<[usize]>::to_vec),
        };
        withdrawn(&audit, "t", &[time], &parse(journal).unwrap()).len()
    }

    #[test]
    fn a_begin_with_another_declaration_is_found() {
        let journal = "begin 9 2100 w 21.50 svc-1-0/7//;svc-12-3/8//v1\n";
        assert_eq!(found(Some(&[1, 12]), 20, journal), 0);
        assert_eq!(found(Some(&[1]), 20, journal), 1);
        assert_eq!(found(None, 20, journal), 1);
        assert_eq!(
            found(Some(&[1]), 20, "begin 9 2100 w 21.50 all-1;svc-12\n"),
            1
        );
        assert_eq!(
            found(Some(&[12]), 20, "begin 9 2100 w 21.50 all-1;svc-12\n"),
            0
        );
    }

    #[test]
    fn attempts_under_way_may_go_on() {
        let journal = "begin 9 2100 w 21.50 svc-2-0/7//\n";
        assert_eq!(found(Some(&[1]), 14, journal), 0, "it was granted before");
        let started_before = "begin 9 1400 w 21.50 svc-2-0/7//\n";
        assert_eq!(found(Some(&[1]), 20, started_before), 0);
        let later = "begin 9 4100 w 41.50 svc-2-0/7//\n";
        assert_eq!(found(Some(&[1]), 20, later), 0);
    }
}
