//! The frozen documents, each with the answer of the reference: a line of JSON for each.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::reference::Answer;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/documents.jsonl");

/// A document, and the answer of the reference unless it is a new one.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub(crate) document: Vec<u8>,
    pub(crate) answer: Option<Answer>,
}

/// All frozen documents.
pub(crate) fn read() -> Result<Vec<Frozen>> {
    let text = fs::read_to_string(PATH).context(PATH)?;
    let lines = text.lines().zip(1..);
    lines
        .map(|(line, number)| frozen(line).with_context(|| format!("{PATH}:{number}")))
        .collect()
}

/// Replaces all frozen documents.
pub(crate) fn write(all: &[Frozen]) -> Result<()> {
    let mut text = String::new();
    for frozen in all {
        let mut line = match std::str::from_utf8(&frozen.document) {
            Ok(document) => json!({"document": document}),
            Err(_) => json!({"bytes": frozen.document}),
        };
        if let Some(answer) = &frozen.answer {
            line["answer"] = answer.to_json();
        }
        writeln!(text, "{line}")?;
    }
    fs::write(PATH, text).context(PATH)
}

fn frozen(line: &str) -> Result<Frozen> {
    let mut line: Value = serde_json::from_str(line)?;
    let document = match line["document"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => serde_json::from_value(line["bytes"].take())?,
    };
    let answer = line.get_mut("answer").map(Value::take);
    Ok(Frozen {
        document,
        answer: answer.map(Answer::from_json).transpose()?,
    })
}
