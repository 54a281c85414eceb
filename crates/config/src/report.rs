//! Problems, the places that they name, and the source lines that they show, without secrets.

pub(crate) mod location;
pub(crate) mod mask;
pub(crate) mod original;
pub(crate) mod problem;
pub(crate) mod problem_kind;
pub(crate) mod sink;
pub(crate) mod suggestion;
