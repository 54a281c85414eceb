//! `cts task disable` (docs/cli.md#cts-task).

use super::session::{ExitStatus, Session};
use crate::arguments::Disable;

pub(super) async fn run(session: &mut Session<'_>, options: &Disable) -> Result<(), ExitStatus> {
    let name = session.one_name("disable", &options.names)?;
    session.ui.info(&format!("Waiting to disable '{name}'..."));
    session.ui.output("");
    let client = session.client(&options.client)?;
    client.disable_task(name).await.map_err(|error| {
        let headline = format!("Error: unable to disable '{name}'");
        session.refused(&headline, &error)
    })?;
    session.ui.info(&format!("'{name}' disable complete!"));
    Ok(())
}
