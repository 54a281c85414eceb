//! Workers and what they can do.

use cts_core::settings::{BlockDigests, KeyId};
use cts_core::{
    Capabilities, Engine, Registration, WorkerId, WorkerProblem, WorkerRecord, excerpt,
};
use cts_proto::worker::v1 as proto;

use super::macros::same_fields;
use super::{ConversionError, invalid};

/// Characters of the reason of a problem.
const REASON_LENGTH: usize = 500;

same_fields!(
    Engine,
    Engine,
    engine_to_wire,
    engine_from_wire { driver, version }
);

/// Converts a worker to the wire.
pub fn worker_to_wire(worker: WorkerRecord) -> proto::Worker {
    proto::Worker {
        id: worker.id.to_string(),
        host: worker.host,
        version: worker.version,
        slots: worker.slots,
        capabilities: Some(capabilities_to_wire(&worker.capabilities)),
        draining: worker.draining,
        settings: worker.settings.map(settings_to_wire),
        problem: worker.problem.map(problem_to_wire),
    }
}

fn settings_to_wire(settings: BlockDigests) -> proto::WorkerSettings {
    let keys = settings.into_iter().map(|(key, blocks)| {
        let blocks = blocks.into_iter();
        proto::KeyedDigests {
            key_id: key.to_string(),
            blocks: blocks
                .map(|(name, digest)| (name, digest.to_string()))
                .collect(),
        }
    });
    proto::WorkerSettings {
        keys: keys.collect(),
    }
}

fn settings_from_wire(settings: proto::WorkerSettings) -> Result<BlockDigests, ConversionError> {
    let keys = settings.keys.into_iter().map(|keyed| {
        let blocks = keyed.blocks.into_iter().map(|(name, digest)| {
            let read = digest.parse();
            Ok((
                name,
                read.map_err(|_error| invalid("KeyedDigests.blocks", &digest))?,
            ))
        });
        Ok((KeyId::from(keyed.key_id), blocks.collect::<Result<_, _>>()?))
    });
    keys.collect()
}

fn problem_to_wire(problem: WorkerProblem) -> proto::WorkerProblem {
    proto::WorkerProblem {
        reason: problem.reason,
        takes_runs: problem.takes_runs,
    }
}

fn problem_from_wire(problem: &proto::WorkerProblem) -> WorkerProblem {
    WorkerProblem {
        reason: excerpt(&problem.reason, REASON_LENGTH),
        takes_runs: problem.takes_runs,
    }
}

/// Converts a worker from the wire. A worker must name itself.
pub fn worker_from_wire(worker: Option<proto::Worker>) -> Result<WorkerRecord, ConversionError> {
    let worker = worker.ok_or(ConversionError::Missing {
        field: "HeartbeatRequest.worker",
    })?;
    if worker.id.is_empty() {
        return Err(ConversionError::Missing { field: "Worker.id" });
    }
    Ok(WorkerRecord {
        id: WorkerId::new(worker.id),
        host: worker.host,
        version: worker.version,
        slots: worker.slots,
        capabilities: capabilities_from_wire(worker.capabilities),
        draining: worker.draining,
        settings: worker.settings.map(settings_from_wire).transpose()?,
        problem: worker.problem.as_ref().map(problem_from_wire),
    })
}

/// Converts the registration of a heartbeat; `None` without one. The error does not show it.
pub fn registration_from_wire(bytes: &[u8]) -> Result<Option<Registration>, ConversionError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let registration = Registration::from_slice(bytes);
    let shown = format!("{} bytes", bytes.len());
    let registration =
        registration.map_err(|_error| invalid("HeartbeatRequest.registration", &shown));
    registration.map(Some)
}

/// Converts capabilities to the wire.
pub fn capabilities_to_wire(capabilities: &Capabilities) -> proto::Capabilities {
    let engines = capabilities.engines.iter().cloned();
    proto::Capabilities {
        engines: engines.map(engine_to_wire).collect(),
        bundles: capabilities.bundles,
    }
}

/// Converts capabilities from the wire; a worker that sends none can do nothing.
pub fn capabilities_from_wire(capabilities: Option<proto::Capabilities>) -> Capabilities {
    let capabilities = capabilities.unwrap_or_default();
    let engines = capabilities.engines.into_iter();
    Capabilities {
        engines: engines.map(engine_from_wire).collect(),
        bundles: capabilities.bundles,
    }
}
