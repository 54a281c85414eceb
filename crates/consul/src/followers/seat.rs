//! The right of one follower to ask Consul.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Followers;
use super::arbiter::MemberId;
use super::place::{Place, PlaceKey};
use super::readers::Turn;
use crate::client::HOLD;

/// How a query may be asked now.
#[derive(Debug)]
pub(crate) enum Standing {
    /// Consul may hold it so long.
    Holds(Duration),
    /// Consul is to answer at once.
    Reads(Turn),
}

/// The right of one follower to ask.
#[derive(Debug)]
pub(crate) enum QuerySlot {
    /// Asks at any time, and Consul may hold the query.
    Own,
    /// Asks as other queries leave room.
    Shared(SharedSeat),
}

#[derive(Debug)]
pub(crate) struct SharedSeat {
    followers: Followers,
    id: MemberId,
    key: Option<PlaceKey>,
    place: Option<Arc<Place>>,
    holds: watch::Receiver<bool>,
    /// The round of changes in which it was read last, 0 if it has to be read in any case.
    fresh: u64,
    knows_http2: bool,
}

impl QuerySlot {
    pub(super) fn shared(
        followers: Followers,
        id: MemberId,
        key: Option<PlaceKey>,
        place: Option<Arc<Place>>,
        holds: watch::Receiver<bool>,
    ) -> Self {
        Self::Shared(SharedSeat {
            followers,
            id,
            key,
            place,
            holds,
            fresh: 0,
            knows_http2: false,
        })
    }

    /// Waits until the query may be asked. Cancel safe.
    pub(crate) async fn standing(&mut self) -> Standing {
        match self {
            Self::Own => Standing::Holds(HOLD),
            Self::Shared(seat) => seat.standing().await,
        }
    }

    /// Notes an answer: its index, and whether it differs from the last answer.
    pub(crate) fn answered(&mut self, standing: &Standing, index: Option<u64>, is_new: bool) {
        let Self::Shared(seat) = self else {
            return;
        };
        if !seat.knows_http2 && seat.followers.0.client.is_multiplexed() {
            seat.knows_http2 = true;
            seat.followers.learn();
        }
        if let (Standing::Holds(_), Some(index), Some(place)) = (standing, index, &seat.place) {
            place.answered(index);
        }
        if is_new {
            seat.followers.changed(seat.id);
        }
    }

    /// The query has to be asked again whether anything changes or not.
    pub(crate) fn failed(&mut self) {
        if let Self::Shared(seat) = self {
            seat.fresh = 0;
        }
    }
}

impl SharedSeat {
    async fn standing(&mut self) -> Standing {
        loop {
            if *self.holds.borrow_and_update() {
                match self.followers.renew(self.id) {
                    Some(hold) => return Standing::Holds(hold),
                    // The next read does not wait for a change.
                    None => self.fresh = 0,
                }
            }
            let Some(place) = &self.place else {
                return Standing::Holds(HOLD);
            };
            let mut rounds = place.round.subscribe();
            let readers = &self.followers.0.readers;
            let rank = self.followers.rank(self.id);
            let turn = async {
                let fresh = self.fresh;
                // The sender is part of the place.
                drop(rounds.wait_for(|round| *round > fresh).await);
                readers.turn(fresh + 1, rank, self.id).await
            };
            tokio::select! {
                biased;
                // Closed when the followers are gone, and this with them.
                _ = self.holds.changed() => {}
                turn = turn => {
                    // Later changes belong to another round.
                    self.fresh = *place.round.borrow();
                    return Standing::Reads(turn);
                }
            }
        }
    }
}

impl Drop for SharedSeat {
    fn drop(&mut self) {
        self.followers.leave(self.id, self.key.as_ref());
    }
}
