//! Records of a directory about its backend: the backend that it was verified for, and the previous backend.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cts_core::{Backend, Digest};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::direct::workspace_directory;
use crate::attempt::Attempt;
use crate::commands::outcome::failed;
use crate::commands::terraform::Terraform;
use crate::commands::torn::is_json;
use crate::data_files::{BACKEND_FILE, MARKER_FILE, PREVIOUS_FILE};
use crate::directory::{remove_if_present, write_if_different, write_secret};
use crate::error::{CommandError, FileError};
use crate::step::Step;

/// Variables that determine the place of a backend, or the account for it, by the kind of the backend.
const VARIABLES: [(&str, &[&str]); 8] = [
    ("azurerm", &["ARM_"]),
    ("consul", &["CONSUL_"]),
    ("cos", &["TENCENTCLOUD_"]),
    ("gcs", &["GOOGLE_"]),
    ("kubernetes", &["KUBE"]),
    ("manta", &["SDC_", "TRITON_"]),
    ("pg", &["PG"]),
    ("s3", &["AWS_"]),
];

/// Identifies the backend of an attempt: its arguments, and the additions of its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendIdentity(Digest);

impl BackendIdentity {
    /// The identity of `backend` in the environment of this attempt.
    pub fn of(attempt: &Attempt, backend: &Backend) -> Self {
        let Backend { kind, arguments } = backend;
        let mut parts = vec![kind.clone().into_bytes()];
        let mut names: Vec<_> = arguments.iter().collect();
        names.sort_unstable_by_key(|(name, _value)| *name);
        for (name, value) in names {
            parts.extend([name.clone().into_bytes(), value.to_string().into_bytes()]);
        }
        if kind == "local"
            && let Some(directory) = workspace_directory(attempt.directory.path(), backend)
        {
            parts.push(directory.into_os_string().into_encoded_bytes());
        }
        let prefixes = VARIABLES.iter().find(|(known, _prefixes)| known == kind);
        let prefixes = prefixes.map_or(&[][..], |(_kind, prefixes)| prefixes);
        for (name, value) in attempt.environment.variables() {
            let known = name.to_str();
            if known.is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix))) {
                parts.extend([name, value].map(|part| part.as_encoded_bytes().to_vec()));
            }
        }
        Self(Digest::of_parts(parts.iter().map(Vec::as_slice)))
    }

    fn record(self, moves: u32) -> String {
        format!("{} {moves}", self.0)
    }
}

/// Terraform's record of a backend.
#[derive(Deserialize)]
struct Kept {
    backend: Option<KeptBackend>,
}

#[derive(Deserialize)]
struct KeptBackend {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    config: Map<String, Value>,
}

impl Terraform {
    /// Whether the state was verified for this backend after this number of moves.
    pub fn is_verified(attempt: &Attempt, identity: BackendIdentity, moves: u32) -> bool {
        let known = fs::read_to_string(marker(attempt)).unwrap_or_default();
        known == identity.record(moves)
    }

    /// Whether the state was verified for this backend, after any number of moves.
    pub fn was_verified(attempt: &Attempt, identity: BackendIdentity) -> bool {
        let known = fs::read_to_string(marker(attempt)).unwrap_or_default();
        let (before, _moves) = known.split_once(' ').unwrap_or_default();
        before == identity.0.to_string()
    }

    /// Removes the record of the backend before, credentials included: to be called when a directory is
    /// verified.
    pub fn forget_previous_backend(attempt: &Attempt) -> Result<(), CommandError> {
        remove_if_present(&data_file(attempt, PREVIOUS_FILE))
            .map_err(|error| failed(attempt, Step::Init, error))
    }

    /// Records that the state was found right for this backend after this number of moves.
    pub fn set_verified(
        attempt: &Attempt,
        identity: BackendIdentity,
        moves: u32,
    ) -> Result<(), CommandError> {
        write_if_different(&marker(attempt), &identity.record(moves))
            .map_err(|error| failed(attempt, Step::Init, error))?;
        Self::forget_previous_backend(attempt)
    }

    /// The backend for which this directory was verified last, with its credentials, if `init` has got a different
    /// backend since: a change of the credentials alone does not count.
    pub fn previous_backend(attempt: &Attempt) -> Result<Option<Backend>, CommandError> {
        other_backend(attempt).map_err(|error| failed(attempt, Step::Init, error))
    }
}

/// Called before `init` gets a backend: keeps Terraform's record of the backend in use. An existing record belongs to
/// the last verification, and stays.
pub(crate) fn keep_backend(attempt: &Attempt) -> Result<(), FileError> {
    let previous = data_file(attempt, PREVIOUS_FILE);
    // A torn record would be useless for ever.
    if fs::read(&previous).is_ok_and(|content| is_json(&content)) {
        return Ok(());
    }
    let current = data_file(attempt, BACKEND_FILE);
    match fs::read(&current) {
        // Written under a temporary name and renamed, so that a kill leaves a whole record or none.
        Ok(content) => {
            let staged = data_file(attempt, "cts-previous-backend.new");
            write_secret(&staged, content)?;
            fs::rename(&staged, &previous).map_err(FileError::of("write", &previous))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FileError::of("read", &current)(error)),
    }
}

/// Called after `init`: forgets the record if the backend has not changed.
pub(crate) fn forget_same_backend(attempt: &Attempt) -> Result<(), FileError> {
    match other_backend(attempt)? {
        Some(_other) => Ok(()),
        None => remove_if_present(&data_file(attempt, PREVIOUS_FILE)),
    }
}

/// The recorded backend, unless the directory is initialised for it.
fn other_backend(attempt: &Attempt) -> Result<Option<Backend>, FileError> {
    let Some(previous) = read_backend(&data_file(attempt, PREVIOUS_FILE))? else {
        return Ok(None);
    };
    let current = read_backend(&data_file(attempt, BACKEND_FILE))?;
    let is_current = current.is_some_and(|current| place(&current) == place(&previous));
    Ok(Some(previous).filter(|_previous| !is_current))
}

fn read_backend(path: &Path) -> Result<Option<Backend>, FileError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::of("read", path)(error)),
    };
    // A record that a power loss has torn counts as missing.
    let kept = serde_json::from_slice::<Kept>(&text).ok();
    let backend = kept.and_then(|kept| kept.backend);
    let backend = backend.filter(|backend| Backend::KINDS.contains(&&*backend.kind));
    Ok(backend.map(|KeptBackend { kind, config }| Backend {
        kind,
        arguments: without_nulls(config),
    }))
}

/// The backend without its credentials, except `conn_str`, which is also its address.
fn place(backend: &Backend) -> (&str, Vec<(&String, &Value)>) {
    let arguments = backend.arguments.iter();
    let of_place = arguments
        .filter(|(name, value)| *name == "conn_str" || !Backend::is_credential(name, value));
    let mut arguments: Vec<_> = of_place.collect();
    arguments.sort_unstable_by_key(|(name, _value)| *name);
    (&backend.kind, arguments)
}

fn without_nulls(map: Map<String, Value>) -> Map<String, Value> {
    let given = map.into_iter().filter(|(_name, value)| !value.is_null());
    let given = given.map(|(name, value)| match value {
        Value::Object(members) => (name, Value::Object(without_nulls(members))),
        other => (name, other),
    });
    given.collect()
}

fn marker(attempt: &Attempt) -> PathBuf {
    data_file(attempt, MARKER_FILE)
}

fn data_file(attempt: &Attempt, name: &str) -> PathBuf {
    attempt.data_directory().join(name)
}
