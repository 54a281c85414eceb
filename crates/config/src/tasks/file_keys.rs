//! Keys of tasks that only files can set, because the API has no member for them; and `approval`, which the API can only
//! make stricter.

use std::ops::RangeInclusive;

use cts_core::{FileDefinition, FileSettings, IgnoredAttribute, MaxShrink, PlanMode, TaskSpec};

use crate::blocks::approvals::{APPROVAL, IGNORE, RULES};
use crate::blocks::driver::STEP_TIMEOUTS;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::dump_body::Body;
use crate::keys::{Keyed, Keys, Written, names, read_keys};
use crate::report::location::{Located, SourceLocation};

const INSTANCES: RangeInclusive<u32> = 1..=1_000_000;

/// Characters of the name of a concurrency group.
const LONGEST_GROUP: usize = 100;

const PLANS: [(&str, PlanMode); 2] = [
    (PlanMode::Direct.as_str(), PlanMode::Direct),
    (PlanMode::Saved.as_str(), PlanMode::Saved),
];

const MIN_INSTANCES: &str = "min_instances";
const MAX_SHRINK: &str = "max_shrink";

/// The keys as written, with their defaults. `webhooks`, whose names have places of their own, is not among them.
#[derive(Debug, Default)]
pub(crate) struct FileKeys {
    pub(crate) settings: FileSettings,
    pub(crate) definition: FileDefinition,
    pub(crate) written: Written,
}

impl Keyed for FileKeys {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        let settings = &mut self.settings;
        keys.flag("skip_unchanged", &mut settings.skip_unchanged);
        keys.flag("retry_failed", &mut settings.retry_failed);
        let timeouts = &mut settings.timeouts;
        keys.optional_duration("init_timeout", &mut timeouts.init, &STEP_TIMEOUTS);
        keys.optional_duration("plan_timeout", &mut timeouts.plan, &STEP_TIMEOUTS);
        keys.optional_duration("apply_timeout", &mut timeouts.apply, &STEP_TIMEOUTS);
        keys.optional(
            MIN_INSTANCES,
            &mut settings.guard.min_instances,
            |block, name| block.number_within(name, &INSTANCES),
            |count| *count,
        );
        keys.optional(
            MAX_SHRINK,
            &mut settings.guard.max_shrink,
            max_shrink,
            ToString::to_string,
        );
        keys.optional(
            "concurrency_group",
            &mut settings.concurrency_group,
            concurrency_group,
            String::clone,
        );
        keys.optional_choice(APPROVAL, &mut settings.approval, &RULES);
        let ignored = &mut settings.approval_ignore;
        keys.list(IGNORE, ignored, str::parse::<IgnoredAttribute>);
        keys.key(
            "plan",
            &mut self.definition.plan,
            |block, name| block.choice(name, &PLANS),
            |plan| (*plan == PlanMode::Saved).then(|| plan.as_str()),
        );
    }
}

impl FileKeys {
    pub(crate) fn decode(block: &mut Block<'_>) -> Self {
        let mut keys = Self::default();
        keys.written = read_keys(&mut keys, block);
        keys
    }

    /// Adds the keys of a task to a dump.
    pub(crate) fn dump(task: &TaskSpec, body: &mut Body) {
        let mut keys = Self {
            settings: task.file_settings.clone(),
            definition: task.definition.file_definition.clone(),
            written: Written::default(),
        };
        keys.keys(&mut Keys::Dump(body));
    }

    /// The keys of the shrink limit that are written.
    pub(crate) fn of_shrink_limit(&self) -> impl Iterator<Item = (&'static str, &SourceLocation)> {
        let written = self.written.iter();
        written.filter(|(name, _)| [MIN_INSTANCES, MAX_SHRINK].contains(name))
    }
}

/// All keys of a task that only files can set.
pub fn file_only_keys() -> impl Iterator<Item = &'static str> {
    let others = ["webhooks", "working_dir"];
    let keys = names(FileKeys::default()).into_iter();
    keys.filter(|key| *key != APPROVAL).chain(others)
}

fn max_shrink(block: &mut Block<'_>, name: &'static str) -> Option<Located<MaxShrink>> {
    let written = block.take(name, coerce::text)?;
    let path = block.path_of(name);
    block.sink().checked(written, |text| {
        let found = coerce::quoted(&text);
        let refusal = |invalid| format!("`{path}` is {found}: {invalid}");
        text.parse::<MaxShrink>().map_err(refusal)
    })
}

fn concurrency_group(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    let written = block.take(name, coerce::text)?;
    let path = block.path_of(name);
    block.sink().checked(written, |group| {
        let fits = (1..=LONGEST_GROUP).contains(&group.chars().count());
        let refusal = || format!("`{path}` must be a name of 1 to {LONGEST_GROUP} characters");
        fits.then_some(group).ok_or_else(refusal)
    })
}
