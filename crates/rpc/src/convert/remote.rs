//! Remote runs.

use cts_core::{
    Digest, RemoteConfiguration, RemoteRun, RemoteRuns, RemoteWorkspace, TaskRemoteRun,
};
use cts_proto::run::v1 as proto;

use super::run::run_id;
use super::{ConversionError, invalid};

/// A remote run for the wire.
pub fn remote_run_to_wire(remote: RemoteRun) -> proto::RemoteRun {
    let RemoteWorkspace {
        hostname,
        organization,
        name,
        id,
        project,
    } = remote.workspace;
    proto::RemoteRun {
        workspace: Some(proto::RemoteWorkspace {
            hostname,
            organization,
            name,
            id,
            project: project.unwrap_or_default(),
        }),
        number: remote.number,
        id: remote.id.unwrap_or_default(),
        url: remote.url.unwrap_or_default(),
        status: remote.status,
        waiting_for: remote.waiting_for.unwrap_or_default(),
        configuration: remote
            .configuration
            .map(|configuration| proto::RemoteConfiguration {
                id: configuration.id,
                digest: configuration.digest.to_string(),
            }),
        ended: remote.ended,
        given_up: remote.given_up,
        abandoned: remote.abandoned,
        verified_moves: remote.verified_moves,
    }
}

/// A remote run from the wire, as much of it as is kept.
pub fn remote_run_from_wire(remote: proto::RemoteRun) -> Result<RemoteRun, ConversionError> {
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let workspace = remote.workspace.unwrap_or_default();
    let configuration = remote.configuration.map(configuration_from_wire);
    let remote = RemoteRun {
        workspace: RemoteWorkspace {
            hostname: workspace.hostname,
            organization: workspace.organization,
            name: workspace.name,
            id: workspace.id,
            project: some(workspace.project),
        },
        number: remote.number,
        id: some(remote.id),
        url: some(remote.url),
        status: remote.status,
        waiting_for: some(remote.waiting_for),
        configuration: configuration.transpose()?,
        ended: remote.ended,
        given_up: remote.given_up,
        // The store knows the input of a leased run.
        input: None,
        abandoned: remote.abandoned,
        verified_moves: remote.verified_moves,
    };
    Ok(remote.bounded())
}

fn configuration_from_wire(
    configuration: proto::RemoteConfiguration,
) -> Result<RemoteConfiguration, ConversionError> {
    let digest: Result<Digest, _> = configuration.digest.parse();
    let digest = digest
        .map_err(|_no_digest| invalid("RemoteConfiguration.digest", &configuration.digest))?;
    Ok(RemoteConfiguration {
        id: configuration.id,
        digest,
    })
}

/// The remote runs of a run and of its task for the wire.
pub fn remote_runs_to_wire(runs: RemoteRuns) -> proto::GetRemoteRunsResponse {
    let (newest_run, newest) = runs
        .newest
        .map(|newest| (newest.run, newest.remote))
        .unzip();
    proto::GetRemoteRunsResponse {
        own: runs.own.map(remote_run_to_wire),
        newest_run_id: newest_run.map(|run| run.to_string()).unwrap_or_default(),
        newest: newest.map(remote_run_to_wire),
    }
}

/// The remote runs of a run and of its task from the wire.
pub fn remote_runs_from_wire(
    runs: proto::GetRemoteRunsResponse,
) -> Result<RemoteRuns, ConversionError> {
    let newest = runs.newest.map(|newest| {
        Ok(TaskRemoteRun {
            run: run_id(&runs.newest_run_id)?,
            remote: remote_run_from_wire(newest)?,
        })
    });
    Ok(RemoteRuns {
        own: runs.own.map(remote_run_from_wire).transpose()?,
        newest: newest.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote_run() -> RemoteRun {
        RemoteRun {
            workspace: RemoteWorkspace {
                hostname: "tfe.example.com".into(),
                organization: "network".into(),
                name: "cts-web".into(),
                id: "ws-1".into(),
                project: Some("prj-1".into()),
            },
            number: 2,
            id: Some("run-1".into()),
            url: Some("https://tfe.example.com/run-1".into()),
            status: "planning".into(),
            waiting_for: Some("2 other runs".into()),
            configuration: Some(RemoteConfiguration {
                id: "cv-1".into(),
                digest: Digest::of(b"content"),
            }),
            ended: true,
            given_up: true,
            input: None,
            abandoned: true,
            verified_moves: Some(2),
        }
    }

    #[test]
    fn remote_runs_survive_the_wire() {
        let newest = |remote| TaskRemoteRun {
            run: "0197a000-0000-7000-8000-000000000001".parse().unwrap(),
            remote,
        };
        for runs in [
            RemoteRuns::default(),
            RemoteRuns {
                own: Some(remote_run()),
                newest: Some(newest(RemoteRun::default())),
            },
            RemoteRuns {
                own: None,
                newest: Some(newest(remote_run())),
            },
        ] {
            let read = remote_runs_from_wire(remote_runs_to_wire(runs.clone()));
            assert_eq!(read, Ok(runs));
        }
    }

    #[test]
    fn a_worker_cannot_record_a_wrong_digest_or_a_long_text() {
        let mut sent = remote_run_to_wire(remote_run());
        sent.status = "x".repeat(1 << 20);
        let kept = remote_run_from_wire(sent.clone()).unwrap();
        assert!(kept.status.len() < 300);
        sent.configuration = Some(proto::RemoteConfiguration::default());
        assert!(remote_run_from_wire(sent).is_err());
    }
}
