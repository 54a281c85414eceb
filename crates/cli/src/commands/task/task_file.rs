//! The file of `cts task create` and `cts task replace` (docs/cli.md#task-files).

use std::path::Path;

use cts_config::{TaskFile, TaskFileError, load_task_file};

use super::session::{ExitStatus, Session};
use crate::configuration::in_context;

const HEADLINE: &str = "Error: unable to create request";

/// The task in the file. Variable files are relative to the current directory.
pub(super) fn read(
    session: &mut Session<'_>,
    command: &str,
    file: Option<&Path>,
) -> Result<TaskFile, ExitStatus> {
    let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) else {
        let explanation = [
            "no task file provided: the option -task-file is required".to_owned(),
            session.help_hint(command),
        ];
        return Err(session.missing(HEADLINE, &explanation));
    };
    let task = in_context(session.process_env, |context| load_task_file(file, context));
    let shown = file.display();
    let task = task.map_err(|error| match error {
        TaskFileError::Problems(report) => {
            let printed = session.fail(HEADLINE, &format!("unable to read task file '{shown}':"));
            session.ui.block(&report.render());
            printed
        }
        TaskFileError::Deprecated(uses) => {
            let detail = format!("task file '{shown}' has keys that have a successor:");
            let printed = session.fail(HEADLINE, &detail);
            for sentence in uses {
                session.ui.output(&format!(" - {sentence}"));
            }
            printed
        }
        TaskFileError::SeveralTasks(number) => session.fail(
            HEADLINE,
            &format!(
                "task file '{shown}' cannot contain more than 1 task, contains {number} tasks"
            ),
        ),
        TaskFileError::NoTask => session.fail(
            HEADLINE,
            &format!("task file '{shown}' must contain at least one task"),
        ),
    })?;
    if !task.warnings.is_empty() {
        session.ui.warning(&task.warnings.render());
    }
    Ok(task)
}
