//! This machine: descriptors, disk, the working directory and the environment.

use std::path::Path;

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};
use tokio::task::spawn_blocking;

use super::finding::Finding;
use super::subject::Subject;
use crate::services::ignored_variables::{INSTEAD, ignored_variables};
use crate::services::settings::worker_directory;

const DESCRIPTORS: &str = "descriptors";
const DIRECTORY: &str = "working directory";
const DISK: &str = "disk";
const ENVIRONMENT: &str = "environment";
const USER: &str = "user";

/// Descriptors for everything besides connections: files, pipes of Terraform, the log.
const FURTHER_DESCRIPTORS: u64 = 256;

const GIB: u64 = 1 << 30;

/// Providers of one task may need as much.
const LITTLE_SPACE: u64 = GIB;

/// Terraform's state may not be written any more.
const NO_SPACE: u64 = GIB / 10;

/// Checks the machine. A disk of the network may block.
pub(super) async fn check(subject: Subject<'_>) -> Vec<Finding> {
    let mut findings = vec![descriptors(subject)];
    if subject.needs.engine || subject.needs.database {
        let path = worker_directory(subject.config);
        match spawn_blocking(move || directory(&path)).await {
            Ok(found) => findings.extend(found),
            Err(error) => findings.push(Finding::skipped(DIRECTORY, error.to_string())),
        }
    }
    if subject.needs.runs
        && let Some(variables) = ignored_variables(subject.process_env)
    {
        let found = format!("{variables}: without effect, terraform does not get them");
        findings.push(Finding::warning(ENVIRONMENT, found, INSTEAD));
    }
    if subject.process_env.is_root {
        findings.push(subject.not_safe(
            USER,
            "the command runs as root; cts and its modules should not",
            "give cts a user of its own, and run the command as that user",
        ));
    }
    findings
}

/// Connections that the configuration allows, compared with the limit of the process. Services raise the soft limit by
/// themselves.
fn descriptors(subject: Subject<'_>) -> Finding {
    let (config, needs) = (subject.config, subject.needs);
    let consul = config.consul.transport.max_conns_per_host;
    let parts = [
        (needs.views, u64::try_from(consul).unwrap_or(u64::MAX)),
        (needs.api, config.gateway.limits.connections.total.into()),
        (
            needs.services,
            config.services.limits.connections.total.into(),
        ),
        (
            needs.database,
            config
                .database
                .as_ref()
                .map_or(0, |it| it.max_connections)
                .into(),
        ),
    ];
    let wanted = parts.iter().filter(|(needed, _)| *needed);
    let wanted = wanted.fold(FURTHER_DESCRIPTORS, |sum, (_, part)| {
        sum.saturating_add(*part)
    });
    let mut raised = subject.process_env.clone();
    raised.raise_descriptors();
    let limit = raised.descriptors;
    let found = format!("{limit} files may be open, {wanted} may be needed");
    if limit >= wanted {
        Finding::ok(DESCRIPTORS, found)
    } else {
        Finding::warning(
            DESCRIPTORS,
            format!("{found}: fewer clients are accepted than configured"),
            "raise the hard limit (ulimit -Hn, LimitNOFILE of systemd)",
        )
    }
}

fn directory(directory: &Path) -> Vec<Finding> {
    let mut existing = directory;
    while !existing.exists() {
        let Some(parent) = existing.parent() else {
            break;
        };
        existing = parent;
    }
    let shown = directory.display();
    let writable = AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK;
    let place = match access(existing, writable) {
        Ok(()) if existing == directory => Finding::ok(DIRECTORY, shown.to_string()),
        Ok(()) => Finding::ok(DIRECTORY, format!("{shown} will be made")),
        Err(error) => Finding::error(
            DIRECTORY,
            format!("{}: {error}", existing.display()),
            "run as the user of cts, and give it the directory",
        ),
    };
    vec![place, disk(existing)]
}

fn disk(path: &Path) -> Finding {
    let space = match statvfs(path) {
        Ok(space) => space,
        Err(error) => return Finding::skipped(DISK, format!("{}: {error}", path.display())),
    };
    let free = space
        .blocks_available()
        .saturating_mul(space.fragment_size());
    let tenths = free / (GIB / 10);
    let found = format!(
        "{}.{} GiB are free for {}",
        tenths / 10,
        tenths % 10,
        path.display()
    );
    let remedy = "free some space, or set working_dir to a directory on a larger disk";
    if free < NO_SPACE {
        Finding::error(DISK, found, remedy)
    } else if free < LITTLE_SPACE {
        Finding::warning(DISK, found, remedy)
    } else {
        Finding::ok(DISK, found)
    }
}
