//! Runs that take place on a Terraform server (driver `terraform-cloud`): the record by which a worker continues a
//! remote run that a different worker began.
//!
//! The row of the run has the record (`runs.remote_run`), and the row of the task has the newest record
//! (`tasks.remote_run`), which outlives the run. The worker records a remote run before it is requested and with each
//! change. The store adds the input of the run.
//!
//! Before a worker requests the server to end a remote run, the worker notes that (`given_up`). An end as discarded
//! or cancelled without that note is a decision on the server: it ends the run as if the run were cancelled
//! (`AttemptOutcome::Declined`).

mod budget;
mod hostname;

use serde::{Deserialize, Serialize};

pub use self::budget::{poll_pause, requests_per_minute};
pub use self::hostname::{InvalidHostname, remote_server_url};
use crate::words::digest::Digest;
use crate::words::excerpt::cut;
use crate::words::identity::RunId;

/// The server of a driver block without a hostname.
pub const DEFAULT_REMOTE_HOSTNAME: &str = "https://app.terraform.io";

/// Maximum bytes of a name or an id.
const NAME_BYTES: usize = 255;

/// Maximum bytes of an address.
const URL_BYTES: usize = 2048;

/// Maximum bytes of the reason of a wait.
const REASON_BYTES: usize = 1024;

/// Workspace of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoteWorkspace {
    /// Host of the server, with its port unless that is the default port.
    pub hostname: String,
    /// Organization that the workspace belongs to.
    pub organization: String,
    /// Name of the workspace.
    pub name: String,
    /// Its id, which stays the same when the workspace is renamed.
    pub id: String,
    /// Id of its project, on servers that have projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// Configuration that was uploaded for a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RemoteConfiguration {
    /// Id of the configuration version.
    pub id: String,
    /// Digest of its content: equal content is not uploaded again.
    pub digest: Digest,
}

/// Remote run of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoteRun {
    /// Its workspace.
    pub workspace: RemoteWorkspace,
    /// Number of remote runs that the run has had, including this one.
    pub number: u32,
    /// Its id; `None` if the remote run was requested and the answer of the server is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Address of its page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its status, as named by the server; empty if unknown.
    pub status: String,
    /// Why the remote run does not continue, as text for display: a lock, other runs, a confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// Configuration that was uploaded for the remote run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<RemoteConfiguration>,
    /// Whether the remote run has ended on the server, with any outcome.
    pub ended: bool,
    /// Whether cts ends the remote run, noted before the server is asked; the next attempt requests a new remote run.
    pub given_up: bool,
    /// Its input, added by the store; `None` if the remote run was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
    /// Whether a run has failed because this remote run is on a different server or in a different organization than
    /// configured: it is neither followed nor ended, and fails no further run.
    #[serde(skip_serializing_if = "is_false")]
    pub abandoned: bool,
    /// Number of moves of the task's state at which the state in the workspace was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_moves: Option<u32>,
}

/// Newest remote run of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRemoteRun {
    /// The run that requested it, which need not exist any more.
    pub run: RunId,
    /// The remote run.
    pub remote: RemoteRun,
}

/// Remote runs of a leased run and of its task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemoteRuns {
    /// The newest remote run of the run.
    pub own: Option<RemoteRun>,
    /// The newest remote run of the task, which may be that of the run.
    pub newest: Option<TaskRemoteRun>,
}

impl RemoteRuns {
    /// Adapts the records for the run with this input: a remote run with a different input counts as given up.
    ///
    /// Such a remote run is never followed; it is ended or awaited before a new remote run is requested. A record
    /// without an input counts as having a different input.
    #[must_use]
    pub fn for_input(mut self, run: RunId, input: Digest) -> Self {
        let newest = self.newest.as_mut().filter(|newest| newest.run == run);
        let of_run = self.own.iter_mut();
        for remote in of_run.chain(newest.map(|newest| &mut newest.remote)) {
            remote.given_up |= remote.input != Some(input);
        }
        self
    }
}

impl RemoteRun {
    /// Returns the record with bounded texts and without control characters, because the texts come from the server.
    #[must_use]
    pub fn bounded(self) -> Self {
        let name = |text: &str| bounded(text, NAME_BYTES);
        let workspace = RemoteWorkspace {
            hostname: name(&self.workspace.hostname),
            organization: name(&self.workspace.organization),
            name: name(&self.workspace.name),
            id: name(&self.workspace.id),
            project: self.workspace.project.as_deref().map(name),
        };
        let configuration = self.configuration.map(|it| RemoteConfiguration {
            id: name(&it.id),
            digest: it.digest,
        });
        Self {
            workspace,
            id: self.id.as_deref().map(name),
            url: self.url.as_deref().map(bounded_url),
            status: name(&self.status),
            waiting_for: self.waiting_for.map(|text| bounded(&text, REASON_BYTES)),
            configuration,
            ..self
        }
    }

    /// Whether the remote run may still change something on its server.
    pub const fn is_open(&self) -> bool {
        !self.ended && !self.abandoned
    }

    /// State of the remote run in one line, for display.
    pub fn state_text(&self) -> String {
        let status = match self.status.as_str() {
            "" => "not read yet",
            status => status,
        };
        let mut text = match &self.id {
            Some(id) => format!("{id} on the server is {status}"),
            None => "a run was requested on the server".to_owned(),
        };
        for (before, part) in [("; waits: ", &self.waiting_for), ("; ", &self.url)] {
            if let Some(part) = part {
                text.push_str(before);
                text.push_str(part);
            }
        }
        text
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// An address as stored.
pub fn bounded_url(url: &str) -> String {
    bounded(url, URL_BYTES)
}

/// Cuts a text to a limit and replaces control characters.
fn bounded(text: &str, limit: usize) -> String {
    cut(text, limit, char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote_run() -> RemoteRun {
        RemoteRun {
            workspace: RemoteWorkspace {
                hostname: "tfe.example.com:8443".into(),
                organization: "network".into(),
                name: "cts-web".into(),
                id: "ws-1".into(),
                project: Some("prj-1".into()),
            },
            number: 2,
            id: Some("run-1".into()),
            url: Some(
                "https://tfe.example.com:8443/app/network/workspaces/cts-web/runs/run-1".into(),
            ),
            status: "planning".into(),
            waiting_for: Some("2 other runs".into()),
            configuration: Some(RemoteConfiguration {
                id: "cv-1".into(),
                digest: Digest::of(b"content"),
            }),
            ended: false,
            given_up: false,
            input: Some(Digest::of(b"input")),
            abandoned: true,
            verified_moves: None,
        }
    }

    #[test]
    fn a_record_survives_its_json_and_its_bounds() {
        for remote in [RemoteRun::default(), remote_run()] {
            let text = serde_json::to_string(&remote).unwrap();
            assert_eq!(serde_json::from_str::<RemoteRun>(&text).unwrap(), remote);
            assert_eq!(remote.clone().bounded(), remote);
        }
    }

    #[test]
    fn a_record_of_another_version_is_read() {
        let later = r#"{"number":1,"later":{},"workspace":{"id":"ws-1","later":1},
                        "configuration":{"id":"cv-1","digest":"DIGEST","later":[]}}"#;
        let digest = Digest::of(b"content");
        let later = later.replace("DIGEST", &digest.to_string());
        let read: RemoteRun = serde_json::from_str(&later).unwrap();
        assert_eq!((read.number, read.id), (1, None));
        assert_eq!(read.workspace.id, "ws-1");
        assert_eq!(read.configuration.map(|it| it.digest), Some(digest));
        let earlier: RemoteRun = serde_json::from_str("{}").unwrap();
        assert_eq!(earlier, RemoteRun::default());
    }

    #[test]
    fn a_remote_run_for_another_input_or_for_an_unknown_one_is_given_up() {
        let [run, other]: [RunId; 2] = [1, 2].map(|number| {
            let text = format!("0197a000-0000-7000-8000-{number:012}");
            text.parse().unwrap()
        });
        let input = Digest::of(b"input");
        let known = |of: RunId, input: Option<Digest>| RemoteRuns {
            own: Some(RemoteRun {
                input,
                ..remote_run()
            }),
            newest: Some(TaskRemoteRun {
                run: of,
                remote: RemoteRun {
                    input,
                    ..remote_run()
                },
            }),
        };
        let given_up = |of, recorded| {
            let runs = known(of, recorded).for_input(run, input);
            let newest = runs.newest.unwrap().remote.given_up;
            (runs.own.unwrap().given_up, newest)
        };
        assert_eq!(given_up(run, Some(input)), (false, false));
        assert_eq!(given_up(run, Some(Digest::of(b"older"))), (true, true));
        assert_eq!(given_up(run, None), (true, true));
        // A remote run of a different run of the task is never followed.
        assert_eq!(given_up(other, None), (true, false));
    }

    #[test]
    fn the_state_is_one_line() {
        assert_eq!(
            remote_run().state_text(),
            "run-1 on the server is planning; waits: 2 other runs; \
             https://tfe.example.com:8443/app/network/workspaces/cts-web/runs/run-1"
        );
        assert_eq!(
            RemoteRun::default().state_text(),
            "a run was requested on the server"
        );
    }

    #[test]
    fn texts_of_a_server_are_bounded() {
        let hostile = "\u{1b}[2J\0\n".repeat(1 << 16);
        let mut remote = remote_run();
        for text in [
            &mut remote.workspace.hostname,
            &mut remote.workspace.organization,
            &mut remote.workspace.name,
            &mut remote.workspace.id,
            &mut remote.status,
        ] {
            text.clone_from(&hostile);
        }
        remote.workspace.project = Some(hostile.clone());
        remote.id = Some(hostile.clone());
        remote.url = Some(hostile.clone());
        remote.waiting_for = Some(hostile.clone());
        remote.configuration = Some(RemoteConfiguration {
            id: hostile,
            digest: Digest::of(b"content"),
        });
        let kept = serde_json::to_string(&remote.bounded()).unwrap();
        assert!(kept.len() < 8 * 1024, "{}", kept.len());
        assert!(!kept.contains("\\u") && !kept.contains("\\n"), "{kept}");
    }
}
