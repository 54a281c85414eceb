//! Details of an attempt: secrets are removed by the worker, and the size is limited by the worker and by the scheduler,
//! because all texts come from outside.

use std::mem;

use cts_core::bounded_url;
use cts_core::runs::OUTPUTS_KEPT;
use cts_proto::run::v1::RunDetails;
use cts_proto::run::v1::run_output::Value;
use cts_proto::run_report::{CHANGES_KEPT, DIAGNOSTICS_KEPT};
use serde_json::Value as Json;

/// Longest value of an output, in bytes of JSON.
const VALUE_BYTES: usize = 4096;

/// Longest address or file name, in bytes.
const NAME_BYTES: usize = 512;

/// Longest summary of a diagnostic, in bytes.
const SUMMARY_BYTES: usize = 1024;

/// Longest detail or snippet of a diagnostic, in bytes.
const TEXT_BYTES: usize = 4096;

/// Maximum bytes of a code or a version.
const LONGEST_CODE: usize = 64;

/// Replaces the rest of a text that was cut.
const CUT: &str = "…";

/// Returns the details with every text passed through `edit`, which may remove parts of a text.
#[must_use]
pub fn edited_details(mut details: RunDetails, edit: impl Fn(&str) -> String) -> RunDetails {
    details.remote_url = edit(&details.remote_url);
    for change in &mut details.changes {
        change.address = edit(&change.address);
    }
    for diagnostic in &mut details.diagnostics {
        for text in [
            &mut diagnostic.summary,
            &mut diagnostic.detail,
            &mut diagnostic.address,
            &mut diagnostic.file,
            &mut diagnostic.snippet,
        ] {
            *text = edit(text);
        }
    }
    for output in &mut details.outputs {
        if let Some(Value::Json(text)) = &mut output.value {
            *text = match serde_json::from_str(text) {
                Ok(mut value) => {
                    edit_value(&mut value, &edit);
                    value.to_string()
                }
                Err(_unreadable) => edit(text),
            };
        }
    }
    details
}

/// Returns the part of the details that is stored: less than 600 KiB for any output of Terraform. Details within
/// the bounds stay unchanged.
#[must_use]
pub fn bounded_details(mut details: RunDetails) -> RunDetails {
    details.remote_url = bounded_url(&details.remote_url);
    for code in [&mut details.error_code, &mut details.worker_version] {
        if code.len() > LONGEST_CODE {
            code.clear();
        }
    }
    cut_list(
        &mut details.changes,
        CHANGES_KEPT,
        &mut details.more_changes,
    );
    cut_list(
        &mut details.diagnostics,
        DIAGNOSTICS_KEPT,
        &mut details.more_diagnostics,
    );
    for change in &mut details.changes {
        cut_text(&mut change.address, NAME_BYTES);
    }
    for diagnostic in &mut details.diagnostics {
        cut_text(&mut diagnostic.summary, SUMMARY_BYTES);
        cut_text(&mut diagnostic.detail, TEXT_BYTES);
        cut_text(&mut diagnostic.address, NAME_BYTES);
        cut_text(&mut diagnostic.file, NAME_BYTES);
        cut_text(&mut diagnostic.snippet, TEXT_BYTES);
    }
    details.outputs.truncate(OUTPUTS_KEPT);
    for output in &mut details.outputs {
        cut_text(&mut output.name, NAME_BYTES);
        if matches!(&output.value, Some(Value::Json(text)) if text.len() > VALUE_BYTES) {
            output.value = Some(Value::TooLong(true));
        }
    }
    details
}

/// Passes every text of a value through `edit`, including names of members and numbers.
fn edit_value(value: &mut Json, edit: &impl Fn(&str) -> String) {
    match value {
        Json::Null | Json::Bool(_) => {}
        Json::Number(number) => {
            let text = number.to_string();
            let edited = edit(&text);
            if edited != text {
                *value = Json::String(edited);
            }
        }
        Json::String(text) => *text = edit(text),
        Json::Array(elements) => {
            for element in elements {
                edit_value(element, edit);
            }
        }
        Json::Object(members) => {
            let edited = mem::take(members).into_iter().map(|(name, mut member)| {
                edit_value(&mut member, edit);
                (edit(&name), member)
            });
            *members = edited.collect();
        }
    }
}

fn cut_list<T>(list: &mut Vec<T>, longest: usize, more: &mut u32) {
    let surplus = list.len().saturating_sub(longest);
    list.truncate(longest);
    *more = more.saturating_add(u32::try_from(surplus).unwrap_or(u32::MAX));
}

fn cut_text(text: &mut String, longest: usize) {
    if text.len() > longest {
        text.truncate(text.floor_char_boundary(longest - CUT.len()));
        text.push_str(CUT);
    }
}

#[cfg(test)]
mod tests;
