//! `cts task run -watch`: a run as it goes on.

use cts_api_client::{ApiClient, CallError, FollowedLog, Run, RunQuery};
use cts_proto::json::Word as _;
use cts_proto::log::v1::ReadLogResponse;
use cts_proto::run::v1::RunKind;

use super::session::{Session, pause};
use crate::arguments::Output;
use crate::commands::time_text::with_local_times;

/// Number of the newest runs of the task that are searched for the requested run.
const NEWEST: u32 = 10;

/// Times that a log is followed again without a new line before the rest of it is given up.
const TRIES: u32 = 10;

/// The run that a call has requested, and as much of it as was shown.
pub(super) struct Watch<'c> {
    client: &'c ApiClient,
    task: String,
    /// The newest run before the call.
    before: Option<String>,
    run: Option<Run>,
    /// The status that was shown last.
    shown: String,
    log: Option<FollowedLog>,
    position: u64,
}

/// An update about the run.
enum Update {
    Run(Box<Run>),
    Lines(ReadLogResponse),
    /// The log has been read to its end.
    LogEnded,
}

impl<'c> Watch<'c> {
    /// Watches for a run of `task` that does not exist yet.
    pub(super) async fn new(client: &'c ApiClient, task: &str) -> Result<Self, CallError> {
        let mut watch = Self {
            client,
            task: task.to_owned(),
            before: None,
            run: None,
            shown: String::new(),
            log: None,
            position: 0,
        };
        watch.before = watch.newest().await?.first().map(|run| run.id.clone());
        Ok(watch)
    }

    /// Makes the call that requests the run, and shows the progress of the run until the answer comes.
    pub(super) async fn during<T>(
        &mut self,
        session: &mut Session<'_>,
        output: Output,
        call: impl Future<Output = T>,
    ) -> T {
        let mut call = std::pin::pin!(call);
        loop {
            let update = tokio::select! {
                biased;
                answer = &mut call => return answer,
                update = self.next() => update,
            };
            match update {
                Ok(update) => self.show(session, output, update),
                // Whatever is wrong shows in the answer to the call.
                Err(_unanswered) => {
                    tokio::select! {
                        biased;
                        answer = &mut call => return answer,
                        () = pause() => {}
                    }
                }
            }
        }
    }

    /// Shows the rest of the run, after the call, and gives the run as it is then. `None` if there was none.
    pub(super) async fn finish(
        mut self,
        session: &mut Session<'_>,
        output: Output,
    ) -> Result<Option<Run>, CallError> {
        if self.run.is_none() {
            let Some(run) = self.find().await? else {
                return Ok(None);
            };
            self.show(session, output, Update::Run(Box::new(run)));
        }
        let Some(id) = self.run.as_ref().map(|run| run.id.clone()) else {
            return Ok(None);
        };
        self.finish_log(session, output, &id).await?;
        let run = self.client.run(&id).await?;
        self.show(session, output, Update::Run(Box::new(run.clone())));
        Ok(Some(run))
    }

    /// Shows the log of the run to its end. If the log breaks off, for example when its gateway ends, it is followed
    /// again after the last line that was shown.
    async fn finish_log(
        &mut self,
        session: &mut Session<'_>,
        output: Output,
        id: &str,
    ) -> Result<(), CallError> {
        let mut tries = 0;
        loop {
            match self.rest_of_log(id).await {
                Ok(Some(part)) => {
                    tries = 0;
                    self.show(session, output, Update::Lines(part));
                }
                Ok(None) => {
                    self.show(session, output, Update::LogEnded);
                    return Ok(());
                }
                Err(CallError::Transport { .. }) if tries < TRIES => {
                    self.log = None;
                    tries += 1;
                    pause().await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn rest_of_log(&mut self, id: &str) -> Result<Option<ReadLogResponse>, CallError> {
        let log = match &mut self.log {
            Some(log) => log,
            none => none.insert(self.client.log(id, self.position, true).await?),
        };
        log.next().await
    }

    /// Dropping the future loses nothing.
    async fn next(&mut self) -> Result<Update, CallError> {
        let Some(run) = &self.run else {
            loop {
                pause().await;
                if let Some(run) = self.find().await? {
                    return Ok(Update::Run(Box::new(run)));
                }
            }
        };
        let id = run.id.clone();
        let ended = run.has_ended();
        if self.log.is_none() && !ended {
            self.log = Some(self.client.log(&id, self.position, true).await?);
        }
        let client = self.client;
        let look = async {
            pause().await;
            client.run(&id).await
        };
        let Some(log) = &mut self.log else {
            return look.await.map(|run| Update::Run(Box::new(run)));
        };
        tokio::select! {
            biased;
            part = log.next() => match part {
                Ok(part) => Ok(part.map_or(Update::LogEnded, Update::Lines)),
                Err(error) => {
                    // Followed again from where it was.
                    self.log = None;
                    Err(error)
                }
            },
            run = look => run.map(|run| Update::Run(Box::new(run))),
        }
    }

    /// The requested run: no other one has a single attempt, and no two of a task are requested at once.
    async fn find(&self) -> Result<Option<Run>, CallError> {
        let runs = self.newest().await?.into_iter();
        let mut new = runs.take_while(|run| Some(&run.id) != self.before.as_ref());
        Ok(new.find(|run| run.kind() == RunKind::Apply && run.no_retry))
    }

    async fn newest(&self) -> Result<Vec<Run>, CallError> {
        let query = RunQuery {
            task: Some(self.task.clone()),
            status: None,
            state: None,
            cause: None,
            limit: Some(NEWEST),
        };
        Ok(self.client.runs(&query).await?.runs)
    }

    fn show(&mut self, session: &mut Session<'_>, output: Output, update: Update) {
        let mut say = |text: &str, heading: bool| match (output, heading) {
            (Output::Table, true) => session.ui.info(text),
            (Output::Table, false) => session.ui.block(text),
            // Standard output belongs to the document.
            (Output::Json, _) => session.ui.warning(text),
        };
        match update {
            Update::Run(run) => {
                let waits = match run.waiting_for.as_str() {
                    "" => String::new(),
                    reason => format!(", waits for {}", with_local_times(reason)),
                };
                let remote = run.remote_run.as_ref().map(|remote| &remote.url);
                let address = match remote.map_or("", String::as_str) {
                    "" => String::new(),
                    address => format!(", {address}"),
                };
                let text = format!("run {} is {}{waits}{address}", run.id, run.status().word());
                if text != self.shown {
                    say(&text, true);
                    self.shown = text;
                }
                self.run = Some(*run);
            }
            Update::Lines(part) => {
                self.position = part.position;
                for line in part.lines {
                    say(&line.text, false);
                }
            }
            Update::LogEnded => self.log = None,
        }
    }
}
