//! The configuration in force, and the processes with other configurations.

use std::collections::BTreeSet;

use askama::Template;
use cts_proto::cluster::v1::{GetConfigurationResponse, MemberConfiguration};
use cts_proto::json::Word as _;

use crate::context::{Context, Refusal};
use crate::state::State;
use crate::text::Foreign;
use crate::time::Time;

/// Most named tasks of one member.
const NAMED: usize = 20;

#[derive(Template)]
#[template(path = "cluster/configuration.html")]
struct Configuration<'a> {
    answer: &'a GetConfigurationResponse,
    /// Settings that differ, each with the values of the members in their order.
    settings: Vec<(&'a str, Vec<&'a str>)>,
}

pub(super) async fn render(context: &Context<'_>) -> Result<String, Refusal> {
    let answer: GetConfigurationResponse = context.get("/v1/cluster/configuration").await?;
    let template = Configuration {
        settings: different_settings(&answer.members),
        answer: &answer,
    };
    Ok(template.render().unwrap_or_default())
}

fn state_of(member: &MemberConfiguration) -> State {
    let word = match (&member.digest, member.in_force) {
        (None, _) => "unknown",
        (Some(_), true) => "in_force",
        (Some(_), false) => "differs",
    };
    State(word.to_owned())
}

fn different_settings(members: &[MemberConfiguration]) -> Vec<(&str, Vec<&str>)> {
    let names = members.iter().flat_map(|it| it.settings.keys());
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    let values = |name| {
        let values = members.iter().map(|it| it.settings.get(name));
        let values = values.map(|value| value.map_or("", String::as_str));
        (name, values.collect::<Vec<_>>())
    };
    let all = names.into_iter().map(values);
    all.filter(|(_, values)| values.windows(2).any(|pair| pair.first() != pair.last()))
        .collect()
}
