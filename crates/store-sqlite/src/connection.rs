//! Opens the file: directory, modes, pragmas, migrations.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::export;
use crate::pools::{OpenError, Pools};
use crate::schema;
use crate::space;
use crate::version::Observer;
use crate::writer::Writer;

/// Number of connections for reading, so that API requests do not wait for writes.
const READERS: u32 = 2;

/// Size of the cache of a connection, in SQLite's notation: 512 KiB. The operating system caches more of the file for
/// all connections.
const CACHE: &str = "-512";

/// Size in bytes to which the write-ahead log is cut when it restarts: 16 MiB.
const LOG_KEPT: &str = "16777216";

/// Creates the file if it is missing, and brings its schema up to date.
pub(crate) async fn open(path: &Path) -> Result<Pools, OpenError> {
    create_file(path)?;
    let (options, writer) = connect(path).await?;
    let mut connection = writer.pool().acquire().await?;
    schema::migrate(&mut connection).await?;
    drop(connection);
    space::make_shrinkable(writer.pool()).await?;
    Ok(pools(options, writer).await?)
}

/// Opens the file without changing it.
pub(crate) async fn attach(path: &Path) -> Result<Pools, OpenError> {
    let (options, writer) = connect(path).await?;
    let mut connection = writer.pool().acquire().await?;
    export::check(&mut connection).await?;
    drop(connection);
    Ok(pools(options, writer).await?)
}

async fn connect(path: &Path) -> Result<(SqliteConnectOptions, Writer), sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        // Until a transaction sets its own level.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(std::time::Duration::from_secs(10))
        .pragma("cache_size", CACHE);
    let writing = options.clone().pragma("journal_size_limit", LOG_KEPT);
    Ok((options, Writer::connect(writing).await?))
}

async fn pools(options: SqliteConnectOptions, writer: Writer) -> Result<Pools, sqlx::Error> {
    let observer = Observer::new(options.clone());
    let reader = SqlitePoolOptions::new()
        .max_connections(READERS)
        .test_before_acquire(false)
        .connect_with(options.read_only(true))
        .await?;
    Ok(Pools {
        writer,
        reader,
        observer,
    })
}

/// Creates the file with access for its owner only, because it holds data from Consul and Terraform.
///
/// SQLite gives its side files the same mode. The name of a new file is on the disk when this returns; SQLite itself
/// syncs the content.
fn create_file(path: &Path) -> std::io::Result<()> {
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty());
    if let Some(directory) = directory {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(directory)?;
    }
    let created = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match created {
        Ok(_file) => fs::File::open(directory.unwrap_or(Path::new(".")))?.sync_all(),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => close_to_others(path),
        Err(error) => Err(error),
    }
}

/// Permission bits of other users.
const OF_OTHERS: u32 = 0o007;

/// Removes the access of other users from a file that a different program created, and from its side files.
fn close_to_others(path: &Path) -> std::io::Result<()> {
    for side in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(side);
        let metadata = match fs::metadata(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & OF_OTHERS == 0 {
            continue;
        }
        let shown = Path::new(&file).display();
        let mode_before = format!("{mode:o}");
        let closed = fs::set_permissions(&file, fs::Permissions::from_mode(mode & !OF_OTHERS));
        match closed {
            Ok(()) => tracing::warn!(
                path = %shown,
                mode_before,
                "others had access to the database file, which was taken from them"
            ),
            // The file belongs to a different user.
            Err(error) => tracing::warn!(
                path = %shown,
                mode_before,
                error = %error,
                "others have access to the database file, which cannot be taken from them"
            ),
        }
    }
    Ok(())
}
