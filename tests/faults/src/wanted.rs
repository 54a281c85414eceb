//! Orders that were sent and confirmed: instances in the catalog.
//!
//! An order without an answer may have been carried out, or be carried out later. Its instance is in doubt from
//! then on, is left alone, and is ordered again when the trouble is over.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

use crate::conditions::{EXTRA, KEYS, Kind};
use crate::module;
use crate::plan::{Change, Instance, Plan};

const TIMEOUT: Duration = Duration::from_secs(3);
const NODE: &str = "edge";

/// The knowledge about one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KnownInstance {
    Sure(Option<Instance>),
    InDoubt,
}

/// The instances that the catalog must and may have.
#[derive(Debug)]
pub struct Wanted {
    client: Client,
    consul: String,
    instances: BTreeMap<(usize, u64), KnownInstance>,
    /// Orders that were confirmed.
    pub confirmed: usize,
    /// Orders without an answer.
    pub unanswered: usize,
    /// Orders for instances in doubt, which were left out.
    pub left_out: usize,
    changes_of_all: usize,
}

impl Wanted {
    /// Nothing is ordered yet. `consul` is `host:port`.
    pub fn new(consul: &str) -> Self {
        let client = Client::builder().no_proxy().timeout(TIMEOUT).build();
        Self {
            client: client.unwrap(),
            consul: format!("http://{consul}"),
            instances: BTreeMap::new(),
            confirmed: 0,
            unanswered: 0,
            left_out: 0,
            changes_of_all: 0,
        }
    }

    /// Orders a change, unless it is about something in doubt.
    pub async fn order(&mut self, change: &Change) {
        let (Change::Register { service, place, .. } | Change::Deregister { service, place }) =
            change;
        let subject = (*service, *place);
        if self.instances.get(&subject) == Some(&KnownInstance::InDoubt) {
            self.left_out += 1;
            return;
        }
        let (done, wanted) = match change {
            Change::Register { instance, .. } => {
                let done = self.register(*service, *place, instance).await;
                (done, Some(instance.clone()))
            }
            Change::Deregister { .. } => (self.deregister(*service, *place).await, None),
        };
        if done {
            self.confirmed += 1;
            self.instances.insert(subject, KnownInstance::Sure(wanted));
        } else {
            self.unanswered += 1;
            self.instances.insert(subject, KnownInstance::InDoubt);
        }
    }

    /// Orders everything in doubt again, until nothing is in doubt.
    pub async fn settle(&mut self) -> Result<(), String> {
        let instances = self.instances.iter();
        let in_doubt = instances.filter(|(_, known)| **known == KnownInstance::InDoubt);
        let in_doubt: Vec<(usize, u64)> = in_doubt.map(|(&subject, _)| subject).collect();
        for (service, place) in in_doubt {
            if !self.deregister(service, place).await {
                return Err("consul does not answer".to_owned());
            }
            self.instances
                .insert((service, place), KnownInstance::Sure(None));
        }
        Ok(())
    }

    /// Brings a catalog that has forgotten something back to the confirmed instances.
    pub async fn restore(&mut self) -> Result<(), String> {
        for number in 1..=self.changes_of_all {
            if !self.register_extra(number).await {
                return Err(format!("{EXTRA}{number} was not registered again"));
            }
        }
        let instances: Vec<_> = self.instances.clone().into_iter().collect();
        for ((service, place), known) in instances {
            let done = match known {
                KnownInstance::Sure(Some(instance)) => {
                    self.register(service, place, &instance).await
                }
                KnownInstance::Sure(None) => self.deregister(service, place).await,
                KnownInstance::InDoubt => true,
            };
            if !done {
                self.instances
                    .insert((service, place), KnownInstance::InDoubt);
                return Err(format!("svc-{service}-{place} was not registered again"));
            }
        }
        Ok(())
    }

    /// Changes every service once more, so that every task has something to do.
    pub async fn change_everything(&mut self, services: usize) -> Result<(), String> {
        let number = self.changes_of_all + 1;
        if !self.register_extra(number).await {
            return Err("consul does not answer".to_owned());
        }
        self.changes_of_all = number;
        for service in 0..services {
            let instance = Instance {
                port: 1,
                tags: Vec::new(),
                version: format!("all-{number}"),
            };
            if !self.register(service, 0, &instance).await {
                return Err("consul does not answer".to_owned());
            }
            let known = KnownInstance::Sure(Some(instance));
            self.instances.insert((service, 0), known);
        }
        Ok(())
    }

    /// The text that a task must have applied if it watches `services` in this way.
    pub fn text(&self, kind: Kind, services: &[usize]) -> String {
        if kind == Kind::Catalog {
            return self.names(services);
        }
        let instances =
            self.instances
                .iter()
                .filter_map(|(&(service, place), known)| match known {
                    KnownInstance::Sure(Some(instance)) if services.contains(&service) => {
                        Some((module::instance_id(service, place), instance))
                    }
                    _ => None,
                });
        module::text(instances)
    }

    /// Names of the services that have an instance, and of the services that exist only for their names.
    fn names(&self, services: &[usize]) -> String {
        let is_there = |service: usize| {
            let mut places = self.instances.range((service, 0)..=(service, u64::MAX));
            places.any(|(_, known)| matches!(known, KnownInstance::Sure(Some(_))))
        };
        let there = services
            .iter()
            .copied()
            .filter(|&service| is_there(service));
        let extra = (1..=self.changes_of_all).map(|number| format!("{EXTRA}{number}"));
        module::joined(there.map(Plan::service).chain(extra))
    }

    /// The text of the services' instances as the catalog itself shows them.
    pub async fn text_in_catalog(&self, services: &[usize]) -> Result<String, String> {
        let mut found = BTreeMap::new();
        for &service in services {
            let path = format!("/v1/health/service/{}", Plan::service(service));
            let answer = self.consul(Method::GET, &path, "").await?;
            let entries: Value = answer.json().await.map_err(|error| error.to_string())?;
            for entry in entries.as_array().into_iter().flatten() {
                let service = &entry["Service"];
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let mut tags: Vec<String> = service["Tags"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(text)
                    .collect();
                tags.sort();
                let instance = Instance {
                    port: service["Port"].as_u64().unwrap_or_default(),
                    tags,
                    version: text(&service["Meta"]["version"]),
                };
                found.insert(text(&service["ID"]), instance);
            }
        }
        Ok(module::text(
            found.iter().map(|(id, instance)| (id.clone(), instance)),
        ))
    }

    /// A value of Consul's key/value store.
    pub async fn key(&self, key: &str) -> Result<Vec<u8>, String> {
        let answer = self
            .consul(Method::GET, &format!("/v1/kv/{key}?raw"), "")
            .await?;
        let body = answer.bytes().await.map_err(|error| error.to_string())?;
        Ok(body.to_vec())
    }

    async fn register(&self, service: usize, place: u64, instance: &Instance) -> bool {
        let body = json!({
            "Node": NODE, "Address": "10.0.0.9",
            "Service": {
                "ID": module::instance_id(service, place), "Service": Plan::service(service),
                "Port": instance.port, "Tags": instance.tags, "Meta": {"version": instance.version},
            },
        });
        let path = "/v1/catalog/register";
        let id = module::instance_id(service, place);
        let registered = self.consul(Method::PUT, path, &body.to_string()).await;
        let key = format!("/v1/kv/{KEYS}{id}");
        registered.is_ok()
            && self
                .consul(Method::PUT, &key, &module::value(instance))
                .await
                .is_ok()
    }

    /// A service that changes nothing but the names in the catalog.
    async fn register_extra(&self, number: usize) -> bool {
        let body = json!({
            "Node": NODE, "Address": "10.0.0.9",
            "Service": {"ID": format!("{EXTRA}{number}"), "Service": format!("{EXTRA}{number}")},
        });
        let path = "/v1/catalog/register";
        let registered = self.consul(Method::PUT, path, &body.to_string()).await;
        registered.is_ok()
    }

    async fn deregister(&self, service: usize, place: u64) -> bool {
        let body = json!({"Node": NODE, "ServiceID": module::instance_id(service, place)});
        let path = "/v1/catalog/deregister";
        let id = module::instance_id(service, place);
        let deregistered = self.consul(Method::PUT, path, &body.to_string()).await;
        let key = format!("/v1/kv/{KEYS}{id}");
        deregistered.is_ok() && self.consul(Method::DELETE, &key, "").await.is_ok()
    }

    async fn consul(&self, method: Method, path: &str, body: &str) -> Result<Response, String> {
        let url = format!("{}{path}", self.consul);
        let request = self.client.request(method, url).body(body.to_owned());
        let answer = request.send().await.and_then(Response::error_for_status);
        answer.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        Wanted::new("127.0.0.1:1")
    }

    #[test]
    fn the_text_is_that_of_the_known_instances_of_the_services() {
        let mut wanted = wanted();
        let instance = |port| {
            KnownInstance::Sure(Some(Instance {
                port,
                tags: vec!["blue".to_owned(), "red".to_owned()],
                version: "v1".to_owned(),
            }))
        };
        wanted.instances.insert((0, 1), instance(7));
        wanted.instances.insert((0, 0), instance(8));
        wanted.instances.insert((0, 2), KnownInstance::Sure(None));
        wanted.instances.insert((1, 0), instance(9));
        assert_eq!(
            wanted.text(Kind::Names, &[0]),
            "svc-0-0/8/blue.red/v1;svc-0-1/7/blue.red/v1"
        );
        wanted.changes_of_all = 2;
        assert_eq!(wanted.text(Kind::Catalog, &[0, 2]), "all-1;all-2;svc-0");
    }

    #[tokio::test]
    async fn an_order_without_an_answer_leaves_its_subject_in_doubt() {
        let mut wanted = wanted();
        let change = Change::Deregister {
            service: 0,
            place: 0,
        };
        wanted.order(&change).await;
        wanted.order(&change).await;
        assert_eq!(
            (wanted.confirmed, wanted.unanswered, wanted.left_out),
            (0, 1, 1)
        );
    }
}
