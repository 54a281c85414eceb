//! A shell in which the commands of a document are typed as they are printed there.
//!
//! Documents use the usual ports and names of hosts. The programs on the path of the shell give the ports of the test
//! to the real programs in their place.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cts_testkit::{consul_path, eventually, free_port, terraform_path};
use cts_tests::{Api, DEADLINE, executable};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, timeout};

/// A directory for the commands, with the ports that stand for the usual ones.
pub(super) struct Machine {
    directory: TempDir,
    consul: u16,
    api: u16,
}

/// The output of a command on both streams, and its exit code.
#[derive(Debug)]
pub(super) struct Printed {
    pub(super) code: i32,
    pub(super) text: String,
}

/// One shell. What still runs in it ends with it.
pub(super) struct Terminal {
    child: Child,
    stdin: ChildStdin,
    group: Pid,
    output: PathBuf,
    typed: usize,
    is_closed: bool,
}

impl Machine {
    /// With a Consul at this address, or without one at a port that `consul agent` will take.
    pub(super) fn new(consul: Option<&str>) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("cts-printed.")
            .tempdir()
            .unwrap();
        let port_of = |address: &str| address.rsplit(':').next().unwrap().parse().unwrap();
        let machine = Self {
            directory,
            consul: consul.map_or_else(free_port, port_of),
            api: free_port(),
        };
        machine.write_programs();
        machine
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn api(&self) -> Api {
        Api::new(([127, 0, 0, 1], self.api).into())
    }

    pub(super) fn consul(&self) -> String {
        format!("127.0.0.1:{}", self.consul)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The database that stands for each one that is printed.
    pub(super) fn use_database(&self, url: &str) {
        self.write("database", url);
    }

    fn write_programs(&self) {
        let here = self.path().display();
        let [watcher, scheduler, worker, gateway, telemetry] = [(); 5].map(|()| free_port());
        let [dns, server, lan, wan] = [(); 4].map(|()| free_port());
        let (api, consul_port) = (self.api, self.consul);
        self.write(
            "ports.hcl",
            &format!(
                "port = {api}\ntelemetry {{\n  listen = \"127.0.0.1:{telemetry}\"\n}}\nservices {{\n  schedulers = \
                 [\"127.0.0.1:{scheduler}\"]\n  watchers = [\"127.0.0.1:{watcher}\"]\n}}\n"
            ),
        );
        // The words of a command, with the ports of the test.
        let words = format!(
            "words=()\n\
             for word in \"$@\"; do\n\
             for pair in localhost:8558=localhost:{api} old.example:8558=127.0.0.1:{api} localhost:9464=127.0.0.1:{telemetry} \
             localhost:8500=127.0.0.1:{consul_port} 127.0.0.1:8500=127.0.0.1:{consul_port}; do\n\
             word=\"${{word//${{pair%%=*}}/${{pair#*=}}}}\"\n\
             done\n\
             words+=(\"$word\")\n\
             done\n"
        );
        let cts = format!(
            "if [ -e {here}/database ]; then export CTS_DATABASE_URL=\"$(cat {here}/database)\"; fi\n\
             export CONSUL_HTTP_ADDR={} CTS_ADDRESS=\"${{CTS_ADDRESS/localhost:8558/localhost:{api}}}\"\n\
             case \"$1\" in\n\
             start) words+=(-config-file {here}/ports.hcl -bind-address 127.0.0.1) ;;\n\
             watcher) words+=(-config-file {here}/services.hcl -grpc-address 127.0.0.1:{watcher}) ;;\n\
             scheduler) words+=(-config-file {here}/services.hcl -grpc-address 127.0.0.1:{scheduler}) ;;\n\
             worker) words+=(-config-file {here}/services.hcl -grpc-address 127.0.0.1:{worker}) ;;\n\
             gateway) words+=(-config-file {here}/services.hcl -grpc-address 127.0.0.1:{gateway} -bind-address 127.0.0.1) ;;\n\
             esac\n\
             exec {} \"${{words[@]}}\"\n",
            self.consul(),
            executable("cts").display(),
        );
        let consul = format!(
            "exec {} \"$@\" -bind 127.0.0.1 -http-port {consul_port} -dns-port {dns} -server-port {server} \
             -serf-lan-port {lan} -serf-wan-port {wan} -grpc-port -1\n",
            consul_path().display(),
        );
        let curl = "exec env PATH=/usr/local/bin:/usr/bin:/bin curl -sS --fail --noproxy '*' \"${words[@]}\"\n";
        // The executable is built already.
        let cargo = format!(
            "case \"$1\" in\n\
             --version) echo 'cargo 99.0.0' ;;\n\
             metadata) echo '{{\"target_directory\":\"{here}/built\"}}' ;;\n\
             build) mkdir -p {here}/built/debug && ln -sf {} {here}/built/debug/cts ;;\n\
             install) [ \"$*\" = 'install --locked --path services/cts' ] && [ -e services/cts/Cargo.toml ] ;;\n\
             *) exit 1 ;;\n\
             esac\n",
            executable("cts").display()
        );
        let terraform = format!("exec {} \"$@\"\n", terraform_path().display());
        for (name, script) in [
            ("cts", words.clone() + &cts),
            ("consul", consul),
            ("curl", words + curl),
            ("cargo", cargo),
            ("terraform", terraform),
            // Services of the machine are those of terminals.
            ("systemctl", "exit 0\n".to_owned()),
        ] {
            self.write(&format!("bin/{name}"), &format!("#!/bin/bash\n{script}"));
            let path = self.path().join("bin").join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let ports = fs::read_to_string(self.path().join("ports.hcl")).unwrap();
        let (before, rest) = ports.split_once("telemetry").unwrap();
        let (_, services) = rest.split_once("}\n").unwrap();
        self.write("services.hcl", &format!("{before}{services}"));
    }

    /// Opens a terminal in a directory below that of the machine.
    pub(super) fn terminal(&self, directory: &str) -> Terminal {
        let output = self.path().join(format!("terminal-{}.log", free_port()));
        let file = fs::File::create(&output).unwrap();
        let mut shell = Command::new("bash");
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            self.path().join("bin").display()
        );
        let postgres = std::env::var_os("CTS_TEST_POSTGRES_BIN")
            .map(|path| path.to_string_lossy().into_owned());
        let mut child = shell
            .arg("--noprofile")
            .current_dir(self.path().join(directory))
            .env_clear()
            .env(
                "PATH",
                postgres.map_or_else(|| path.clone(), |postgres| format!("{path}:{postgres}")),
            )
            .env("HOME", self.path())
            .env("CONSUL_HTTP_ADDR", self.consul())
            .env("CTS_ADDRESS", self.api().url(""))
            .stdin(Stdio::piped())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let group = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
        Terminal {
            stdin: child.stdin.take().unwrap(),
            child,
            group,
            output,
            typed: 0,
            is_closed: false,
        }
    }

    /// Waits until the task has this number of events and no run of it is left.
    pub(super) async fn until_quiet(&self, task: &str, events: usize) {
        self.api().wait_for_events(task, events).await;
        eventually(DEADLINE, async || {
            let runs = self.api().get(&format!("/v1/runs?task={task}")).await;
            let all = runs["runs"].as_array().unwrap().iter();
            let is_left = |run: &Value| run["status"] == "queued" || run["status"] == "running";
            if all.clone().any(is_left) {
                Err(runs.to_string())
            } else {
                Ok(())
            }
        })
        .await;
    }

    /// Waits until the API serves.
    pub(super) async fn until_healthy(&self) {
        eventually(DEADLINE, async || {
            let answer = self.api().ask("/v1/health").await;
            match answer {
                Ok((200, _)) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }
}

impl Terminal {
    /// Types a command that goes on, and leaves it.
    pub(super) async fn leave(&mut self, command: &str) {
        self.stdin
            .write_all(format!("{command}\n").as_bytes())
            .await
            .unwrap();
    }

    /// Types a command, with the answer `yes` to its question, and waits for its end.
    pub(super) async fn run(&mut self, command: &str) -> Printed {
        self.typed += 1;
        let begin = fs::read(&self.output).unwrap().len();
        let end = format!("@@{} ", self.typed);
        // A comment ends with its line.
        let line = format!("{{ {command}\n}} <<<yes; echo \"{end}$?\"\n");
        self.stdin.write_all(line.as_bytes()).await.unwrap();
        let (code, text) = eventually(DEADLINE, async || {
            let output = fs::read(&self.output).unwrap();
            let output = String::from_utf8_lossy(&output[begin..]).into_owned();
            match output.split_once(&end) {
                Some((text, code)) if code.contains('\n') => {
                    let code = code.split('\n').next().unwrap().parse::<i32>().unwrap();
                    Ok((code, text.to_owned()))
                }
                _ => Err(format!("{command} has not ended: {output}")),
            }
        })
        .await;
        Printed { code, text }
    }

    /// Like [`Terminal::run`], for a command that must succeed.
    pub(super) async fn works(&mut self, command: &str) -> String {
        let Printed { code, text } = self.run(command).await;
        assert_eq!(code, 0, "{command}\n{text}");
        text
    }

    /// Types a command again until it succeeds.
    pub(super) async fn until_it_works(&mut self, command: &str) {
        let begin = Instant::now();
        loop {
            let said = self.run(command).await;
            if said.code == 0 {
                return;
            }
            assert!(begin.elapsed() < DEADLINE, "{command}: {said:?}");
        }
    }

    /// Waits until the command that was left has ended by itself.
    pub(super) async fn until_idle(&mut self) {
        self.works("true").await;
    }

    /// Ends everything that runs in it, as a logout does.
    pub(super) async fn close(mut self) {
        killpg(self.group, Signal::SIGTERM).ok();
        drop(timeout(DEADLINE, self.child.wait()).await.unwrap());
        eventually(DEADLINE, async || match killpg(self.group, None) {
            Err(_gone) => Ok(()),
            Ok(()) => Err("processes of a terminal go on"),
        })
        .await;
        self.is_closed = true;
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if !self.is_closed {
            killpg(self.group, Signal::SIGKILL).ok();
        }
    }
}
