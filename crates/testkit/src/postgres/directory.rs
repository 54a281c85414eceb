//! The directory of a server, and its owner.

use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::unistd::{User, geteuid};

use super::settings::PostgresSettings;
use crate::limited_disk::LimitedDisk;
use crate::programs::postgres_path;

const LOG: &str = "postgres.log";
const DATA: &str = "data";
const PASSWORD: &str = "password";

/// Where directories are made if others than their owner cannot pass through that for temporary files.
const OPEN_TO_ALL: &str = "/tmp";

/// A directory with the data and the log of one server. The keeper removes it.
#[derive(Debug)]
pub(super) struct DataDirectory {
    path: PathBuf,
    /// Postgres refuses to run as root, so that its programs are started as this user.
    owner: Option<User>,
    /// Disk for the data alone.
    disk: Option<LimitedDisk>,
}

impl DataDirectory {
    /// With a disk of its own of so many bytes, or an error where there can be none.
    pub(super) fn make_limited(bytes: u64) -> std::io::Result<Self> {
        let mut directory = Self::make();
        let data = directory.path.join(DATA);
        let limited = fs::create_dir(&data).and_then(|()| {
            fs::set_permissions(&data, Permissions::from_mode(0o700))?;
            if let Some(user) = &directory.owner {
                chown(&data, Some(user.uid.as_raw()), Some(user.gid.as_raw()))?;
            }
            LimitedDisk::mount(&data, bytes)
        });
        match limited {
            Ok(disk) => {
                directory.disk = Some(disk);
                Ok(directory)
            }
            Err(error) => {
                fs::remove_dir_all(&directory.path)?;
                Err(error)
            }
        }
    }

    pub(super) const fn disk(&self) -> Option<&LimitedDisk> {
        self.disk.as_ref()
    }

    pub(super) fn make() -> Self {
        let owner = geteuid().is_root().then(unprivileged);
        let mut parent = std::env::temp_dir();
        if owner.is_some() && !open_to_all(&parent) {
            parent = PathBuf::from(OPEN_TO_ALL);
        }
        let directory = tempfile::Builder::new()
            .prefix("cts-postgres.")
            .tempdir_in(&parent)
            .unwrap_or_else(|error| panic!("no directory below {}: {error}", parent.display()));
        let path = directory.keep();
        if let Some(user) = &owner {
            let given = chown(&path, Some(user.uid.as_raw()), Some(user.gid.as_raw()));
            given.unwrap_or_else(|error| panic!("cannot give {}: {error}", path.display()));
        }
        Self {
            path,
            owner,
            disk: None,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// A program of Postgres, to be started as with [`DataDirectory::command`].
    pub(super) fn program(&self, name: &str) -> Command {
        self.command(&postgres_path(name))
    }

    /// A program to be started in this directory as its owner. Its output goes to the log, and nothing of the
    /// caller's environment reaches it.
    #[expect(
        clippy::disallowed_methods,
        reason = "a server shared by the tests of a process outlives the runtime of each"
    )]
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut log = File::options();
        let log = log.append(true).create(true).open(self.log());
        let log = log.unwrap_or_else(|error| panic!("no log of Postgres: {error}"));
        let again = log.try_clone();
        let again = again.unwrap_or_else(|error| panic!("no log of Postgres: {error}"));
        let mut command = Command::new(program);
        command
            .current_dir(&self.path)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TZ", "UTC")
            // A key that ends the tests is not for it: it ends when they have.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(again);
        if let Some(user) = &self.owner {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        command
    }

    /// Makes the data.
    pub(super) async fn initialize(&self, user: &str, settings: &PostgresSettings<'_>) {
        let password = self.path.join(PASSWORD);
        let mut initdb = self.program("initdb");
        initdb
            .args(["-D", DATA, "-U", user, "-E", "UTF8"])
            .args(["--locale=C.UTF-8", "--no-sync"]);
        if let Some(word) = settings.password {
            self.write(&password, word);
            initdb
                .args(["-A", "scram-sha-256", "--pwfile"])
                .arg(&password);
        } else {
            initdb.args(["-A", "trust"]);
        }
        let made = tokio::task::spawn_blocking(move || initdb.status()).await;
        match made {
            Ok(Ok(status)) if status.success() => {}
            other => panic!("initdb: {other:?}; its last lines:\n{}", self.last_lines()),
        }
        self.configure(settings);
    }

    /// Makes the data a copy of those of the server on `port`, set up to follow it.
    pub(super) async fn copy(&self, user: &str, password: Option<&str>, port: u16) {
        let mut copy = self.program("pg_basebackup");
        copy.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", user])
            .args(["-D", DATA, "--wal-method=stream", "--checkpoint=fast"])
            .args(["--write-recovery-conf", "--no-sync", "--no-password"]);
        if let Some(password) = password {
            copy.env("PGPASSWORD", password);
        }
        let made = tokio::task::spawn_blocking(move || copy.status()).await;
        match made {
            Ok(Ok(status)) if status.success() => {}
            other => panic!(
                "pg_basebackup: {other:?}; its last lines:\n{}",
                self.last_lines()
            ),
        }
    }

    fn configure(&self, settings: &PostgresSettings<'_>) {
        let mut text = String::from(
            "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\n\
             max_connections = 200\nshared_buffers = '32MB'\n",
        );
        if !settings.fsync {
            text.push_str("fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n");
        }
        for (name, value) in settings.parameters {
            // Writing to a string cannot fail.
            _ = writeln!(text, "{name} = '{}'", value.replace('\'', "''"));
        }
        if let Some(pair) = settings.tls {
            for (source, name) in [(&pair.cert, "server.crt"), (&pair.key, "server.key")] {
                let content = fs::read_to_string(source);
                let content = content
                    .unwrap_or_else(|error| panic!("cannot read {}: {error}", source.display()));
                self.write(&self.path.join(DATA).join(name), &content);
            }
            text.push_str("ssl = on\n");
        }
        let path = self.path.join(DATA).join("postgresql.auto.conf");
        if let Err(error) = fs::write(&path, text) {
            panic!("cannot write {}: {error}", path.display());
        }
    }

    /// A killed server leaves its lock, and a process id can be given to another process.
    pub(super) fn remove_stale_lock(&self) {
        let lock = self.path.join(DATA).join("postmaster.pid");
        match fs::remove_file(&lock) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                panic!("cannot remove {}: {error}", lock.display());
            }
            _removed_or_absent => {}
        }
    }

    pub(super) fn last_lines(&self) -> String {
        let text = fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Makes a file that only the owner reads.
    pub(super) fn write(&self, path: &Path, text: &str) {
        let written = fs::write(path, text).and_then(|()| self.give(path));
        written.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }

    fn give(&self, path: &Path) -> std::io::Result<()> {
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        let Some(user) = &self.owner else {
            return Ok(());
        };
        chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
    }
}

fn unprivileged() -> User {
    ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| User::from_name(name).ok().flatten())
        .unwrap_or_else(|| {
            panic!("Postgres does not run as root, and there is no user postgres or nobody")
        })
}

fn open_to_all(directory: &Path) -> bool {
    directory
        .ancestors()
        .all(|ancestor| fs::metadata(ancestor).is_ok_and(|metadata| metadata.mode() & 0o001 != 0))
}
