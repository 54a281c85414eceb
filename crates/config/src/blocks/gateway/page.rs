//! `page`, a cts-only block: the page of the gateway (docs/page.md).

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::blocks::security::names::origin;
use crate::blocks::security::{OidcConfig, SecurityConfig};
use crate::decode::block::Block;
use crate::keys::read;
use crate::report::location::Located;
use crate::settings::settings;

const COLORS: [(&str, &str); 6] = [
    ("slate", "slate"),
    ("blue", "blue"),
    ("green", "green"),
    ("amber", "amber"),
    ("red", "red"),
    ("violet", "violet"),
];

const TOKENS: [(&str, LoginToken); 2] = [("id", LoginToken::Id), ("access", LoginToken::Access)];

const SESSION: RangeInclusive<Duration> = Duration::from_mins(1)..=Duration::from_hours(168);

/// The scope that makes an issuer send an ID token.
const OPENID: &str = "openid";

settings! {
    /// The page, its addresses and its logins.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PageConfig {
        /// `enabled`.
        pub enabled: bool = true => flag,
        /// `listen`: address of a listener for the page alone; `None` for the listener of the API.
        pub listen: Option<SocketAddr> = None
            => socket("127.0.0.1:8559") or "the page is on the listener of the API",
        /// `path_prefix`: path of the page, with a slash at both ends.
        pub path_prefix: String = "/ui/".to_owned() => text_of(decode_prefix),
        /// `url`: origin, as browsers write it, under which people open the page; `None` for any known name.
        pub url: Option<String> = None
            => optional(|block, name| decode_text(block, name, origin), String::clone),
        /// `name` of the cluster; may be empty.
        pub name: String = String::new() => text,
        /// `color`: a word for the colour of the bar.
        pub color: &'static str = "slate" => choice(&COLORS),
        /// `session`: how long a login lasts, from a minute to a week; 8 hours by default.
        pub session: Duration = Duration::from_hours(8) => duration(&SESSION),
        /// `login`; without it a login needs a token or a certificate.
        pub login: Option<PageLoginConfig> = None
            => optional_block or "people log in with tokens or certificates",
    }
}

settings! {
    /// The login at an issuer (authorization code flow with PKCE).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PageLoginConfig {
        /// `issuer`, which is an issuer of `security`.
        pub issuer: String = String::new() => text_of(required),
        /// `client_id` of the page at the issuer.
        pub client_id: String = String::new() => text_of(required),
        /// `client_secret_file`, absolute; `None` for a public client.
        pub client_secret_file: Option<PathBuf> = None => path,
        /// `scopes` of the request.
        pub scopes: Vec<String> = vec![OPENID.to_owned()] => texts(check_scope),
        /// `token` that names the person.
        pub token: LoginToken = LoginToken::Id => choice(&TOKENS),
    }
}

/// A token that an issuer sends after a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginToken {
    /// The ID token.
    Id,
    /// The access token.
    Access,
}

impl PageConfig {
    /// The host of `url`, in small letters and without a port.
    pub fn host(&self) -> Option<String> {
        let url = url::Url::parse(self.url.as_deref()?).ok()?;
        url.host_str().map(str::to_owned)
    }
}

/// Reads the block. The issuer of a login must be an issuer of `security`.
pub(crate) fn decode_page(block: Block<'_>, security: &SecurityConfig) -> PageConfig {
    let (sink, place) = (block.sink(), block.place().cloned());
    let page = read(PageConfig::default(), block);
    let (Some(login), Some(place)) = (&page.login, place) else {
        return page;
    };
    let of_login = |oidc: &&OidcConfig| oidc.issuer == login.issuer;
    let is_id = login.token == LoginToken::Id;
    if let Some(oidc) = security.oidc.iter().find(of_login) {
        if is_id && !oidc.audience.contains(&login.client_id) {
            let message = "`audience` of the `oidc` block of `page.login.issuer` lacks the `client_id`, which ID tokens of a login are for";
            sink.error(&place, message);
        }
    } else if !login.issuer.is_empty() {
        let message = format!(
            "the issuer {:?} of `page.login` has no `oidc` block in `security`, which names the audience and the roles",
            login.issuer
        );
        sink.error(&place, message);
    }
    if is_id && !login.scopes.iter().any(|scope| scope == OPENID) {
        let message = "`page.login.scopes` lacks \"openid\", without which an issuer sends no ID token (token = \"id\")";
        sink.error(&place, message);
    }
    if !security.require_auth {
        let message = "`page.login` has no effect without `security.require_auth`";
        sink.warning(&place, message);
    }
    page
}

fn required(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    block.required_text(name)
}

fn decode_text<E: Display>(
    block: &mut Block<'_>,
    name: &'static str,
    read: impl Fn(&str) -> Result<String, E>,
) -> Option<Located<String>> {
    let written = block.filled_text(name)?;
    match read(&written.value) {
        Ok(value) => Some(written.map(|_text| value)),
        Err(problem) => {
            block.refuse(name, &written, problem);
            None
        }
    }
}

fn decode_prefix(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    decode_text(block, name, |text| {
        if is_prefix(text) {
            Ok(text.to_owned())
        } else {
            Err(
                "is no path such as \"/ui/\": it begins and ends with a slash, is not below \"/v1/\", and has letters, digits and \"-._~\" between its slashes",
            )
        }
    })
}

/// Whether requests for this path and the paths below it can be for the page: the API has `/` and `/v1`.
fn is_prefix(text: &str) -> bool {
    let inner = text
        .strip_prefix('/')
        .and_then(|text| text.strip_suffix('/'));
    let is_segment = |segment: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        !matches!(segment, "" | "." | "..") && segment.chars().all(is_plain)
    };
    inner.is_some_and(|inner| {
        let mut segments = inner.split('/').peekable();
        segments.peek() != Some(&"v1") && segments.all(is_segment)
    })
}

fn check_scope(text: &str) -> Result<(), &'static str> {
    let is_scope = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\';
    if !text.is_empty() && text.chars().all(is_scope) {
        return Ok(());
    }
    Err("is no scope such as \"openid\"")
}
