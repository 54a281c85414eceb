//! Declaration of a task in the configuration, without the facts that are found when the configuration is read.
//!
//! A task of the configuration may be changed or deleted over the API. Such a change lasts until the configuration
//! declares the task differently, which the digest of its declaration shows: edited files of a local module, or a
//! different version of Terraform, do not change the declaration.

use crate::engine::capability::Requirement;
use crate::task::spec::{TaskOrigin, TaskSpec};
use crate::words::digest::Digest;

/// Stored task, or deleted declaration, that exists when the configuration is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeclaredBefore {
    /// Origin of the stored task, and the declaration of the configuration that last took effect, if known.
    pub stored: Option<(TaskOrigin, Option<Digest>)>,
    /// The declaration that the API deleted.
    pub deleted: Option<Digest>,
}

/// Effect of a task's declaration in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// The task becomes as declared.
    TakesEffect,
    /// The declaration has not changed: the task keeps the changes made over the API.
    Lasts,
    /// The API deleted this declared task: the task stays deleted, and an API task with the same name is kept.
    StaysDeleted,
}

/// Decides the effect of a declaration in the configuration.
pub fn read_declaration(declaration: Digest, before: DeclaredBefore) -> Declared {
    if before.deleted == Some(declaration) {
        return Declared::StaysDeleted;
    }
    match before.stored {
        Some((TaskOrigin::Config, Some(known))) if known == declaration => Declared::Lasts,
        _ => Declared::TakesEffect,
    }
}

/// Reason why the queued apply of a task is pointless after a change of the task's declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawal {
    /// Changes no longer run the task.
    Disabled,
    /// The task has a different definition, and its failures are of the earlier definition.
    OtherDefinition,
}

impl TaskSpec {
    /// Whether queued applies are pointless once this task is declared as `after`, and why.
    pub fn withdrawal(&self, after: &Self) -> Option<Withdrawal> {
        if self.definition == after.definition || self.has_only_another_module(after) {
            (self.enabled && !after.enabled).then_some(Withdrawal::Disabled)
        } else {
            Some(Withdrawal::OtherDefinition)
        }
    }

    /// Whether `after` differs only in the facts about a module that was unusable. No run of a task with an unusable
    /// module is queued, and a requested run uses the module as it is then.
    fn has_only_another_module(&self, after: &Self) -> bool {
        if self.requirement.unusable_module.is_none() {
            return false;
        }
        let mut mended = self.definition.clone();
        let read = &after.definition;
        mended.module_source.clone_from(&read.module_source);
        mended.module_digest = read.module_digest;
        mended.bundle.clone_from(&read.bundle);
        mended == *read
    }

    /// The digest of the declaration: of everything except the content of a local module, the capabilities that a
    /// worker needs and the rule of the API, which a new declaration keeps.
    pub fn declaration(&self) -> Result<Digest, serde_json::Error> {
        let mut declared = self.clone();
        declared.definition.module_digest = None;
        declared.definition.bundle = None;
        declared.requirement = Requirement::default();
        declared.api_approval = None;
        Ok(Digest::of(&serde_json::to_vec(&declared)?))
    }

    /// Returns this task, as changed over the API, with the facts found when its unchanged declaration was read
    /// again, and with the settings that only files have: an earlier version of the program stores a task without the
    /// settings that are unknown to it.
    #[must_use]
    pub fn refreshed_by(&self, read: &Self) -> Self {
        let mut refreshed = self.clone();
        refreshed.requirement.clone_from(&read.requirement);
        refreshed.file_settings.clone_from(&read.file_settings);
        if self.definition.module_source == read.definition.module_source {
            refreshed.definition.module_digest = read.definition.module_digest;
            refreshed
                .definition
                .bundle
                .clone_from(&read.definition.bundle);
        } else {
            let own = &self.requirement;
            refreshed.requirement.bundle = own.bundle;
            refreshed
                .requirement
                .unusable_module
                .clone_from(&own.unusable_module);
        }
        refreshed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::task::approval_rule::ApprovalRule;
    use crate::task::buffer::BufferPeriod;
    use crate::task::deletion::OnDelete;
    use crate::task::file_settings::{FileDefinition, FileSettings};
    use crate::task::spec::{BundleReference, TaskDefinition};
    use crate::view::condition::Condition;
    use crate::words::identity::TaskName;

    fn spec() -> TaskSpec {
        TaskSpec {
            definition: TaskDefinition {
                name: TaskName::new("a").unwrap(),
                description: String::new(),
                module: "./m".to_owned(),
                module_source: "/m".to_owned(),
                module_digest: Some(Digest::of(b"1")),
                bundle: None,
                version: String::new(),
                providers: Vec::new(),
                condition: Condition::NoCondition,
                module_inputs: Vec::new(),
                services: Vec::new(),
                file_definition: FileDefinition::default(),
                outputs: Vec::new(),
                workspace: None,
                variables: BTreeMap::new(),
                working_dir: "sync-tasks/a".into(),
            },
            enabled: true,
            buffer_setting: None,
            buffer_period: BufferPeriod::BUILT_IN,
            file_settings: FileSettings::default(),
            requirement: Requirement::default(),
            on_delete: OnDelete::default(),
            api_approval: None,
        }
    }

    /// Returns a task with the same declaration, read by a different process after the module was edited.
    fn read_again() -> TaskSpec {
        let mut again = spec();
        again.definition.module_digest = Some(Digest::of(b"2"));
        again.definition.bundle = Some(BundleReference {
            hash: Digest::of(b"2"),
            module: "m".into(),
        });
        again.requirement.version = Some("1.9.8".to_owned());
        again.requirement.bundle = true;
        again
    }

    #[test]
    fn disabling_or_redefining_a_task_withdraws_its_queued_runs() {
        let (task, mut disabled, mut buffered) = (spec(), spec(), spec());
        disabled.enabled = false;
        buffered.file_settings.skip_unchanged = false;
        assert_eq!(task.withdrawal(&task), None);
        assert_eq!(task.withdrawal(&buffered), None);
        assert_eq!(task.withdrawal(&disabled), Some(Withdrawal::Disabled));
        assert_eq!(disabled.withdrawal(&disabled), None);
        assert_eq!(disabled.withdrawal(&task), None);
        let other = Some(Withdrawal::OtherDefinition);
        assert_eq!(task.withdrawal(&read_again()), other, "an edited module");
        assert_eq!(disabled.withdrawal(&read_again()), other);
    }

    #[test]
    fn a_mended_module_withdraws_nothing_and_another_declaration_does() {
        let mut broken = spec();
        broken.definition.module_digest = None;
        assert_eq!(
            broken.withdrawal(&spec()),
            Some(Withdrawal::OtherDefinition)
        );
        broken.requirement.unusable_module = Some("it does not exist".to_owned());
        assert_eq!(broken.withdrawal(&spec()), None);
        let (mut disabled, mut other) = (spec(), spec());
        disabled.enabled = false;
        other.definition.description = "another".to_owned();
        assert_eq!(broken.withdrawal(&disabled), Some(Withdrawal::Disabled));
        assert_eq!(broken.withdrawal(&other), Some(Withdrawal::OtherDefinition));
        assert_eq!(broken.declaration().unwrap(), spec().declaration().unwrap());
        assert_eq!(spec().refreshed_by(&broken), broken);
        assert_eq!(broken.refreshed_by(&spec()), spec());
    }

    #[test]
    fn a_declaration_takes_effect_when_it_is_new_or_another() {
        use Declared::{Lasts, StaysDeleted, TakesEffect};
        use TaskOrigin::{Api, Config};
        let [this, other] = [b"1", b"2"].map(|text| Digest::of(text));
        let cases = [
            (None, None, TakesEffect),
            (Some((Config, Some(this))), None, Lasts),
            (Some((Config, Some(other))), None, TakesEffect),
            (Some((Config, None)), None, TakesEffect),
            (Some((Api, None)), None, TakesEffect),
            (None, Some(this), StaysDeleted),
            (None, Some(other), TakesEffect),
            (Some((Api, None)), Some(this), StaysDeleted),
            (Some((Api, None)), Some(other), TakesEffect),
            (Some((Config, Some(this))), Some(this), StaysDeleted),
        ];
        for (stored, deleted, expected) in cases {
            let before = DeclaredBefore { stored, deleted };
            assert_eq!(read_declaration(this, before), expected, "{before:?}");
        }
    }

    #[test]
    fn findings_about_a_module_do_not_change_the_declaration() {
        let declared = spec().declaration().unwrap();
        assert_eq!(read_again().declaration().unwrap(), declared);
        let mut others = [spec(), spec(), spec(), spec(), spec(), spec()];
        others[5].on_delete = OnDelete::Destroy;
        others[4].file_settings.timeouts.plan = Some(std::time::Duration::from_secs(1));
        others[0].enabled = false;
        others[1].definition.version = "1".to_owned();
        others[2].file_settings.skip_unchanged = false;
        others[3].definition.module_source = "/n".to_owned();
        for other in others {
            assert_ne!(other.declaration().unwrap(), declared, "{other:?}");
        }
    }

    #[test]
    fn refresh_keeps_api_changes_and_takes_the_rest_as_read() {
        let mut changed = spec();
        changed.enabled = false;
        changed.definition.description = "by the API".to_owned();
        let mut expected = read_again();
        expected.enabled = false;
        expected.definition.description = "by the API".to_owned();
        assert_eq!(changed.refreshed_by(&read_again()), expected);
        assert_eq!(spec().refreshed_by(&read_again()), read_again());
    }

    #[test]
    fn refresh_brings_settings_of_files_back() {
        let mut read = spec();
        read.file_settings.approval = Some(ApprovalRule::Destroy);
        read.file_settings.approval_ignore = vec!["a.b.c".parse().unwrap()];
        let mut changed = spec();
        changed.enabled = false;
        changed.api_approval = Some(ApprovalRule::Always);
        let refreshed = changed.refreshed_by(&read);
        assert_eq!(refreshed.file_settings, read.file_settings);
        assert_eq!(refreshed.api_approval, changed.api_approval);
        assert_eq!(changed.withdrawal(&refreshed), None);
    }

    #[test]
    fn another_module_than_the_configured_one_keeps_its_content() {
        let mut changed = spec();
        changed.definition.module_source = "/other".to_owned();
        let mut expected = changed.clone();
        expected.requirement.version = Some("1.9.8".to_owned());
        assert_eq!(changed.refreshed_by(&read_again()), expected);
    }
}
