//! Providers: their aliases, environment and forms.

mod provider_aliases;
pub(crate) mod provider_environment;
mod provider_forms;
