//! `cts audit`: the records of calls that changed something or were refused.

use cts_api_client::{AuditQuery, AuditRecord};
use serde_json::json;

use super::session::{ExitStatus, Session};
use crate::arguments::{Audit, Output, TableWidth};
use crate::commands::table::table;
use crate::commands::time_text::{local, moment};

pub(super) async fn run(session: &mut Session<'_>, options: &Audit) -> Result<(), ExitStatus> {
    let client = session.client(&options.query.client)?;
    let query = AuditQuery {
        limit: Some(options.limit),
        before: options.before,
    };
    let records = client.audit_records(query).await;
    let records = records
        .map_err(|error| session.call_failed("Error: unable to read the audit records", &error))?;
    match options.query.output {
        Output::Json => {
            let document = json!({ "records": records });
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table if records.is_empty() => session.ui.note("There are no such records."),
        Output::Table => session
            .ui
            .result(&listing(&records, options.query.wide.width())),
    }
    Ok(())
}

fn listing(records: &[AuditRecord], width: TableWidth) -> String {
    let header = [
        "NUMBER", "TIME", "CALLER", "ADDRESS", "ACTION", "TARGET", "OUTCOME", "DETAILS",
    ];
    table(header, records.iter().map(row), width)
}

fn row(record: &AuditRecord) -> [String; 8] {
    [
        record.number.to_string(),
        moment(record.time).map(local).unwrap_or_default(),
        caller(record),
        record.address.clone(),
        record.action.clone(),
        record.target.clone(),
        outcome(record),
        details(record),
    ]
}

/// `token ci`, `user alice of https://login.example`, `anonymous`.
fn caller(record: &AuditRecord) -> String {
    let issuer = match record.issuer.as_str() {
        "" => String::new(),
        issuer => format!(" of {issuer}"),
    };
    let text = format!("{} {}{issuer}", record.caller_kind, record.caller);
    text.trim_end().to_owned()
}

/// How it ended, with the number of calls if they are several.
fn outcome(record: &AuditRecord) -> String {
    match record.count {
        0 | 1 => record.outcome.clone(),
        count => format!("{} {count} times", record.outcome),
    }
}

/// The reason of a call that was not made, else the arguments.
fn details(record: &AuditRecord) -> String {
    if !record.reason.is_empty() {
        return record.reason.clone();
    }
    let arguments = record.arguments.iter();
    let arguments = arguments.map(|(name, value)| format!("{name}={value}"));
    arguments.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_record_is_one_line() {
        let done = AuditRecord {
            number: 7,
            caller_kind: "user".into(),
            caller: "alice".into(),
            issuer: "https://login.example".into(),
            address: "10.0.0.1".into(),
            action: "task.update".into(),
            target: "web".into(),
            arguments: BTreeMap::from([
                ("enabled".into(), "true".into()),
                ("run".into(), "now".into()),
            ]),
            outcome: "done".into(),
            count: 1,
            ..AuditRecord::default()
        };
        let refused = AuditRecord {
            number: 6,
            caller_kind: "anonymous".into(),
            action: "request".into(),
            target: "GET /v1/tasks".into(),
            outcome: "refused".into(),
            reason: "without\na credential".into(),
            count: 50,
            ..AuditRecord::default()
        };
        let expected = "\
NUMBER  TIME  CALLER                               ADDRESS   ACTION       TARGET         OUTCOME           DETAILS
7             user alice of https://login.example  10.0.0.1  task.update  web            done              enabled=true, run=now
6             anonymous                                      request      GET /v1/tasks  refused 50 times  without\\na credential
";
        assert_eq!(listing(&[done, refused], TableWidth::Whole), expected);
    }
}
