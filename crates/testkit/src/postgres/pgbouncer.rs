//! A pooler in front of a server.

use std::fs;
use std::io::ErrorKind;
use std::process::Child;
use std::time::Duration;

use sqlx::{Connection as _, PgConnection};

use super::directory::DataDirectory;
use super::keeper::Keeper;
use super::{PORT_TRIES, Postgres, USER, url_of};
use crate::ports::free_port;
use crate::programs::pgbouncer_path;

const READY_DEADLINE: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A PgBouncer on 127.0.0.1 in front of a [`Postgres`] that accepts every user.
///
/// PgBouncer ends when this value is dropped, and also when the test process dies.
#[derive(Debug)]
pub struct PgBouncer {
    keeper: Keeper,
    child: Child,
    port: u16,
}

impl PgBouncer {
    /// Starts one; it answers when this returns. `settings` are lines of its configuration, as in
    /// `pool_mode = session`.
    pub async fn start(postgres: &Postgres, settings: &str) -> Self {
        let mut complaint = String::new();
        for _ in 0..PORT_TRIES {
            match Self::try_start(postgres, settings).await {
                Ok(pooler) => return pooler,
                Err(log) => complaint = log,
            }
        }
        panic!("PgBouncer did not start in {PORT_TRIES} tries; its last lines:\n{complaint}");
    }

    async fn try_start(postgres: &Postgres, settings: &str) -> Result<Self, String> {
        let directory = DataDirectory::make();
        let mut keeper = Keeper::start(directory.path());
        let port = free_port();
        let (users, configuration) = ("users.txt", "pgbouncer.ini");
        directory.write(&directory.path().join(users), &format!("\"{USER}\" \"\"\n"));
        directory.write(
            &directory.path().join(configuration),
            &format!(
                "[databases]\n* = host=127.0.0.1 port={}\n\
                 [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
                 auth_type = trust\nauth_file = ../{users}\ndefault_pool_size = 50\n{settings}\n",
                postgres.port()
            ),
        );
        // The keeper knows its processes by this directory.
        let work = directory.path().join("data");
        if let Err(error) = fs::create_dir(&work) {
            panic!("cannot make {}: {error}", work.display());
        }
        // The program may be where its user cannot read.
        let program = directory.path().join("pgbouncer");
        if let Err(error) = fs::copy(pgbouncer_path(), &program) {
            panic!("cannot copy PgBouncer: {error}");
        }
        let mut command = directory.command(&program);
        command
            .current_dir(&work)
            .arg(format!("../{configuration}"));
        let mut child = match command.spawn() {
            Ok(child) => child,
            // Another thread has started a process while the copy was being written.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                return Err(error.to_string());
            }
            Err(error) => panic!("PgBouncer cannot be started: {error}"),
        };
        keeper.watch(child.id());
        let url = url_of(None, port, "postgres");
        let answers = async {
            loop {
                if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
                    return false;
                }
                // Any answer is enough.
                match PgConnection::connect(&url).await {
                    Ok(connection) => {
                        drop(connection.close().await);
                        return true;
                    }
                    Err(sqlx::Error::Database(_)) => return true,
                    Err(_not_yet) => tokio::time::sleep(POLL_INTERVAL).await,
                }
            }
        };
        if matches!(
            tokio::time::timeout(READY_DEADLINE, answers).await,
            Ok(true)
        ) {
            return Ok(Self {
                keeper,
                child,
                port,
            });
        }
        keeper.end();
        _ = child.wait();
        Err(directory.last_lines())
    }

    /// Returns the address of a database behind PgBouncer.
    pub fn url(&self, database: &str) -> String {
        url_of(None, self.port, database)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        self.keeper.end();
        _ = self.child.wait();
    }
}
