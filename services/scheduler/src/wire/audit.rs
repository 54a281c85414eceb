//! Records of calls on the wire.

use cts_proto::access::v1 as proto;
use cts_rpc::convert;
use cts_store::StoredRecord;

/// A record for answers, and for the lines of a file.
pub(crate) fn audit_record_to_wire(stored: StoredRecord) -> proto::AuditRecord {
    let record = stored.record;
    let address = record.caller.address.map(|address| address.to_string());
    proto::AuditRecord {
        number: stored.number,
        time: Some(convert::timestamp_to_wire(stored.at)),
        caller_kind: record.caller.kind.as_str().to_owned(),
        caller: record.caller.name,
        issuer: record.caller.issuer,
        address: address.unwrap_or_default(),
        action: record.action.as_str().to_owned(),
        target: record.target,
        arguments: record.arguments.into_iter().collect(),
        outcome: record.outcome.as_str().to_owned(),
        reason: record.outcome.reason().to_owned(),
        request_id: record.request_id,
        count: record.count,
    }
}
