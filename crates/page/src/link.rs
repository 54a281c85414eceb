//! Links in templates: to screens of the page, and to other servers by `http` and `https` alone.

use std::fmt;

use url::Url;

use crate::address::escape;
use crate::context::Context;
use crate::text::{Attribute, Foreign};

/// A link, with text of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link<'a> {
    address: String,
    is_outside: bool,
    text: &'a str,
}

impl<'a> Link<'a> {
    /// A link to the screen of a task.
    pub(crate) fn task(context: &Context<'_>, name: &'a str) -> Self {
        Self::inside(context, &format!("tasks/{}", escape(name)), name)
    }

    /// A link to the screen of a run.
    pub(crate) fn run(context: &Context<'_>, id: &'a str) -> Self {
        Self::inside(context, &format!("runs/{}", escape(id)), id)
    }

    /// A link to `path` below the prefix, whose foreign parts are escaped.
    pub(crate) fn inside(context: &Context<'_>, path: &str, text: &'a str) -> Self {
        Self {
            address: context.link(path),
            is_outside: false,
            text,
        }
    }

    /// A link to another server; `None` if the text is not an address of `http` or `https`.
    pub(crate) fn outside(address: &'a str) -> Option<Self> {
        let url = Url::parse(address).ok()?;
        matches!(url.scheme(), "http" | "https").then(|| Self {
            address: url.into(),
            is_outside: true,
            text: address,
        })
    }
}

impl fmt::Display for Link<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_outside {
            " rel=\"noopener noreferrer\""
        } else {
            ""
        };
        let address = Attribute(&self.address);
        write!(f, "<a href=\"{address}\"{kind}>{}</a>", Foreign(self.text))
    }
}

impl askama::filters::HtmlSafe for Link<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_web_servers_are_links() {
        let shown = |address| Link::outside(address).map(|link| link.to_string());
        assert_eq!(
            shown("https://tfe.example/a\"b?c=<d>"),
            Some(
                "<a href=\"https://tfe.example/a%22b?c=%3Cd%3E\" rel=\"noopener noreferrer\">\
                 <bdi>https://tfe.example/a&quot;b?c=&lt;d&gt;</bdi></a>"
                    .to_owned()
            )
        );
        for other in [
            "javascript:alert(1)",
            "data:text/html,x",
            "/runs",
            "",
            "//h/x",
        ] {
            assert_eq!(shown(other), None, "{other}");
        }
    }
}
