//! docs/configuration.md: four services on several machines.
//!
//! Each machine is a directory and an address of the loopback. The files are those of the document, with addresses, paths
//! and names of the test in the place of those that no test has.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use cts_testkit::{Authority, ConsulAgent, Postgres, eventually, free_port};
use cts_tests::{Api, DEADLINE, RECORDER, assert_successful, executable};

use super::blocks::section;
use super::terminal::{Machine, Terminal};

const DOCUMENT: &str = "docs/configuration.md";

/// A machine with this number, and its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Host(u8);

/// The machines of the document, and a third machine with a worker.
const SCHEDULERS: [Host; 2] = [Host(1), Host(2)];
const WORKER: Host = Host(3);

impl Host {
    fn address(self) -> String {
        format!("127.0.0.{}", self.0)
    }

    fn directory(self) -> String {
        format!("machine-{}", self.0)
    }
}

/// Ports that all machines have.
struct Ports {
    scheduler: u16,
    watcher: u16,
    api: u16,
}

/// The files that the document prints, by their names below `/etc/cts`.
fn printed_files() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(path.join(DOCUMENT)).unwrap();
    let blocks = text.split("```hcl\n# /etc/cts/").skip(1);
    let files = blocks.map(|block| {
        let (name, rest) = block.split_once('\n').unwrap();
        let (content, _) = rest.split_once("```").unwrap();
        (name.to_owned(), content.to_owned())
    });
    files.collect()
}

/// Replaces each text, all of which the file must have.
fn adapted(mut content: String, pairs: &[(&str, String)]) -> String {
    for (printed, own) in pairs {
        assert!(content.contains(printed), "{printed} is not in {content}");
        content = content.replace(printed, own);
    }
    content
}

/// Writes the files of one machine.
fn write_files(machine: &Machine, host: Host, ports: &Ports, database: &str) {
    let here = machine.path().display();
    let own = host.address();
    let Ports {
        scheduler,
        watcher,
        api,
    } = ports;
    let [first, second] = SCHEDULERS.map(Host::address);
    for (name, content) in printed_files() {
        let pairs: Vec<(&str, String)> = match name.as_str() {
            "services.hcl" => vec![
                ("10.0.0.1:8560", format!("{first}:{scheduler}")),
                ("10.0.0.2:8560", format!("{second}:{scheduler}")),
                ("10.0.0.1:8561", format!("{first}:{watcher}")),
                ("10.0.0.2:8561", format!("{second}:{watcher}")),
                ("0.0.0.0:8560", format!("{own}:{scheduler}")),
                ("0.0.0.0:8561", format!("{own}:{watcher}")),
                ("/etc/cts/tls", format!("{here}/tls")),
                ("consul.example.net:8500", machine.consul()),
            ],
            "scheduler.hcl" => vec![
                (
                    "postgres://cts@db.example.net/cts?sslmode=verify-full\"\n  ca_cert = \"/etc/cts/tls/database-ca.pem",
                    database.to_owned(),
                ),
                ("10.0.0.1:8558", format!("{own}:{api}")),
                (
                    "example/pool/loadbalancer\"\n  version   = \"1.2.0",
                    "./modules/pool".to_owned(),
                ),
                ("[\"loadbalancer\"]", "[\"terraform\"]".to_owned()),
            ],
            "worker.hcl" => vec![
                ("/var/lib/cts/worker", format!("{here}/work")),
                (
                    "loadbalancer = { source = \"example/loadbalancer\", version = \"~> 2.0\" }",
                    "terraform = { source = \"terraform.io/builtin/terraform\" }".to_owned(),
                ),
                (
                    "\"loadbalancer\" {\n  address = \"lb.example.net\"",
                    "\"terraform\" {".to_owned(),
                ),
            ],
            "gateway.hcl" => vec![("8558", api.to_string())],
            "watcher.hcl" => Vec::new(),
            other => panic!("no machine has {other}"),
        };
        machine.write(
            &format!("{}/{name}", host.directory()),
            &adapted(content, &pairs),
        );
    }
    let directory = host.directory();
    machine.write(&format!("{directory}/modules/pool/main.tf"), RECORDER);
    let id = format!("id = \"{directory}\"\n");
    machine.write(&format!("{directory}/id.hcl"), &id);
}

/// Gives schedulers an id, which comes from the name of the host in the document, and workers and gateways the address of
/// their machine.
fn write_program(machine: &Machine) {
    let [worker, gateway] = [(); 2].map(|()| free_port());
    let script = format!(
        "#!/bin/bash\n\
         case \"$1\" in\n\
         scheduler) set -- \"$@\" -config-file id.hcl ;;\n\
         worker) set -- \"$@\" -grpc-address \"$HOST:{worker}\" ;;\n\
         gateway) set -- \"$@\" -grpc-address \"$HOST:{gateway}\" -bind-address \"$HOST\" ;;\n\
         esac\n\
         exec {} \"$@\"\n",
        executable("cts").display()
    );
    machine.write("bin/cts", &script);
    let path = machine.path().join("bin/cts");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

async fn terminal(machine: &Machine, host: Host) -> Terminal {
    let mut terminal = machine.terminal(&host.directory());
    let variables = format!(
        "unset CONSUL_HTTP_ADDR CTS_ADDRESS; export HOST={}",
        host.address()
    );
    terminal.works(&variables).await;
    terminal
}

#[tokio::test]
async fn services_of_several_machines_start_as_printed() {
    let consul = ConsulAgent::start().await;
    let machine = Machine::new(Some(&consul.address()));
    let database = Postgres::shared().await.create_database().await;
    let [scheduler, watcher, api] = [(); 3].map(|()| free_port());
    let ports = Ports {
        scheduler,
        watcher,
        api,
    };
    let authority = Authority::new();
    machine.write("tls/ca.pem", authority.pem());
    authority.write_pair(&machine.path().join("tls"), "service", &["cts.internal"]);
    write_program(&machine);
    for host in [SCHEDULERS[0], SCHEDULERS[1], WORKER] {
        write_files(&machine, host, &ports, &database);
    }
    let mut migrating = terminal(&machine, SCHEDULERS[0]).await;
    migrating
        .works("cts migrate -config-file scheduler.hcl")
        .await;
    migrating.close().await;

    let blocks = section(DOCUMENT, "Addresses of the services");
    let [block] = blocks.as_slice() else {
        panic!("{blocks:?}");
    };
    let mut terminals = Vec::new();
    let mut hosts: Vec<Host> = Vec::new();
    for command in block.commands() {
        if command.starts_with('#') {
            hosts = match command.as_str() {
                "# on 10.0.0.1 and on 10.0.0.2" => SCHEDULERS.to_vec(),
                "# on each machine with a worker" => vec![WORKER],
                other => panic!("{other}: not known"),
            };
            continue;
        }
        for host in &hosts {
            let mut terminal = terminal(&machine, *host).await;
            terminal.leave(&command).await;
            terminals.push(terminal);
        }
    }
    assert_eq!(terminals.len(), 7);

    for host in SCHEDULERS {
        let api = Api::new(format!("{}:{api}", host.address()).parse().unwrap());
        eventually(DEADLINE, async || match api.ask("/v1/health").await {
            Ok((200, _)) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
        assert_successful(&api.wait_for_events("pool", 1).await);
        eventually(DEADLINE, async || {
            let cluster = api.get("/v1/status/cluster").await;
            let members = cluster["members"].as_array().unwrap();
            let leaders = members.iter().filter(|member| member["leader"] == true);
            match (members.len(), leaders.count()) {
                (2, 1) => Ok(()),
                _ => Err(cluster.to_string()),
            }
        })
        .await;
    }
    for terminal in terminals {
        terminal.close().await;
    }
}
