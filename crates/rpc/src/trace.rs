//! The trace of a call, in its metadata in the format of W3C Trace Context (docs/telemetry.md#traces).

use cts_core::TraceContext;
use tonic::metadata::{MetadataMap, MetadataValue};

/// Name of the metadata, and of the header of a request over HTTP.
pub const TRACE_METADATA: &str = "traceparent";

/// The span that a call belongs to; `None` without a readable span.
pub fn trace_context(metadata: &MetadataMap) -> Option<TraceContext> {
    metadata.get(TRACE_METADATA)?.to_str().ok()?.parse().ok()
}

/// Makes a call a part of this span.
pub fn set_trace_context(metadata: &mut MetadataMap, context: TraceContext) {
    if let Ok(value) = MetadataValue::try_from(context.to_string()) {
        metadata.insert(TRACE_METADATA, value);
    }
}

#[cfg(test)]
mod tests {
    use cts_core::{SpanId, TraceId};

    use super::*;

    #[test]
    fn a_call_carries_its_span() {
        let mut metadata = MetadataMap::new();
        assert_eq!(trace_context(&metadata), None);
        let context = TraceContext {
            trace: TraceId::new(5).unwrap(),
            span: SpanId::new(6).unwrap(),
        };
        set_trace_context(&mut metadata, context);
        assert_eq!(trace_context(&metadata), Some(context));
        metadata.insert(TRACE_METADATA, MetadataValue::from_static("00-x"));
        assert_eq!(trace_context(&metadata), None);
    }
}
