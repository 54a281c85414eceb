//! The four services as processes of their own, over TCP, with one of each: no `high_availability`, but
//! addresses of `services.listen` and of the command line, which wins, and none that depends on the order.

use std::net::{Ipv4Addr, SocketAddr};

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Api, Backend, RECORDER, Site, assert_successful, task};

use crate::system::grpc::{OF_SCHEDULER, OF_WATCHER, assert_lists, channel, wait_until_serving};

#[tokio::test]
async fn four_processes_serve_their_own_and_apply_a_change_together() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.database().await;
    site.write("modules/pool/main.tf", RECORDER);
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), Backend::Shared, &pool);
    let rest = free_port();
    let ports = [(); 4].map(|()| free_port());
    let [watcher, scheduler, worker, gateway] = ports;
    // The options of worker and gateway win.
    let listen = [
        ("watcher", watcher),
        ("scheduler", scheduler),
        ("worker", watcher),
        ("gateway", scheduler),
    ];
    let listen = listen.map(|(role, port)| format!("    {role} = \"127.0.0.1:{port}\"\n"));
    let listen = listen.concat();
    let ports = format!("port = {rest}\nservices {{\n  listen {{\n{listen}  }}\n}}\n");
    site.write("port.hcl", &ports);
    let watcher_url = format!("http://127.0.0.1:{watcher}");
    let scheduler_url = format!("http://127.0.0.1:{scheduler}");
    let run = |name: &str, port: Option<u16>, more: &[&str]| {
        let address = port.map(|port| format!("-grpc-address=127.0.0.1:{port}"));
        let mut arguments = vec!["-config-file", "cts.hcl", "-config-file", "port.hcl"];
        arguments.extend(address.as_deref());
        arguments.extend(more);
        site.run(name, &arguments, &format!("{name}.log"))
    };
    let at_scheduler = ["-scheduler", scheduler_url.as_str()];
    let as_gateway = [&at_scheduler[..], &["-bind-address", "127.0.0.1"]].concat();
    // Callers start before the services that they call: no service may depend on the order.
    let as_scheduler = ["-watcher", &watcher_url, "-config-file", "database.hcl"];
    let processes = [
        run("cts-gateway", Some(gateway), &as_gateway),
        run("cts-worker", Some(worker), &at_scheduler),
        run("cts-scheduler", None, &as_scheduler),
        run("cts-watcher", None, &[]),
    ];
    let offers = [
        (watcher, OF_WATCHER),
        (scheduler, OF_SCHEDULER),
        (worker, &[]),
        (gateway, &[]),
    ];
    for (port, services) in offers {
        let channel = channel(port);
        wait_until_serving(&channel).await;
        assert_lists(&channel, services).await;
    }

    let api = Api::new(SocketAddr::from((Ipv4Addr::LOCALHOST, rest)));
    api.wait_for_events("pool", 1).await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    site.wait_for_ids("pool", &["web-1"]).await;
    let events = api.wait_for_events("pool", 2).await;
    assert_successful(&events);

    for process in processes {
        let exit = process.terminate().await;
        exit.assert_code(0);
    }
}
