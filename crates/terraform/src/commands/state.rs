//! The state of a task: its place, and its move from one backend to another (docs/terraform.md#moving-a-state).
//!
//! This module takes no decisions: [`Terraform::pull_state`] and [`read_directly`] read the state in a backend,
//! [`Terraform::fetch_state`] gets the state of another backend, and [`Terraform::push_state`] writes it to the backend
//! of the task. The results of `init` in a directory include the backend that the directory was verified for, and the
//! previous backend.

mod direct;
mod file;
mod kept;
mod origin;
mod transfer;

pub use direct::{
    ReadState, consul_key, consul_parts, read_consul_value, read_directly, read_file,
};
pub use file::{FoundState, parse as read_state};
pub use kept::BackendIdentity;
pub use origin::StateOrigin;
pub use transfer::FetchedState;

pub(crate) use kept::{forget_same_backend, keep_backend};
