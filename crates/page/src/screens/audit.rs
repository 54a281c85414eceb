//! The records of calls that changed something or were refused, newest first.

use askama::Template;
use async_trait::async_trait;
use cts_core::callers::Role;
use cts_proto::access::v1::{AuditRecord, ListAuditRecordsResponse};
use http::StatusCode;

use crate::address::{Query, escape};
use crate::context::{Context, Refusal};
use crate::link::Link;
use crate::screen::{Fragment, Part, Screen};
use crate::text::Foreign;
use crate::time::Time;

/// Records on a page.
const RECORDS: usize = 200;

/// The screen `audit`: with `before` in its query, records with smaller numbers.
pub(crate) struct Audit {
    before: Option<u64>,
}

impl Audit {
    pub(crate) fn new(query: &Query) -> Self {
        Self {
            before: query.get("before").parse().ok(),
        }
    }
}

#[derive(Template)]
#[template(path = "audit/records.html")]
struct RecordPage<'a> {
    records: Vec<(&'a AuditRecord, Option<Link<'a>>)>,
    newest: Option<String>,
    older: Option<String>,
}

#[async_trait]
impl Screen for Audit {
    fn title(&self) -> String {
        "Audit".to_owned()
    }

    fn part(&self) -> Part {
        Part::Audit
    }

    async fn fragments(&self, _context: &Context<'_>) -> Result<Vec<Fragment>, Refusal> {
        Ok(self.fragment("records").into_iter().collect())
    }

    fn fragment(&self, id: &str) -> Option<Fragment> {
        (id == "records").then(|| Fragment::fixed(id, "wide"))
    }

    async fn render(&self, _id: &str, context: &Context<'_>) -> Result<String, Refusal> {
        if !context.viewer.has(Role::Admin) {
            return Err(Refusal {
                status: StatusCode::FORBIDDEN,
                message: "audit records need the role admin".to_owned(),
            });
        }
        let before = self.before.map(|number| format!("&before={number}"));
        let call = format!("/v1/audit?limit={RECORDS}{}", before.unwrap_or_default());
        let page: ListAuditRecordsResponse = context.get(&call).await?;
        let is_full = page.records.len() == RECORDS;
        let last = page.records.last().filter(|it| is_full && it.number > 1);
        let template = RecordPage {
            records: page
                .records
                .iter()
                .map(|it| (it, target(it, context)))
                .collect(),
            newest: self.before.map(|_| context.link("audit")),
            older: last.map(|it| context.link(&format!("audit?before={}", it.number))),
        };
        Ok(template.render().unwrap_or_default())
    }
}

/// A link to the task or the run that a call names.
fn target<'a>(record: &'a AuditRecord, context: &Context<'_>) -> Option<Link<'a>> {
    let (area, _) = record.action.split_once('.')?;
    let screen = match area {
        "task" => "tasks",
        "run" => "runs",
        _ => return None,
    };
    let path = format!("{screen}/{}", escape(&record.target));
    (!record.target.is_empty()).then(|| Link::inside(context, &path, &record.target))
}

#[cfg(test)]
mod tests;
