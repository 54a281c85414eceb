//! Keys of tasks that only files can set, the API has no member for them: each is read and shown by its row of
//! [`KEYS`].

use std::ops::RangeInclusive;

use cts_core::{FileDefinition, FileSettings, InvalidMaxShrink, MaxShrink, PlanMode, TaskSpec};
use serde_json::Value;

use crate::blocks::timeouts;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::units::duration;
use crate::report::location::{Located, SourceLocation};

const INSTANCES: RangeInclusive<u32> = 1..=1_000_000;

/// Characters of the name of a concurrency group.
const LONGEST_GROUP: usize = 100;

const PLANS: [(&str, PlanMode); 2] = [
    (PlanMode::Direct.as_str(), PlanMode::Direct),
    (PlanMode::Saved.as_str(), PlanMode::Saved),
];

/// A key with one value.
struct Key {
    name: &'static str,
    /// Reads the value, if it is written; returns its place.
    read: fn(&mut Block<'_>, &'static str, &mut FileKeys) -> Option<SourceLocation>,
    /// The value as files have it; `None` leaves the key out.
    show: fn(&FileSettings, &FileDefinition) -> Option<Value>,
}

/// The keys in the order in which they are shown. `webhooks`, whose names have places of their own, is not among them.
const KEYS: [Key; 9] = [
    Key {
        name: "skip_unchanged",
        read: |block, name, to| {
            set(
                &mut to.settings.skip_unchanged,
                block.take(name, coerce::flag),
            )
        },
        show: |settings, _| Some(settings.skip_unchanged.into()),
    },
    Key {
        name: "retry_failed",
        read: |block, name, to| {
            set(
                &mut to.settings.retry_failed,
                block.take(name, coerce::flag),
            )
        },
        show: |settings, _| Some(settings.retry_failed.into()),
    },
    Key {
        name: "init_timeout",
        read: |block, name, to| some(&mut to.settings.timeouts.init, timeouts::read(block, name)),
        show: |settings, _| Some(duration(settings.timeouts.init?).into()),
    },
    Key {
        name: "plan_timeout",
        read: |block, name, to| some(&mut to.settings.timeouts.plan, timeouts::read(block, name)),
        show: |settings, _| Some(duration(settings.timeouts.plan?).into()),
    },
    Key {
        name: "apply_timeout",
        read: |block, name, to| some(&mut to.settings.timeouts.apply, timeouts::read(block, name)),
        show: |settings, _| Some(duration(settings.timeouts.apply?).into()),
    },
    Key {
        name: MIN_INSTANCES,
        read: |block, name, to| {
            let written = block.located_number_within(name, &INSTANCES);
            some(&mut to.settings.guard.min_instances, written)
        },
        show: |settings, _| Some(settings.guard.min_instances?.into()),
    },
    Key {
        name: MAX_SHRINK,
        read: |block, name, to| some(&mut to.settings.guard.max_shrink, max_shrink(block, name)),
        show: |settings, _| Some(settings.guard.max_shrink?.to_string().into()),
    },
    Key {
        name: "concurrency_group",
        read: |block, name, to| {
            some(
                &mut to.settings.concurrency_group,
                concurrency_group(block, name),
            )
        },
        show: |settings, _| settings.concurrency_group.as_deref().map(Value::from),
    },
    Key {
        name: "plan",
        read: |block, name, to| set(&mut to.definition.plan, block.choice(name, &PLANS)),
        show: |_, definition| {
            (definition.plan == PlanMode::Saved).then(|| definition.plan.as_str().into())
        },
    },
];

const MIN_INSTANCES: &str = "min_instances";
const MAX_SHRINK: &str = "max_shrink";

/// The keys as written, with their defaults.
#[derive(Debug, Default)]
pub(crate) struct FileKeys {
    pub(crate) settings: FileSettings,
    pub(crate) definition: FileDefinition,
    /// The keys that are written, with the places of their values.
    pub(crate) places: Vec<(&'static str, SourceLocation)>,
}

impl FileKeys {
    pub(crate) fn decode(block: &mut Block<'_>) -> Self {
        let mut keys = Self::default();
        for key in KEYS {
            if let Some(place) = (key.read)(block, key.name, &mut keys) {
                keys.places.push((key.name, place));
            }
        }
        keys
    }

    /// The keys of the shrink limit that are written.
    pub(crate) fn of_shrink_limit(&self) -> impl Iterator<Item = &(&'static str, SourceLocation)> {
        let places = self.places.iter();
        places.filter(|(name, _)| [MIN_INSTANCES, MAX_SHRINK].contains(name))
    }
}

/// All keys of a task that only files can set.
pub fn file_only_keys() -> impl Iterator<Item = &'static str> {
    let others = ["webhooks", "working_dir"];
    KEYS.into_iter().map(|key| key.name).chain(others)
}

/// The keys of a task with their values.
pub(crate) fn shown(spec: &TaskSpec) -> impl Iterator<Item = (&'static str, Value)> {
    KEYS.into_iter().filter_map(|key| {
        let value = (key.show)(&spec.file_settings, &spec.definition.file_definition)?;
        Some((key.name, value))
    })
}

fn set<T>(setting: &mut T, written: Option<Located<T>>) -> Option<SourceLocation> {
    let Located { value, place } = written?;
    *setting = value;
    Some(place)
}

fn some<T>(setting: &mut Option<T>, written: Option<Located<T>>) -> Option<SourceLocation> {
    let Located { value, place } = written?;
    *setting = Some(value);
    Some(place)
}

fn max_shrink(block: &mut Block<'_>, name: &'static str) -> Option<Located<MaxShrink>> {
    let Located { value, place } = block.take(name, coerce::text)?;
    if let Ok(value) = value.parse() {
        return Some(Located { value, place });
    }
    let found = coerce::quoted(&value);
    let message = format!("`{}` is {found}: {InvalidMaxShrink}", block.path_of(name));
    block.sink().error(&place, message);
    None
}

fn concurrency_group(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    let group = block.take(name, coerce::text)?;
    if !group.value.is_empty() && group.value.chars().count() <= LONGEST_GROUP {
        return Some(group);
    }
    let path = block.path_of(name);
    let message = format!("`{path}` must be a name of 1 to {LONGEST_GROUP} characters");
    block.sink().error(&group.place, message);
    None
}
