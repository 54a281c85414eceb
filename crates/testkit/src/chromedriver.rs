//! A real driver of Chromium, and how it starts browsers.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, geteuid};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::certificates::KeyPairFiles;
use crate::eventually::eventually;
use crate::programs::{chromedriver_path, pk12util_path};

const READY_DEADLINE: Duration = Duration::from_secs(30);

/// The line with the port that the driver has chosen.
const STARTED: &str = "was started successfully on port ";

/// A chromedriver on the loopback. It ends with its browsers when this value is dropped.
#[derive(Debug)]
pub struct Chromedriver {
    child: Child,
    port: u16,
    /// Home of the driver and of its browsers.
    home: TempDir,
}

impl Chromedriver {
    /// Starts a driver; it answers when this returns.
    pub async fn start() -> Self {
        let start = || -> std::io::Result<_> {
            let home = TempDir::new()?;
            let log = home.path().join("chromedriver.log");
            let child = Command::new(chromedriver_path())
                .args(["--port=0", "--log-level=WARNING"])
                .env("HOME", home.path())
                .env("TMPDIR", home.path())
                // Browsers are in the process group of their driver.
                .process_group(0)
                .stdin(Stdio::null())
                .stdout(std::fs::File::create(&log)?)
                .stderr(Stdio::null())
                .kill_on_drop(true)
                .spawn()?;
            Ok((home, log, child))
        };
        let (home, log, child) =
            start().unwrap_or_else(|error| panic!("chromedriver cannot be started: {error}"));
        let port = eventually(READY_DEADLINE, async || {
            let output = std::fs::read_to_string(&log).unwrap_or_default();
            port(&output).ok_or(output)
        });
        Self {
            port: port.await,
            child,
            home,
        }
    }

    /// `http://host:port`.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Gives the certificate of a person to all browsers that are started from now on.
    pub async fn import_certificate(&self, pair: &KeyPairFiles) {
        let database = self.home.path().join(".pki/nssdb");
        std::fs::create_dir_all(&database).expect("the home is writable");
        let bundle = self.home.path().join("person.p12");
        let mut export = Command::new("openssl");
        export.args(["pkcs12", "-export", "-name", "person", "-passout", "pass:"]);
        export.arg("-in").arg(&pair.cert).arg("-inkey");
        export.arg(&pair.key).arg("-out").arg(&bundle);
        let mut import = Command::new(pk12util_path());
        import.args(["-W", "", "-K", "", "-i"]).arg(bundle);
        import.arg("-d").arg(format!("sql:{}", database.display()));
        for command in [&mut export, &mut import] {
            let output = command.output().await;
            let output = output.unwrap_or_else(|error| {
                panic!("cannot run {command:?}: {error}: run scripts/setup")
            });
            assert!(output.status.success(), "{command:?}: {output:?}");
        }
    }
}

impl Drop for Chromedriver {
    fn drop(&mut self) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(id) = id {
            let _gone = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
    }
}

/// Arguments of a Chromium without a window, without requests of its own, and with a profile in this directory.
pub fn chromium_arguments(profile: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--headless",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-breakpad",
        "--no-proxy-server",
        "--lang=en",
    ]
    .map(str::to_owned)
    .into();
    arguments.push(format!("--user-data-dir={}", profile.display()));
    // The sandbox of Chromium does not start as root.
    if geteuid().is_root() {
        arguments.push("--no-sandbox".to_owned());
    }
    arguments
}

fn port(output: &str) -> Option<u16> {
    let (_, rest) = output.split_once(STARTED)?;
    rest.split_once('.')?.0.parse().ok()
}
