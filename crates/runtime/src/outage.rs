//! Outages in the log: a warning at the beginning, a line at the end.

/// Whether a repeated operation currently fails.
#[derive(Debug, Clone, Default)]
pub struct Outage {
    /// The last reason; `None` while the operation succeeds.
    reason: Option<String>,
}

impl Outage {
    /// Notes a failure. Returns whether it is the first of an outage.
    pub fn fails(&mut self) -> bool {
        let begins = self.reason.is_none();
        self.reason.get_or_insert_default();
        begins
    }

    /// Notes a failure. Returns whether it is the first of an outage, or has a different reason than the previous
    /// failure.
    pub fn fails_with(&mut self, reason: &str) -> bool {
        let is_new = self.reason.as_deref() != Some(reason);
        if is_new {
            self.reason = Some(reason.to_owned());
        }
        is_new
    }

    /// Notes a success. Returns whether it ends an outage.
    pub fn works(&mut self) -> bool {
        self.reason.take().is_some()
    }

    /// Whether the last attempt failed.
    pub const fn is_on(&self) -> bool {
        self.reason.is_some()
    }
}

/// Logs a failure with `tracing`: a warning once for each [`Outage`], later failures at debug level.
#[macro_export]
macro_rules! log_failure {
    ($outage:expr, $($event:tt)+) => {
        if $outage.fails() {
            ::tracing::warn!($($event)+);
        } else {
            ::tracing::debug!($($event)+);
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_once_and_ends_once() {
        let mut outage = Outage::default();
        assert!(!outage.works());
        assert!(outage.fails());
        assert!(!outage.fails() && outage.is_on());
        assert!(outage.works());
        assert!(!outage.works() && !outage.is_on());
        assert!(outage.fails());
    }

    #[test]
    fn another_reason_counts_as_another_outage() {
        let mut outage = Outage::default();
        assert!(outage.fails_with("a"));
        assert!(!outage.fails_with("a"));
        assert!(outage.fails_with("b"));
        assert!(outage.works());
        assert!(outage.fails_with("b"));
    }
}
