//! Causes page by page.

use std::collections::BTreeSet;

use cts_core::CauseId;
use cts_proto::run::v1::{ListCausesRequest, ListCausesResponse};
use cts_store::Store;
use tonic::Status;

use crate::status::OrStatus as _;
use crate::wire::visible_tasks;

pub(super) async fn page(
    store: &dyn Store,
    request: ListCausesRequest,
) -> Result<ListCausesResponse, Status> {
    let visible = visible_tasks(request.visible_tasks)?;
    let mut names = Vec::new();
    let beginnings: BTreeSet<&str> = visible.beginnings().collect();
    for beginning in beginnings {
        let found = store.tasks_with_runs(beginning, u32::MAX).await;
        names.extend(found.or_status()?);
    }
    names.retain(|name| visible.matches(name.as_str()));
    let names = (!visible.is_all()).then_some(&*names);
    let size = match request.page_size {
        0 => 20,
        size => size.min(100),
    };
    let from = cause_id(&request.page_token)?;
    let mut causes = store.causes(from, names, size + 1).await.or_status()?;
    let next = causes.split_off(causes.len().min(size as usize)).pop();
    if names.is_some() {
        causes.retain(|cause| !cause.tasks.is_empty());
        for cause in &mut causes {
            // Lines may name services of other tasks.
            cause.lines.clear();
        }
    }
    Ok(ListCausesResponse {
        causes,
        next_page_token: next.map(|next| next.id).unwrap_or_default(),
    })
}

/// The id of a cause; `None` for an empty text.
pub(super) fn cause_id(text: &str) -> Result<Option<CauseId>, Status> {
    let id = (!text.is_empty()).then(|| text.parse()).transpose();
    id.map_err(|_no_id| Status::invalid_argument(format!("{text:?} is not the id of a cause")))
}
