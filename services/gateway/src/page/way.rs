//! The way between a browser and the page, which decides about cookies (docs/page.md#login).

use cts_access::{PendingLogin, SessionSecret};
use http::header::COOKIE;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;
use url::Url;

use crate::transport::browsers::Listened;
use crate::transport::clients::Clients;
use crate::transport::connection::Connection;

/// Characters of the `state` of a login in the name of its cookie. The rest of `state` is compared.
const LOGIN_NAME: usize = 16;

/// The way between a browser and the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// TLS up to this gateway, or up to a trusted proxy in front of it. With the port that the browser uses.
    Tls(u16),
    /// Plain HTTP that does not leave this machine, to this port.
    Loopback(u16),
    /// Plain HTTP over a network.
    Plain,
}

impl Way {
    /// The way of a request. `url` is the origin under which people open the page.
    pub(super) fn of(
        (listened, connection): (Listened, &Connection),
        clients: &Clients,
        headers: &HeaderMap,
        url: Option<&str>,
    ) -> Self {
        let peer = connection.peer.ip();
        let url = url.and_then(|url| Url::parse(url).ok());
        let https = url.filter(|url| url.scheme() == "https");
        let public_port = https.and_then(|url| url.port_or_known_default());
        if listened.tls {
            return Self::Tls(public_port.unwrap_or(listened.port));
        }
        if let Some(port) = public_port
            && clients.is_forwarded(peer, headers)
        {
            return Self::Tls(port);
        }
        // A proxy on this machine may forward for others.
        let is_forwarded = headers.keys().any(of_proxy);
        if peer.to_canonical().is_loopback() && !is_forwarded {
            return Self::Loopback(listened.port);
        }
        Self::Plain
    }

    pub(super) const fn is_tls(self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// The name of the cookie of a session; `None` if no cookie is safe. Cookies are shared by all ports of a host, so
    /// the name has the port.
    fn cookie_name(self) -> Option<String> {
        match self {
            Self::Tls(port) => Some(format!("__Host-cts-{port}")),
            Self::Loopback(port) => Some(format!("cts-{port}")),
            Self::Plain => None,
        }
    }

    /// The text of the cookie of a session in a request.
    pub(super) fn cookie(self, headers: &HeaderMap) -> Option<&str> {
        value(headers, &self.cookie_name()?)
    }

    /// The name of the cookie of a login at an issuer. Each login has its own, so that several tabs can log in at once.
    fn login_cookie_name(self, state: &str) -> Option<String> {
        let (login, _rest) = state.split_at_checked(LOGIN_NAME)?;
        match self {
            Self::Tls(port) => Some(format!("__Host-cts-{port}-login-{login}")),
            Self::Loopback(port) => Some(format!("cts-{port}-login-{login}")),
            Self::Plain => None,
        }
    }

    /// The text of the cookie of the login with this `state`.
    pub(super) fn login_cookie<'a>(self, headers: &'a HeaderMap, state: &str) -> Option<&'a str> {
        value(headers, &self.login_cookie_name(state)?)
    }

    /// The header that sets the cookie of a login; without a text it removes the cookie.
    pub(super) fn set_login_cookie(self, state: &str, text: Option<&str>) -> Option<HeaderValue> {
        let name = self.login_cookie_name(state)?;
        let seconds = text.map_or(0, |_text| PendingLogin::LASTS.as_secs());
        self.header(&name, text.unwrap_or_default(), seconds)
    }

    /// The header that sets the cookie of a session.
    pub(super) fn set_cookie(self, secret: &SessionSecret, lasts: Duration) -> Option<HeaderValue> {
        self.cookie_header(secret.expose(), lasts.as_secs())
    }

    /// The header that removes the cookie of a session.
    pub(super) fn remove_cookie(self) -> Option<HeaderValue> {
        self.cookie_header("", 0)
    }

    fn cookie_header(self, value: &str, seconds: u64) -> Option<HeaderValue> {
        self.header(&self.cookie_name()?, value, seconds)
    }

    fn header(self, name: &str, value: &str, seconds: u64) -> Option<HeaderValue> {
        let secure = if self.is_tls() { "; Secure" } else { "" };
        let cookie =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        let mut cookie = HeaderValue::try_from(cookie).ok()?;
        cookie.set_sensitive(true);
        Some(cookie)
    }
}

/// Whether proxies add this header.
fn of_proxy(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("x-forwarded-") || matches!(name, "forwarded" | "via" | "x-real-ip")
}

/// The value of a cookie.
fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter();
    // Other servers of the host may have set cookies with any bytes.
    let mut cookies = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    cookies.find_map(|cookie| {
        let (found, value) = str::from_utf8(cookie).ok()?.trim().split_once('=')?;
        (found == name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_have_the_port_in_their_names() {
        let mut headers = HeaderMap::new();
        let first = b"a=J\xfcrgen; cts-8558=one;__Host-cts-8558=two";
        for line in [&first[..], b"cts-85=three"] {
            headers.append(COOKIE, HeaderValue::from_bytes(line).unwrap());
        }
        assert_eq!(Way::Loopback(8558).cookie(&headers), Some("one"));
        assert_eq!(Way::Tls(8558).cookie(&headers), Some("two"));
        assert_eq!(Way::Loopback(85).cookie(&headers), Some("three"));
        assert_eq!(Way::Tls(85).cookie(&headers), None);
        assert_eq!(Way::Plain.cookie(&headers), None);
    }

    #[test]
    fn a_cookie_over_tls_is_secure_and_bound_to_its_host() {
        let secret = SessionSecret::random().unwrap();
        let header = |way: Way| way.set_cookie(&secret, Duration::from_mins(1));
        let text = header(Way::Tls(443)).unwrap();
        assert!(text.is_sensitive());
        let secret = secret.expose();
        assert_eq!(
            text.to_str().unwrap(),
            format!("__Host-cts-443={secret}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure")
        );
        assert_eq!(
            header(Way::Loopback(8558)).unwrap().to_str().unwrap(),
            format!("cts-8558={secret}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax")
        );
        assert_eq!(header(Way::Plain), None);
        let removed = Way::Loopback(1).remove_cookie().unwrap();
        assert!(
            removed
                .to_str()
                .unwrap()
                .starts_with("cts-1=; Path=/; Max-Age=0;")
        );
    }
}
