//! From the parts of a plan to its data and its effect.

use cts_core::hidden::HIDDEN;
use cts_core::{Effect, excerpt};
use cts_proto::run::v1::{
    DeferredChange, PlanCounts, PlanData, PlanExtent, PlannedAction, PlannedChange,
    PlannedInvocation, PlannedOutput,
};
use prost::Message;
use serde::Deserialize as _;
use serde_json::Result;
use serde_json::value::RawValue;

use super::context::PlanContext;
use super::effect_parts::{of_change, of_invocation};
use super::extent::{MOST_PLAN_BYTES, counts_only, without_attributes};
use super::format::{Change, Deferred, Importing, Invocation, ResourceChange, Trigger};
use super::leaves::{attributes, has_secret, note_marked, output_values};
use super::secrets::Secrets;

/// Majors of the format that are known.
const MAJORS: [&str; 2] = ["0", "1"];

/// Most reasons for which a plan is unclear.
const MOST_REASONS: usize = 20;

/// Longest reason, and longest word of an engine, in characters.
const LONGEST: usize = 200;

/// A plan while it is read.
pub(super) struct Reading<'c> {
    context: &'c PlanContext,
    plan: PlanData,
    counts: PlanCounts,
    effects: Vec<Effect>,
    changes_outputs: bool,
    secrets: Secrets,
    /// Bytes of values that may still be kept.
    values_left: usize,
    /// Bytes of everything else that may still be kept.
    left: usize,
    pub(super) format_version: Option<String>,
    pub(super) engine_version: Option<String>,
    pub(super) complete: Option<bool>,
    pub(super) errored: Option<bool>,
}

impl<'c> Reading<'c> {
    pub(super) fn new(context: &'c PlanContext) -> Self {
        Self {
            context,
            plan: PlanData {
                extent: PlanExtent::All.into(),
                ..PlanData::default()
            },
            counts: PlanCounts::default(),
            effects: Vec::new(),
            changes_outputs: false,
            secrets: Secrets::default(),
            values_left: MOST_PLAN_BYTES,
            left: MOST_PLAN_BYTES,
            format_version: None,
            engine_version: None,
            complete: None,
            errored: None,
        }
    }

    /// The plan, after it was read to its end.
    pub(super) fn whole(mut self) -> PlanData {
        let secrets = std::mem::take(&mut self.secrets);
        if secrets.hide(&mut self.plan, self.context).is_err() {
            // Not expected: the values were read before.
            without_attributes(&mut self.plan);
        }
        let effects = std::mem::take(&mut self.effects);
        if !effects.is_empty() || self.changes_outputs {
            let effect = Effect::of_plan(&self.context.key, &self.context.scope, effects);
            self.plan.effect = effect.to_string();
        }
        let version = self.word(self.format_version.as_deref().unwrap_or_default());
        let reasons = &mut self.plan.unclear;
        if version.is_empty() {
            reasons.push("the engine does not name the version of its format".to_owned());
        } else if !MAJORS
            .iter()
            .any(|major| version.split('.').next() == Some(major))
        {
            reasons.push(format!(
                "this version of cts does not know the format {version}"
            ));
        }
        if self.complete == Some(false) || self.counts.deferred > 0 {
            reasons
                .push("the plan is not complete: changes are put off to a later plan".to_owned());
        }
        if self.errored == Some(true) {
            reasons.push("the plan has ended with an error".to_owned());
        }
        self.finish()
    }

    /// The numbers so far of a plan that was not read to its end.
    pub(super) fn partial(mut self, reason: &str) -> PlanData {
        counts_only(&mut self.plan);
        self.plan.unclear.push(reason.to_owned());
        self.finish()
    }

    fn finish(self) -> PlanData {
        PlanData {
            format_version: self.word(self.format_version.as_deref().unwrap_or_default()),
            engine_version: self.word(self.engine_version.as_deref().unwrap_or_default()),
            counts: Some(self.counts),
            ..self.plan
        }
    }

    /// A word or a name of the engine, for a text.
    fn word(&self, word: &str) -> String {
        excerpt(&self.context.shown(word), LONGEST)
    }

    /// The action of Terraform's words; for unknown ones the plan is unclear about `what`.
    fn action(&mut self, words: &[String], what: &str) -> Option<PlannedAction> {
        let action = action_of(words);
        if action.is_none() && self.plan.unclear.len() < MOST_REASONS {
            let (words, what) = (self.word(&words.join(", ")), self.word(what));
            let reason =
                format!("this version of cts does not know the actions \"{words}\" of {what}");
            self.plan.unclear.push(reason);
        }
        action
    }

    /// Whether a part of the plan is kept, without its values.
    fn keeps(&mut self, part: &impl Message) -> bool {
        let bytes = part.encoded_len() + 8;
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => counts_only(&mut self.plan),
        }
        self.plan.extent() != PlanExtent::Counts
    }

    /// Whether values of this length are kept.
    fn keeps_values(&mut self, bytes: usize) -> bool {
        if self.plan.extent() == PlanExtent::All {
            match self.values_left.checked_sub(bytes) {
                Some(left) => self.values_left = left,
                None => without_attributes(&mut self.plan),
            }
        }
        self.plan.extent() == PlanExtent::All
    }

    fn effect(&mut self, parts: &[Vec<u8>]) -> String {
        let effect = Effect::of_change(&self.context.key, parts.iter().map(Vec::as_slice));
        self.effects.push(effect);
        effect.to_string()
    }

    /// Takes the change of a resource.
    pub(super) fn change(&mut self, resource: &ResourceChange) -> Result<()> {
        let context = self.context;
        let ResourceChange {
            address, change, ..
        } = resource;
        let moved_from = resource.moved_from();
        let action = self.action(&change.actions, address);
        let imports = change.importing.is_some();
        let counts = &mut self.counts;
        let counter = match action {
            Some(PlannedAction::None) if imports => &mut counts.imported,
            Some(PlannedAction::None) if moved_from.is_some() => &mut counts.moved,
            Some(PlannedAction::None) => &mut counts.unchanged,
            Some(PlannedAction::Create) => &mut counts.created,
            Some(PlannedAction::Read) => &mut counts.read,
            Some(PlannedAction::Update) => &mut counts.updated,
            Some(PlannedAction::Delete) => &mut counts.deleted,
            Some(PlannedAction::DeleteThenCreate | PlannedAction::CreateThenDelete) => {
                &mut counts.replaced
            }
            Some(PlannedAction::Forget) => &mut counts.forgotten,
            Some(PlannedAction::Unspecified) | None => &mut counts.unknown,
        };
        *counter = counter.saturating_add(1);
        let shown = |text: Option<&String>| context.shown(text.map_or("", String::as_str));
        let mut kept = PlannedChange {
            address: context.shown(address),
            action: action.unwrap_or_default().into(),
            ..PlannedChange::default()
        };
        let mut values = Vec::new();
        if action != Some(PlannedAction::None) || moved_from.is_some() || imports {
            kept.previous_address = shown(moved_from);
            kept.deposed = shown(resource.deposed.as_ref());
            kept.provider = shown(resource.provider_name.as_ref());
            kept.actions = change.actions.iter().map(|word| self.word(word)).collect();
            kept.reason = self.word(resource.action_reason.as_deref().unwrap_or_default());
            kept.importing = importing(context, change.importing.as_deref())?;
            if action != Some(PlannedAction::Read) {
                kept.effect = self.effect(&of_change(context, resource)?);
            }
            if self.plan.extent() != PlanExtent::Counts {
                note_marked(&mut self.secrets, change)?;
            }
            let changes = !matches!(action, Some(PlannedAction::None | PlannedAction::Read));
            if changes && self.keeps_values(0) {
                let found = attributes(context, (address, change), self.values_left)?;
                let length = found.iter().flatten().map(Message::encoded_len).sum();
                if self.keeps_values(found.as_ref().map_or(usize::MAX, |_found| length)) {
                    values = found.unwrap_or_default();
                }
            }
        }
        if self.keeps(&kept) {
            kept.attributes = values;
            self.plan.changes.push(kept);
        }
        Ok(())
    }

    /// Takes the change of an output of the root module.
    pub(super) fn output(&mut self, name: &str, change: &Change) -> Result<()> {
        let action = self.action(&change.actions, name);
        if action == Some(PlannedAction::None) {
            return Ok(());
        }
        self.changes_outputs = true;
        let mut output = PlannedOutput {
            name: self.context.shown(name),
            action: action.unwrap_or_default().into(),
            ..PlannedOutput::default()
        };
        let kept = self.keeps(&output);
        if self.plan.extent() != PlanExtent::Counts {
            note_marked(&mut self.secrets, change)?;
        }
        if self.keeps_values(0) {
            let found = output_values(self.context, name, change, self.values_left)?;
            let values = found.iter().flatten().flatten();
            let length = values.map(Message::encoded_len).sum();
            if self.keeps_values(found.as_ref().map_or(usize::MAX, |_found| length)) {
                [output.before, output.after] = found.unwrap_or_default();
            }
        }
        if kept {
            self.plan.outputs.push(output);
        }
        Ok(())
    }

    /// Takes an action that a provider is asked to do.
    pub(super) fn invocation(&mut self, invocation: Invocation) -> Result<()> {
        self.counts.invoked = self.counts.invoked.saturating_add(1);
        let triggers = [
            invocation.lifecycle_action_trigger.as_deref(),
            invocation.invoke_action_trigger.as_deref(),
        ];
        let effect = self.effect(&of_invocation(&invocation)?);
        let trigger = triggers
            .into_iter()
            .flatten()
            .next()
            .map(Trigger::deserialize);
        let trigger = trigger.transpose()?.unwrap_or_default();
        let resource = trigger.triggering_resource_address;
        let resource = resource.or(trigger.calling_resource_address);
        let kept = PlannedInvocation {
            address: self.context.shown(&invocation.address),
            provider: self
                .context
                .shown(&invocation.provider_name.unwrap_or_default()),
            triggered_by: self.context.shown(&resource.unwrap_or_default()),
            event: self.word(&trigger.action_trigger_event.unwrap_or_default()),
            effect,
        };
        if self.keeps(&kept) {
            self.plan.invocations.push(kept);
        }
        Ok(())
    }

    /// Takes a change, or an action of a provider, that is put off.
    pub(super) fn deferred(&mut self, deferred: Deferred) {
        self.counts.deferred = self.counts.deferred.saturating_add(1);
        let address = deferred.resource_change.address + &deferred.action_invocation.address;
        let kept = DeferredChange {
            address: self.context.shown(&address),
            reason: self.word(&deferred.reason),
        };
        if self.keeps(&kept) {
            self.plan.deferred.push(kept);
        }
    }
}

/// The action of Terraform's words; `None` for words that this version does not know.
fn action_of(words: &[String]) -> Option<PlannedAction> {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    Some(match words[..] {
        ["no-op"] => PlannedAction::None,
        ["create"] => PlannedAction::Create,
        ["read"] => PlannedAction::Read,
        ["update"] => PlannedAction::Update,
        ["delete"] => PlannedAction::Delete,
        ["delete", "create"] => PlannedAction::DeleteThenCreate,
        ["create", "delete"] => PlannedAction::CreateThenDelete,
        ["forget"] => PlannedAction::Forget,
        _ => return None,
    })
}

/// The id of an object that a resource takes over, or its identity as JSON, unless a secret is in it.
fn importing(context: &PlanContext, importing: Option<&RawValue>) -> Result<String> {
    let Some(importing) = importing else {
        return Ok(String::new());
    };
    let Importing { id, identity } = Importing::deserialize(importing)?;
    let is_hidden =
        identity.is_some_and(|identity| has_secret(context, identity, 0).unwrap_or(true));
    let identity = identity.map(|identity| if is_hidden { HIDDEN } else { identity.get() });
    Ok(context.shown(id.as_deref().or(identity).unwrap_or("unknown")))
}
