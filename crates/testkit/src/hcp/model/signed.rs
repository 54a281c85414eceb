//! Addresses that are their own permission.

use uuid::Uuid;

/// Object of a signed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Signed {
    /// Takes the archive of a configuration version.
    Upload(String),
    /// Log of a run's plan.
    PlanLog(String),
    /// Log of a run's apply.
    ApplyLog(String),
    /// A state.
    State(String),
}

#[derive(Debug)]
pub(in super::super) struct SignedAddresses {
    base: String,
    given: Vec<(String, Signed)>,
}

impl SignedAddresses {
    /// Path before the signature.
    pub(in super::super) const PATH: &'static str = "/_archive/v1/object/";

    pub(super) const fn at(base: String) -> Self {
        Self {
            base,
            given: Vec::new(),
        }
    }

    /// The address of this object.
    pub(in super::super) fn address(&mut self, object: Signed) -> String {
        let known = self.given.iter().find(|(_, known)| *known == object);
        let signature = if let Some((signature, _)) = known {
            signature.clone()
        } else {
            let signature = Uuid::new_v4().simple().to_string();
            self.given.push((signature.clone(), object));
            signature
        };
        format!("{}{}{signature}", self.base, Self::PATH)
    }

    /// The object of an address.
    pub(in super::super) fn object(&self, signature: &str) -> Option<Signed> {
        let mut given = self.given.iter();
        let found = given.find(|(known, _)| known == signature);
        found.map(|(_, object)| object.clone())
    }
}
