//! Limits of filter expressions, checked before Consul gets them (docs/configuration.md#filters).
//!
//! Consul's parser backtracks. Each level of parentheses multiplies its time by 4, and by 8 if the expression turns
//! out to be invalid: five levels around two words took 4 s and 370 MiB, ten open parentheses all memory. So the work
//! is estimated beforehand, from the depth of each byte.
//!
//! An expression with unknown words may be valid for a newer Consul. Such an expression is checked by the estimate
//! for invalid expressions.

mod invalid_filter;
mod known;
mod scan;

pub use self::invalid_filter::InvalidFilter;
use self::known::is_known;
use self::scan::scan;

/// Largest work that a filter may cause in Consul.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterLimits {
    /// Longest text, in bytes.
    pub bytes: usize,
    /// Maximum number of parentheses around one part.
    pub depth: u32,
    /// Sum over all bytes of 4 to the power of their depth, for an expression that Consul 1.8 can read.
    pub work: u64,
    /// Sum over all bytes of 8 to the power of their depth, for any other expression.
    pub unknown_work: u64,
}

impl FilterLimits {
    /// For filters in requests: Consul needs up to 0.2 s.
    pub const REQUEST: Self = Self {
        bytes: 4 << 10,
        depth: 5,
        work: 128 << 10,
        unknown_work: 16 << 10,
    };

    /// For filters in files, and for all filters that are sent: Consul needs up to 2 s.
    pub const FILE: Self = Self {
        bytes: 64 << 10,
        depth: 8,
        work: 2 << 20,
        unknown_work: 64 << 10,
    };

    /// Checks a filter. An empty filter passes.
    pub fn check(&self, filter: &str) -> Result<(), InvalidFilter> {
        if filter.len() > self.bytes {
            return Err(InvalidFilter::TooLong {
                bytes: filter.len(),
                limit: self.bytes,
            });
        }
        let scanned = scan(filter, self.depth)?;
        if is_known(filter) {
            if scanned.work > self.work {
                return Err(InvalidFilter::TooMuchWork {
                    position: scanned.deepest,
                });
            }
        } else if scanned.failing_work > self.unknown_work {
            return Err(InvalidFilter::Unknown {
                position: scanned.deepest,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
