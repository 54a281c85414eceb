//! `high_availability`, the block of CTS Enterprise (`docs/configuration.md#high_availability`).

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use crate::decode::block::Block;
use crate::decode::tree::Entry;
use crate::report::location::SourceLocation;
use crate::report::sink::Sink;
use crate::report::suggestion::suggestion;

const DEFAULT_PARENT_PATH: &str = "consul-terraform-sync/";
const DEFAULT_SESSION_TTL: Duration = Duration::from_secs(15);
const SESSION_TTL_LIMITS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_hours(24);
/// The minimum that Consul accepts unless it is configured otherwise.
const SHORTEST_USUAL: Duration = Duration::from_secs(10);

const CONSUL: &str = "consul";
const POSTGRES: &str = "postgres";
const STORAGES: [&str; 2] = [CONSUL, POSTGRES];

/// Settings that the members of one cluster have in common, and the name of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighAvailability {
    /// `cluster.name`, not empty.
    pub cluster_name: String,
    /// `cluster.storage`, for `consul` with its defaults if absent.
    pub storage: HaStorage,
    /// `session_ttl` of the storage: life of the leader's lease, from 1 s to 86400 s; 15 s by default.
    pub session_ttl: Duration,
    /// `instance.address`: the address of this member that the others show, as written.
    pub address: Option<String>,
}

/// `cluster.storage`. Whatever is written, lease and state are in the database of cts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HaStorage {
    /// `storage "consul"`, as the original has it: a cluster that is taken over from there. Its keys
    /// are kept but mean nothing.
    Consul {
        /// `parent_path`, as written.
        parent_path: String,
        /// `namespace` of Consul Enterprise.
        namespace: Option<String>,
    },
    /// `storage "postgres"`, cts-only: names the storage that is in use in any case.
    Postgres,
}

pub(crate) fn decode_high_availability(block: Option<Block<'_>>) -> Option<HighAvailability> {
    let mut block = block?;
    let given = block.has("cluster");
    let cluster = block.block("cluster");
    if !given {
        block.missing("`high_availability` needs a `cluster` block with the `name` of the cluster");
    }
    let address = block.block("instance").and_then(|mut instance| {
        let address = instance.filled_text("address").map(|text| text.value);
        instance.finish();
        address
    });
    block.finish();
    let (cluster_name, storage, session_ttl) = decode_cluster(cluster?)?;
    Some(HighAvailability {
        cluster_name,
        storage,
        session_ttl,
        address,
    })
}

fn decode_cluster(mut block: Block<'_>) -> Option<(String, HaStorage, Duration)> {
    let name = block.required_text("name");
    let (storage, session_ttl) = decode_storage(block.united("storage"));
    block.finish();
    Some((name?.value, storage, session_ttl))
}

/// Reads all `storage` blocks as one: each may stand once in a file, and all must be of one kind.
fn decode_storage(block: Block<'_>) -> (HaStorage, Duration) {
    let sink = block.sink();
    if block.place().is_some() && block.is_empty() {
        block.missing(format!("a `storage` block needs a label, {}", known()));
    }
    let mut chosen: Option<(&'static str, Vec<Entry<'_>>)> = None;
    for entry in block.into_entries() {
        let Some(kind) = known_kind(&entry, sink) else {
            continue;
        };
        match &mut chosen {
            None => chosen = Some((kind, vec![entry])),
            Some((first, _)) if *first != kind => {
                let message = format!(
                    "only one storage can be configured, and this is the second: `{kind}` beside `{first}`"
                );
                sink.error(&entry.key_place(), message);
            }
            Some((_, entries)) => {
                if entries
                    .iter()
                    .any(|other| Arc::ptr_eq(other.source(), entry.source()))
                {
                    let message = format!("only one `storage \"{kind}\"` block can be configured");
                    sink.error(&entry.key_place(), message);
                    continue;
                }
                entries.push(entry);
            }
        }
    }
    let (kind, entries) = chosen.unwrap_or((CONSUL, Vec::new()));
    let written_at = entries.first().map(Entry::key_place);
    let mut block = Block::of_entries(format!("storage \"{kind}\""), &entries, sink);
    let session_ttl = decode_session_ttl(&mut block);
    let storage = if kind == POSTGRES {
        HaStorage::Postgres
    } else {
        if let Some(place) = &written_at {
            warn_of_consul(place, sink);
        }
        HaStorage::Consul {
            parent_path: block
                .text("parent_path")
                .unwrap_or_else(|| DEFAULT_PARENT_PATH.to_owned()),
            namespace: block.filled_text("namespace").map(|text| text.value),
        }
    };
    block.finish();
    (storage, session_ttl)
}

fn known_kind(entry: &Entry<'_>, sink: &Sink) -> Option<&'static str> {
    let name = entry.name();
    let kind = STORAGES
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(name));
    if kind.is_none() {
        let message = format!("unknown storage `{name}`, it must be {}", known());
        let help = suggestion(name, &STORAGES);
        sink.error_with_help(&entry.key_place(), message, help);
    }
    kind
}

fn known() -> String {
    format!("`{CONSUL}` or `{POSTGRES}`")
}

fn decode_session_ttl(block: &mut Block<'_>) -> Duration {
    let Some(written) = block.duration_within("session_ttl", &SESSION_TTL_LIMITS) else {
        return DEFAULT_SESSION_TTL;
    };
    if written.value < SHORTEST_USUAL {
        let message = format!(
            "a `session_ttl` of {:?} is less than Consul would accept: a leader that is held up for that \
             long loses its office",
            written.value
        );
        block.sink().warning(&written.place, message);
    }
    written.value
}

fn warn_of_consul(place: &SourceLocation, sink: &Sink) {
    let message = "the leader's lease and the state of the tasks are kept in the database of cts, not in \
                   Consul: of `storage \"consul\"` only `session_ttl` has an effect";
    sink.warning(place, message);
}
