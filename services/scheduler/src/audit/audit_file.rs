//! Records as lines of JSON in a file (docs/access.md#audit).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_runtime::Outage;
use cts_store::{Store, StoreError};
use serde_json::Value;
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _, SeekFrom};
use tokio::time::sleep;

use crate::wire::audit_record_to_wire;

/// Pause between looks at the store.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Records that are written at once.
const PAGE: u32 = 500;

/// Bytes at the end of the file in which its last whole line is looked for.
const TAIL: u64 = 256 * 1024;

/// Mode of the file.
const MODE: u32 = 0o600;

#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("the store does not answer")]
    Store(#[from] StoreError),
    #[error("the file cannot be written")]
    File(#[from] io::Error),
    #[error("a record cannot be encoded")]
    Encode(#[from] serde_json::Error),
}

/// Appends each record to the file, in order. After a restart, appends after the last whole line; a line that was cut
/// off is written again. If the file is moved away or emptied, continues in a new file with the next record: a second
/// file has the number of the last record. Without that number all stored records are written.
pub(crate) async fn follow(store: Arc<dyn Store>, path: PathBuf) {
    let mut outage = Outage::default();
    let mut last = None;
    loop {
        match append(&*store, &path, &mut last).await {
            Ok(()) => {
                if outage.works() {
                    tracing::info!(target: "access", file = %path.display(), "audit records are written to the file again");
                }
            }
            Err(error) => {
                let text = Chain(&error).to_string();
                if outage.fails_with(&text) {
                    tracing::error!(target: "access", file = %path.display(), error = text, "audit records cannot be written to the file, trying again; they stay in the database");
                }
            }
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn append(store: &dyn Store, path: &Path, last: &mut Option<u64>) -> Result<(), FileError> {
    loop {
        let after = match *last {
            Some(last) => last,
            None => match written(path).await? {
                Some(last) => {
                    // A version before this note may have written the file.
                    note(path, last).await?;
                    last
                }
                None => noted(path).await?.unwrap_or_default(),
            },
        };
        let records = store.audit_records_after(after, PAGE).await?;
        let Some(newest) = records.last().map(|record| record.number) else {
            *last = Some(after);
            return Ok(());
        };
        if after == 0 {
            tracing::info!(target: "access", file = %path.display(), "nothing says which audit records were written to the file, so all that are stored are written");
        }
        let mut lines = String::new();
        for record in records {
            // Same form as the records in answers of the API.
            lines.push_str(&serde_json::to_string(&audit_record_to_wire(record))?);
            lines.push('\n');
        }
        // After a failure the end of the file is read again.
        *last = None;
        let mut file = open(path).await?;
        file.write_all(lines.as_bytes()).await?;
        file.sync_data().await?;
        note(path, newest).await?;
        *last = Some(newest);
    }
}

async fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true).mode(MODE);
    options.open(path).await
}

/// The file with the number of the last record that was written.
fn beside(path: &Path) -> PathBuf {
    named(path, ".last")
}

fn named(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Number of the last record, from the second file; `None` if that file does not exist.
async fn noted(path: &Path) -> io::Result<Option<u64>> {
    match tokio::fs::read_to_string(beside(path)).await {
        Ok(text) => Ok(text.trim().parse().ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the number to the second file. If a process dies before this write, the second file keeps the earlier number,
/// and the number in the audit file takes precedence.
async fn note(path: &Path, number: u64) -> io::Result<()> {
    let kept = beside(path);
    let new = named(&kept, ".new");
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(true).mode(MODE);
    let mut file = options.open(&new).await?;
    file.write_all(format!("{number}\n").as_bytes()).await?;
    file.sync_data().await?;
    tokio::fs::rename(&new, &kept).await
}

/// Number of the last record in the file; `None` without a record. Cuts off a line that is not complete.
async fn written(path: &Path) -> io::Result<Option<u64>> {
    let mut file = open(path).await?;
    let length = file.metadata().await?.len();
    let from = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from)).await?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).await?;
    let whole = tail
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    if whole < tail.len() {
        file.set_len(from + whole as u64).await?;
    }
    let lines = tail[..whole].split(|byte| *byte == b'\n').rev();
    let mut numbers = lines.filter_map(|line| {
        let line: Value = serde_json::from_slice(line).ok()?;
        line.get("number")?.as_u64()
    });
    Ok(numbers.next())
}
