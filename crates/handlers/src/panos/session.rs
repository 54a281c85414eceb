//! Requests to the XML API of a firewall.

use std::time::Duration;

use cts_core::excerpt;
use cts_tls::ClientFiles;
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::sleep;

use super::answer::{Answer, AnswerError};
use super::settings::{Credential, SettingError, Settings};
use crate::http::client;

/// The description of every commit.
const DESCRIPTION: &str = "Consul-Terraform-Sync";

/// Most bytes of an answer.
const LONGEST_ANSWER: usize = 1 << 20;

/// Most characters of the message of an answer that go into an error.
const LONGEST_MESSAGE: usize = 1000;

/// Most failed polls of a job in a row.
const FAILED_POLLS: u32 = 5;

/// Characters of a key, at most.
const LONGEST_KEY: usize = 8192;

/// A commit has failed. No text has a password or a key in it.
#[derive(Debug, thiserror::Error)]
pub enum PanosError {
    /// No answer, or not all of it.
    #[error("the firewall cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The answer is longer than any real one.
    #[error("the answer of the firewall is longer than {LONGEST_ANSWER} bytes")]
    TooLong,
    /// The answer cannot be understood.
    #[error("the answer of the firewall ({status}) cannot be understood")]
    Answer {
        /// HTTP status.
        status: StatusCode,
        #[source]
        source: AnswerError,
    },
    /// User, password or key are wrong, or may not do this.
    #[error("the firewall refuses the login or the permission: {0:?}")]
    Denied(String),
    /// The firewall refuses for another reason.
    #[error("the firewall refuses: {0:?}")]
    Refused(String),
    /// An answer lacks the requested value.
    #[error("the answer of the firewall has no {0}")]
    Incomplete(&'static str),
    /// The job of the commit has ended badly.
    #[error("job {job} of the commit has failed: {message:?}")]
    Job {
        job: String,
        /// The message of the job.
        message: String,
    },
}

impl PanosError {
    /// Whether the request may succeed a little later. With a wrong password it cannot, and retries must not
    /// lock the account.
    pub(crate) fn is_passing(&self) -> bool {
        !matches!(self, Self::Denied(_))
    }
}

/// The outcome of a commit.
#[derive(Debug)]
pub(super) enum Commit {
    /// The job with this number has ended well.
    Done { job: String },
    /// There were no changes.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Session {
    settings: Settings,
    client: Client,
    /// The key that the firewall made, which no text may have in it.
    made: Mutex<Option<SecretString>>,
}

impl Session {
    pub(super) fn new(mut settings: Settings) -> Result<Self, SettingError> {
        let tls = ClientFiles {
            verify: settings.verify,
            ..ClientFiles::default()
        };
        let client = client(&mut settings.url, None, &tls, settings.timeout)?;
        Ok(Self {
            settings,
            client,
            made: Mutex::default(),
        })
    }

    pub(super) fn secrets(&self) -> Vec<SecretString> {
        let (Credential::Key(secret) | Credential::Password(secret)) = &self.settings.credential;
        vec![secret.clone()]
    }

    /// Asks for a commit of the administrator's changes and waits for its job.
    pub(super) async fn commit(&self, poll: Duration) -> Result<Commit, PanosError> {
        let key = self.key().await?;
        let user = escaped(&self.settings.username);
        let command = format!(
            "<commit><description>{DESCRIPTION}</description><partial><admin><member>{user}</member></admin></partial></commit>"
        );
        let asked = [("type", "commit"), ("action", "partial"), ("cmd", &command)];
        let answer = self.ask_with(&key, &asked).await?;
        // Code 13 by itself says that nothing was to be committed; otherwise the job is missing, or its
        // number is 0.
        let job = answer.text("result/job").filter(|job| *job != "0");
        match job {
            Some(job) if answer.code.as_deref() != Some("13") => self.wait(&key, job, poll).await,
            _ => Ok(Commit::Nothing),
        }
    }

    /// The key in the settings, or a new one for the password.
    async fn key(&self) -> Result<SecretString, PanosError> {
        let password = match &self.settings.credential {
            Credential::Key(key) => return Ok(key.clone()),
            Credential::Password(password) => password.expose_secret(),
        };
        let user = self.settings.username.as_str();
        let asked = [("type", "keygen"), ("user", user), ("password", password)];
        let answer = self.ask(&asked).await?;
        let key = answer.text("result/key");
        let key = key.filter(|key| key.len() <= LONGEST_KEY);
        let key = SecretString::from(key.ok_or(PanosError::Incomplete("key"))?);
        *self.made.lock() = Some(key.clone());
        Ok(key)
    }

    /// Waits for the end of a job. A failed poll does not end the wait: the commit continues without cts.
    async fn wait(
        &self,
        key: &SecretString,
        job: &str,
        poll: Duration,
    ) -> Result<Commit, PanosError> {
        let command = format!("<show><jobs><id>{}</id></jobs></show>", escaped(job));
        let mut failed = 0;
        loop {
            sleep(poll).await;
            let asked = [("type", "op"), ("cmd", command.as_str())];
            let answer = match self.ask_with(key, &asked).await {
                Ok(answer) => answer,
                Err(error) if error.is_passing() && failed < FAILED_POLLS => {
                    failed += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            failed = 0;
            let status = answer.text("result/job/status");
            if status.ok_or(PanosError::Incomplete("status of the job"))? != "FIN" {
                continue;
            }
            let job = excerpt(job, 20);
            return match answer.text("result/job/result") {
                Some("OK") => Ok(Commit::Done { job }),
                _ => Err(PanosError::Job {
                    job,
                    message: self.message(&answer),
                }),
            };
        }
    }

    async fn ask_with(
        &self,
        key: &SecretString,
        parameters: &[(&str, &str)],
    ) -> Result<Answer, PanosError> {
        let mut all = parameters.to_vec();
        all.push(("key", key.expose_secret()));
        if let Some(target) = &self.settings.target {
            all.push(("target", target));
        }
        self.ask(&all).await
    }

    /// All parameters are in the body: URLs stand in logs.
    async fn ask(&self, parameters: &[(&str, &str)]) -> Result<Answer, PanosError> {
        let pairs = parameters.iter().map(|(name, value)| {
            let value = utf8_percent_encode(value, NON_ALPHANUMERIC);
            format!("{name}={value}")
        });
        let body = pairs.collect::<Vec<_>>().join("&");
        let request = self.client.post(self.settings.url.clone());
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let response = request.body(body).send().await.map_err(unreachable)?;
        let status = response.status();
        let document = document_of(response).await?;
        // A large answer takes a while to read; other runs continue in that time.
        let answer = tokio::task::spawn_blocking(move || Answer::read(&document)).await;
        let answer = answer.unwrap_or(Err(AnswerError::Unlike));
        let denied = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let answer = match answer {
            Ok(answer) => answer,
            Err(_) if denied => return Err(PanosError::Denied(status.to_string())),
            Err(source) => return Err(PanosError::Answer { status, source }),
        };
        // Code 16 is "not authorized"; wrong keys and passwords get 403.
        if denied || (!answer.is_success() && matches!(answer.code.as_deref(), Some("16" | "403")))
        {
            return Err(PanosError::Denied(self.message(&answer)));
        }
        if !answer.is_success() || !status.is_success() {
            return Err(PanosError::Refused(self.message(&answer)));
        }
        Ok(answer)
    }

    fn message(&self, answer: &Answer) -> String {
        excerpt(&self.hidden(&answer.message()), LONGEST_MESSAGE)
    }

    /// The text without the secrets of this session, which a firewall may repeat.
    pub(super) fn hidden(&self, text: &str) -> String {
        let made = self.made.lock();
        let secrets = self.secrets().into_iter().chain(made.clone());
        secrets.fold(text.to_owned(), |text, secret| {
            text.replace(secret.expose_secret(), "(hidden)")
        })
    }
}

fn unreachable(error: reqwest::Error) -> PanosError {
    PanosError::Unreachable(error.without_url())
}

async fn document_of(mut response: Response) -> Result<String, PanosError> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(unreachable)? {
        if body.len() + part.len() > LONGEST_ANSWER {
            return Err(PanosError::TooLong);
        }
        body.extend_from_slice(&part);
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// As the text of an element.
fn escaped(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}
