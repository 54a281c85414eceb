//! Reads the module of a stored task again: a module that could not be used may have been mended.

use std::sync::Arc;
use std::time::Duration;

use cts_core::TaskSpec;
use cts_store::{Store, StoredTask};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::READINGS;
use super::modules::{Modules, NamedBy};
use super::reader::TaskReader;

/// Longest time for a module to be read and packed.
const LONGEST: Duration = Duration::from_secs(10);

/// Reads modules of tasks of the files again.
#[derive(Debug, Clone)]
pub(crate) struct ModuleAgain {
    modules: Modules,
    reader: TaskReader,
    /// Permits to read files, which may take for ever.
    readings: Arc<Semaphore>,
}

impl ModuleAgain {
    pub(crate) fn new(modules: Modules, reader: TaskReader) -> Self {
        Self {
            modules,
            reader,
            readings: Arc::new(Semaphore::new(READINGS)),
        }
    }

    /// Returns the task with the present content of its module, or the task unchanged if the content cannot be read in
    /// time.
    pub(crate) async fn read(&self, store: &dyn Store, task: &StoredTask) -> TaskSpec {
        let read = timeout(LONGEST, self.read_and_pack(store, task)).await;
        read.ok().flatten().unwrap_or_else(|| task.spec.clone())
    }

    async fn read_and_pack(&self, store: &dyn Store, task: &StoredTask) -> Option<TaskSpec> {
        let permit = Arc::clone(&self.readings).acquire_owned().await.ok()?;
        let (reader, before) = (self.reader.clone(), task.spec.clone());
        let reading = spawn_blocking(move || {
            let read = reader.read_module(&before);
            // Kept until here, also if the caller has gone.
            drop(permit);
            read
        });
        let read = reading.await.ok()?;
        let stored = std::slice::from_ref(task);
        let read = [read];
        let packed = self.modules.pack(store, &read, stored, NamedBy::File);
        packed.await.ok()?.pop()
    }
}
