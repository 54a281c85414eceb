//! Which directories the module calls of a directory name.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use cts_core::blocks::{depth, each};
use hcl::{Body, Expression};
use serde_json::Value;

use crate::handles::regular_file;

/// Deeper nested text is not given to the HCL parser, which recurses.
pub(crate) const MAX_DEPTH: usize = 100;

/// Sources of local modules (`./x`, `../x`) as written in the directory's own files. A file that cannot be
/// read or parsed gives no source, or a guess: Terraform reports what is wrong with it.
pub(crate) fn local_sources(directory: &Path, max_bytes: u64) -> io::Result<Vec<String>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let json = name.ends_with(b".tf.json");
        // Terraform does not read hidden files either.
        if name.starts_with(b".") || !(json || name.ends_with(b".tf")) {
            continue;
        }
        let Some(text) = read_text(&entry.path(), max_bytes) else {
            continue;
        };
        if json {
            sources_in_json(&text, &mut sources);
        } else {
            sources_in_hcl(&text, &mut sources);
        }
    }
    sources.retain(|source| source.starts_with("./") || source.starts_with("../"));
    Ok(sources)
}

pub(crate) fn read_text(path: &Path, max_bytes: u64) -> Option<String> {
    let file = regular_file(path).ok()??;
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The body of a file; `None` if the parser does not take it.
pub(crate) fn parsed(text: &str) -> Option<Body> {
    if depth(text) > MAX_DEPTH {
        return None;
    }
    hcl::parse(text).ok()
}

fn sources_in_hcl(text: &str, sources: &mut Vec<String>) {
    match parsed(text) {
        Some(body) => sources_in_body(&body, sources),
        // The parser may be stricter than Terraform; a directory too many does no harm.
        None => sources.extend(text.lines().filter_map(source_in_line)),
    }
}

fn sources_in_body(body: &Body, sources: &mut Vec<String>) {
    let calls = body.blocks().filter(|block| block.identifier() == "module");
    for call in calls {
        for attribute in call.body().attributes() {
            if attribute.key() != "source" {
                continue;
            }
            if let Expression::String(source) = attribute.expr() {
                sources.push(source.clone());
            }
        }
    }
}

/// The value of a line `source = "value"`.
fn source_in_line(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix("source")?;
    let rest = rest.trim_start().strip_prefix('=')?;
    let (source, _rest) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(source.to_owned())
}

fn sources_in_json(text: &str, sources: &mut Vec<String>) {
    let Ok(document) = serde_json::from_str::<Value>(text) else {
        return;
    };
    for root in each(&document) {
        let calls = root.get("module").into_iter().flat_map(each);
        let calls = calls.filter_map(Value::as_object).flatten();
        for (_name, call) in calls {
            for body in each(call) {
                if let Some(source) = body.get("source").and_then(Value::as_str) {
                    sources.push(source.to_owned());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
