//! The command line: the definitions of commands and options, and what is answered from them alone (help,
//! completion, manual pages, the forms of the original).

pub(crate) mod arguments;
pub(crate) mod groups;
pub(crate) mod invocation;
