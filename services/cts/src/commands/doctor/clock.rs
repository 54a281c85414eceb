//! The clock of another machine, compared with the clock of this machine.

use chrono::{DateTime, TimeDelta, Utc};

use super::finding::Finding;

/// Answers name whole seconds, and take time.
const TOLERATED: TimeDelta = TimeDelta::seconds(3);

/// Certificates and tokens of OIDC issuers are judged wrongly from here on.
const TOO_MUCH: TimeDelta = TimeDelta::seconds(60);

/// Compares the time in an answer of `whose` with the times here before the request and after the answer.
pub(super) fn compare(
    check: &'static str,
    whose: &str,
    there: DateTime<Utc>,
    (before, after): (DateTime<Utc>, DateTime<Utc>),
) -> Finding {
    let middle = before + (after - before) / 2;
    let difference = there - middle;
    let seconds = difference.as_seconds_f64();
    let found = format!("the clock of {whose} differs by {seconds:+.1} s from the one here");
    let remedy = "synchronise the clocks of both machines (NTP)";
    match difference.abs() - (after - before) / 2 {
        difference if difference <= TOLERATED => Finding::ok(check, found),
        difference if difference <= TOO_MUCH => Finding::warning(check, found, remedy),
        _ => Finding::error(check, found, remedy),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn differences_within_the_time_of_an_answer_do_not_count() {
        let here = DateTime::UNIX_EPOCH;
        let at = |seconds| here + TimeDelta::seconds(seconds);
        let grade = |there, after| compare("clock", "it", at(there), (here, at(after))).grade;
        assert_eq!(grade(2, 0), Grade::Ok);
        assert_eq!(grade(-2, 0), Grade::Ok);
        assert_eq!(grade(9, 10), Grade::Ok);
        assert_eq!(grade(-30, 0), Grade::Warning);
        assert_eq!(grade(90, 0), Grade::Error);
    }
}
