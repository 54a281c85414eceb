//! Connections that can be broken: a proxy between any two processes that talk.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use cts_testkit::{Link, TcpProxy};
use cts_tests::{Cluster, Service, Site};

use crate::plan::{End, Member, Wire};

#[derive(Debug)]
pub(crate) struct Wires {
    proxies: BTreeMap<Wire, TcpProxy>,
}

impl Wires {
    /// The connections of a cluster that is laid out. Writes the files in which each process reads the
    /// addresses, see [`SERVICES_FILE`] and [`DATABASE_FILE`].
    pub(crate) async fn of_cluster(
        site: &Site,
        cluster: &Cluster,
        members: &[Member],
        postgres: SocketAddr,
        consul: SocketAddr,
        database: impl Fn(SocketAddr) -> String,
    ) -> Self {
        let mut wires = Self {
            proxies: BTreeMap::new(),
        };
        for &from in members {
            let Member::Of(service, _) = from else {
                continue;
            };
            let (mut schedulers, mut watchers) = (Vec::new(), Vec::new());
            let to = match service {
                Service::Watcher => {
                    wires.add(from, End::Consul, consul).await;
                    None
                }
                Service::Scheduler => {
                    let proxy = wires.add(from, End::Postgres, postgres).await;
                    let text = format!(
                        "database {{\n  url = \"{}\"\n  max_connections = 8\n}}\n",
                        database(proxy)
                    );
                    site.write(&file(DATABASE_FILE, from), &text);
                    Some((Service::Watcher, &mut watchers))
                }
                Service::Worker | Service::Gateway => Some((Service::Scheduler, &mut schedulers)),
            };
            if let Some((to, addresses)) = to {
                for index in 0..cluster.count(to) {
                    let address = cluster.grpc_address(to, index).parse().unwrap();
                    let proxy = wires.add(from, End::One(to, index), address).await;
                    addresses.push(proxy.to_string());
                }
            }
            let text = format!(
                "services {{\n  schedulers = {schedulers:?}\n  watchers = {watchers:?}\n}}\n"
            );
            site.write(&file(SERVICES_FILE, from), &text);
        }
        wires
    }

    /// The connections of a single process.
    pub(crate) async fn of_whole(consul: SocketAddr) -> Self {
        let mut wires = Self {
            proxies: BTreeMap::new(),
        };
        wires.add(Member::Whole, End::Consul, consul).await;
        wires
    }

    async fn add(&mut self, from: Member, to: End, server: SocketAddr) -> SocketAddr {
        let proxy = TcpProxy::start(server).await;
        let address = proxy.address();
        self.proxies.insert(Wire { from, to }, proxy);
        address
    }

    /// The address that a process connects to instead of Consul.
    pub(crate) fn consul(&self, from: Member) -> Option<SocketAddr> {
        let to = End::Consul;
        self.proxies.get(&Wire { from, to }).map(TcpProxy::address)
    }

    /// Sets the behaviour of these connections. Returns whether any exist.
    pub(crate) fn set(&self, wire: Wire, link: Link) -> bool {
        let is_meant = |one: &Wire| {
            one.from == wire.from
                && match (wire.to, one.to) {
                    (End::All(all), End::One(service, _)) => all == service,
                    (to, of_one) => to == of_one,
                }
        };
        let meant = self.proxies.iter().filter(|(one, _)| is_meant(one));
        let mut any = false;
        for (_, proxy) in meant {
            proxy.set_link(link);
            any = true;
        }
        any
    }
}

/// File in which a process reads where the others are.
pub(crate) const SERVICES_FILE: &str = "services-{name}.hcl";
/// File in which a process reads where the database is.
pub(crate) const DATABASE_FILE: &str = "database-{name}.hcl";

/// The file of this name of one process.
pub(crate) fn file(name: &str, member: Member) -> String {
    name.replace("{name}", &member.to_string())
}
