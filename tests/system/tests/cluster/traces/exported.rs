//! Exported spans, with the parts that tests compare.

use std::collections::BTreeSet;

use cts_testkit::{Collector, attribute};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

/// A span and the service that has exported it.
#[derive(Debug, Clone)]
pub(super) struct Exported {
    service: String,
    name: String,
    pub(super) trace: u128,
    pub(super) span: u64,
    pub(super) parent: Option<u64>,
    pub(super) started: u64,
    pub(super) ended: u64,
    pub(super) failed: bool,
    /// Traces and spans of its links.
    pub(super) links: Vec<(u128, u64)>,
    attributes: Vec<KeyValue>,
}

impl Exported {
    pub(super) fn is(&self, service: &str, name: &str) -> bool {
        self.service == service && self.name == name
    }

    pub(super) fn is_of_cts(&self) -> bool {
        self.service.starts_with("cts-")
    }

    pub(super) fn attribute(&self, key: &str) -> Option<&str> {
        attribute(&self.attributes, key)
    }
}

/// All exported spans, in the order of arrival.
pub(super) fn spans(collector: &Collector) -> Vec<Exported> {
    let mut all = Vec::new();
    for of_resource in collector.spans() {
        let resource = of_resource.resource.unwrap();
        let service = attribute(&resource.attributes, "service.name").unwrap();
        for span in of_resource
            .scope_spans
            .into_iter()
            .flat_map(|scope| scope.spans)
        {
            let status = span.status.unwrap_or_default();
            let links = span.links.iter();
            all.push(Exported {
                service: service.to_owned(),
                name: span.name,
                trace: trace_id(&span.trace_id),
                span: span_id(&span.span_id),
                parent: (!span.parent_span_id.is_empty()).then(|| span_id(&span.parent_span_id)),
                started: span.start_time_unix_nano,
                ended: span.end_time_unix_nano,
                failed: status.code() == StatusCode::Error,
                links: links
                    .map(|link| (trace_id(&link.trace_id), span_id(&link.span_id)))
                    .collect(),
                attributes: span.attributes,
            });
        }
    }
    all
}

/// The services that have exported log lines of this trace.
pub(super) fn logged_in(collector: &Collector, trace: u128) -> BTreeSet<String> {
    let mut services = BTreeSet::new();
    for of_resource in collector.logs() {
        let resource = of_resource.resource.unwrap();
        let service = attribute(&resource.attributes, "service.name").unwrap();
        let records = of_resource.scope_logs.iter();
        let mut records = records.flat_map(|scope| &scope.log_records);
        if records.any(|record| record.trace_id == trace.to_be_bytes()) {
            services.insert(service.to_owned());
        }
    }
    services
}

fn trace_id(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(bytes.try_into().unwrap())
}

fn span_id(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}
