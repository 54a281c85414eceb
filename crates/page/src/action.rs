//! One action of the page, which is one call of REST, and its button.

use std::fmt::Write as _;

use askama::Template;
use cts_core::callers::Role;
use uuid::Uuid;

use crate::address::escape;
use crate::context::Context;
use crate::form::KEY;
use crate::text::Markup;
use crate::viewer::Viewer;

/// An action, with the call that it makes. A name in braces stands for a segment, in the path and in the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Action {
    /// Path below the prefix, such as `tasks/{name}/enable`.
    pub(crate) path: &'static str,
    /// Words of its button.
    pub(crate) label: &'static str,
    /// Role that its call needs.
    pub(crate) role: Role,
    /// Method and address of its call, such as `PATCH /v1/tasks/{name}`.
    pub(crate) call: &'static str,
    /// Whether its button leads to a screen with its form, at the path of the action.
    pub(crate) is_confirmed: bool,
    /// Names of the fields that its form may have.
    pub(crate) fields: &'static [&'static str],
    /// Value of `done` in the address of the screen with its result.
    pub(crate) word: &'static str,
    /// Sentence on that screen.
    pub(crate) done: &'static str,
}

impl Action {
    /// Its path with the segment `target`.
    pub(crate) fn path_of(&self, target: &str) -> String {
        fill(self.path, target)
    }

    /// Method and address of its call about `target`.
    pub(crate) fn call_of(&self, target: &str) -> (&'static str, String) {
        let (method, path) = self.call.split_once(' ').unwrap_or_default();
        (method, fill(path, target))
    }

    /// Whether it requests a run, so that its form has the key of the request.
    pub(crate) fn requests_run(&self) -> bool {
        self.fields == [KEY]
    }

    /// Why the viewer may not do it; `None` if nothing is missing.
    pub(crate) fn missing(&self, viewer: &Viewer) -> Option<String> {
        if !viewer.has(self.role) {
            return Some(format!("needs the role {}", self.role));
        }
        let is_for_all = ["brake/", "workers/"]
            .iter()
            .any(|all| self.path.starts_with(all));
        let is_missing = is_for_all && !viewer.all_tasks;
        is_missing.then(|| "needs a credential for all tasks".to_owned())
    }
}

/// `path` with `target` in the place of the name in braces.
fn fill(path: &str, target: &str) -> String {
    match (path.split_once('{'), path.split_once('}')) {
        (Some((before, _)), Some((_, after))) => format!("{before}{}{after}", escape(target)),
        _ => path.to_owned(),
    }
}

/// A key that is still to be made, in rendered HTML. No text of other programs has quotation marks there.
const NO_KEY: &str = "name=\"key\" value=\"\"";

/// Whether [`with_new_keys`] changes `html`.
pub fn lacks_keys(html: &str) -> bool {
    html.contains(NO_KEY)
}

/// `html` with a new key in each form that requests a run and has none. So the same form, sent again, requests the same
/// run, although equal screens are rendered once for many people.
pub fn with_new_keys(html: &str, mut new: impl FnMut() -> Uuid) -> String {
    let mut parts = html.split(NO_KEY);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let _infallible = write!(filled, "name=\"key\" value=\"{}\"{part}", new());
    }
    filled
}

/// The button of an action: a form, a link to its confirmation, or a word with the reason why it cannot be pressed.
#[derive(Debug, Template)]
#[template(path = "form/button.html")]
pub(crate) struct Button {
    action: &'static Action,
    address: String,
    field: Option<(&'static str, String)>,
    refusal: Option<String>,
}

impl Button {
    /// The button of `action` about `target`.
    pub(crate) fn new(action: &'static Action, target: &str, context: &Context<'_>) -> Self {
        Self {
            action,
            address: context.link(&action.path_of(target)),
            field: action
                .requests_run()
                .then(|| (KEY, context.open_key(&action.path_of(target)))),
            refusal: action.missing(context.viewer),
        }
    }

    /// With a field that its form carries.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.field = Some((name, value.to_owned()));
        self
    }

    /// With a query of its address.
    pub(crate) fn at(mut self, query: &str) -> Self {
        self.address = format!("{}?{query}", self.address);
        self
    }

    /// Greyed for this reason, unless a right is missing, too.
    pub(crate) fn greyed(mut self, reason: Option<&str>) -> Self {
        self.refusal = self.refusal.or_else(|| reason.map(str::to_owned));
        self
    }

    pub(crate) fn markup(&self) -> Markup {
        Markup(self.render().unwrap_or_default())
    }
}
