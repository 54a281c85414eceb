//! `required_providers` of both drivers.

use serde_json::{Map, Value};

use crate::decode::block::Block;
use crate::decode::free_form::free_form;
use crate::keys::Keys;

impl Keys<'_, '_> {
    /// Provider name to version constraint or object, as written.
    pub(crate) fn required_providers(
        &mut self,
        name: &'static str,
        required: &mut Map<String, Value>,
    ) {
        self.block_of(name, required, decode_required, |required| {
            Some(required.clone().into())
        });
    }
}

/// An entry replaces an earlier one of the same provider as a whole (docs/configuration.md#files).
fn decode_required(block: &mut Block<'_>, name: &'static str) -> Map<String, Value> {
    let sink = block.sink();
    let mut required = Map::new();
    for entry in block.united(name).into_entries() {
        let value = free_form(std::slice::from_ref(&entry), sink);
        required.extend(value);
    }
    required
}
