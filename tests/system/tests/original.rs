//! cts in the place of the original: the executable called `consul-terraform-sync`, with the files, commands,
//! requests, dialogues and filters that its users have. Each row of a table is a fragment that scripts or filters
//! match, with a failure message of its own. About `start` over a file whatever the shape of this run is.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod dialogues;
mod filters;
mod quick_start;
mod refused;
mod sentences;
mod site;
mod tls;
