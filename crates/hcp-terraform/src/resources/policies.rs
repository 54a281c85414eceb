//! Results of policies, as far as the text of a run's status needs them.
//!
//! Servers check policies in two ways: in policy checks of a run, or in evaluations that belong to a task stage.

use serde::Deserialize;
use serde_json::Value;

use cts_core::excerpt;

use crate::document::Resource;
use crate::error::ApiError;
use crate::server::Server;

/// Most characters of a name or status.
const LONGEST_TEXT: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyResult {
    /// Name of the policy; of the check as a whole, if the server gives no names.
    pub name: String,
    /// Status, such as `passed`, `failed` or `soft_failed`.
    pub status: String,
}

#[derive(Deserialize)]
struct Check {
    status: String,
    result: Option<Value>,
}

#[derive(Deserialize)]
struct SetOutcome {
    outcomes: Option<Vec<Outcome>>,
}

#[derive(Deserialize)]
struct Outcome {
    policy_name: Option<String>,
    status: Option<String>,
}

impl Server {
    /// Reads the results of all policies of a run; none on servers without policies.
    pub async fn policy_results(&self, run_id: &str) -> Result<Vec<PolicyResult>, ApiError> {
        let checks: Vec<Resource<Check>> = self
            .list_if_there(&["runs", run_id, "policy-checks"])
            .await?;
        let mut results: Vec<_> = checks.iter().flat_map(check_results).collect();
        let stages: Vec<Resource<Value>> =
            self.list_if_there(&["runs", run_id, "task-stages"]).await?;
        for stage in stages {
            let path = ["task-stages", &stage.id, "policy-evaluations"];
            let evaluations: Vec<Resource<Value>> = self.list_if_there(&path).await?;
            for evaluation in evaluations {
                let path = ["policy-evaluations", &evaluation.id, "policy-set-outcomes"];
                let sets: Vec<Resource<SetOutcome>> = self.list_if_there(&path).await?;
                let outcomes = sets.into_iter().filter_map(|set| set.attributes.outcomes);
                results.extend(outcomes.flatten().map(PolicyResult::from));
            }
        }
        Ok(results)
    }

    /// Reads a list; it is empty on servers without it.
    pub(crate) async fn list_if_there<T: serde::de::DeserializeOwned>(
        &self,
        path: &[&str],
    ) -> Result<Vec<T>, ApiError> {
        Ok(ApiError::missing(self.list(path, &[]).await)?.unwrap_or_default())
    }
}

impl From<Outcome> for PolicyResult {
    fn from(outcome: Outcome) -> Self {
        let text = |text: String| excerpt(&text, LONGEST_TEXT);
        Self {
            name: text(outcome.policy_name.unwrap_or_default()),
            status: text(outcome.status.unwrap_or_default()),
        }
    }
}

/// The policies of a check, whose form is documented as subject to change: without names, the check as a whole.
fn check_results(check: &Resource<Check>) -> Vec<PolicyResult> {
    let mut results = Vec::new();
    if let Some(result) = &check.result {
        gather(result, &mut results);
    }
    if results.is_empty() {
        results.push(PolicyResult {
            name: excerpt(&check.id, LONGEST_TEXT),
            status: excerpt(&check.status, LONGEST_TEXT),
        });
    }
    results
}

/// Finds objects with a name under `policy` and a verdict under `result`, below members named `policies`.
fn gather(value: &Value, results: &mut Vec<PolicyResult>) {
    let Some(members) = value.as_object() else {
        return;
    };
    for (name, member) in members {
        let policies = member.as_array().filter(|_| name == "policies");
        match policies {
            Some(policies) => results.extend(policies.iter().filter_map(policy)),
            None => gather(member, results),
        }
    }
}

fn policy(policy: &Value) -> Option<PolicyResult> {
    let named = policy.get("policy")?;
    let name = named.as_str().or_else(|| named.get("name")?.as_str())?;
    let has_passed = policy.get("result")?.as_bool()?;
    let status = if has_passed { "passed" } else { "failed" };
    Some(PolicyResult {
        name: excerpt(name, LONGEST_TEXT),
        status: status.to_owned(),
    })
}
