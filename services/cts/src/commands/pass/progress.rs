//! Display of a pass: on a terminal one moving line per active task, otherwise log lines.

use std::collections::HashMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::tally::{Counts, End};
use super::terminal::ProgressLines;

/// How often a line at work moves.
const TICK: Duration = Duration::from_millis(120);

/// The output of progress.
#[derive(Debug)]
pub(crate) enum Progress {
    /// A terminal; lines move.
    Terminal(Terminal),
    /// Output without moving lines; the log has a line for each end.
    Plain,
}

/// See [`Progress::Terminal`].
#[derive(Debug)]
pub(crate) struct Terminal {
    lines: MultiProgress,
    summary: ProgressBar,
    tasks: HashMap<String, ProgressBar>,
    width: usize,
}

/// A task that is through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedTask<'a> {
    /// Its name.
    pub(crate) task: &'a str,
    /// How it went.
    pub(crate) end: &'a End,
    /// The time from the beginning of its run.
    pub(crate) took: Duration,
    /// The log has its error already, which may be long.
    pub(crate) error_is_logged: bool,
}

impl Progress {
    /// For a terminal whose log is written through [`ProgressLines::writer`], so that log and moving lines do not
    /// overwrite each other.
    pub(crate) fn terminal<'a>(
        lines: &ProgressLines,
        tasks: impl Iterator<Item = &'a str>,
    ) -> Self {
        let lines = lines.lines().clone();
        let summary = lines.add(ProgressBar::new_spinner());
        summary.set_style(style("{spinner} {msg} [{elapsed}]"));
        summary.enable_steady_tick(TICK);
        Self::Terminal(Terminal {
            lines,
            summary,
            tasks: HashMap::new(),
            width: tasks.map(str::len).max().unwrap_or_default().min(40),
        })
    }

    /// Whether lines of Terraform are shown.
    pub(crate) const fn shows_lines(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    pub(crate) fn at_work(&mut self, task: &str, doing: &'static str) {
        let Self::Terminal(terminal) = self else {
            return;
        };
        let Terminal {
            lines,
            summary,
            tasks,
            width,
        } = terminal;
        let line = tasks.entry(task.to_owned()).or_insert_with(|| {
            let line = lines.insert_before(summary, ProgressBar::new_spinner());
            line.set_style(style("{spinner} {prefix} [{elapsed}]  {wide_msg}"));
            line.set_prefix(format!("{task:<width$}  {doing}"));
            line.enable_steady_tick(TICK);
            line
        });
        line.tick();
    }

    /// Terraform has written a line for a task at work.
    pub(crate) fn wrote(&self, task: &str, text: &str) {
        if let Self::Terminal(terminal) = self
            && let Some(line) = terminal.tasks.get(task)
        {
            line.set_message(shown(text));
        }
    }

    /// A task is through.
    pub(crate) fn ended(&mut self, ended: &EndedTask<'_>, counts: Counts, of: usize) {
        let EndedTask { task, end, .. } = *ended;
        let place = format!("{}/{of}", counts.ended());
        let seconds = format!("{:.1}s", ended.took.as_secs_f64());
        // The beginning of a short run was not seen.
        let took = (!ended.took.is_zero()).then_some(&seconds);
        match (end, &*self) {
            (End::Failed(error), _) => {
                let error = (!ended.error_is_logged).then_some(error.as_str());
                tracing::error!(target: "ctrl", task_name = task, took, done = place, error, "task failed");
            }
            (End::Held(reason), _) => {
                tracing::warn!(target: "ctrl", task_name = task, done = place, reason, "the brake of the fleet holds the task: nothing is applied");
            }
            (End::Waits(run), _) => {
                tracing::warn!(target: "ctrl", task_name = task, run.id = run, done = place, "the task waits for the consent of a person: nothing is applied");
            }
            (End::Cancelled, _) => {
                tracing::error!(target: "ctrl", task_name = task, took, done = place, "the run of the task was cancelled");
            }
            (End::Applied | End::Planned { .. }, Self::Plain) => {
                tracing::info!(target: "ctrl", task_name = task, took, done = place, result = end.word(), consent = end.consent(), "task of the pass ended");
            }
            (End::Applied | End::Planned { .. }, Self::Terminal(_)) => {}
        }
        if let Self::Terminal(terminal) = self {
            terminal.ended(task, end, &seconds);
        }
    }

    /// The numbers have changed.
    pub(crate) fn counts(&self, counts: Counts, of: usize) {
        if let Self::Terminal(terminal) = self {
            terminal.summary.set_message(summary(counts, of));
        }
    }

    /// Takes the moving lines away.
    pub(crate) fn finish(&self) {
        if let Self::Terminal(terminal) = self {
            for line in terminal.tasks.values() {
                line.finish_and_clear();
            }
            terminal.summary.finish_and_clear();
        }
    }
}

impl Terminal {
    fn ended(&mut self, task: &str, end: &End, seconds: &str) {
        if let Some(line) = self.tasks.remove(task) {
            line.finish_and_clear();
            self.lines.remove(&line);
        }
        let mark = match end {
            End::Held(_) => "HELD",
            End::Waits(_) => "WAITS",
            end if end.is_success() => "ok",
            _ => "FAILED",
        };
        let width = self.width;
        let consent = end
            .consent()
            .map_or_else(String::new, |it| format!(", {it}"));
        let line = format!(
            "{mark:<6} {task:<width$}  {}{consent} [{seconds}]",
            end.word()
        );
        // A terminal that is gone does not stop the pass.
        drop(self.lines.println(line));
    }
}

fn summary(counts: Counts, of: usize) -> String {
    let mut text = format!("{}/{of} tasks done", counts.ended());
    let parts = [
        (counts.failed, "failed"),
        (counts.held, "held by the brake"),
        (counts.unapproved, "waiting for consent"),
        (counts.running, "at work"),
        (counts.queued, "queued"),
        (counts.waiting, "waiting for Consul"),
    ];
    for (number, what) in parts {
        if number > 0 {
            text = format!("{text}, {number} {what}");
        }
    }
    text
}

/// Terraform's output in a form that a terminal may receive: the message of a line in JSON, and nothing that
/// steers.
fn shown(text: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let message = json
        .as_ref()
        .and_then(|line| line.get("@message")?.as_str())
        .unwrap_or(text);
    message.replace(char::is_control, " ").trim().to_owned()
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_wrong| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_what_there_is() {
        let counts = Counts {
            waiting: 1,
            queued: 0,
            running: 2,
            succeeded: 3,
            failed: 1,
            held: 0,
            unapproved: 0,
        };
        assert_eq!(
            summary(counts, 7),
            "4/7 tasks done, 1 failed, 2 at work, 1 waiting for Consul"
        );
        assert_eq!(summary(Counts::default(), 0), "0/0 tasks done");
    }

    #[test]
    fn lines_of_terraform_cannot_steer_a_terminal() {
        assert_eq!(shown("{\"@message\":\"Plan: 1 to add\"}"), "Plan: 1 to add");
        assert_eq!(
            shown("  Initializing\u{1b}[2J the backend "),
            "Initializing [2J the backend"
        );
    }
}
