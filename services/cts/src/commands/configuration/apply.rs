//! `cts config apply`: puts a configuration in force, in the database itself. Any leader brings it into the tasks.
//!
//! The command opens the database itself: for that moment a second process writes to a SQLite file, which does not
//! count as another use of the file (`attach`). Without a leader the next leader brings the configuration into the
//! tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use cts_cli::{Apply, CommandError, confirm, print, read, say};
use cts_config::{Config, ConfigError};
use cts_core::callers::{AuditAction, AuditRecord};
use cts_core::{ConfigurationFingerprint, TaskSpec};
use cts_runtime::ProcessEnv;
use cts_scheduler::NamedBy;
use cts_store::{AppliedConfiguration, ConfigurationInForce, Store};

use super::diff::{Comparison, compare, not_encoded, place, text};
use crate::commands::local_caller::local_caller;
use crate::commands::migrate::Source;
use crate::failure::Failure;
use crate::services::settings::{Shape, declared};

/// Workers that have been silent for longer do not count for the shape.
const WORKERS_SEEN: Duration = Duration::from_hours(1);

/// Runs the command and returns the exit code. May be run while cts works.
pub(super) async fn run(apply: &Apply, process_env: &ProcessEnv) -> Result<u8, Failure> {
    if apply.configuration.paths.is_empty() {
        return Ok(CommandError::NoConfiguration.report());
    }
    let config = usable(apply, process_env)?;
    let place = place(&config, apply.store.as_deref(), process_env)?;
    let comparison = compare(&config, &place, apply.prune, process_env).await?;
    print(&text(&comparison))?;
    if comparison.is_equal() && comparison.is_in_force {
        print("There is nothing to apply.\n")?;
        return Ok(0);
    }
    if !apply.auto_approve {
        let question = "Do you want the tasks to become what the configuration says?";
        match confirm(question, process_env).await {
            Ok(true) => {}
            Ok(false) => return Ok(0),
            Err(code) => return Ok(code),
        }
    }
    let alone = matches!(place, Source::File(_));
    place
        .attached(process_env, async |store| {
            put_in_force(&*store, &config, &comparison, apply, alone, process_env).await
        })
        .await
}

/// The configuration, if each task can use its module.
fn usable(apply: &Apply, process_env: &ProcessEnv) -> Result<Config, CommandError> {
    let loaded = read(&apply.configuration, process_env).map_err(CommandError::Configuration)?;
    if !loaded.module_problems.is_empty() {
        let problems = ConfigError::Problems(loaded.module_problems);
        return Err(CommandError::Configuration(problems));
    }
    if !loaded.warnings.is_empty() {
        say(&loaded.warnings.render());
    }
    Ok(loaded.config)
}

async fn put_in_force(
    store: &dyn Store,
    config: &Config,
    comparison: &Comparison,
    apply: &Apply,
    alone: bool,
    process_env: &ProcessEnv,
) -> Result<u8, Failure> {
    let in_force = store.configuration_in_force().await?;
    let shape = if alone {
        Shape::Embedded
    } else {
        shape(store, config, in_force.as_ref()).await?
    };
    let (tasks, modules) = declared(config, shape);
    let stored = store.tasks().await?;
    let tasks = modules.pack(store, &tasks, &stored, NamedBy::File).await?;
    let wanted = AppliedConfiguration {
        configuration: cts_store::Configuration {
            fingerprint: ConfigurationFingerprint::of(&tasks).map_err(not_encoded)?,
            tasks,
            settings: BTreeMap::new(),
            fleet_max_shrink: config.fleet_max_shrink,
            approvals: config.approvals,
        },
        decided_by: format!("cts config apply on {}", process_env.hostname),
        number: comparison.number(),
        prune: apply.prune,
    };
    let completed = wanted.completed(in_force.as_ref()).map_err(not_encoded)?;
    if let Some(completed) = completed {
        require_modules(&config.tasks, &completed.tasks)?;
    }
    let record = AuditRecord::new(
        local_caller(process_env),
        AuditAction::ApplyConfiguration,
        "",
    );
    let record = record
        .with("prune", &apply.prune)
        .with("tasks", &wanted.configuration.tasks.len());
    let decided = store.recording(record).put_in_force(&wanted).await?;
    let Some(number) = decided else {
        return Err(Failure::Call(
            "another configuration has taken effect since the tasks were compared; nothing is changed"
                .to_owned(),
        ));
    };
    say(&format!(
        "Configuration {number} is in force. The leader brings it into the tasks; without one, the next start does."
    ));
    Ok(0)
}

/// Whether modules go to workers as bundles: as the workers report, or else as in the configuration in force.
async fn shape(
    store: &dyn Store,
    config: &Config,
    in_force: Option<&ConfigurationInForce>,
) -> Result<Shape, Failure> {
    let workers = store.workers(WORKERS_SEEN).await?;
    let of_workers = workers
        .iter()
        .map(|state| state.worker.capabilities.bundles)
        .reduce(|one, other| one || other);
    let tasks = in_force.map_or(&[][..], |in_force| &in_force.tasks);
    let of_tasks = || {
        let mut local = tasks.iter().filter(|task| is_local(task));
        local.next().map(|task| task.requirement.bundle)
    };
    let bundles = match of_workers.or_else(of_tasks) {
        Some(bundles) => bundles,
        None if config.tasks.iter().any(is_local) => {
            return Err(Failure::Call(
                "no worker has been seen yet, so it is not known whether local modules have to be packed: start the workers first"
                    .to_owned(),
            ));
        }
        None => false,
    };
    Ok(if bundles {
        Shape::Cluster
    } else {
        Shape::Embedded
    })
}

fn is_local(task: &TaskSpec) -> bool {
    std::path::Path::new(&task.definition.module_source).is_absolute()
}

/// Refuses modules that cannot be packed, or that have changed since the comparison.
fn require_modules(compared: &[TaskSpec], packed: &[TaskSpec]) -> Result<(), Failure> {
    for (compared, packed) in compared.iter().zip(packed) {
        let (before, now) = (&compared.definition, &packed.definition);
        let lacks = packed.requirement.bundle && now.bundle.is_none();
        if lacks || before.module_digest.is_some() && before.module_digest != now.module_digest {
            return Err(Failure::Call(format!(
                "the module {} of task {} cannot be packed for the workers, or has changed just now",
                now.module,
                packed.name()
            )));
        }
    }
    Ok(())
}
