//! The scope of instruments, spans and lines.

/// Name of the scope of all instruments and spans.
pub(crate) const SCOPE: &str = "cts";
