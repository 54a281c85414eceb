//! `license` and `license_path` of CTS Enterprise: read and of no use (docs/configuration.md#license).

use crate::decode::block::Block;
use crate::decode::coerce;

/// Reads both; cts needs no license.
pub(crate) fn ignore_license(top: &mut Block<'_>) {
    if let Some(mut license) = top.block("license") {
        // Typed as in CTS Enterprise, so that a typing error is reported now and not only after a return to
        // it.
        license.text("path");
        if let Some(mut retrieval) = license.block("auto_retrieval") {
            retrieval.flag("enabled");
            retrieval.finish();
        }
        if let Some(place) = license.place() {
            let message = "`license` has no effect: cts needs no license";
            license.sink().warning(place, message);
        }
        license.finish();
    }
    if let Some(written) = top.take("license_path", coerce::text) {
        let message = "`license_path` is deprecated, its place is `path` in a `license` block; neither has \
                       an effect: cts needs no license";
        top.sink().warning(&written.place, message);
    }
}
