//! The blocks of the configuration whose digests workers report (docs/configuration.md#settings-of-the-workers).

use cts_config::Config;
use cts_core::settings::{BACKEND_BLOCK, SettingsBlocks, provider_block, required_provider};
use cts_core::{ProviderBlock, ProviderId, REMOTE_DRIVER};
use serde_json::{Map, Value};

/// Settings of a worker for its tasks: the backend as it is written, the provider blocks under each name that
/// tasks may use, and the requirements of each provider. Additions of the host, such as the address of its
/// Consul, do not count.
pub(super) fn settings_blocks(config: &Config) -> SettingsBlocks {
    let mut blocks = SettingsBlocks::default();
    blocks.insert(BACKEND_BLOCK.to_owned(), place_of_states(config));
    for block in &config.providers {
        let by_name = ProviderId::from(block.name.as_str());
        for id in [by_name, block.id()] {
            // A name alone stands for the first block of that name.
            let Some(selected) = ProviderBlock::select(&config.providers, &id) else {
                continue;
            };
            let environment = selected.task_env.iter();
            let mut parts = vec![json(&selected.arguments)];
            for (name, value) in environment {
                parts.extend([name.clone(), value.clone()]);
            }
            blocks.insert(provider_block(&id), parts);
        }
    }
    for (name, required) in config.required_providers() {
        blocks.insert(required_provider(name), vec![required.to_string()]);
    }
    blocks
}

/// The backend, or the workspaces on a server, that have the states.
fn place_of_states(config: &Config) -> Vec<String> {
    if let Some(cloud) = &config.terraform_cloud {
        let place = [
            REMOTE_DRIVER,
            &cloud.hostname,
            &cloud.organization,
            &cloud.workspaces.prefix,
        ];
        return place.map(str::to_owned).into();
    }
    let driver = &config.driver;
    let mut arguments = driver.backend.arguments.clone();
    arguments.retain(|name, _value| !driver.backend_defaults.contains(name));
    vec![driver.backend.kind.clone(), json(&arguments)]
}

fn json(arguments: &Map<String, Value>) -> String {
    Value::from(arguments.clone()).to_string()
}
