//! Listeners whose clients cannot use them up (docs/configuration.md#limits): places in total and for each client, time
//! for the beginning of a connection, and errors of accepting that end nothing.

mod accept;
mod entrance;
mod room;
mod seldom;

pub use entrance::{Admitted, Arrival, Entrance, Opening, Refused};
pub use room::{Full, Place, Room, Size, client};
pub use seldom::Seldom;
