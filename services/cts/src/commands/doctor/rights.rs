//! Rights of the token, each by itself. Consul shows data that a token may not read as absent, so a missing right
//! looks like services that are gone.

use std::collections::BTreeMap;

use cts_consul::{Authorization, ConsulClient, ConsulError, Resource, Right, Scope, rights_of};
use serde_json::Value;

use super::consul::{asked, unanswered};
use super::finding::Finding;
use super::subject::Subject;

const RIGHTS: &str = "consul rights";

/// Granted rights that are listed by themselves.
const LISTED: usize = 10;

/// Requests all rights that the service needs.
pub(super) async fn check(subject: Subject<'_>) -> Vec<Finding> {
    let Some(client) = asked(subject) else {
        return Vec::new();
    };
    let node = client.agent().await.ok().map(|agent| agent.node);
    let needed = needed(subject, node);
    if needed.is_empty() {
        return vec![Finding::ok(RIGHTS, "no right is needed")];
    }
    let mut by_datacenter = BTreeMap::<&str, Vec<Right>>::new();
    for right in &needed {
        let rights = by_datacenter.entry(&right.datacenter).or_default();
        rights.push(right.clone());
    }
    let mut findings = Vec::new();
    for rights in by_datacenter.into_values() {
        findings.extend(ask(subject, &client, &rights).await);
    }
    findings
}

async fn ask(subject: Subject<'_>, client: &ConsulClient, rights: &[Right]) -> Vec<Finding> {
    let granted = match client.authorize(rights).await {
        Ok(Authorization::Off) => {
            return vec![Finding::ok(RIGHTS, "ACLs are off: every right is granted")];
        }
        Ok(Authorization::Granted(granted)) => granted,
        Err(ConsulError::Status { status: 403, .. }) => {
            return vec![Finding::skipped(
                RIGHTS,
                "the check of the token has failed",
            )];
        }
        Err(error) => return vec![unanswered(RIGHTS, &error)],
    };
    let both = || rights.iter().zip(&granted);
    let missing = both().filter(|(_, granted)| !**granted);
    let remedy = match &subject.config.consul.token {
        Some(_) => "add to the policy of the token",
        None => "no token is set: set consul.token or CONSUL_HTTP_TOKEN to one with",
    };
    let missing = missing.map(|(right, _)| {
        Finding::error(
            RIGHTS,
            format!("{right} is missing{}", effect(right)),
            format!("{remedy}: {}", right.rule()),
        )
    });
    let there = both().filter(|(_, granted)| **granted);
    let there: Vec<String> = there.map(|(right, _)| right.to_string()).collect();
    let there: Vec<Finding> = if there.len() > LISTED {
        vec![Finding::ok(
            RIGHTS,
            format!("granted rights: {}", there.len()),
        )]
    } else {
        let granted = there.iter().map(|right| format!("{right} is granted"));
        granted.map(|text| Finding::ok(RIGHTS, text)).collect()
    };
    missing.chain(there).collect()
}

/// The effect of a missing right, where Consul does not report an error.
const fn effect(right: &Right) -> &'static str {
    match (right.resource, right.write) {
        (Resource::Service, false) => ": its instances look absent",
        (Resource::Node, false) => ": instances on nodes that the token may not read look absent",
        (Resource::Key, false) => ": keys look absent, or the query is refused",
        _ => "",
    }
}

/// All rights, without repetition. `node` is the name of the agent's node, if it is known.
fn needed(subject: Subject<'_>, node: Option<String>) -> Vec<Right> {
    let mut rights = Vec::new();
    if subject.needs.views {
        let tasks = subject.config.tasks.iter();
        let tasks = tasks.filter(|task| task.enabled);
        let views = tasks.flat_map(|task| task.definition.dependencies());
        rights.extend(views.flat_map(|dependency| rights_of(&dependency.view)));
    }
    if subject.needs.registration {
        let name = &subject.config.consul.service_registration.service_name;
        rights.push(Right::write(Resource::Service, Scope::Exact(name.clone())));
    }
    if subject.needs.states {
        let path = subject.config.driver.backend.arguments.get("path");
        let path = path.and_then(Value::as_str).unwrap_or_default();
        let states = Scope::Prefix(path.trim_start_matches('/').to_owned());
        rights.push(Right::write(Resource::Key, states));
        let node = node.map_or_else(|| Scope::Prefix(String::new()), Scope::Exact);
        rights.push(Right::write(Resource::Session, node));
    }
    rights.sort();
    rights.dedup();
    rights
}
