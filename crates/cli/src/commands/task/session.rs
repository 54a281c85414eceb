//! Steps that all task commands share: get a client, take one name, and report failures.

use std::time::Duration;

use cts_api_client::{ApiClient, CallError, ClientSettings, ErrorForm};
use cts_core::Chain;
use cts_runtime::ProcessEnv;

use super::ui::Ui;
use crate::arguments::ClientOptions;
use crate::exit_code::{EXIT_GENERAL, EXIT_MISSING};
use crate::output::help_hint;

/// Between two polls of something that is waited for.
const LOOK: Duration = Duration::from_millis(500);

/// Name of the program under which the cts-only commands are available.
const OURS: &str = "cts";

const LIST_HINT: &str = "`cts task list` shows the tasks that there are";

/// For a token that goes over the network.
pub(super) const PLAIN_TOKEN: &str = "Warning: the token goes to another host over plain HTTP, where it can be read on the way: use an address that begins with https://";

/// A command has failed and has shown its error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExitStatus(u8);

impl ExitStatus {
    pub(super) const fn exit_code(self) -> u8 {
        self.0
    }
}

/// How a command explains its failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Like the original: on standard output, with the original's form of a refusal.
    Original(ErrorForm),
    /// Like every cts-only command: on standard error, because standard output belongs to the result.
    Ours,
}

/// One running command.
pub(super) struct Session<'a> {
    pub(super) ui: Ui<'a>,
    pub(super) process_env: &'a ProcessEnv,
    pub(super) style: Style,
}

impl Session<'_> {
    /// The only name; any other number of them is refused.
    pub(super) fn one_name<'n>(
        &mut self,
        command: &str,
        names: &'n [String],
    ) -> Result<&'n str, ExitStatus> {
        if let [name] = names {
            return Ok(name);
        }
        let given = match names {
            [] => "No arguments were passed to the command".to_owned(),
            several => format!(
                "{} arguments were passed to the command: '{}'",
                several.len(),
                several.join(", ")
            ),
        };
        let mut explanation = vec![given];
        // `cts` finds options wherever they stand.
        if !self.is_ours() {
            explanation.push(
                "All flags are required to appear before positional arguments if set".to_owned(),
            );
        }
        explanation.push(self.help_hint(command));
        let headline = "Error: this command requires one argument";
        Err(self.missing(headline, &explanation))
    }

    /// Whether the program was invoked by its own name, not by the name of the original.
    pub(super) fn is_ours(&self) -> bool {
        self.process_env.program == OURS
    }

    /// Where the help of a command is.
    pub(super) fn help_hint(&self, command: &str) -> String {
        help_hint(&format!("{} task {command}", self.process_env.program))
    }

    /// A client according to the options and the environment.
    pub(super) fn client(&mut self, options: &ClientOptions) -> Result<ApiClient, ExitStatus> {
        let environment = self.process_env.text_environment();
        let (settings, warnings) = ClientSettings::resolve(&options.into(), &environment);
        for warning in warnings {
            self.ui.warning(&warning.to_string());
        }
        let client = ApiClient::new(&settings).map_err(|error| {
            let detail = Chain(&error).to_string();
            self.fail("Error: unable to create client", &detail)
        })?;
        if client.sends_token() && client.is_plain_over_network() {
            self.ui.warning(PLAIN_TOKEN);
        }
        Ok(client)
    }

    /// Reports a failure; there need not be a detail.
    pub(super) fn fail(&mut self, headline: &str, detail: &str) -> ExitStatus {
        self.ui.error(headline);
        if !detail.is_empty() {
            self.explain(detail);
        }
        ExitStatus(EXIT_GENERAL)
    }

    /// Reports an argument or option that is missing.
    pub(super) fn missing(&mut self, headline: &str, explanation: &[String]) -> ExitStatus {
        self.ui.error(headline);
        for line in explanation {
            self.ui.output(line);
        }
        ExitStatus(EXIT_MISSING)
    }

    /// Reports a call that failed. The hint about a cts-only command is left out under the original's name,
    /// which does not have that command.
    pub(super) fn refused(&mut self, headline: &str, error: &CallError) -> ExitStatus {
        let printed = self.call_failed(headline, error);
        if error.is_not_found() && self.is_ours() {
            self.explain(LIST_HINT);
        }
        printed
    }

    /// Reports a call that failed and that was about no task in particular.
    pub(super) fn call_failed(&mut self, headline: &str, error: &CallError) -> ExitStatus {
        let form = match self.style {
            Style::Original(form) => form,
            Style::Ours => ErrorForm::New,
        };
        let printed = self.fail(headline, &error.report(form));
        if let Some(hint) = error.hint() {
            self.explain(hint);
        }
        if let (Style::Ours, Some(code)) = (self.style, error.code()) {
            self.explain(&format!("code: {code}"));
        }
        printed
    }

    /// Reports a failed call about one task, for a cts-only command that does `what`.
    pub(super) fn unanswered(&mut self, what: &str, name: &str, error: &CallError) -> ExitStatus {
        if error.is_not_found() {
            let headline = format!("Error: there is no task '{name}'");
            return self.fail(&headline, LIST_HINT);
        }
        self.call_failed(&format!("Error: unable to {what} '{name}'"), error)
    }

    /// Makes a call about a task and, if `wait`ing is wanted, again until the task is not busy. Until the
    /// answer comes, reports why no worker takes the run.
    pub(super) async fn unless_busy<T>(
        &mut self,
        client: &ApiClient,
        wait: bool,
        name: &str,
        mut call: impl AsyncFnMut() -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        self.retried_while_busy(wait, name, async |session| {
            session.say_what_is_waited_for(client, name, call()).await
        })
        .await
    }

    /// Makes attempts until the task is not busy, if `wait`ing is wanted.
    pub(super) async fn retried_while_busy<T>(
        &mut self,
        wait: bool,
        name: &str,
        mut attempt: impl AsyncFnMut(&mut Self) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let mut said = false;
        loop {
            match attempt(self).await {
                Err(error) if wait && error.is_busy() => {
                    if !said {
                        let text = format!("'{name}' is running; waiting until that is over");
                        self.ui.warning(&text);
                        said = true;
                    }
                    pause().await;
                }
                answer => return answer,
            }
        }
    }

    fn explain(&mut self, text: &str) {
        match self.style {
            Style::Original(_) => self.ui.detail(text),
            Style::Ours => self.ui.note(text),
        }
    }
}

/// Waits before the next poll.
pub(super) async fn pause() {
    tokio::time::sleep(LOOK).await;
}
