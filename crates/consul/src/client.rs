//! Requests to Consul.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use cts_core::{Item, KvQuery};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::answer;
use crate::error::{ConsulError, SettingsError};
use crate::health::UnreadableInstance;
use crate::http2_pool::Http2Pool;
use crate::query::{Query, path_segment};
use crate::quiet_waits::QuietWaits;
use crate::recovery::Recovery;
use crate::settings::{ConsulSettings, WAIT_TIME};
use crate::transport;

/// Longest time for an answer that Consul has no reason to hold back.
const PLAIN_DEADLINE: Duration = Duration::from_mins(2);
/// Bytes of a refusal's body that are kept for its message.
const BODY_SHOWN: usize = 4096;

/// A client of Consul. Cheap to clone; all clones share their connections. Every request ends when its future is
/// dropped.
#[derive(Debug, Clone)]
pub struct ConsulClient {
    pub(crate) client: Client,
    /// Connections that queries use.
    http2_pool: Http2Pool,
    base: String,
    /// The configured address, without a scheme.
    address: String,
    basic_auth: Option<(String, SecretString)>,
    namespace: Option<String>,
    partition: Option<String>,
    longest_answer: usize,
    pub(crate) poll_interval: Duration,
    pub(crate) recovery: Arc<Recovery>,
    pub(crate) waits: Arc<QuietWaits>,
}

/// Consul's answer to a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Consul's index, at least 1; `None` if the answer has no index, for example because a proxy drops it.
    pub index: Option<u64>,
    /// Whether Consul reports that the token may not read all items.
    pub filtered: bool,
    /// The items in Consul's order.
    pub items: Vec<Item>,
    /// Further instances, whose data cannot be understood.
    pub unreadable: Vec<UnreadableInstance>,
    /// The body as Consul sent it. Only its digest outlives the answer, because the items are handed on.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Digest that distinguishes the body from other bodies.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write(&self.body);
        hasher.finish()
    }
}

impl ConsulClient {
    /// A client; nothing is connected yet. Reads the TLS files.
    pub fn new(settings: &ConsulSettings) -> Result<Self, SettingsError> {
        let (client, base) = transport::connect(settings)?;
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Ok(Self {
            http2_pool: Http2Pool::new(settings, client.clone()),
            client,
            base,
            address: without_scheme(&settings.address).to_owned(),
            basic_auth: settings.basic_auth.clone(),
            namespace: given(&settings.namespace),
            partition: given(&settings.partition),
            longest_answer: settings.longest_answer,
            poll_interval: settings.poll_interval,
            recovery: Arc::default(),
            waits: Arc::default(),
        })
    }

    /// The configured address of Consul for log lines: host and port, or the path of a socket.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Address of the cluster's leader; `None` while the cluster has no leader.
    pub async fn leader(&self) -> Result<Option<String>, ConsulError> {
        let answer = self.get("/v1/status/leader", &[], Some(PLAIN_DEADLINE));
        let body = self.body(answer.await?).await?;
        let leader: String = serde_json::from_slice(&body).map_err(ConsulError::Decode)?;
        Ok(Some(leader).filter(|leader| !leader.is_empty()))
    }

    /// Most connections that queries are to take.
    pub(crate) fn most_connections(&self) -> usize {
        self.http2_pool.most()
    }

    /// Whether many requests share a connection, according to the last answers.
    pub(crate) fn is_multiplexed(&self) -> bool {
        self.http2_pool.is_multiplexed()
    }

    /// Reads all items of the query (docs/runs.md#views-and-blocking-queries). With `index` 0 Consul answers at once,
    /// with at least all confirmed data; otherwise Consul answers when its index has passed `index`, or its own wait is
    /// over.
    pub async fn read(&self, query: &Query, index: u64) -> Result<Answer, ConsulError> {
        self.read_blocking(query, index, WAIT_TIME).await
    }

    /// Reads as `read` does; Consul is asked to hold the query no longer than this.
    pub(crate) async fn read_blocking(
        &self,
        query: &Query,
        index: u64,
        wait_time: Duration,
    ) -> Result<Answer, ConsulError> {
        self.ask(query, index, wait_time, 0).await
    }

    /// Reads the current items. If the index of the answer is `known`, the answer is not decoded and has no items. If
    /// the index is lower, the query is sent again, so that the answer is complete.
    pub(crate) async fn read_again(
        &self,
        query: &Query,
        known: u64,
    ) -> Result<Answer, ConsulError> {
        let answer = self.read_plainly(query, known).await?;
        match answer.index {
            Some(index) if index < known => self.ask(query, 0, WAIT_TIME, 0).await,
            _ => Ok(answer),
        }
    }

    /// Reads the current items, as far as the server that answers has them, whatever the index of the answer is. If it is
    /// `known`, the answer has no items.
    pub(crate) async fn read_plainly(
        &self,
        query: &Query,
        known: u64,
    ) -> Result<Answer, ConsulError> {
        self.ask(query, 0, WAIT_TIME, known).await
    }

    async fn ask(
        &self,
        query: &Query,
        index: u64,
        wait_time: Duration,
        known: u64,
    ) -> Result<Answer, ConsulError> {
        let path = query.path()?;
        let mut parameters = query.parameters();
        parameters.push(("ns", self.namespace_or(query.namespace()).to_owned()));
        if index > 0 {
            parameters.push(("index", index.to_string()));
            parameters.push(("wait", format!("{}s", wait_time.as_secs())));
        } else if known == 0 {
            // A leader that has just been elected may have read only a part of its log, and would answer with that
            // part. With an index the leader answers when it has read further.
            parameters.push(("consistent", "true".to_owned()));
        }
        let parameters: Vec<_> = parameters
            .iter()
            .map(|(key, value)| (*key, value.as_str()))
            .collect();
        let deadline = (index == 0).then_some(PLAIN_DEADLINE);
        let permit = self.http2_pool.permit();
        let request = permit.client().get(self.url(&path, &parameters));
        let answer = self.answer(request, deadline).await?;
        self.http2_pool.note(&answer);
        let is_missing = query.may_be_missing() && answer.status() == StatusCode::NOT_FOUND;
        let answer = if is_missing {
            answer
        } else {
            self.accept(answer).await?
        };
        let index = answer::index(answer.headers())?;
        answer::expect_leader(answer.headers())?;
        let filtered = is_filtered(&answer);
        let body = self.body(answer).await?;
        let (items, unreadable) = match index {
            Some(index) if index == known => Default::default(),
            _ if is_missing => {
                answer::expect_nothing(index, &body)?;
                Default::default()
            }
            _ => query.decode(&body)?,
        };
        Ok(Answer {
            index,
            filtered,
            items,
            unreadable,
            body,
        })
    }

    /// Returns the raw value of a key in the agent's datacenter, as its servers agree on it; `None` if the key does
    /// not exist. Returns an
    /// error if this client has a namespace or partition of its own, because clients without them would read a
    /// different key.
    pub async fn raw_value(&self, key: &str) -> Result<Option<Vec<u8>>, ConsulError> {
        if self.namespace.is_some() || self.partition.is_some() {
            return Err(ConsulError::Status {
                status: 0,
                body: "the namespace is another one".to_owned(),
            });
        }
        let query = Query::Kv(KvQuery {
            path: key.to_owned(),
            ..KvQuery::default()
        });
        let path = query.path()?;
        let request = self
            .client
            .get(self.url(&path, &[("raw", "true"), ("consistent", "true")]));
        let answer = self.answer(request, Some(PLAIN_DEADLINE)).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = self.accept(answer).await?;
        self.body(answer).await.map(Some)
    }

    /// Registers a service with the agent, or replaces the registration with the same id
    /// (`docs/configuration.md#consulservice_registration`).
    pub(crate) async fn register(&self, body: &Value, namespace: &str) -> Result<(), ConsulError> {
        let url = self.url(
            "/v1/agent/service/register",
            &[("ns", self.namespace_or(namespace))],
        );
        self.send(self.client.put(url).json(body), Some(PLAIN_DEADLINE))
            .await?;
        Ok(())
    }

    /// Takes a service off the agent.
    pub(crate) async fn deregister(&self, id: &str, namespace: &str) -> Result<(), ConsulError> {
        let path = format!("/v1/agent/service/deregister/{}", path_segment(id)?);
        let url = self.url(&path, &[("ns", self.namespace_or(namespace))]);
        self.send(self.client.put(url), Some(PLAIN_DEADLINE))
            .await?;
        Ok(())
    }

    /// Whether the agent has a service of this id.
    #[expect(
        clippy::zero_sized_map_values,
        reason = "the values are to be skipped, and a set does not decode from an object"
    )]
    pub(crate) async fn has_service(&self, id: &str, namespace: &str) -> Result<bool, ConsulError> {
        let path = format!("/v1/agent/service/{}", path_segment(id)?);
        let parameters = [("ns", self.namespace_or(namespace))];
        match self.get(&path, &parameters, Some(PLAIN_DEADLINE)).await {
            Ok(service) => {
                // Only checks that the body is a service.
                let body = self.body(service).await?;
                let service: BTreeMap<String, IgnoredAny> =
                    serde_json::from_slice(&body).map_err(ConsulError::Decode)?;
                Ok(service.contains_key("ID"))
            }
            Err(ConsulError::Status { status: 404, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn namespace_or<'a>(&'a self, namespace: &'a str) -> &'a str {
        if namespace.is_empty() {
            self.namespace.as_deref().unwrap_or_default()
        } else {
            namespace
        }
    }

    pub(crate) async fn get(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
        deadline: Option<Duration>,
    ) -> Result<Response, ConsulError> {
        let request = self.client.get(self.url(path, parameters));
        self.send(request, deadline).await
    }

    /// Parameters with an empty value are left out.
    pub(crate) fn url(&self, path: &str, parameters: &[(&str, &str)]) -> Url {
        let mut url = transport::url(&self.base, path);
        let everywhere = [("partition", self.partition.as_deref().unwrap_or_default())];
        let given = parameters
            .iter()
            .chain(&everywhere)
            .filter(|(_, value)| !value.is_empty());
        for (key, value) in given {
            url.query_pairs_mut().append_pair(key, value);
        }
        url
    }

    /// Fails for every status but success.
    async fn send(
        &self,
        request: RequestBuilder,
        deadline: Option<Duration>,
    ) -> Result<Response, ConsulError> {
        self.accept(self.answer(request, deadline).await?).await
    }

    pub(crate) async fn answer(
        &self,
        mut request: RequestBuilder,
        deadline: Option<Duration>,
    ) -> Result<Response, ConsulError> {
        if let Some((user, password)) = &self.basic_auth {
            request = request.basic_auth(user, Some(password.expose_secret()));
        }
        if let Some(deadline) = deadline {
            request = request.timeout(deadline);
        }
        request.send().await.map_err(transport_error)
    }

    pub(crate) async fn accept(&self, answer: Response) -> Result<Response, ConsulError> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        // The status is enough if the body is lost on the way.
        let bytes = self.body(answer).await.unwrap_or_default();
        let shown = bytes.get(..BODY_SHOWN).unwrap_or(&bytes);
        Err(ConsulError::Status {
            status: status.as_u16(),
            body: String::from_utf8_lossy(shown).trim().to_owned(),
        })
    }

    /// The whole body, without its compression.
    pub(crate) async fn body(&self, mut answer: Response) -> Result<Vec<u8>, ConsulError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(transport_error)? {
            if bytes.len() + chunk.len() > self.longest_answer {
                return Err(ConsulError::TooLong {
                    limit: self.longest_answer,
                });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

/// Leaves out the URL, which is known to the reader and may be very long.
fn transport_error(error: reqwest::Error) -> ConsulError {
    ConsulError::Transport(error.without_url())
}

/// Returns whether Consul reports that its ACLs hide a part of the results, as Consul 1.11 and newer do.
fn is_filtered(answer: &Response) -> bool {
    let header = answer.headers().get("x-consul-results-filtered-by-acls");
    header.is_some_and(|value| value == "true")
}

fn without_scheme(address: &str) -> &str {
    address.split_once("://").map_or(address, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use wiremock::matchers::any;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;

    /// A body that is short on the way and long here.
    #[tokio::test]
    async fn a_compressed_answer_is_measured_without_its_compression() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&vec![b' '; 100_000]).unwrap();
        let packed = packed.finish().unwrap();
        assert!(packed.len() < 1_000);
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(200).insert_header("content-encoding", "gzip");
        let answer = answer.set_body_raw(packed, "application/json");
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let client = |longest_answer| {
            let settings = ConsulSettings {
                longest_answer,
                ..ConsulSettings::default()
            };
            ConsulClient {
                // The client of the settings does not compress if Consul is on the same machine.
                client: Client::builder().timeout(PLAIN_DEADLINE).build().unwrap(),
                base: server.uri(),
                ..ConsulClient::new(&settings).unwrap()
            }
        };
        let leader = client(99_999).leader().await;
        assert!(
            matches!(leader, Err(ConsulError::TooLong { limit: 99_999 })),
            "{leader:?}"
        );
        let leader = client(100_000).leader().await;
        assert!(matches!(leader, Err(ConsulError::Decode(_))), "{leader:?}");
    }
}
