//! Runs that count as applied, and what their Terraform applied last.

use super::record::{Audit, RunWrite};
use super::starvation::Outage;
use crate::journal::{Line, Word};
use crate::violation::{Rule, Violation};

/// Room for the difference between the clocks, in microseconds.
const TOLERANCE: i64 = 300_000;

/// Successful applies of a task whose input is not the one that the journal of the task shows as applied last.
///
/// An input that changes nothing writes no line: then an earlier line has its text. Inputs without a known text are
/// left out.
///
/// If the run that applied last may be lost with a period that the database has `forgotten`, an earlier run may succeed
/// once more by its remote run, which ended before. Such successes are left out: the task runs again afterwards.
pub fn applied_inputs(
    audit: &Audit,
    task: &str,
    lines: &[Line],
    forgotten: &[Outage],
) -> Vec<Violation> {
    let ends: Vec<(i64, &Line)> = lines
        .iter()
        .filter(|line| line.word == Word::End)
        .map(|line| (audit.by_database(line.at), line))
        .collect();
    let successes = audit.runs.iter().filter(|write| {
        let before = write.old.as_ref();
        write.task == task
            && write.kind == "apply"
            && write.new.status == "succeeded"
            && before.is_some_and(|before| before.status == "running")
    });
    successes
        .filter_map(|write| other_input(audit, write, &ends, forgotten))
        .collect()
}

fn other_input(
    audit: &Audit,
    write: &RunWrite,
    ends: &[(i64, &Line)],
    forgotten: &[Outage],
) -> Option<Violation> {
    let wanted = audit.texts.get(&write.input)?;
    let until = |at: i64| ends.iter().rposition(|(end, _)| *end <= at);
    let surely = until(write.at - TOLERANCE);
    let last = until(write.at + TOLERANCE);
    // Every line that the clocks leave possible.
    let possible = last.map_or(&[][..], |last| &ends[surely.unwrap_or(0)..=last]);
    let is_lost = |end: i64| {
        let mut times = forgotten.iter();
        times.any(|time| time.from <= end && end <= time.until)
    };
    let is_sound = |(end, line): &(i64, &Line)| line.text == *wanted || is_lost(*end);
    if possible.iter().any(is_sound) {
        return None;
    }
    let evidence = format!("{write:?} stands for {wanted:?}, and applied last was {possible:?}");
    Some(Violation::new(Rule::AppliesItsInput, &write.task, evidence))
}

#[cfg(test)]
mod tests {
    use super::super::record::RunState;
    use super::*;
    use crate::journal::parse;

    fn check(input: &str, second: i64, journal: &str) -> usize {
        check_with(input, second, journal, &[])
    }

    fn check_with(input: &str, second: i64, journal: &str, forgotten: &[Outage]) -> usize {
        let state = |status: &str| RunState {
            status: status.to_owned(),
            epoch: 1,
            holder: None,
            expires: None,
        };
        let success = RunWrite {
            at: second * 1_000_000,
            run: "r".to_owned(),
            task: "t".to_owned(),
            kind: "apply".to_owned(),
            input: input.to_owned(),
            old: Some(state("running")),
            new: state("succeeded"),
            due: 0,
            requested: false,
            ordered: false,
        };
        let text = |name: &str| (name.to_owned(), format!("text {name}"));
        let audit = Audit {
            runs: vec![success],
            texts: ["a", "b"].map(text).into_iter().collect(),
            ..Audit::default()
        };
        applied_inputs(&audit, "t", &parse(journal).unwrap(), forgotten).len()
    }

    const JOURNAL: &str = "begin 1 1 w 10.00 text a\nend 1 1 w 11.00 text a\n\
                           begin 2 2 w 20.00 text b\nend 2 2 w 21.00 text b\n";

    #[test]
    fn a_run_that_applied_its_input_is_sound() {
        assert_eq!(check("a", 12, JOURNAL), 0);
        assert_eq!(check("b", 22, JOURNAL), 0);
        assert_eq!(check("b", 21, JOURNAL), 0, "the clocks may differ");
        assert_eq!(check("unknown", 22, JOURNAL), 0);
    }

    #[test]
    fn a_run_that_stands_for_an_input_of_another_run_is_found() {
        assert_eq!(check("b", 12, JOURNAL), 1);
        assert_eq!(check("a", 22, JOURNAL), 1);
        assert_eq!(check("a", 9, JOURNAL), 1, "nothing was applied");
    }

    /// The database has forgotten the run of `b`, and the run before it is found applied on its server.
    #[test]
    fn an_earlier_run_that_counts_again_after_a_failover_is_sound() {
        let forgotten = |from: i64, until: i64| Outage {
            from: from * 1_000_000,
            until: until * 1_000_000,
        };
        assert_eq!(check_with("a", 25, JOURNAL, &[forgotten(15, 23)]), 0);
        assert_eq!(check_with("a", 25, JOURNAL, &[forgotten(5, 15)]), 1);
    }
}
