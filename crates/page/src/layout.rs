//! The document around fragments.

use askama::Template;
use futures::future::join_all;

use crate::assets::address_of;
use crate::context::{Context, Refusal};
use crate::screen::{Part, Screen};
use crate::site::Site;
use crate::text::{Attribute, Foreign, Markup};
use crate::viewer::{Leave, Viewer};

/// A message on top of a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether something failed; otherwise something was done.
    pub failed: bool,
    pub text: String,
}

impl Notice {
    /// Something failed for this reason.
    pub fn failure(reason: &str) -> Self {
        Self {
            failed: true,
            text: reason.to_owned(),
        }
    }

    /// Something was done.
    pub fn done(what: &str) -> Self {
        Self {
            failed: false,
            text: what.to_owned(),
        }
    }
}

/// The entries of the navigation: part, path and words.
const ENTRIES: [(Part, &str, &str); 6] = [
    (Part::Overview, "", "Overview"),
    (Part::Tasks, "tasks", "Tasks"),
    (Part::Runs, "runs", "Runs"),
    (Part::Approvals, "approvals", "Approvals"),
    (Part::Cluster, "cluster", "Cluster"),
    (Part::Audit, "audit", "Audit"),
];

#[derive(Template)]
#[template(path = "layout.html")]
struct Layout<'a> {
    site: &'a Site,
    /// `None` before a login.
    viewer: Option<&'a Viewer>,
    title: &'a str,
    part: Option<Part>,
    notice: Option<&'a Notice>,
    now: String,
    content: Markup,
    style: String,
    script: String,
}

impl Layout<'_> {
    fn html(&self) -> String {
        self.render().unwrap_or_default()
    }

    fn is_current(&self, part: Part) -> bool {
        self.part == Some(part)
    }
}

/// The document of a screen.
pub(crate) async fn page(
    screen: &dyn Screen,
    notice: Option<&Notice>,
    context: &Context<'_>,
) -> Result<String, Refusal> {
    let fragments = screen.fragments(context).await?;
    let elements = fragments
        .iter()
        .map(|fragment| fragment.element(screen, context));
    let content = join_all(elements).await.concat();
    Ok(document(
        context,
        &screen.title(),
        Some(screen.part()),
        notice,
        content,
    ))
}

/// The document of a page that does not exist, or is refused.
pub(crate) fn failure(refusal: &Refusal, context: &Context<'_>) -> String {
    let notice = Notice::failure(&refusal.message);
    document(context, "Not here", None, Some(&notice), String::new())
}

fn document(
    context: &Context<'_>,
    title: &str,
    part: Option<Part>,
    notice: Option<&Notice>,
    content: String,
) -> String {
    let site = context.site;
    Layout {
        site,
        viewer: Some(context.viewer),
        title,
        part,
        notice,
        now: context
            .now
            .to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        content: Markup(content),
        style: address_of(site, "page.css"),
        script: address_of(site, "live.js"),
    }
    .html()
}

/// A document without a caller, such as the login; `content` is HTML of this crate or of its gateway.
pub fn notice_page(site: &Site, title: &str, notice: Option<&Notice>, content: String) -> String {
    Layout {
        site,
        viewer: None,
        title,
        part: None,
        notice,
        now: String::new(),
        content: Markup(content),
        style: address_of(site, "page.css"),
        script: address_of(site, "live.js"),
    }
    .html()
}
