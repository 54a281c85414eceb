//! The lock of a state that another process holds, as Terraform describes it.

use std::fmt;
use std::path::Path;

use chrono::{DateTime, Utc};
use cts_core::EngineKind;

/// Terraform's description of a lock that it could not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateLock {
    /// The engine that reports the lock.
    engine: EngineKind,
    /// The id for `force-unlock`; not every backend keeps it readable.
    pub id: Option<String>,
    /// `user@host`.
    pub who: String,
    /// Time of the lock, in Terraform's words.
    created: String,
    /// `OperationTypeApply` and the like.
    operation: String,
    /// The state in the backend.
    path: String,
}

/// The operation of a lock under which Terraform makes a state that does not exist yet. Until that state exists,
/// `force-unlock` fails: it creates the state, too, and needs the lock for that.
const OF_CREATION: &str = "init";

impl StateLock {
    /// Reads the lock from the standard error of a command. `None` if the error is about something else.
    pub(crate) fn read(stderr: &str) -> Option<Self> {
        let (_before, info) = stderr.split_once("Lock Info:")?;
        let engine = if info.contains("OpenTofu acquires a state lock") {
            EngineKind::OpenTofu
        } else {
            EngineKind::Terraform
        };
        let mut fields = [const { None }; 5];
        for line in info.lines().map(without_frame) {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            let names = ["ID", "Who", "Created", "Operation", "Path"];
            if let Some(index) = names.iter().position(|known| *known == name) {
                fields[index].get_or_insert(value.trim());
            }
        }
        let [id, who, created, operation, path] = fields;
        let is_id = |id: &&str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            // The id stands in a command that is meant to be copied, where a dash would begin an option.
            !id.is_empty() && id.chars().all(is_plain) && !id.starts_with('-')
        };
        Some(Self {
            engine,
            id: id.filter(is_id).map(str::to_owned),
            who: who?.to_owned(),
            created: created.unwrap_or_default().to_owned(),
            operation: operation.unwrap_or_default().to_owned(),
            path: path.unwrap_or_default().to_owned(),
        })
    }

    /// When the lock was made, by the clock of that host; `None` if that cannot be read.
    pub fn created(&self) -> Option<DateTime<Utc>> {
        // The name of the zone follows the offset.
        let mut words = self.created.split_whitespace();
        let [date, time, offset] = [(); 3].map(|()| words.next().unwrap_or_default());
        let written = format!("{date} {time} {offset}");
        let read = DateTime::parse_from_str(&written, "%Y-%m-%d %H:%M:%S%.f %z");
        read.ok().map(|time| time.to_utc())
    }

    /// The holder of the lock, and the commands that release the lock by hand in `directory`, the task's directory.
    pub(crate) fn advice<'a>(&'a self, directory: &'a Path) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| {
            let Self {
                who,
                created,
                operation,
                path,
                ..
            } = self;
            writeln!(
                f,
                "The state is locked by {who} since {created} ({operation})."
            )?;
            let (directory, program) = (directory.display(), self.engine.executable());
            match &self.id {
                Some(id) => write!(
                    f,
                    "If that one is gone, `{program} force-unlock {id}` in {directory} releases the lock."
                ),
                None => write!(
                    f,
                    "If that one is gone, release the lock where the state is kept: Terraform does not say its ID."
                ),
            }?;
            if operation == OF_CREATION {
                write!(
                    f,
                    " That fails as long as there is no state. Then remove the lock of {path} where the state is kept."
                )?;
            }
            Ok(())
        })
    }
}

/// A line without the frame that Terraform draws around its errors.
fn without_frame(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || c == '│')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
╷
│ Error: Error acquiring the state lock
│ 
│ Error message: resource temporarily unavailable
│ Lock Info:
│   ID:        7c1e5a10-8c3b-4c0f-9d8e-2f6d1a4b5c6d
│   Path:      terraform.tfstate.d/edge/terraform.tfstate
│   Operation: OperationTypeApply
│   Who:       ops@worker-1
│   Version:   1.11.4
│   Created:   2026-11-24 20:15:30.5 +0000 UTC
│   Info:      
│ 
│ 
│ Terraform acquires a state lock to protect the state from being written
╵
";

    fn advice(text: &str) -> Option<String> {
        let lock = StateLock::read(text)?;
        Some(lock.advice(Path::new("/srv/cts/edge")).to_string())
    }

    #[test]
    fn a_lock_comes_with_the_command_that_releases_it() {
        assert_eq!(
            advice(TEXT).unwrap(),
            "The state is locked by ops@worker-1 since 2026-11-24 20:15:30.5 +0000 UTC (OperationTypeApply).\n\
             If that one is gone, `terraform force-unlock 7c1e5a10-8c3b-4c0f-9d8e-2f6d1a4b5c6d` in /srv/cts/edge \
             releases the lock."
        );
        let of_tofu = TEXT.replace("Terraform acquires", "OpenTofu acquires");
        let command = "`tofu force-unlock 7c1e5a10-8c3b-4c0f-9d8e-2f6d1a4b5c6d`";
        assert!(advice(&of_tofu).unwrap().contains(command));
        assert_eq!(advice("Error: no such host\n"), None);
    }

    #[test]
    fn a_lock_without_a_state_is_to_be_removed_by_hand() {
        let of_creation = TEXT.replace("OperationTypeApply", "init");
        let by_hand = "releases the lock. That fails as long as there is no state. Then remove the lock of \
                       terraform.tfstate.d/edge/terraform.tfstate where the state is kept.";
        assert!(advice(&of_creation).unwrap().ends_with(by_hand));
    }

    #[test]
    fn the_time_of_a_lock_is_read() {
        let created = |text: &str| StateLock::read(text).unwrap().created();
        let expected = "2026-11-24T20:15:30.5Z".parse::<DateTime<Utc>>().unwrap();
        assert_eq!(created(TEXT), Some(expected));
        let whole = TEXT.replace("30.5 +0000 UTC", "30 +0200 CEST");
        assert_eq!(
            created(&whole).unwrap().to_rfc3339(),
            "2026-11-24T18:15:30+00:00"
        );
        assert_eq!(created(&TEXT.replace("+0000 UTC", "")), None);
    }

    #[test]
    fn no_command_is_made_of_a_hostile_id() {
        for id in ["", "$(reboot)", "x; rm -rf /", "-force"] {
            let text = TEXT.replace("7c1e5a10-8c3b-4c0f-9d8e-2f6d1a4b5c6d", id);
            let advice = advice(&text).unwrap();
            assert!(!advice.contains("force-unlock"), "{advice}");
        }
    }
}
