//! Runs by the beginning of their id.

use cts_api_client::{ApiClient, CallError, Run, RunQuery};

use super::failure::{failed, unknown};
use crate::arguments::TableWidth;
use crate::commands::table::{RUN_ID_SHOWN, short_id};
use crate::commands::task::session::{ExitStatus, Session};

/// Characters of a whole id.
const WHOLE: usize = 36;

/// Number of the newest runs that are searched for the beginning of an id: the most that one answer has.
const NEWEST: u32 = 1000;

/// Runs that an ambiguous beginning names.
const NAMED: usize = 10;

/// The runs whose beginnings are looked for: ids of a table are as short as these allow.
pub(crate) struct ShownIds(Vec<String>);

impl ShownIds {
    /// Reads the runs if ids are shortened. Without an answer, ids stay whole.
    pub(crate) async fn fetch(client: &ApiClient, width: TableWidth) -> Self {
        if !width.shortens() {
            return Self(Vec::new());
        }
        let page = client.runs(&newest()).await;
        let runs = page.map(|page| page.runs).unwrap_or_default().into_iter();
        Self(runs.map(|run| run.id.clone()).collect())
    }

    pub(crate) fn short<'i>(&self, id: &'i str) -> &'i str {
        short_id(id, &self.0, RUN_ID_SHOWN)
    }
}

fn newest() -> RunQuery {
    RunQuery {
        limit: Some(NEWEST),
        ..RunQuery::default()
    }
}

/// The run with this id, or the only run whose id begins with this text.
pub(super) async fn find(
    session: &mut Session<'_>,
    client: &ApiClient,
    id: &str,
) -> Result<Run, ExitStatus> {
    let shown = |session: &mut Session<'_>, error: &CallError, id: &str| {
        if error.is_not_found() {
            return unknown(session, id);
        }
        failed(session, "show the run", error)
    };
    match client.run_in_full(id).await {
        Ok(run) => Ok(run),
        Err(error) if error.is_not_found() && is_beginning(id) => {
            let id = only(session, client, id).await?;
            let run = client.run_in_full(&id).await;
            run.map_err(|error| shown(session, &error, &id))
        }
        Err(error) => Err(shown(session, &error, id)),
    }
}

/// The id of the run with this id, or of the only run whose id begins with this text. A whole id is taken as it is.
pub(super) async fn run_id(
    session: &mut Session<'_>,
    client: &ApiClient,
    id: &str,
) -> Result<String, ExitStatus> {
    if !is_beginning(id) {
        return Ok(id.to_owned());
    }
    Ok(find(session, client, id).await?.id.clone())
}

/// Whether a text is shorter than a whole id.
pub(super) fn is_beginning(id: &str) -> bool {
    id.len() < WHOLE
}

/// The only id that begins so.
pub(super) async fn only(
    session: &mut Session<'_>,
    client: &ApiClient,
    beginning: &str,
) -> Result<String, ExitStatus> {
    let page = client.runs(&newest()).await;
    let page = page.map_err(|error| failed(session, "list runs", &error))?;
    let runs = page.runs.iter();
    let found: Vec<&Run> = runs.filter(|run| run.id.starts_with(beginning)).collect();
    match found.as_slice() {
        [only] => Ok(only.id.clone()),
        [] => Err(unknown(session, beginning)),
        several => {
            let number = several.len();
            let headline = format!("Error: '{beginning}' is the beginning of {number} runs");
            let named = several.iter().take(NAMED);
            let named = named.map(|run| format!("{} of {}", run.id, run.task_name));
            let named = named.collect::<Vec<_>>().join(", ");
            let rest = if number > NAMED { ", …" } else { "" };
            Err(session.fail(&headline, &format!("{named}{rest}")))
        }
    }
}
