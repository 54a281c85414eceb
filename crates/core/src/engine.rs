//! The programs that apply modules, and the files and servers that those programs read: providers, backends, states.

pub(crate) mod backend;
pub mod blocks;
pub(crate) mod capability;
pub mod hidden;
pub(crate) mod kind;
pub(crate) mod module_interface;
pub(crate) mod provider;
pub(crate) mod remote;
pub mod state;
