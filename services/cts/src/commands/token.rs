//! `cts token`: tokens for the API, and sessions of the page, in the database itself (docs/access.md#tokens).

mod new_file;

use chrono::{DateTime, SecondsFormat, Utc};
use cts_access::NewToken;
use cts_cli::{CreateToken, Output, TableWidth, TokenCommand, load, local_time, print, say, table};
use cts_core::callers::{AuditAction, AuditRecord, CallerKind, Role, TaskPatterns};
use cts_runtime::ProcessEnv;
use cts_store::{NewStoredToken, Store, StoredToken};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::commands::local_caller::local_caller;
use crate::commands::migrate::Source;
use crate::commands::token::new_file::NewFile;
use crate::failure::Failure;

/// Warning about a token with the role admin for some tasks.
const ANY_MODULE: &str = "The patterns are no boundary for the role admin: its tasks may use any module, and a module can do \
    what its worker can, also with the states of other tasks. security.module_sources limits the modules.";

/// Runs the command and returns the exit code. May be run while cts works.
pub(crate) async fn run(command: TokenCommand, process_env: &ProcessEnv) -> Result<u8, Failure> {
    let place = match &command {
        TokenCommand::Create(CreateToken { place, .. })
        | TokenCommand::List { place, .. }
        | TokenCommand::Revoke { place, .. } => place,
    };
    let any_module = makes_any_module(&command, process_env)?;
    let store = Source::named(place, process_env)?;
    store
        .attached(process_env, async |store| {
            execute(&*store, command, any_module, process_env).await
        })
        .await
}

/// Whether the command makes a token that is limited to some tasks, and may create these tasks with any module.
fn makes_any_module(command: &TokenCommand, process_env: &ProcessEnv) -> Result<bool, Failure> {
    let TokenCommand::Create(create) = command else {
        return Ok(false);
    };
    if create.role != Role::Admin || create.tasks.is_empty() {
        return Ok(false);
    }
    let configuration = &create.place.configuration;
    if configuration.paths.is_empty() {
        return Ok(true);
    }
    let config = load(configuration, process_env)?;
    Ok(config.security.module_sources.is_none())
}

async fn execute(
    store: &dyn Store,
    command: TokenCommand,
    any_module: bool,
    process_env: &ProcessEnv,
) -> Result<u8, Failure> {
    match command {
        TokenCommand::Create(create) => {
            self::create(store, &create, process_env).await?;
            if any_module {
                say(ANY_MODULE);
            }
            Ok(0)
        }
        TokenCommand::List { output, wide, .. } => {
            let tokens = store.tokens().await?;
            let now = process_env.clock.now();
            let text = output
                .output
                .text(|| listing(&tokens, now, wide.width()), || document(&tokens));
            print(&text)?;
            Ok(0)
        }
        TokenCommand::Revoke {
            name,
            sessions: true,
            ..
        } => {
            let caller = local_caller(process_env);
            let record = AuditRecord::new(caller, AuditAction::RevokeSessions, &name);
            let (kind, person) = person(&name);
            let recording = store.recording(record);
            let ended = match recording.end_sessions_of(person, kind).await? {
                0 => {
                    return Err(Failure::Call(format!(
                        "there is no session of {name:?}; `cts audit` shows the callers of session.begin"
                    )));
                }
                1 => "1 session".to_owned(),
                number => format!("{number} sessions"),
            };
            say(&format!(
                "{ended} of {name:?} ended. Gateways refuse the cookies within some seconds."
            ));
            Ok(0)
        }
        TokenCommand::Revoke { name, .. } => {
            let caller = local_caller(process_env);
            let record = AuditRecord::new(caller, AuditAction::RevokeToken, &name);
            if !store.recording(record).revoke_token(&name).await? {
                return Err(Failure::Call(format!(
                    "there is no token {name:?}; `cts token list` shows them"
                )));
            }
            say(&format!(
                "The token {name:?} is revoked. Gateways refuse it, and its sessions, within some seconds."
            ));
            Ok(0)
        }
    }
}

/// The kind and the name of a caller; `None` for callers of all kinds.
fn person(text: &str) -> (Option<CallerKind>, &str) {
    let parts = text.split_once(':');
    let with_kind = parts.and_then(|(kind, name)| Some((Some(kind.parse().ok()?), name)));
    with_kind.unwrap_or((None, text))
}

async fn create(
    store: &dyn Store,
    create: &CreateToken,
    process_env: &ProcessEnv,
) -> Result<(), Failure> {
    let CreateToken {
        name, role, tasks, ..
    } = create;
    let out = create.out.as_deref();
    let out = out.map(|path| NewFile::make(&process_env.current_dir.join(path)));
    let mut out = out.transpose()?;
    TaskPatterns::new(tasks.clone()).map_err(|error| Failure::Call(error.to_string()))?;
    let token = NewToken::random().map_err(Failure::ProcessEnv)?;
    let caller = local_caller(process_env);
    let new = NewStoredToken {
        name: name.clone(),
        sha256: token.hash.0,
        role: *role,
        tasks: tasks.clone(),
        created_by: caller.to_string(),
        life: create.expires,
    };
    let end = create
        .expires
        .map_or_else(|| "never".to_owned(), |life| format!("{}s", life.as_secs()));
    let record = AuditRecord::new(caller, AuditAction::CreateToken, name)
        .with("role", role)
        .with("tasks", &tasks.join(", "))
        .with("expires", &end);
    if !store.recording(record).create_token(&new).await? {
        return Err(Failure::Call(format!(
            "there is a token {name:?} already: use another name, and revoke the old token when no client uses it any more"
        )));
    }
    let stored = store.tokens().await?;
    let stored = stored.iter().find(|stored| stored.name == *name);
    let expires_at = stored.and_then(|stored| stored.expires_at);
    let secret = token.secret.expose_secret();
    if let Some(out) = &mut out
        && let Err(failure) = out.write(&format!("{secret}\n"))
    {
        store.revoke_token(name).await?;
        return Err(failure);
    }
    match create.output.output {
        Output::Table => {
            if out.is_none() {
                print(&format!("{secret}\n"))?;
            }
            say(&notice(create, expires_at));
        }
        Output::Json => {
            let mut document = json!({
                "name": name,
                "role": role,
                "tasks": tasks,
                "expires_at": expires_at.map(shown),
            });
            document[if out.is_none() { "token" } else { "file" }] = match &create.out {
                None => secret.into(),
                Some(path) => path.display().to_string().into(),
            };
            print(&format!("{document:#}\n"))?;
        }
    }
    Ok(())
}

fn notice(create: &CreateToken, expires_at: Option<DateTime<Utc>>) -> String {
    let tasks = if create.tasks.is_empty() {
        "all tasks".to_owned()
    } else {
        format!("tasks {}", create.tasks.join(", "))
    };
    let end = expires_at.map_or_else(
        || "It does not expire.".to_owned(),
        |end| format!("It expires at {}.", local_time(end.fixed_offset())),
    );
    format!(
        "The token {:?} has the role {} for {tasks}. {end} It is not shown again.",
        create.name, create.role
    )
}

fn shown(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn listing(tokens: &[StoredToken], now: DateTime<Utc>, width: TableWidth) -> String {
    if tokens.is_empty() {
        return "there are no tokens\n".to_owned();
    }
    let rows = tokens.iter().map(|token| {
        let tasks = if token.tasks.is_empty() {
            "all".to_owned()
        } else {
            token.tasks.join(", ")
        };
        let end = match token.expires_at {
            None => "never".to_owned(),
            Some(end) if end <= now => format!("expired {}", local_time(end.fixed_offset())),
            Some(end) => local_time(end.fixed_offset()),
        };
        [
            token.name.clone(),
            token.role.map_or("unknown", Role::as_str).to_owned(),
            tasks,
            end,
            local_time(token.created_at.fixed_offset()),
            token.created_by.clone(),
        ]
    });
    let header = ["NAME", "ROLE", "TASKS", "EXPIRES", "CREATED", "BY"];
    table(header, rows, width)
}

fn document(tokens: &[StoredToken]) -> Value {
    let tokens = tokens.iter().map(|token| {
        json!({
            "name": token.name,
            "role": token.role,
            "tasks": token.tasks,
            "expires_at": token.expires_at.map(shown),
            "created_at": shown(token.created_at),
            "created_by": token.created_by,
        })
    });
    json!({ "tokens": tokens.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_named_with_or_without_a_kind() {
        for (text, expected) in [
            ("alice", (None, "alice")),
            ("user:alice", (Some(CallerKind::User), "alice")),
            ("token:ci", (Some(CallerKind::Token), "ci")),
            ("user:token:ci", (Some(CallerKind::User), "token:ci")),
            (
                "system:serviceaccount:ci",
                (None, "system:serviceaccount:ci"),
            ),
        ] {
            assert_eq!(person(text), expected, "{text}");
        }
    }
}
