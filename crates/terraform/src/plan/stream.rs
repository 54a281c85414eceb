//! Reads the text of a plan, one resource at a time. Members that are not needed are skipped.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::format::{Change, Deferred, Invocation};
use super::meter::Meter;
use super::reading::Reading;

/// Reads a plan, each resource by itself.
pub(super) struct Plan<'p, 'c> {
    pub(super) reading: &'p mut Reading<'c>,
    pub(super) meter: &'p Meter,
}

impl<'de> DeserializeSeed<'de> for Plan<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Plan<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a plan")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { reading, meter } = self;
        while let Some(name) = members.next_key::<String>()? {
            meter.count(true);
            match name.as_str() {
                "format_version" => reading.format_version = members.next_value()?,
                "terraform_version" => reading.engine_version = members.next_value()?,
                "complete" => reading.complete = members.next_value()?,
                "errored" => reading.errored = members.next_value()?,
                "resource_changes" => members.next_value_seed(Resources(reading))?,
                "output_changes" => {
                    let outputs = members.next_value::<Option<BTreeMap<String, Change>>>()?;
                    for (name, change) in outputs.into_iter().flatten() {
                        reading.output(&name, &change).map_err(A::Error::custom)?;
                    }
                }
                "action_invocations" => {
                    let invocations = members.next_value::<Option<Vec<Invocation>>>()?;
                    for invocation in invocations.into_iter().flatten() {
                        reading.invocation(invocation).map_err(A::Error::custom)?;
                    }
                }
                "deferred_changes" | "deferred_action_invocations" => {
                    let deferred = members.next_value::<Option<Vec<Deferred>>>()?;
                    deferred
                        .into_iter()
                        .flatten()
                        .for_each(|deferred| reading.deferred(deferred));
                }
                _ => {
                    meter.count(false);
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Reads the changes of resources; `null` is an empty list.
struct Resources<'p, 'c>(&'p mut Reading<'c>);

impl<'de> DeserializeSeed<'de> for Resources<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Resources<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(change) = list.next_element()? {
            self.0.change(&change).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
