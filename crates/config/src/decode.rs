//! From bytes to typed values: files, the tree that they merge into, and the keys of a block.

pub(crate) mod block;
pub(crate) mod coerce;
pub(crate) mod deprecated;
pub(crate) mod free_form;
pub(crate) mod json;
pub(crate) mod limits;
pub(crate) mod source;
pub(crate) mod template;
pub(crate) mod token_file;
pub(crate) mod tree;
pub(crate) mod units;
