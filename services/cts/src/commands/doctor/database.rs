//! The database: reach, version, schema, rights, replication, TLS and clock.

use std::path::Path;

use cts_core::Chain;
use cts_store_postgres::{Inspection, SchemaState, TlsMode, inspect};
use nix::unistd::{AccessFlags, access};

use super::clock;
use super::finding::Finding;
use super::subject::Subject;
use crate::services::database::{self, FILE};

const DATABASE: &str = "database";
const SCHEMA: &str = "database schema";
const RIGHTS: &str = "database rights";
const REPLICATION: &str = "database replication";
const TLS: &str = "database tls";
const CLOCK: &str = "clock of database";

/// Connections of one process in addition to the connections for its work: hints and the leadership.
const FURTHER_CONNECTIONS: u32 = 3;

/// Checks the database that the service uses.
pub(super) async fn check(subject: Subject<'_>) -> Vec<Finding> {
    if !subject.needs.database {
        return vec![Finding::skipped(
            DATABASE,
            "this service does not use the database",
        )];
    }
    let Some(configured) = &subject.config.database else {
        return vec![file(subject)];
    };
    let settings = match database::settings(configured) {
        Ok(settings) => settings,
        Err(error) => {
            let found = Chain(&error).to_string();
            let remedy = "give the file of database.url_file to the user of cts, and to it alone";
            return vec![Finding::error(DATABASE, found, remedy)];
        }
    };
    let clock = &subject.process_env.clock;
    let before = clock.now();
    let inspection = match inspect(&settings).await {
        Ok(inspection) => inspection,
        Err(error) => {
            return vec![Finding::error(
                DATABASE,
                Chain(&error).to_string(),
                "check database.url or CTS_DATABASE_URL, the server, and its pg_hba.conf",
            )];
        }
    };
    let times = (before, clock.now());
    let connections = configured.max_connections + FURTHER_CONNECTIONS;
    let now = inspection.now;
    let mut findings = vec![server(&inspection, connections)];
    findings.extend(inspection.schema.as_ref().map(schema));
    findings.extend([
        rights(&inspection),
        replication(&inspection),
        tls(subject, &inspection),
    ]);
    findings.push(clock::compare(CLOCK, "Postgres", now, times));
    findings
}

/// SQLite, which only the embedded shape uses.
fn file(subject: Subject<'_>) -> Finding {
    if subject.needs.postgres {
        return Finding::error(
            DATABASE,
            "no database is configured, and services apart and members of a cluster need Postgres",
            "set CTS_DATABASE_URL, or write a `database` block with its `url`",
        );
    }
    let path = subject.config.working_dir.join(FILE);
    if !path.exists() {
        return Finding::ok(DATABASE, format!("SQLite; {} will be made", path.display()));
    }
    if is_writable(&path) {
        Finding::ok(DATABASE, format!("SQLite, {}", path.display()))
    } else {
        Finding::error(
            DATABASE,
            format!("this user cannot write {}", path.display()),
            "run as the user of cts, or give the file to this user",
        )
    }
}

fn is_writable(path: &Path) -> bool {
    access(path, AccessFlags::R_OK | AccessFlags::W_OK).is_ok()
}

fn server(inspection: &Inspection, connections: u32) -> Finding {
    let server = &inspection.server;
    let found = format!("Postgres {} at {}", server.version, inspection.location);
    if !server.is_supported {
        return Finding::error(DATABASE, found, "update Postgres to 13 or newer");
    }
    if server.encoding != "UTF8" {
        let found = format!("{found}, encoding {}", server.encoding);
        return Finding::error(DATABASE, found, "make the database with the encoding UTF8");
    }
    let offered = u32::try_from(server.max_connections).unwrap_or_default();
    if connections > offered {
        return Finding::warning(
            DATABASE,
            format!(
                "{found}: one process may take {connections} connections, the server has {offered}"
            ),
            "lower database.max_connections, or raise max_connections of the server",
        );
    }
    Finding::ok(DATABASE, found)
}

fn schema(state: &SchemaState) -> Finding {
    match state {
        SchemaState::Fits { newest, is_newer } => {
            let made = if *is_newer {
                ", made by a newer cts, which this one can work with"
            } else {
                ""
            };
            Finding::ok(SCHEMA, format!("version {newest}{made}"))
        }
        SchemaState::Older(missing) => Finding::error(
            SCHEMA,
            format!("pending migrations: {}", missing.len()),
            "run `cts migrate`",
        ),
        SchemaState::Mismatch(mismatch) => Finding::error(
            SCHEMA,
            mismatch.to_string(),
            "use the cts that made the schema, or a newer one",
        ),
    }
}

fn rights(inspection: &Inspection) -> Finding {
    let missing = inspection.missing_rights.iter();
    let missing: Vec<_> = missing
        .map(|(object, rights)| format!("{} on {object}", rights.join(", ")))
        .collect();
    match missing.split_first() {
        None => Finding::ok(RIGHTS, "the user may read and write every table"),
        Some((first, others)) => Finding::error(
            RIGHTS,
            format!(
                "the user lacks {first}; further objects with missing rights: {}",
                others.len()
            ),
            format!(
                "as the owner of the database: GRANT {first} TO the user; likewise for the others"
            ),
        ),
    }
}

fn replication(inspection: &Inspection) -> Finding {
    let server = &inspection.server;
    if server.is_replica || server.is_read_only {
        return Finding::error(
            REPLICATION,
            "the server is a replica or read only, and refuses writes",
            "connect to the primary: name all servers in database.url with target_session_attrs of the proxy, or use its address",
        );
    }
    let (all, synchronous) = (server.replicas, server.synchronous_replicas);
    if server.synchronous_names.is_empty() {
        let found = format!("replicas: {all}, none of them synchronous");
        return if all == 0 {
            Finding::ok(REPLICATION, "the server has no replicas")
        } else {
            Finding::warning(
                REPLICATION,
                format!(
                    "{found}: a failover may lose the last commits, after which every task runs once"
                ),
                "set synchronous_standby_names of the server",
            )
        };
    }
    if synchronous == 0 {
        return Finding::error(
            REPLICATION,
            format!(
                "synchronous_standby_names is set, and no replica is synchronous (replicas: {all}): commits wait"
            ),
            "start a replica that synchronous_standby_names names",
        );
    }
    Finding::ok(
        REPLICATION,
        format!("synchronous replicas: {synchronous} of {all}"),
    )
}

fn tls(subject: Subject<'_>, inspection: &Inspection) -> Finding {
    match (inspection.tls_mode, inspection.server.is_encrypted) {
        (TlsMode::Verified, _) => Finding::ok(TLS, "sslmode=verify-full"),
        (TlsMode::Local, _) => Finding::ok(TLS, "the server is on this machine"),
        (TlsMode::Unverified, encrypted) => subject.not_safe(
            TLS,
            if encrypted {
                "encrypted, but the server is not verified: another one could take its place"
            } else {
                "not encrypted: password and data can be read on the way"
            },
            "use sslmode=verify-full in database.url, and database.ca_cert for an authority of your own",
        ),
    }
}
