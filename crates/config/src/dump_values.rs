//! Values as the files write them.

use std::path::Path;

use cts_core::BufferPeriod;

use crate::decode::units::duration;
use crate::dump_body::Body;

/// Paths are text in the files; a path that is not text is shown as near as it gets.
pub(crate) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub(crate) fn buffer_period(period: BufferPeriod) -> Body {
    let mut body = Body::default();
    body.set("enabled", period.enabled);
    if period.enabled {
        body.set("min", duration(period.min));
        body.set("max", duration(period.max));
    }
    body
}
