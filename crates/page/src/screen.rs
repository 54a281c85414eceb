//! Screens and their fragments.
//!
//! A fragment is an element with an id and the key of the answers that it shows (docs/rest.md#versions-to-follow). The
//! same function renders a fragment within its screen and alone, at the address of the screen with `fragment=ID`.

use async_trait::async_trait;
use http::StatusCode;

use crate::context::{Context, Refusal};
use crate::text::{Attribute, escaped};

/// One screen at one address.
#[async_trait]
pub(crate) trait Screen: Send + Sync {
    /// Title of the window, without the name of the cluster.
    fn title(&self) -> String;

    /// The entry of the navigation that this screen belongs to.
    fn part(&self) -> Part;

    /// The outermost fragments, in the order of the screen.
    ///
    /// # Errors
    ///
    /// Refuses a screen whose task or run does not exist.
    async fn fragments(&self, context: &Context<'_>) -> Result<Vec<Fragment>, Refusal>;

    /// The fragment with this id, outermost or not; `None` if the screen has none.
    fn fragment(&self, id: &str) -> Option<Fragment>;

    /// Content of the fragment with this id.
    ///
    /// # Errors
    ///
    /// A refused call is shown in the place of the fragment.
    async fn render(&self, id: &str, context: &Context<'_>) -> Result<String, Refusal>;
}

/// Entries of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Overview,
    Tasks,
    Runs,
    Approvals,
    Cluster,
    Audit,
}

/// An element that is rendered again when its key has another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Id of the element; unique on the screen.
    pub(crate) id: String,
    /// Key of the versions to follow; `None` for what never changes while it is shown.
    pub(crate) key: Option<String>,
    /// Classes of the element.
    pub(crate) class: &'static str,
}

impl Fragment {
    pub(crate) fn new(id: impl Into<String>, key: impl Into<String>, class: &'static str) -> Self {
        Self {
            id: id.into(),
            key: Some(key.into()),
            class,
        }
    }

    /// A fragment that never changes while it is shown.
    pub(crate) fn fixed(id: impl Into<String>, class: &'static str) -> Self {
        Self {
            id: id.into(),
            key: None,
            class,
        }
    }

    /// The element with its content, or with the reason why it has none.
    pub(crate) async fn element(&self, screen: &dyn Screen, context: &Context<'_>) -> String {
        let content = screen.render(&self.id, context).await;
        let content = content.unwrap_or_else(|refusal| refused(&refusal));
        let (id, class) = (Attribute(&self.id), self.class);
        match &self.key {
            Some(key) => {
                let key = Attribute(key);
                format!(
                    "<section id=\"{id}\" class=\"{class}\" data-live=\"{key}\">{content}</section>"
                )
            }
            None => format!("<section id=\"{id}\" class=\"{class}\">{content}</section>"),
        }
    }
}

/// The reason of a refusal, in the place of the content of a fragment.
pub(crate) fn refused(refusal: &Refusal) -> String {
    let class = match refusal.status {
        StatusCode::FORBIDDEN | StatusCode::NOT_IMPLEMENTED => "missing",
        _ => "problem",
    };
    format!("<p class=\"{class}\">{}</p>", escaped(&refusal.message))
}
