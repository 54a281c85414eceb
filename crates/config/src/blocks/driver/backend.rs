//! `backend` of the driver (docs/configuration.md#driver-terraform).

use cts_core::{Backend, REMOTE_DRIVER};
use serde_json::{Map, Value};

use crate::blocks::consul::{ConsulConfig, without_slash};
use crate::decode::block::Block;
use crate::decode::free_form::free_form;
use crate::report::original::ProblemKind;
use crate::report::suggestion::suggestion;

const DEFAULT_STATE_PATH: &str = "consul-terraform-sync/terraform";

/// Reads all `backend` blocks as one; none means the one in Consul. With the [defaults].
pub(crate) fn decode_backend(block: Block<'_>, consul: &ConsulConfig) -> (Backend, Vec<String>) {
    match united(block, "backend", &Backend::KINDS) {
        Some(backend) => {
            let defaults = if backend.kind == "consul" {
                defaults(&backend.arguments, consul)
            } else {
                Vec::new()
            };
            (completed(backend, consul), defaults)
        }
        None => (default_backend(consul), defaults(&Map::new(), consul)),
    }
}

/// Reads all `previous_backend` blocks as one.
pub(crate) fn decode_previous_backend(block: Block<'_>, consul: &ConsulConfig) -> Option<Backend> {
    // States also come back from workspaces on a server.
    let kinds = [&Backend::KINDS[..], &[REMOTE_DRIVER]].concat();
    united(block, "previous_backend", &kinds).map(|backend| completed(backend, consul))
}

/// A written backend with its defaults.
fn completed(backend: Backend, consul: &ConsulConfig) -> Backend {
    if backend.kind != "consul" {
        return backend;
    }
    let mut whole = default_backend(consul);
    whole.arguments.extend(backend.arguments);
    if let Some(Value::String(address)) = whole.arguments.get_mut("address") {
        *address = without_slash(std::mem::take(address));
    }
    whole
}

/// The one backend that all blocks called `key` describe.
fn united(block: Block<'_>, key: &str, kinds: &[&str]) -> Option<Backend> {
    let sink = block.sink();
    let mut backend: Option<Backend> = None;
    for entry in block.into_entries() {
        let kind = entry.name();
        if !kinds.contains(&kind) {
            let message = format!("unsupported Terraform backend `{kind}`");
            let help = suggestion(kind, kinds)
                .unwrap_or_else(|| format!("use one of {}", kinds.join(", ")));
            sink.error_with_help(&entry.key_place(), message, Some(help));
            sink.classify(ProblemKind::Backend(kind.to_owned()));
        }
        if let Some(other) = backend.as_ref().filter(|backend| backend.kind != kind) {
            let message = format!(
                "only one backend can be configured, and this is the second: `{kind}` beside `{}`",
                other.kind
            );
            sink.error(&entry.key_place(), message);
            continue;
        }
        let block = Block::of_entry(format!("{key} \"{kind}\""), &entry, sink);
        let arguments = free_form(&block.into_entries(), sink);
        match &mut backend {
            Some(backend) => backend.arguments.extend(arguments),
            None => {
                backend = Some(Backend {
                    kind: kind.to_owned(),
                    arguments,
                });
            }
        }
    }
    backend
}

/// Names of the arguments that come from the `consul` block in addition to the `written` ones and are only
/// about the way to the Consul of this host. Path and compression are the same everywhere.
pub(crate) fn defaults(written: &Map<String, Value>, consul: &ConsulConfig) -> Vec<String> {
    let defaults = default_backend(consul).arguments;
    let names = defaults.into_iter().map(|(name, _value)| name);
    let of_host = names
        .filter(|name| !["path", "gzip"].contains(&name.as_str()) && !written.contains_key(name));
    of_host.collect()
}

/// The backend in the Consul that is watched. Token and the like reach Terraform by its environment.
pub(crate) fn default_backend(consul: &ConsulConfig) -> Backend {
    let mut arguments = Map::new();
    arguments.insert("address".into(), consul.address.as_str().into());
    arguments.insert("path".into(), state_path(&consul.kv_path).into());
    arguments.insert("gzip".into(), Value::Bool(true));
    let tls = &consul.tls;
    if tls.enabled {
        arguments.insert("scheme".into(), "https".into());
        for (name, value) in [
            ("ca_file", &tls.ca_cert),
            ("cert_file", &tls.cert),
            ("key_file", &tls.key),
        ] {
            if !value.is_empty() {
                arguments.insert(name.into(), value.as_str().into());
            }
        }
    }
    Backend {
        kind: "consul".into(),
        arguments,
    }
}

fn state_path(kv_path: &str) -> String {
    if kv_path.is_empty() {
        return DEFAULT_STATE_PATH.to_owned();
    }
    if kv_path.ends_with("/terraform") {
        return kv_path.to_owned();
    }
    cleaned(&format!("{kv_path}/terraform"))
}

/// Resolves empty, `.` and `..` parts of a slash-separated path.
fn cleaned(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    format!("{}{}", if rooted { "/" } else { "" }, parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_lies_below_the_kv_path() {
        let cases = [
            ("", "consul-terraform-sync/terraform"),
            ("consul-terraform-sync/", "consul-terraform-sync/terraform"),
            ("lab/cts", "lab/cts/terraform"),
            ("a//b/", "a/b/terraform"),
            ("terraform", "terraform/terraform"),
            ("x//terraform", "x//terraform"),
            ("/a/../../b", "/b/terraform"),
            ("../a", "../a/terraform"),
        ];
        for (kv_path, expected) in cases {
            assert_eq!(state_path(kv_path), expected, "{kv_path}");
        }
    }
}
