//! States that can be read without a process: exactly the state that `terraform state pull` would show.
//!
//! Everything that is not certain is `None`; the caller then has to run `terraform state pull`.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cts_core::{Backend, TaskName};
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

use super::file::{FoundState, parse};
use crate::attempt::Attempt;

/// Directory in which the backend `local` keeps the states of workspaces by default.
const WORKSPACE_DIRECTORY: &str = "terraform.tfstate.d";

/// Most bytes of a state that are unpacked here.
const LONGEST_STATE: u64 = 64 << 20;

/// Most parts of a state that are read here. Terraform makes parts of half a MiB.
const MOST_PARTS: usize = 128;

/// The first byte of compressed content; no JSON begins with it.
const GZIP: u8 = 0x1f;

/// The result of reading a backend: a state or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadState(pub Option<FoundState>);

/// The state of the attempt's task in its backend, if the state is a file of this machine; `None` if the state has to
/// be pulled.
///
/// Blocks for the time that it takes to read a file.
pub fn read_directly(attempt: &Attempt, backend: &Backend) -> Option<ReadState> {
    read_file(&attempt.task, attempt.directory.path(), backend)
}

/// Like [`read_directly`], for a task with this directory.
pub fn read_file(task: &TaskName, directory: &Path, backend: &Backend) -> Option<ReadState> {
    if backend.kind != "local" {
        return None;
    }
    let directory = workspace_directory(directory, backend)?;
    let path = directory.join(task.as_str()).join("terraform.tfstate");
    match fs::read(path) {
        // If Terraform is killed while it writes, it leaves an empty file, which it treats as no state.
        Ok(text) if text.is_empty() => Some(ReadState(None)),
        Ok(text) => parse(&text).ok().map(ReadState),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(ReadState(None)),
        Err(_error) => None,
    }
}

/// The directory in which backend `local` keeps the states of workspaces.
pub(super) fn workspace_directory(directory: &Path, backend: &Backend) -> Option<PathBuf> {
    match backend.arguments.get("workspace_dir") {
        None | Some(Value::Null) => Some(directory.join(WORKSPACE_DIRECTORY)),
        Some(Value::String(path)) if path.is_empty() => Some(directory.join(WORKSPACE_DIRECTORY)),
        Some(Value::String(path)) => Some(directory.join(path)),
        Some(_) => None,
    }
}

/// The key under which backend `consul` keeps the state of a task.
pub fn consul_key(task: &TaskName, backend: &Backend) -> Option<String> {
    let path = backend.arguments.get("path")?.as_str()?;
    (backend.kind == "consul").then(|| format!("{path}-env:{task}"))
}

/// The keys of the parts of a state that is too long for one value of Consul's KV store; `None` for a state in one
/// value.
pub fn consul_parts(value: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Parts {
        #[serde(rename = "current-hash")]
        _hash: String,
        chunks: Vec<String>,
    }
    let parts: Parts = serde_json::from_slice(value).ok()?;
    Some(parts.chunks).filter(|keys| keys.len() <= MOST_PARTS)
}

/// The state in a value of Consul's KV store, or in its joined parts; `None` if the state has to be pulled.
pub fn read_consul_value(value: &[u8]) -> Option<FoundState> {
    let mut unpacked = Vec::new();
    let text = if value.first() == Some(&GZIP) {
        let mut decoder = GzDecoder::new(value).take(LONGEST_STATE);
        decoder.read_to_end(&mut unpacked).ok()?;
        &unpacked
    } else {
        value
    };
    parse(text).ok().flatten()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const STATE: &[u8] = br#"{"version":4,"serial":2,"lineage":"l","outputs":{},"resources":[]}"#;

    #[test]
    fn values_of_consul_are_read_compressed_or_not() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(STATE).unwrap();
        let packed = packed.finish().unwrap();
        for value in [STATE, &packed] {
            assert_eq!(read_consul_value(value).unwrap().state.serial, 2);
        }
        let chunks = br#"{"current-hash":"d41d","chunks":["p/tfstate.d41d/0"]}"#;
        for other in [&chunks[..], b"", b"\x1f\x8bcut", b"{"] {
            assert_eq!(read_consul_value(other), None);
        }
        let parts = consul_parts(chunks).unwrap();
        assert_eq!(parts, ["p/tfstate.d41d/0"]);
        for whole in [STATE, &packed, b"", b"{}", b"{\"chunks\":[]}"] {
            assert_eq!(consul_parts(whole), None);
        }
    }
}
