//! `cts causes`: what changed in Consul, and what came of it.

use cts_api_client::Cause;
use cts_proto::json::Word as _;
use serde_json::json;

use super::failure::failed;
use crate::arguments::{Causes, Output};
use crate::commands::table::table;
use crate::commands::task::session::{ExitStatus, Session};
use crate::commands::time_text::{local, moment};

pub(in crate::commands::task) async fn list(
    session: &mut Session<'_>,
    options: &Causes,
) -> Result<(), ExitStatus> {
    let client = session.client(&options.query.client)?;
    let id = options.id.map(|id| id.to_string());
    let limit = id.as_ref().map_or(options.limit, |_| 1);
    let causes = client.causes(id.as_deref(), limit).await;
    let causes = causes.map_err(|error| failed(session, "list causes", &error))?;
    if let Some(id) = id.filter(|id| causes.iter().all(|cause| cause.id != *id)) {
        let headline = format!("Error: there is no cause '{id}'");
        let hint = "causes are kept for 7 days, if they led to a run";
        return Err(session.fail(&headline, hint));
    }
    let text = match options.query.output {
        Output::Json => format!("{:#}\n", json!({ "causes": causes })),
        Output::Table => {
            let header = ["ID", "TIME", "CHANGES", "TASKS"];
            table(header, causes.iter().map(row), options.query.wide.width())
        }
    };
    session.ui.result(&text);
    Ok(())
}

fn row(cause: &Cause) -> [String; 4] {
    let tasks = cause.tasks.iter().map(|tasks| {
        let more = tasks.count as usize > tasks.names.len();
        let (state, names) = (tasks.state().word(), tasks.names.join(" "));
        let more = if more { " …" } else { "" };
        format!("{} {state}: {names}{more}", tasks.count)
    });
    [
        cause.id.clone(),
        moment(cause.at).map(local).unwrap_or_default(),
        cause.lines.join(", "),
        tasks.collect::<Vec<_>>().join(", "),
    ]
}
