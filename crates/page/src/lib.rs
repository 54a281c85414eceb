//! The page of the gateway: what happens, why, and what may happen next (docs/page.md).
//!
//! Screens are rendered on the server from the answers of REST. The crate knows neither sessions nor connections: the
//! gateway finds out who makes a request, and answers the calls of the page with the rights of that caller. Start with
//! [`show`] and [`act`]. A screen is a list of fragments (`screen`); its address holds its whole state (`address`);
//! calls go through a `Context`, texts of other programs through `text`.

mod action;
mod actions;
mod address;
mod api;
mod assets;
mod context;
mod form;
mod layout;
mod link;
mod login;
mod long;
mod reply;
mod screen;
mod screens;
mod site;
mod state;
mod state_line;
mod svg;
#[cfg(test)]
mod testing;
mod text;
mod time;
mod viewer;
mod waterfall;

pub use action::{lacks_keys, with_new_keys};
pub use api::{Api, ApiAnswer, ApiCall};
pub use assets::{Asset, asset};
pub use layout::{Notice, notice_page};
pub use login::{Login, login};
pub use reply::{PageRequest, Reply, act, show};
pub use site::Site;
pub use viewer::{Leave, Viewer};
