//! The page of the login.

use askama::Template;

use crate::layout::{Notice, notice_page};
use crate::site::Site;
use crate::text::Foreign;

/// A login, before it succeeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login<'a> {
    /// The wanted address: a path below the prefix with its query.
    pub to: &'a str,
    /// Why the last attempt was refused, or why there can be no login.
    pub problem: Option<&'a str>,
    /// Whether a token may be sent.
    pub takes_tokens: bool,
    /// An issuer where people can log in, and the address that leads there.
    pub issuer: Option<(&'a str, &'a str)>,
}

#[derive(Template)]
#[template(path = "login.html")]
struct Form<'a> {
    site: &'a Site,
    login: &'a Login<'a>,
}

/// The document with the form of a login.
pub fn login(site: &Site, login: &Login<'_>) -> String {
    let content = Form { site, login }.render().unwrap_or_default();
    let notice = login.problem.map(Notice::failure);
    notice_page(site, "Log in", notice.as_ref(), content)
}
