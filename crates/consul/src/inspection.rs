//! Questions about Consul itself and about the token of cts (docs/cli.md#cts-doctor). They change nothing.

use chrono::{DateTime, Utc};
use reqwest::header::DATE;
use serde::{Deserialize, Serialize};

use crate::client::ConsulClient;
use crate::error::ConsulError;
use crate::rights::{Right, Scope};

/// Most rights in one request; Consul refuses more than 64.
const RIGHTS_AT_ONCE: usize = 64;

/// Appended to the beginning of names: a name that a rule for exactly the beginning does not cover.
const ANY_NAME: char = '~';

/// Consul's answer to a question about rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {
    /// ACLs are off: everything is allowed.
    Off,
    /// Whether each right is granted, in the order of the request.
    Granted(Vec<bool>),
}

/// The agent that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSummary {
    /// Version of its program, such as `1.22.3`.
    pub version: String,
    /// Name of its node.
    pub node: String,
}

/// The token of the requests.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct OwnToken {
    /// Public id of the token.
    #[serde(rename = "AccessorID")]
    pub accessor_id: String,
    /// End of the token's life, as RFC 3339; `None` if it never expires.
    pub expiration_time: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct RequestedRight<'a> {
    resource: &'a str,
    segment: String,
    access: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AnsweredRight {
    allow: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AgentSelf {
    config: AgentConfig,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AgentConfig {
    version: String,
    node_name: String,
}

impl ConsulClient {
    /// Whether the token of this client has these rights, which must belong to one datacenter. The endpoint belongs to
    /// Consul's own web interface, and exists since version 1.7.
    pub async fn authorize(&self, rights: &[Right]) -> Result<Authorization, ConsulError> {
        let mut granted = Vec::new();
        for some in rights.chunks(RIGHTS_AT_ONCE) {
            let wanted: Vec<_> = some.iter().map(requested).collect();
            let datacenter = some.first().map_or("", |right| &right.datacenter);
            let url = self.url("/v1/internal/acl/authorize", &[("dc", datacenter)]);
            let request = self.client.post(url).json(&wanted);
            let answer = self.answer(request, None).await?;
            let answer = match self.accept(answer).await {
                Ok(answer) => answer,
                Err(error) if is_without_acls(&error) => return Ok(Authorization::Off),
                Err(error) => return Err(error),
            };
            let body = self.body(answer).await?;
            let answers: Vec<AnsweredRight> =
                serde_json::from_slice(&body).map_err(ConsulError::Decode)?;
            if answers.len() != some.len() {
                return Err(ConsulError::NoAnswer {
                    problem: "it does not name each right",
                });
            }
            granted.extend(answers.iter().map(|answer| answer.allow));
        }
        Ok(Authorization::Granted(granted))
    }

    /// The token of this client; `None` if ACLs are off.
    pub async fn own_token(&self) -> Result<Option<OwnToken>, ConsulError> {
        match self.get("/v1/acl/token/self", &[], None).await {
            Ok(answer) => {
                let body = self.body(answer).await?;
                let token = serde_json::from_slice(&body).map_err(ConsulError::Decode)?;
                Ok(Some(token))
            }
            Err(error) if is_without_acls(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The agent; needs the right to read it.
    pub async fn agent(&self) -> Result<AgentSummary, ConsulError> {
        let answer = self.get("/v1/agent/self", &[], None).await?;
        let body = self.body(answer).await?;
        let AgentSelf { config } = serde_json::from_slice(&body).map_err(ConsulError::Decode)?;
        Ok(AgentSummary {
            version: config.version,
            node: config.node_name,
        })
    }

    /// Address of the cluster's leader, and the time on the machine that answers, in whole seconds; each `None` if the
    /// answer has none.
    pub async fn leader_and_time(
        &self,
    ) -> Result<(Option<String>, Option<DateTime<Utc>>), ConsulError> {
        let answer = self.get("/v1/status/leader", &[], None).await?;
        let date = answer.headers().get(DATE);
        let date = date.and_then(|date| date.to_str().ok());
        let time = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok());
        let body = self.body(answer).await?;
        let leader: String = serde_json::from_slice(&body).map_err(ConsulError::Decode)?;
        let leader = Some(leader).filter(|leader| !leader.is_empty());
        Ok((leader, time.map(|time| time.to_utc())))
    }
}

fn requested(right: &Right) -> RequestedRight<'_> {
    let segment = match &right.scope {
        Scope::Exact(name) => name.clone(),
        Scope::Prefix(name) => format!("{name}{ANY_NAME}"),
    };
    RequestedRight {
        resource: right.resource.word(),
        segment,
        access: right.access(),
    }
}

/// Consul answers so where ACLs are not enabled.
fn is_without_acls(error: &ConsulError) -> bool {
    matches!(error, ConsulError::Status { status: 401, body } if body.contains("ACL support disabled"))
}
