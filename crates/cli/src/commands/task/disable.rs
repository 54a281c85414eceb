//! `cts task disable` (docs/cli.md#cts-task).

use cts_api_client::ErrorForm;

use super::session::{Details, ExitStatus, Session};
use crate::arguments::Disable;

pub(super) async fn run(session: &mut Session<'_>, options: &Disable) -> Result<(), ExitStatus> {
    let name = session.one_name("disable", &options.names)?;
    session.ui.info(&format!("Waiting to disable '{name}'..."));
    session.ui.output("");
    let client = session.client(&options.client, Details::Stdout)?;
    client.disable_task(name).await.map_err(|error| {
        let headline = format!("Error: unable to disable '{name}'");
        session.refused(&headline, &error, ErrorForm::Legacy, Details::Stdout)
    })?;
    session.ui.info(&format!("'{name}' disable complete!"));
    Ok(())
}
