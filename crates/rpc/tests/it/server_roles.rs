//! The column "as a server" of the roles: every certificate as the server of every role, as docs/access.md shows it.

use std::collections::BTreeMap;

use cts_core::Chain;
use cts_core::callers::ServiceRole;
use cts_rpc::{Address, ClientTls, ServerRule, ServerTls, connect_tls};
use cts_testkit::Authority;

use crate::admission_stage::{DOMAIN, named};
use crate::folder::Folder;
use crate::rig::{Followed, Server, who};

/// A server for 127.0.0.1 whose certificate has these names, too.
async fn server(authority: &Authority, names: &[&str]) -> Server {
    let folder = Folder::new(authority, authority);
    folder.fill(authority, authority, &[names, &["127.0.0.1"]].concat());
    let tls = ServerTls::load(&folder.files()).await.unwrap();
    Server::with_tls("the server", tls)
}

/// A client that expects one of these roles.
async fn client(authority: &Authority, roles: &'static [ServiceRole], required: bool) -> ClientTls {
    let folder = Folder::new(authority, authority);
    let tls = ClientTls::load(folder.client()).await.unwrap();
    tls.with_servers(ServerRule {
        roles,
        domain: Some(DOMAIN.to_owned()),
        required,
    })
}

/// The answer of a server, or the reason why it gets no request.
async fn ask(server: &Server, tls: &ClientTls) -> Result<String, String> {
    let address: Address = server.address.to_string().parse().unwrap();
    let answer = who(connect_tls(&address, tls)).await;
    answer.map_err(|error| Chain(&error).to_string())
}

/// The column of the table of roles, by the names in certificates.
fn documented() -> BTreeMap<String, String> {
    let document = include_str!("../../../../docs/access.md");
    let (_, section) = document.split_once("\n## Services").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let mut column = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if let [_, names, _, server, _] = cells.as_slice() {
            for name in names.split(", ") {
                let role = name.trim_matches('`').split('.').next().unwrap();
                column.insert(role.to_owned(), (*server).to_owned());
            }
        }
    }
    column
}

#[tokio::test]
async fn each_certificate_is_accepted_as_the_servers_of_its_roles_only() {
    const EXPECTED: [&[ServiceRole]; 5] = [
        &[ServiceRole::Watcher],
        &[ServiceRole::Scheduler],
        &[ServiceRole::Worker],
        &[ServiceRole::Gateway],
        &ServiceRole::SERVERS,
    ];
    let authority = Authority::new();
    let column = documented();
    assert_eq!(column.len(), 9, "{column:?}");
    for (role, documented) in column {
        let server = server(&authority, &[&named(&role)]).await;
        for expected in EXPECTED {
            let is_expected = expected.iter().any(|one| one.as_str() == documented);
            for required in [false, true] {
                let tls = client(&authority, expected, required).await;
                let answer = ask(&server, &tls).await;
                assert_eq!(
                    answer.is_ok(),
                    is_expected,
                    "{role} {expected:?} {answer:?}"
                );
                if let Err(reason) = answer {
                    let said = format!("another role: {role} (names: {}, 127.0.0.1)", named(&role));
                    assert!(reason.contains(&said), "{reason}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_certificate_without_a_role_is_refused_on_request() {
    let authority = Authority::new();
    let scheduler: &[ServiceRole] = &[ServiceRole::Scheduler];
    for names in [
        &[][..],
        &["scheduler.other.example"],
        &["worker.other.example"],
    ] {
        let server = server(&authority, names).await;
        let tls = client(&authority, scheduler, false).await;
        assert_eq!(ask(&server, &tls).await.unwrap(), "the server");
        let tls = client(&authority, scheduler, true).await;
        let reason = ask(&server, &tls).await.unwrap_err();
        assert!(reason.contains("names no role"), "{reason}");
        assert!(reason.contains("scheduler.cts.example"), "{reason}");
        assert!(reason.contains("security.server_roles"), "{reason}");
    }
}

#[tokio::test]
async fn a_certificate_with_several_roles_is_accepted_as_each_of_them() {
    let authority = Authority::new();
    let names = ["worker", "scheduler"].map(named);
    let server = server(&authority, &[&names[0], &names[1]]).await;
    let expected: [(&[ServiceRole], bool); 3] = [
        (&[ServiceRole::Scheduler], true),
        (&[ServiceRole::Worker], true),
        (&[ServiceRole::Watcher], false),
    ];
    for (roles, accepted) in expected {
        let tls = client(&authority, roles, true).await;
        assert_eq!(ask(&server, &tls).await.is_ok(), accepted, "{roles:?}");
    }
}

#[tokio::test]
async fn a_peer_of_another_role_gets_no_calls() {
    let authority = Authority::new();
    let scheduler = server(&authority, &[&named("scheduler")]).await;
    let impostor = {
        let folder = Folder::new(&authority, &authority);
        folder.fill(&authority, &authority, &[&named("worker"), "127.0.0.1"]);
        let tls = ServerTls::load(&folder.files()).await.unwrap();
        Server::with_tls("an impostor", tls)
    };
    let tls = client(&authority, &[ServiceRole::Scheduler], false).await;
    let addresses = [&scheduler, &impostor].map(|server| server.address.to_string());
    let mut followed = Followed::new(&addresses, Some(&tls));
    followed.until_healthy(&[scheduler.address]).await;
    let conditions = followed.peers.checked().await;
    let refused = conditions.iter().find(|peer| peer.socket == addresses[1]);
    let reason = &refused.unwrap().reason;
    assert!(reason.contains("another role: worker"), "{reason}");
    followed.hears_only("the server").await;
}
