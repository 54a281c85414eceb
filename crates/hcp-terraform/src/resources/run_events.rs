//! Events of runs, as far as they show who has ended one.

use cts_core::excerpt;
use serde::Deserialize;

use crate::document::{Related, Resource};
use crate::error::ApiError;
use crate::server::Server;

/// Most characters of a name.
const LONGEST_NAME: usize = 200;

/// Parts of the actions that end a run.
const ENDS: [&str; 2] = ["discard", "cancel"];

#[derive(Deserialize)]
struct Event {
    action: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Relations {
    actor: Related,
}

#[derive(Deserialize)]
struct User {
    username: Option<String>,
}

impl Event {
    fn is_end(&self) -> bool {
        let action = self.action.as_deref().unwrap_or_default();
        ENDS.iter().any(|end| action.contains(end))
    }
}

impl Server {
    /// Reads the name of the user who has discarded or cancelled a run; `None` on servers that do not show it.
    pub async fn ended_by(&self, run_id: &str) -> Result<Option<String>, ApiError> {
        let path = ["runs", run_id, "run-events"];
        let events: Vec<Resource<Event, Relations>> = self.list_if_there(&path).await?;
        let end = events.into_iter().rfind(|event| event.is_end());
        let actor = end
            .as_ref()
            .and_then(|event| event.relationships.actor.id());
        let Some(actor) = actor else { return Ok(None) };
        let user = self.get::<Resource<User>>(&["users", actor]).await;
        let name = ApiError::missing(user)?.and_then(|user| user.attributes.username);
        Ok(name.map(|name| excerpt(&name, LONGEST_NAME)))
    }
}
