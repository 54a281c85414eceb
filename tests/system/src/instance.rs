//! A running `cts start`.

use std::net::{Ipv4Addr, SocketAddr};

use cts_testkit::{eventually, free_port};

use crate::DEADLINE;
use crate::api::Api;
use crate::process::{Exit, Process};
use crate::site::Site;

/// Another process may take a port between choice and use.
const PORT_TRIES: usize = 5;

/// An instance that answers. Ended when dropped.
#[derive(Debug)]
pub struct Instance {
    /// Its REST API.
    pub api: Api,
    process: Process,
}

impl Instance {
    /// Starts `cts start` with the site's configuration and waits until it is healthy.
    pub async fn start(site: &Site) -> Self {
        Self::start_with(site, &[]).await
    }

    /// The same with further arguments.
    pub async fn start_with(site: &Site, arguments: &[&str]) -> Self {
        for _ in 0..PORT_TRIES {
            let port = free_port();
            let mut process = site.run_cts(port, arguments);
            let api = Api::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
            let began = eventually(DEADLINE, async || {
                if !process.is_running() {
                    return Ok(false);
                }
                match api.ask("/v1/health").await {
                    Ok((200, _)) => Ok(true),
                    Ok((status, body)) => Err(format!("health: {status} {body}")),
                    Err(error) => Err(error.to_string()),
                }
            });
            if began.await {
                return Self { api, process };
            }
            let output = process.output();
            assert!(
                output.contains("cannot listen on"),
                "cts ended instead of starting:\n{output}"
            );
        }
        panic!("{PORT_TRIES} ports were taken one after the other");
    }

    /// What it has printed so far, instances before it at the same site included.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Ends it by SIGTERM.
    pub async fn terminate(self) -> Exit {
        self.process.terminate().await
    }

    /// Ends it by SIGTERM and expects an orderly end.
    pub async fn stop(self) {
        let exit = self.terminate().await;
        assert_eq!(exit.code, Some(0), "{}", exit.output);
    }

    /// Ends it by SIGKILL; its Terraform runs on.
    pub async fn kill(self) {
        self.process.kill().await;
    }
}
