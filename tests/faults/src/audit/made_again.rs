//! Resources that were made although they were there.

use super::record::Audit;
use crate::journal::{Line, Word};
use crate::violation::{Rule, Violation};

/// Room for the difference between the clocks, in microseconds.
const TOLERANCE: i64 = 300_000;

/// Checks by the journal of a task that it did not make its kept resource twice without a destruction in
/// between.
///
/// A second making counts only if an apply has succeeded since the first, or, if the state can always be
/// written, the process that made it has failed in order.
///
/// Otherwise Terraform may have been interrupted or killed before its state had the resource.
pub fn made_again(
    audit: &Audit,
    task: &str,
    lines: &[Line],
    always_written: bool,
) -> Vec<Violation> {
    let successes: Vec<i64> = audit
        .runs
        .iter()
        .filter(|write| write.task == task && write.kind == "apply")
        .filter(|write| write.new.status == "succeeded")
        .map(|write| write.at)
        .collect();
    let mut violations = Vec::new();
    let mut last: Option<&Line> = None;
    let mut failed = None;
    for line in lines {
        match line.word {
            Word::Gone => last = None,
            Word::Fails => failed = Some(line),
            Word::Made => {
                if let Some(before) = last.replace(line) {
                    let from = audit.by_database(before.at) - TOLERANCE;
                    let until = audit.by_database(line.at) - TOLERANCE;
                    let in_order =
                        failed.filter(|end| always_written && end.process == before.process);
                    if let Some(end) = in_order {
                        let evidence = format!(
                            "made again by {line:?}, although the process of {before:?} wrote its state after {end:?}"
                        );
                        violations.push(Violation::new(Rule::MadeOnce, task, evidence));
                    }
                    let mut between = successes.iter();
                    if let Some(at) = between.find(|&&at| from < at && at < until) {
                        let evidence = format!(
                            "made again by {line:?}, although {before:?} was followed by a success at {at}"
                        );
                        violations.push(Violation::new(Rule::MadeOnce, task, evidence));
                    }
                }
            }
            _ => {}
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::record::{RunState, RunWrite};
    use super::*;
    use crate::journal::parse;

    const SECOND: i64 = 1_000_000;

    fn check(successes: &[i64], kind: &str, journal: &str) -> usize {
        let state = |status: &str| RunState {
            status: status.to_owned(),
            epoch: 1,
            holder: None,
            expires: None,
        };
        let success = |at: &i64| RunWrite {
            at: at * SECOND,
            run: "r".to_owned(),
            task: "t".to_owned(),
            kind: kind.to_owned(),
            input: "i".to_owned(),
            old: Some(state("running")),
            new: state("succeeded"),
            due: 0,
            requested: false,
            ordered: false,
        };
        let audit = Audit {
            runs: successes.iter().map(success).collect(),
            ..Audit::default()
        };
        made_again(&audit, "t", &parse(journal).unwrap(), true).len()
    }

    const TWICE: &str = "made 1 1 a 10.00 \nbegin 1 1 a 10.01 x\nmade 2 2 b 20.00 \n";

    #[test]
    fn finds_resources_made_again_after_a_success() {
        assert_eq!(check(&[12], "apply", TWICE), 1);
        assert_eq!(check(&[12, 21], "apply", TWICE), 1);
        let thrice = format!("{TWICE}made 3 3 a 30.00 \n");
        assert_eq!(check(&[12, 22], "apply", &thrice), 2);
    }

    #[test]
    fn interrupted_apply_may_make_a_resource_again() {
        assert_eq!(check(&[], "apply", TWICE), 0);
        assert_eq!(check(&[21], "apply", TWICE), 0);
        // Nothing was made then.
        assert_eq!(check(&[12], "plan", TWICE), 0);
    }

    #[test]
    fn orderly_failure_has_kept_the_resources_that_it_made() {
        let end = "fails 1 1 a 11.00 \n";
        let (made, again) = TWICE.split_at(TWICE.find("made 2").unwrap());
        let journal = format!("{made}{end}{again}");
        assert_eq!(check(&[], "apply", &journal), 1);
        let other = format!("{made}begin 5 5 b 12.00 x\nfails 5 5 b 13.00 \n{again}");
        assert_eq!(check(&[], "apply", &other), 0, "another process has failed");
    }

    #[test]
    fn destroyed_resource_may_be_made_again() {
        let journal = "made 1 1 a 10.00 \ngone 2 2 a 15.00 \nmade 3 3 b 20.00 \n";
        assert_eq!(check(&[12], "apply", journal), 0);
    }
}
