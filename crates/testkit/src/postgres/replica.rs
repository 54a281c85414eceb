//! Asynchronous replicas, and failovers to them.

use std::time::Duration;

use super::directory::DataDirectory;
use super::keeper::Keeper;
use super::{Postgres, USER, value_of};
use crate::eventually;
use crate::ports::free_port;

const DEADLINE: Duration = Duration::from_mins(1);

impl Postgres {
    /// Starts an asynchronous replica of this server, on a port of its own. The replica follows when this
    /// returns, and answers queries that only read. If this server has a disk of its own, so has the replica.
    pub async fn replica(&self) -> Self {
        let directory = match self.disk() {
            None => DataDirectory::make(),
            Some(disk) => match DataDirectory::make_limited(disk.bytes()) {
                Ok(directory) => directory,
                Err(error) => panic!("no disk for a replica, but for its primary: {error}"),
            },
        };
        let keeper = Keeper::start(directory.path());
        let password = self.password.clone();
        directory.copy(USER, password.as_deref(), self.port).await;
        let mut replica = Self {
            server: None,
            keeper,
            directory,
            port: free_port(),
            password,
        };
        if let Err(error) = replica.launch().await {
            panic!("the replica: {error}");
        }
        replica.wait_for_receiver(true).await;
        replica
    }

    /// Waits until the replica shows everything that is committed on `primary` now.
    pub async fn catch_up(&self, primary: &Self) {
        let written = primary
            .value("SELECT pg_current_wal_insert_lsn()::TEXT")
            .await;
        let replayed = format!("SELECT (pg_last_wal_replay_lsn() >= '{written}')::TEXT");
        eventually(DEADLINE, async || {
            match self.value(&replayed).await.as_str() {
                "true" => Ok(()),
                _ => Err(format!("the replica is not at {written} yet")),
            }
        })
        .await;
    }

    /// Cuts the replica off from its primary for good: it misses what is committed from now on.
    pub async fn stop_following(&self) {
        self.execute("ALTER SYSTEM SET primary_conninfo = ''").await;
        self.execute("SELECT pg_reload_conf()").await;
        self.wait_for_receiver(false).await;
    }

    /// Kills this server and starts `replica` in its place, on the same port, as the new primary. From now on
    /// this is that server; the data of the killed one go. Clients that connect before the promotion is over
    /// reach a server that only reads.
    pub async fn fail_over(&mut self, mut replica: Self) {
        self.kill().await;
        replica.stop().await;
        replica.port = self.port;
        if let Err(error) = replica.launch().await {
            panic!("the replica cannot be started in place of its primary: {error}");
        }
        replica.execute("SELECT pg_promote()").await;
        std::mem::swap(self, &mut replica);
    }

    async fn wait_for_receiver(&self, expected: bool) {
        let receives = "SELECT count(*)::TEXT FROM pg_stat_wal_receiver WHERE status = 'streaming'";
        eventually(DEADLINE, async || {
            let receives = self.value(receives).await == "1";
            if receives == expected {
                Ok(())
            } else {
                Err(format!("the replica receives: {receives}"))
            }
        })
        .await;
    }

    /// The first column of the first row, in the server's own database.
    async fn value(&self, query: &str) -> String {
        value_of(&self.url("postgres"), query).await
    }
}
