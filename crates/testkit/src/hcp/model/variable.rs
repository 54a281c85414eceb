//! Variables of a workspace.

use serde_json::{Value, json};

use super::super::call::{RefusedCall, identifier, reference};

const KEY_LIMIT: usize = 128;
const VALUE_LIMIT: usize = 256 << 10;
const DESCRIPTION_LIMIT: usize = 512;

#[derive(Debug, Clone)]
pub(in super::super) struct Variable {
    pub(in super::super) id: String,
    /// Changes with each update.
    pub(in super::super) version: String,
    pub(in super::super) key: String,
    pub(in super::super) value: String,
    pub(in super::super) description: String,
    pub(in super::super) environment: bool,
    pub(in super::super) hcl: bool,
    pub(in super::super) sensitive: bool,
}

impl Variable {
    pub(in super::super) fn new() -> Self {
        Self {
            id: identifier("var"),
            version: identifier("vrs"),
            key: String::new(),
            value: String::new(),
            description: String::new(),
            environment: false,
            hcl: false,
            sensitive: false,
        }
    }

    /// Takes over the attributes that are given.
    pub(in super::super) fn update(
        &mut self,
        attributes: &serde_json::Map<String, Value>,
    ) -> Result<(), RefusedCall> {
        let before = self.clone();
        for (name, value) in attributes {
            let text = || value.as_str().unwrap_or_default().to_owned();
            let flag = value.as_bool().unwrap_or_default();
            match name.as_str() {
                "key" => self.key = text(),
                "value" => self.value = text(),
                "description" => self.description = text(),
                "hcl" => self.hcl = flag,
                "sensitive" => self.sensitive = flag,
                "category" => match value.as_str() {
                    Some("terraform") => self.environment = false,
                    Some("env") => self.environment = true,
                    _ => {
                        return Err(RefusedCall::invalid(
                            name,
                            "Category is not included in the list",
                        ));
                    }
                },
                _ => {}
            }
        }
        self.check()?;
        if before.sensitive && !self.sensitive {
            return Err(RefusedCall::invalid(
                "sensitive",
                "Sensitive cannot be disabled",
            ));
        }
        if before.sensitive && (before.key != self.key || before.hcl != self.hcl) {
            return Err(RefusedCall::invalid(
                "key",
                "Key cannot be changed if sensitive",
            ));
        }
        self.version = identifier("vrs");
        Ok(())
    }

    fn check(&self) -> Result<(), RefusedCall> {
        if self.key.is_empty() {
            return Err(RefusedCall::invalid("key", "Key can't be blank"));
        }
        if self.environment && self.hcl {
            let detail = "Hcl is not allowed for environment variables";
            return Err(RefusedCall::invalid("hcl", detail));
        }
        let fields = [
            ("key", self.key.len(), KEY_LIMIT),
            ("value", self.value.len(), VALUE_LIMIT),
            ("description", self.description.len(), DESCRIPTION_LIMIT),
        ];
        for (name, length, limit) in fields {
            if length > limit {
                let detail = format!("{name} is too long (maximum is {limit} characters)");
                return Err(RefusedCall::invalid(name, detail));
            }
        }
        Ok(())
    }

    pub(in super::super) fn document(&self, workspace: &str) -> Value {
        let value = (!self.sensitive).then_some(&self.value);
        let category = if self.environment { "env" } else { "terraform" };
        json!({
            "id": self.id,
            "type": "vars",
            "attributes": {
                "key": self.key, "value": value, "description": self.description,
                "category": category, "hcl": self.hcl, "sensitive": self.sensitive,
                "version-id": self.version,
            },
            "relationships": {"configurable": reference("workspaces", workspace)},
        })
    }
}
