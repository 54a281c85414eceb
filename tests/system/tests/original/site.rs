//! Starts under the name of the original.

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Exit, Process, RECORDER, Site, task};
use reqwest::{Client, Method};
use serde_json::Value;

/// The name that the program is called by.
pub(super) const NAME: &str = "consul-terraform-sync";

/// A site with `config.hcl` and a module in `module`.
pub(super) fn site(configuration: &str) -> Site {
    let mut site = Site::new();
    site.set_environment("TZ", "UTC");
    site.write("module/main.tf", RECORDER);
    let more = ["catalog_services", "consul_kv"]
        .map(|name| format!("variable \"{name}\" {{\n  type    = any\n  default = {{}}\n}}\n"));
    site.write("module/variables.tf", &more.concat());
    site.write("config.hcl", configuration);
    site
}

/// The blocks of a configuration whose tasks keep their state beside them.
pub(super) fn blocks(consul: &ConsulAgent) -> String {
    format!(
        "port = {}\nworking_dir = \"work\"\nbuffer_period {{ enabled = false }}\n\
         consul {{ address = \"{}\" }}\n",
        free_port(),
        consul.address()
    )
}

/// The driver block of such a configuration, with further settings.
pub(super) fn driver(more: &str) -> String {
    format!("driver \"terraform\" {{\n  {more}\n  backend \"local\" {{}}\n}}\n")
}

/// Runs `start -config-file=config.hcl` with further options to its end.
pub(super) async fn start(site: &Site, options: &[&str]) -> Exit {
    run(site, options).wait().await
}

/// Starts `start -config-file=config.hcl` with further options.
pub(super) fn run(site: &Site, options: &[&str]) -> Process {
    let all = [&["start", "-config-file=config.hcl"], options].concat();
    site.run(NAME, &all, "start.log")
}

/// A running instance over plain HTTP. Its members end in their order.
pub(super) struct Server {
    pub(super) process: Process,
    pub(super) site: Site,
    pub(super) consul: ConsulAgent,
    pub(super) port: u16,
}

impl Server {
    /// Starts with these blocks, and waits until the first pass is over.
    pub(super) async fn start_with(more: &str) -> Self {
        Self::start_at(|_site| {}, more).await
    }

    /// As [`Server::start_with`], in a site that is prepared first.
    pub(super) async fn start_at(prepare: impl FnOnce(&Site), more: &str) -> Self {
        let consul = ConsulAgent::start().await;
        consul.register_service("web", "web-1", 1, &[], &[]).await;
        let port = free_port();
        let site = site(&format!(
            "port = {port}\nworking_dir = \"work\"\nbuffer_period {{ enabled = false }}\n\
             consul {{ address = \"{}\" }}\n{}{more}",
            consul.address(),
            driver("")
        ));
        prepare(&site);
        let process = run(&site, &[]);
        process.until_logged("ctrl: start task monitoring").await;
        Self {
            process,
            site,
            consul,
            port,
        }
    }

    pub(super) fn address(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// A task block for a file in another directory.
    pub(super) fn task_file(&self, name: &str) -> String {
        let module = self.site.path().join("module");
        task(name, module.to_str().unwrap(), &["web"], "")
    }

    /// Status and body of the answer to a `GET`.
    pub(super) async fn ask(&self, path: &str) -> (u16, Value) {
        self.send(Method::GET, path, None).await
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (u16, Value) {
        let client = Client::builder().no_proxy().build().unwrap();
        let request = client.request(method, format!("{}{path}", self.address()));
        let request = match &body {
            Some(body) => request.json(body),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (
            status,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }

    pub(super) async fn end(self) -> Exit {
        let exit = self.process.terminate().await;
        exit.assert_code(0);
        exit
    }
}
