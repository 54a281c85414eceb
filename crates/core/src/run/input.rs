//! The frozen input of a run: canonical bytes and their hash.
//!
//! An input is a list of contents: first the task with the identity of its settings, then the contents of its views.
//! Contents are canonical JSON, stored once by their SHA-256, even if many inputs use them. The hash of the list
//! identifies the input.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::task::spec::TaskDefinition;
use crate::view::service::ServiceInstance;
use crate::view::{CatalogService, ItemKind, KeyValue};
use crate::words::digest::Digest;

/// Everything that a run depends on: any change of it requires a new run.
///
/// Items that the condition watches are included even if they are not rendered (`use_as_module_input = false`): the
/// generated text is then always the same, yet every change must run (docs/runs.md#what-triggers-a-task).
#[derive(Debug, Clone, PartialEq)]
pub struct RunInput {
    /// The task.
    pub definition: TaskDefinition,
    /// [Identity](crate::settings::identity_of) of the backend and provider blocks that the task's
    /// runs use. The blocks themselves, with their secrets, stay with the worker.
    pub settings_digest: Digest,
    /// Instances in module order.
    pub services: Vec<Arc<ServiceInstance>>,
    /// Names in the catalog with their tags, sorted.
    pub catalog_services: Vec<Arc<CatalogService>>,
    /// Keys with their values, sorted.
    pub consul_kv: Vec<Arc<KeyValue>>,
    /// Whether the views of the task were not read: a disabled task is checked without their items.
    pub lacks_views: bool,
}

/// A part of a frozen input: the task, or the items of one of its views. Inputs with equal parts share them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Content {
    /// Digest of `bytes`.
    pub hash: Digest,
    /// JSON with a fixed order of members and sorted maps.
    pub bytes: Vec<u8>,
}

impl Content {
    /// The content with these bytes, which are not parsed.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self {
            hash: Digest::of(&bytes),
            bytes,
        }
    }

    pub(crate) fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(Self::from_bytes)
    }
}

/// A run input in its canonical form. With data it can only be made by
/// [`CompleteInput::freeze`](crate::CompleteInput::freeze).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrozenInput {
    /// Digest of the digests of its contents: the identity of the input.
    pub hash: Digest,
    /// The task with the digest of its settings, then the items of each of its views, in the order of
    /// [`TaskDefinition::dependencies`].
    pub contents: Vec<Arc<Content>>,
    /// [Number](crate::settings::SettingsGeneration::number) of the settings that its worker must have; `None` for
    /// any.
    pub settings: Option<u64>,
}

/// First content of an input.
#[derive(Serialize)]
struct Head<'a> {
    definition: &'a TaskDefinition,
    settings_digest: Digest,
}

/// First content of an input, as parsed.
#[derive(Deserialize)]
struct ReadHead {
    definition: TaskDefinition,
    settings_digest: Digest,
}

/// Contents do not form an input.
#[derive(Debug, thiserror::Error)]
pub enum ThawError {
    /// The input has no contents.
    #[error("the input has no contents")]
    Empty,
    /// The input has a content without a view of the task.
    #[error("the task has no view for content {place} of the input")]
    TooMany {
        /// Its index among the contents, from 0.
        place: usize,
    },
    /// A content cannot be parsed.
    #[error("content {place} of the input cannot be read")]
    Unreadable {
        /// Its index among the contents, from 0.
        place: usize,
        /// Reason of the failure.
        source: serde_json::Error,
    },
}

impl FrozenInput {
    pub(crate) fn of(
        definition: &TaskDefinition,
        settings_digest: Digest,
        views: impl IntoIterator<Item = Arc<Content>>,
    ) -> Result<Self, serde_json::Error> {
        let head = Content::of(&Head {
            definition,
            settings_digest,
        })?;
        let head = std::iter::once(Arc::new(head));
        Ok(Self::of_contents(head.chain(views).collect()))
    }

    /// An input that was frozen earlier, from its contents, which are not parsed.
    pub fn of_contents(contents: Vec<Arc<Content>>) -> Self {
        let digests = contents
            .iter()
            .map(|content| content.hash.as_bytes().as_slice());
        Self {
            hash: Digest::of_parts(digests),
            contents,
            settings: None,
        }
    }

    /// Returns the same input, for workers with these settings.
    #[must_use]
    pub fn for_settings(self, number: u64) -> Self {
        Self {
            settings: Some(number),
            ..self
        }
    }
}

impl RunInput {
    /// The input of a task without data.
    pub const fn without_data(definition: TaskDefinition, settings_digest: Digest) -> Self {
        Self {
            definition,
            settings_digest,
            services: Vec::new(),
            catalog_services: Vec::new(),
            consul_kv: Vec::new(),
            lacks_views: false,
        }
    }

    /// Parses an input from the bytes of its contents, in the order of [`FrozenInput::contents`].
    ///
    /// # Errors
    /// Fails if the bytes are not contents of an input.
    pub fn thaw<'a>(contents: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, ThawError> {
        let unreadable = |place| move |source| ThawError::Unreadable { place, source };
        let mut contents = contents.into_iter().enumerate();
        let (place, head) = contents.next().ok_or(ThawError::Empty)?;
        let head: ReadHead = serde_json::from_slice(head).map_err(unreadable(place))?;
        let dependencies = head.definition.dependencies().into_iter();
        let mut kinds = dependencies.map(|dependency| dependency.view.item_kind());
        let mut input = Self::without_data(head.definition, head.settings_digest);
        for (place, shown) in contents {
            let kind = kinds.next().ok_or(ThawError::TooMany { place })?;
            let read = match kind {
                ItemKind::Instances => append(&mut input.services, shown),
                ItemKind::Services => append(&mut input.catalog_services, shown),
                ItemKind::Keys => append(&mut input.consul_kv, shown),
            };
            read.map_err(unreadable(place))?;
        }
        input.lacks_views = kinds.next().is_some();
        Ok(input)
    }

    /// The task of an input, from its first content.
    ///
    /// # Errors
    /// Fails if the bytes are not such a content.
    pub fn definition_in(bytes: &[u8]) -> Result<TaskDefinition, ThawError> {
        #[derive(Deserialize)]
        struct Defined {
            definition: TaskDefinition,
        }
        let defined: Result<Defined, _> = serde_json::from_slice(bytes);
        let unreadable = |source| ThawError::Unreadable { place: 0, source };
        Ok(defined.map_err(unreadable)?.definition)
    }
}

fn append<T: DeserializeOwned>(to: &mut Vec<T>, shown: &[u8]) -> Result<(), serde_json::Error> {
    to.append(&mut serde_json::from_slice(shown)?);
    Ok(())
}
