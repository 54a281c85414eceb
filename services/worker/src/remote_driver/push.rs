//! A state in a workspace: read, and stored.

use cts_core::state::TerraformState;
use cts_hcp_terraform::{ApiError, NewStateVersion, Server};
use cts_terraform::FoundState;

use super::error::RemoteError;
use super::workspace::Reconciled;

/// The reason of the lock, for people.
const REASON: &str = "cts moves the state of the task";

/// Locks a workspace, stores the state and unlocks it. A lock that an attempt of cts left is taken over: only the user
/// of the token can release it.
pub(crate) async fn push(
    server: &Server,
    workspace_id: &str,
    (text, state): (&[u8], &TerraformState),
    force: bool,
) -> Result<(), RemoteError> {
    lock(server, workspace_id).await?;
    let version = NewStateVersion {
        state: text,
        serial: state.serial,
        lineage: &state.lineage,
        force,
    };
    let stored = server.create_state_version(workspace_id, version).await;
    let unlocked = server.unlock_workspace(workspace_id).await;
    stored?;
    match unlocked {
        Ok(_) | Err(ApiError::Conflict(_) | ApiError::OutcomeUnknown { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn lock(server: &Server, workspace_id: &str) -> Result<(), ApiError> {
    match server.lock_workspace(workspace_id, REASON).await {
        Err(ApiError::Conflict(_) | ApiError::OutcomeUnknown { .. }) => {
            server.unlock_workspace(workspace_id).await?;
            server.lock_workspace(workspace_id, REASON).await.map(drop)
        }
        locked => locked.map(drop),
    }
}

/// Releases a lock that an attempt of cts left because it died after it had moved a state. Only the user of the token
/// can release such a lock, so locks of other users stay.
pub(crate) async fn release_left_lock(
    server: &Server,
    reconciled: &Reconciled,
) -> Result<(), RemoteError> {
    let workspace = &reconciled.workspace;
    if !workspace.is_locked || workspace.is_locked_by_run() {
        return Ok(());
    }
    match server.unlock_workspace(&workspace.id).await {
        Ok(_) => {
            tracing::warn!(
                workspace = workspace.name,
                "released the lock that an attempt has left which moved the state"
            );
            Ok(())
        }
        Err(
            ApiError::Conflict(_)
            | ApiError::Forbidden(_)
            | ApiError::NotFound(_)
            | ApiError::OutcomeUnknown { .. },
        ) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The newest state of a workspace, with its text.
pub(crate) async fn read_state(
    server: &Server,
    workspace_id: &str,
) -> Result<Option<(FoundState, Vec<u8>)>, RemoteError> {
    let Some(version) = server.current_state_version(workspace_id).await? else {
        return Ok(None);
    };
    let Some(url) = &version.hosted_state_download_url else {
        return Ok(None);
    };
    let text = server.download_state(url).await?;
    let found = cts_terraform::read_state(&text)?;
    Ok(found.map(|found| (found, text)))
}
