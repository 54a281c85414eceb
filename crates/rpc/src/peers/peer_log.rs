//! The state of the peers of a service in the log: one line for an outage of all peers, otherwise one line for each
//! peer.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use cts_core::Clock;
use cts_runtime::Reachability;

use crate::address::Address;
use crate::peers::probe::Unhealthy;
use crate::peers::roster::Health;

/// Logs the results of the probes of the peers of one service.
pub(super) struct PeerLog {
    service: &'static str,
    all: Reachability,
    /// Peers whose loss has a line of its own.
    lost: BTreeSet<SocketAddr>,
}

/// The peers except the probed peer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Others {
    pub(super) healthy: usize,
    /// Peers that were not probed yet.
    pub(super) unknown: usize,
}

/// The line that is due.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Nothing,
    Healthy,
    Unusable,
    Lost,
    Outage(String),
    Over(String),
}

impl PeerLog {
    pub(super) fn new(service: &'static str, addresses: &[Address], clock: Arc<dyn Clock>) -> Self {
        let list: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        Self {
            service,
            all: Reachability::new(format!("The {service} at {}", list.join(", ")), clock),
            lost: BTreeSet::new(),
        }
    }

    /// Logs the verdict about a peer, whose health was `before`.
    pub(super) fn note(
        &mut self,
        (socket, address): (SocketAddr, &Address),
        before: Health,
        verdict: &Result<(), Unhealthy>,
        others: Others,
    ) {
        let (service, peer) = (self.service, socket);
        let reason = verdict.as_ref().err().map(ToString::to_string);
        match self.line(socket, before, verdict, others) {
            Line::Nothing => {
                tracing::debug!(service, %peer, %address, error = reason, "the peer was probed");
            }
            Line::Healthy => tracing::info!(service, %peer, %address, "the peer is healthy"),
            Line::Unusable => {
                tracing::warn!(service, %peer, %address, error = reason, "the peer cannot be used, trying on");
            }
            Line::Lost => {
                tracing::warn!(service, %peer, %address, error = reason, "lost the peer, trying on");
            }
            Line::Outage(line) => tracing::warn!("{line}"),
            Line::Over(line) => tracing::info!(%peer, "{line}"),
        }
    }

    fn line(
        &mut self,
        socket: SocketAddr,
        before: Health,
        verdict: &Result<(), Unhealthy>,
        others: Others,
    ) -> Line {
        let Err(reason) = verdict else {
            let was_lost = self.lost.remove(&socket);
            return match self.all.answers(self.all.begin()) {
                Some((line, _failures)) => Line::Over(line),
                None if was_lost || before == Health::Unknown => Line::Healthy,
                None => Line::Nothing,
            };
        };
        if others.healthy == 0 && others.unknown == 0 {
            // Its end is the end of the earlier losses, too.
            self.lost.clear();
            let line = self.all.fails(self.all.begin(), Some(reason.to_string()));
            return line.map_or(Line::Nothing, Line::Outage);
        }
        match before {
            Health::Unhealthy => Line::Nothing,
            Health::Healthy => {
                self.lost.insert(socket);
                Line::Lost
            }
            Health::Unknown if others.healthy == 0 => Line::Nothing,
            Health::Unknown => {
                self.lost.insert(socket);
                Line::Unusable
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cts_runtime::SystemClock;

    use super::*;

    const NONE: Others = Others {
        healthy: 0,
        unknown: 0,
    };
    const ONE: Others = Others { healthy: 1, ..NONE };

    struct Scene {
        log: PeerLog,
        peers: [SocketAddr; 2],
    }

    impl Scene {
        fn new() -> Self {
            let addresses = ["127.0.0.1:1", "127.0.0.1:2"].map(|text| text.parse().unwrap());
            Self {
                log: PeerLog::new("scheduler", &addresses, Arc::new(SystemClock)),
                peers: [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port))),
            }
        }

        fn answers(&mut self, peer: usize, before: Health, others: Others) -> Line {
            self.log.line(self.peers[peer], before, &Ok(()), others)
        }

        fn fails(&mut self, peer: usize, before: Health, others: Others) -> Line {
            let verdict = Err(Unhealthy::NotServing);
            self.log.line(self.peers[peer], before, &verdict, others)
        }
    }

    #[test]
    fn an_outage_of_all_peers_is_one_line_and_ends_with_the_first_that_is_back() {
        let mut scene = Scene::new();
        assert_eq!(scene.answers(0, Health::Unknown, NONE), Line::Healthy);
        assert_eq!(scene.answers(1, Health::Unknown, ONE), Line::Healthy);
        assert_eq!(scene.fails(0, Health::Healthy, ONE), Line::Lost);
        let Line::Outage(line) = scene.fails(1, Health::Healthy, NONE) else {
            panic!("the outage is not logged");
        };
        let begins = "The scheduler at 127.0.0.1:1, 127.0.0.1:2 is unreachable: ";
        assert!(line.starts_with(begins), "{line}");
        assert_eq!(scene.fails(0, Health::Unhealthy, NONE), Line::Nothing);
        assert!(matches!(
            scene.answers(1, Health::Unhealthy, NONE),
            Line::Over(_)
        ));
        assert_eq!(scene.answers(0, Health::Unhealthy, ONE), Line::Nothing);
    }

    #[test]
    fn a_lost_peer_and_its_return_are_a_line_each() {
        let mut scene = Scene::new();
        assert_eq!(scene.fails(0, Health::Healthy, ONE), Line::Lost);
        assert_eq!(scene.fails(0, Health::Unhealthy, ONE), Line::Nothing);
        assert_eq!(scene.answers(0, Health::Unhealthy, ONE), Line::Healthy);
    }

    #[test]
    fn a_peer_that_is_away_from_the_beginning_is_logged_when_the_others_are_known() {
        let mut scene = Scene::new();
        let unknown = Others { unknown: 1, ..NONE };
        assert_eq!(scene.fails(0, Health::Unknown, unknown), Line::Nothing);
        assert!(matches!(
            scene.fails(1, Health::Unknown, NONE),
            Line::Outage(_)
        ));
        let mut scene = Scene::new();
        assert_eq!(scene.fails(0, Health::Unknown, ONE), Line::Unusable);
    }
}
