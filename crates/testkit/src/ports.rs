//! Free ports for programs that cannot be handed a bound socket.

use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};

/// Below the range from which the system takes ports of outgoing connections: a program that is
/// restarted on its port must not find it taken.
const FIRST: u16 = 20_000;
const COUNT: u128 = 12_000;
const TRIES: usize = 1000;

static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Returns a port that is free for TCP and UDP on 127.0.0.1 at this moment; never the same twice in one
/// process. Another process may still be faster: a caller must be ready to take a further one.
pub fn free_port() -> u16 {
    let mut given = GIVEN.lock();
    for _ in 0..TRIES {
        let offset = uuid::Uuid::new_v4().as_u128() % COUNT;
        let port = u16::try_from(offset).map_or(FIRST, |offset| FIRST + offset);
        let place = (Ipv4Addr::LOCALHOST, port);
        if !given.contains(&port)
            && TcpListener::bind(place).is_ok()
            && UdpSocket::bind(place).is_ok()
        {
            given.insert(port);
            return port;
        }
    }
    panic!("no free port among {COUNT} from {FIRST} on");
}
