//! Evidence that is independent of the statements of cts about itself.

pub mod brake;
pub(crate) mod followers;
pub mod history;
pub mod resources;
pub mod sightings;
