//! A real Postgres, for one test or for all tests of a process.

mod directory;
mod keeper;
mod pgbouncer;
mod replica;
mod server;
mod settings;

use std::time::Duration;

use nix::sys::signal::Signal;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, Decode, PgConnection, Type};
use tokio::sync::OnceCell;

use self::directory::DataDirectory;
use self::keeper::Keeper;
pub use self::pgbouncer::PgBouncer;
use self::server::Server;
pub use self::settings::PostgresSettings;
use crate::limited_disk::LimitedDisk;
use crate::ports::free_port;

/// A port may be taken by another process between choice and use.
const PORT_TRIES: usize = 5;
const STOP_DEADLINE: Duration = Duration::from_secs(30);
const USER: &str = "cts";

static SHARED: OnceCell<Postgres> = OnceCell::const_new();

/// A Postgres server on 127.0.0.1 with a data directory of its own. Up to 200 connections.
///
/// The server can have [replicas](Postgres::replica), one of which can [take its place](Postgres::fail_over).
///
/// The server ends, and its directory goes, when this value is dropped, and also when the test process dies: a
/// small keeper process sees to that.
#[derive(Debug)]
pub struct Postgres {
    server: Option<Server>,
    keeper: Keeper,
    directory: DataDirectory,
    port: u16,
    password: Option<String>,
}

/// Holds writes into a table, see [`Postgres::hold_writes`].
#[derive(Debug)]
pub struct HeldWrites {
    /// The lock is that of its transaction.
    _connection: PgConnection,
}

impl Postgres {
    /// Starts a server with the default settings; it answers when this returns.
    pub async fn start() -> Self {
        Self::start_with(PostgresSettings::default()).await
    }

    /// Starts a server with other settings.
    pub async fn start_with(settings: PostgresSettings<'_>) -> Self {
        Self::start_in(DataDirectory::make(), settings).await
    }

    /// Starts a server with its data on a disk of so many bytes, which [`Postgres::disk`] can fill; returns an
    /// error if none can be mounted. Postgres itself needs about 100 MiB.
    pub async fn start_limited(
        bytes: u64,
        settings: PostgresSettings<'_>,
    ) -> std::io::Result<Self> {
        let directory = DataDirectory::make_limited(bytes)?;
        Ok(Self::start_in(directory, settings).await)
    }

    async fn start_in(directory: DataDirectory, settings: PostgresSettings<'_>) -> Self {
        let keeper = Keeper::start(directory.path());
        directory.initialize(USER, &settings).await;
        let mut postgres = Self {
            server: None,
            keeper,
            directory,
            port: 0,
            password: settings.password.map(str::to_owned),
        };
        let mut complaint = String::new();
        for _ in 0..PORT_TRIES {
            postgres.port = free_port();
            match postgres.launch().await {
                Ok(()) => return postgres,
                Err(error) if error.is_port_clash() => complaint = error.to_string(),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("Postgres found its ports taken {PORT_TRIES} times: {complaint}");
    }

    /// The one server that all tests of this process share; made when it is first asked for, without
    /// `fsync`. Each test takes a database of its own with [`Postgres::create_database`].
    pub async fn shared() -> &'static Self {
        let start = || {
            Self::start_with(PostgresSettings {
                fsync: false,
                ..PostgresSettings::default()
            })
        };
        SHARED.get_or_init(start).await
    }

    /// Address of a database of this name, with the credentials; it need not exist.
    pub fn url(&self, database: &str) -> String {
        url_of(self.password.as_deref(), self.port, database)
    }

    /// Makes a fresh, empty database and returns its address.
    pub async fn create_database(&self) -> String {
        self.create_database_from("template0").await
    }

    /// Makes a copy of the database `template`, which must be without connections, and returns its
    /// address.
    pub async fn create_database_from(&self, template: &str) -> String {
        let name = format!("cts_{}", uuid::Uuid::new_v4().simple());
        self.execute(&format!(
            r#"CREATE DATABASE "{name}" TEMPLATE "{template}""#
        ))
        .await;
        self.url(&name)
    }

    /// Executes one statement in the server's own database, as its superuser.
    pub async fn execute(&self, statement: &str) {
        let executed = async {
            let options = self.url("postgres").parse::<PgConnectOptions>()?;
            let mut connection = PgConnection::connect_with(&options).await?;
            sqlx::raw_sql(AssertSqlSafe(statement))
                .execute(&mut connection)
                .await?;
            connection.close().await
        };
        if let Err(error) = executed.await {
            panic!("Postgres refused {statement:?}: {error}");
        }
    }

    /// Asks the server's own database, as its superuser, for one number.
    pub async fn number(&self, question: &str) -> i64 {
        value_of(&self.url("postgres"), question).await
    }

    /// Returns how many rows of the database with this address have `text` in them, as text or as bytes. The
    /// text must have no quotes.
    pub async fn rows_with(url: &str, text: &str) -> i64 {
        let question = format!(
            "SELECT coalesce(sum((xpath('/row/c/text()', query_to_xml(format( \
               'SELECT count(*) AS c FROM %I.%I t WHERE t::text LIKE %L OR t::text LIKE %L', \
               table_schema, table_name, '%{text}%', '%' || encode('{text}', 'hex') || '%'), false, true, '')))[1]::text::bigint), 0)::bigint \
             FROM information_schema.tables \
             WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type = 'BASE TABLE'"
        );
        value_of(url, &question).await
    }

    /// Makes every write into a table of the database with this address wait until the returned lock is dropped.
    pub async fn hold_writes(url: &str, table: &str) -> HeldWrites {
        let statement = format!("BEGIN; LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE");
        let locked = async {
            let options = url.parse::<PgConnectOptions>()?;
            let mut connection = PgConnection::connect_with(&options).await?;
            sqlx::raw_sql(AssertSqlSafe(statement.as_str()))
                .execute(&mut connection)
                .await?;
            Ok::<_, sqlx::Error>(connection)
        };
        match locked.await {
            Ok(connection) => HeldWrites {
                _connection: connection,
            },
            Err(error) => panic!("Postgres refused {statement:?}: {error}"),
        }
    }

    /// Process id of the postmaster; panics while it is stopped.
    pub fn pid(&self) -> u32 {
        self.running().pid()
    }

    /// The TCP port, the same over the server's whole life.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the server's log since its last start.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.directory.log());
        let log = log.unwrap_or_else(|error| panic!("no log of Postgres: {error}"));
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The disk of its own, if it has one.
    pub const fn disk(&self) -> Option<&LimitedDisk> {
        self.directory.disk()
    }

    /// Waits until it answers again after a time without room on its disk, in which it may have ended: then it is started
    /// again.
    pub async fn recover(&mut self) {
        let server = self.server.as_mut();
        let answers = match server {
            Some(server) => server
                .ready(
                    &url_of(self.password.as_deref(), self.port, "postgres"),
                    &self.directory,
                )
                .await
                .is_ok(),
            None => false,
        };
        if !answers {
            self.start_again().await;
        }
    }

    /// Ends it in order, breaking its connections, and waits for the end.
    pub async fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            server.end(Signal::SIGINT, STOP_DEADLINE).await;
            self.keeper.forget();
        }
    }

    /// Kills the postmaster and all its processes, as a crash does, and waits for their end.
    pub async fn kill(&mut self) {
        if let Some(server) = self.server.take() {
            server.kill_all(STOP_DEADLINE).await;
            self.keeper.forget();
        }
    }

    /// Starts it again with the same port and data, after [`Postgres::stop`] or [`Postgres::kill`]; kills it
    /// first if it runs. The server answers when this returns.
    pub async fn start_again(&mut self) {
        self.kill().await;
        if let Err(error) = self.launch().await {
            panic!("Postgres cannot be started again on its port: {error}");
        }
    }

    /// Freezes all its processes: connections stay open, nothing is answered.
    pub fn pause(&self) {
        self.running().signal_all(Signal::SIGSTOP);
    }

    /// Lets a frozen server go on.
    pub fn resume(&self) {
        self.running().signal_all(Signal::SIGCONT);
    }

    async fn launch(&mut self) -> Result<(), server::NotStarted> {
        self.directory.remove_stale_lock();
        let mut server = Server::spawn(&self.directory, self.port);
        self.keeper.watch(server.pid());
        let ready = server.ready(&self.url("postgres"), &self.directory).await;
        if ready.is_err() {
            server.kill_all(STOP_DEADLINE).await;
            self.keeper.forget();
        } else {
            self.server = Some(server);
        }
        ready
    }

    fn running(&self) -> &Server {
        let server = self.server.as_ref();
        server.unwrap_or_else(|| panic!("this Postgres was stopped"))
    }
}

/// The first column of the first row that answers a question to the database with this address.
async fn value_of<T>(url: &str, question: &str) -> T
where
    T: for<'r> Decode<'r, sqlx::Postgres> + Type<sqlx::Postgres> + Send + Unpin,
{
    let asked = async {
        let options = url.parse::<PgConnectOptions>()?;
        let mut connection = PgConnection::connect_with(&options).await?;
        let value = sqlx::query_scalar(AssertSqlSafe(question))
            .fetch_one(&mut connection)
            .await?;
        connection.close().await?;
        Ok::<_, sqlx::Error>(value)
    };
    match asked.await {
        Ok(value) => value,
        Err(error) => panic!("Postgres does not answer {question:?}: {error}"),
    }
}

fn url_of(password: Option<&str>, port: u16, database: &str) -> String {
    let password = password.map(|word| format!(":{word}"));
    let password = password.unwrap_or_default();
    format!("postgres://{USER}{password}@127.0.0.1:{port}/{database}")
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.keeper.end();
        if let Some(server) = &mut self.server {
            server.reap();
        }
    }
}
