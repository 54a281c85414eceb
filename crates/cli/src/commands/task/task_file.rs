//! The file of `cts task create` (docs/cli.md#task-files).

use std::path::Path;

use cts_config::{DeprecatedUse, TaskFile, TaskFileError, load_task_file};
use cts_core::Chain;

use super::session::{ExitStatus, Session};
use crate::configuration::in_context;

const HEADLINE: &str = "Error: unable to create request";

/// The task in the file. Variable files are relative to the current directory.
pub(super) fn read(session: &mut Session<'_>, file: Option<&Path>) -> Result<TaskFile, ExitStatus> {
    let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) else {
        let program = session.process_env.program;
        return Err(session.missing(
            HEADLINE,
            &[
                "No file with the task was given: the option -task-file is required.".to_owned(),
                format!("Example: {program} task create -task-file=task.hcl"),
                format!("More: {program} task create --help"),
            ],
        ));
    };
    let task = in_context(session.process_env, |context| load_task_file(file, context));
    let task = task.map_err(|error| match error {
        TaskFileError::Problems(report) => {
            let printed = session.fail(HEADLINE, "");
            session.ui.block(&report.render());
            printed
        }
        TaskFileError::Deprecated(uses) => {
            let detail = format!("{} uses the syntax of configuration files:", file.display());
            let printed = session.fail(HEADLINE, &detail);
            for used in uses {
                session.ui.output(&suggestion(&used));
            }
            printed
        }
        other @ (TaskFileError::NoTask | TaskFileError::SeveralTasks(_)) => {
            let detail = format!("{}: {}", file.display(), Chain(&other));
            session.fail(HEADLINE, &detail)
        }
    })?;
    if !task.warnings.is_empty() {
        session.ui.warning(&task.warnings.render());
    }
    Ok(task)
}

fn suggestion(used: &DeprecatedUse) -> String {
    format!(
        " - `{}` cannot be used here: use {}",
        used.key, used.replacement
    )
}
