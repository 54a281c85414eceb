//! Findings as a table and as a document.

use cts_cli::{TableWidth, on_one_line, table};
use serde_json::{Value, json};

use super::finding::{Finding, Grade, worst};

/// The table; below a finding stands what to do.
pub(super) fn text(findings: &[Finding], width: TableWidth) -> String {
    let rows = findings.iter().map(|finding| {
        [
            finding.grade.word().to_owned(),
            finding.check.to_owned(),
            finding.found.clone(),
        ]
    });
    let table = table(["RESULT", "CHECK", "FOUND"], rows, width);
    let remedies = [None]
        .into_iter()
        .chain(findings.iter().map(|finding| finding.remedy.as_deref()));
    let mut text = String::new();
    for (line, remedy) in table.lines().zip(remedies) {
        text.push_str(line);
        text.push('\n');
        if let Some(remedy) = remedy {
            text += "         -> ";
            text += &on_one_line(remedy);
            text.push('\n');
        }
    }
    let count = |grade| findings.iter().filter(|it| it.grade == grade).count();
    let (errors, warnings) = (count(Grade::Error), count(Grade::Warning));
    let checks = findings.len();
    text + &format!("errors: {errors}, warnings: {warnings}, checks: {checks}\n")
}

/// The document of `-o json`.
pub(super) fn document(findings: &[Finding]) -> Value {
    let rows = findings.iter().map(|finding| {
        json!({
            "check": finding.check,
            "result": finding.grade.word(),
            "found": finding.found,
            "remedy": finding.remedy,
        })
    });
    json!({"worst": worst(findings).word(), "checks": rows.collect::<Vec<_>>()})
}
