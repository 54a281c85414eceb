//! Notes why changes of a view are not seen.

use chrono::TimeDelta;
use cts_core::ViewId;

use super::Planner;
use super::awaited_reads::UnreadReason;
use super::view_problem::ViewProblem;

/// A next try is stored only if it is later than the stored try by this time: views fail in large numbers, and every
/// change is stored for each of their tasks.
const NEXT_TRY_AGAIN: TimeDelta = TimeDelta::minutes(1);

impl Planner {
    /// Notes why changes of a view are not seen. The next delta of the view ends the problem. Returns the number of
    /// tasks that wait for the first snapshot of the view, if this is the beginning.
    pub(crate) fn note_problem(&mut self, id: &ViewId, problem: ViewProblem) -> Option<usize> {
        let view = self.views.get_mut(id)?;
        let before = view.problem.take();
        let is_new = before.is_none();
        let mut problem = problem;
        if let Some(before) = before {
            // A changed text is a new reason for the same gap.
            problem.since = problem.since.min(before.since);
            problem.last_answer = problem.last_answer.max(before.last_answer);
            if (&before.text, before.outage) != (&problem.text, problem.outage) {
                self.changes += 1;
            } else if let (Some(shown), Some(next)) = (before.next_try, problem.next_try)
                && next.signed_duration_since(shown) < NEXT_TRY_AGAIN
            {
                problem.next_try = Some(shown);
            } else {
                self.changes += 1;
            }
        } else {
            self.changes += 1;
        }
        let waiting = view.snapshot.is_none().then_some(view.tasks.len());
        let refused = problem.refused;
        view.problem = Some(problem);
        if refused && waiting.is_some() {
            for name in view.tasks.keys() {
                if let Some(entry) = self.tasks.get_mut(name) {
                    entry.refused = true;
                    self.agenda.note(name, entry);
                }
            }
        }
        self.leave_out(id, UnreadReason::Failing);
        waiting.filter(|_| is_new)
    }
}
