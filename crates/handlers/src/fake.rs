//! Provider `fake-sync`: not a provider of Terraform, but a handler that fails on request, for trying out the
//! consequences (docs/terraform.md#fake-sync).

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

use cts_core::ProviderBlock;
use serde_json::Value;

use crate::error::{HandlerError, PrepareError};

/// Most tasks that are remembered as past their first apply.
const MOST_KNOWN: usize = 10_000;

/// Tasks with the names of their handlers, whose first apply in the life of this process is over.
#[derive(Debug, Default)]
pub(crate) struct Passed(Mutex<HashSet<(String, String)>>);

#[derive(Debug)]
pub(crate) struct Fake {
    task: String,
    name: String,
    fails: bool,
    success_first: bool,
    passed: Arc<Passed>,
}

impl Fake {
    pub(crate) fn new(
        task: &str,
        block: Option<&ProviderBlock>,
        passed: &Arc<Passed>,
    ) -> Result<Self, PrepareError> {
        let argument = |name: &str| block.and_then(|block| block.arguments.get(name));
        let name = argument("name").and_then(Value::as_str);
        let name = name.filter(|name| !name.is_empty());
        let flag = |name: &str| argument(name) == Some(&Value::Bool(true));
        Ok(Self {
            task: task.to_owned(),
            name: name.ok_or(PrepareError::NamelessFake)?.to_owned(),
            fails: flag("err"),
            success_first: flag("success_first"),
            passed: Arc::clone(passed),
        })
    }

    pub(crate) fn run(&self) -> Result<(), HandlerError> {
        tracing::info!(target: "handler.fake", task_name = self.task, name = self.name, "fake handler called");
        if !self.fails || (self.success_first && self.is_first()) {
            return Ok(());
        }
        Err(HandlerError::Fake {
            name: self.name.clone(),
        })
    }

    fn is_first(&self) -> bool {
        let mut passed = self.passed.0.lock();
        if passed.len() >= MOST_KNOWN {
            passed.clear();
        }
        passed.insert((self.task.clone(), self.name.clone()))
    }
}
