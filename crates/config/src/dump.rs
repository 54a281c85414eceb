//! The effective configuration as text: the values in force after merging, with environment and defaults.
//!
//! The writer is our own: existing writers of HCL write version 2, whose `$${` and heredocs mean something
//! else to the reader of version 1.

mod blocks;
mod drivers;
mod hcl;
mod json;
mod tasks;

use std::fmt;

use cts_core::hidden::HIDDEN;
use serde_json::Value;

use crate::config::Config;

/// The configuration in HCL, complete: unset keys appear with their defaults.
///
/// Secrets are replaced by `(hidden)`: tokens, passwords, values of providers and their environments, and
/// texts in backends and variables that look like one.
///
/// [`load`](crate::load()) accepts the text and gives an equal configuration, secrets apart. Lists with one
/// element cannot be written in HCL where the content is free, and `null` cannot be written at all; both come
/// from files in JSON, and [`dump_json`] has them. Settings that only environment variables can make stand in
/// comments.
pub fn dump(config: &Config) -> String {
    hcl::text(&blocks::tree(config))
}

/// The configuration in the shape of a JSON configuration file.
pub fn dump_json(config: &Config) -> Value {
    json::value(&blocks::tree(config))
}

/// Complete and without secrets, for the log. The place of the database is left out as well.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = dump_json(self);
        if let Some(url) = value.pointer_mut("/database/url") {
            *url = Value::from(HIDDEN);
        }
        write!(f, "Config {value}")
    }
}
