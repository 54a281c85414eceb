//! Requests that browsers send for pages of other sites (docs/rest.md#browsers).

use std::net::{Ipv4Addr, Ipv6Addr};

use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Uri, header};

const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Longest part of a header in a message, in characters.
const SHOWN: usize = 200;

/// Names and pages that browsers may come by, beside IP addresses and `localhost`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Browsers {
    /// Host names, without a port, under which browsers may use a listener.
    pub hosts: Vec<String>,
    /// Origins, as browsers write them, whose pages may change something.
    pub origins: Vec<String>,
}

/// A request that a browser sent for a page of another site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForeignRequest {
    /// The request names an unknown host, as DNS rebinding does.
    #[error(
        "this address does not answer as '{0}': if the name is yours, add it to security.hosts"
    )]
    Host(String),
    /// The page has an unknown origin.
    #[error(
        "a page of '{0}' may not change anything: if the page is yours, add its origin to security.origins"
    )]
    Origin(String),
    /// A change on a page comes from elsewhere than that page.
    #[error(
        "a request of '{0}' may not change anything on this page: open the page at its own address"
    )]
    Elsewhere(String),
}

impl Browsers {
    /// Refuses a change for a page of another site, and any request of a browser for a name that is not known. Requests
    /// without a header that only browsers send pass. `tls` is the transport of the listener.
    ///
    /// # Errors
    /// If the request is refused.
    pub fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        tls: bool,
    ) -> Result<(), ForeignRequest> {
        let origins = || headers.get_all(header::ORIGIN).iter();
        let is_known = |origin: &HeaderValue| self.origins.iter().any(|known| origin == known);
        if !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
            let own = Self::own_origin(uri, headers, tls);
            let is_own = |origin: &HeaderValue| is_same(own.as_deref(), origin);
            if let Some(origin) = origins().find(|origin| !is_known(origin) && !is_own(origin)) {
                return Err(ForeignRequest::Origin(shown(origin.as_bytes())));
            }
        }
        // A page of a known origin was not loaded from this address under a wrong name.
        let is_of_known_page = origins().next().is_some() && origins().all(is_known);
        if is_browsers(headers) && !is_of_known_page {
            self.check_host(uri, headers)?;
        }
        Ok(())
    }

    /// Refuses a change on a page of the listener itself, unless it comes from that page: its only `Origin` is the
    /// listener's own or `url`, and `Sec-Fetch-Site` agrees if it is there. `tls` is the transport of the browser.
    ///
    /// # Errors
    /// If the request is refused.
    pub fn check_own(
        uri: &Uri,
        headers: &HeaderMap,
        tls: bool,
        url: Option<&str>,
    ) -> Result<(), ForeignRequest> {
        let own = Self::own_origin(uri, headers, tls);
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (origin, second) = (origins.next(), origins.next());
        let is_own = |origin| is_same(own.as_deref(), origin) || is_same(url, origin);
        let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
        if origin.is_some_and(is_own) && second.is_none() && sites.all(|site| site == "same-origin")
        {
            return Ok(());
        }
        let named = origin.map_or("an unknown origin".to_owned(), |it| shown(it.as_bytes()));
        Err(ForeignRequest::Elsewhere(named))
    }

    /// The origin of the pages of a listener at the host that a request names. `tls` is the transport of the browser.
    pub fn own_origin(uri: &Uri, headers: &HeaderMap, tls: bool) -> Option<String> {
        let scheme = if tls { "https" } else { "http" };
        host_of(uri, headers).map(|host| format!("{scheme}://{host}"))
    }

    /// Refuses a request for a host that is neither an IP address, `localhost` nor one of [`Browsers::hosts`].
    ///
    /// # Errors
    /// If the request is refused.
    pub fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ForeignRequest> {
        match host_of(uri, headers) {
            Some(host) if !self.knows(host) => Err(ForeignRequest::Host(shown(host.as_bytes()))),
            _ => Ok(()),
        }
    }

    /// Whether a `Host`, with or without a port, cannot be a name that another site lets lead here.
    fn knows(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        let name = authority.host();
        let version_6 = name
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let is_address = match version_6 {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => name.parse::<Ipv4Addr>().is_ok(),
        };
        let mut names = self.hosts.iter().map(String::as_str).chain(["localhost"]);
        !host.contains('@') && (is_address || names.any(|known| known.eq_ignore_ascii_case(name)))
    }
}

fn is_same(own: Option<&str>, origin: &HeaderValue) -> bool {
    let own = own.unwrap_or_default().as_bytes();
    !own.is_empty() && own.eq_ignore_ascii_case(origin.as_bytes())
}

/// The host that a request names: with HTTP/2 in its target, otherwise in a header.
fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let target = uri.authority().map(Authority::as_str);
    let header = || headers.get(header::HOST).map(HeaderValue::to_str);
    target.or_else(|| header().map(Result::unwrap_or_default))
}

/// Whether a request has a header that browsers send and other programs do not.
fn is_browsers(headers: &HeaderMap) -> bool {
    let names = [header::ORIGIN, header::REFERER, header::ACCEPT_LANGUAGE];
    names.iter().any(|name| headers.contains_key(name))
        || headers
            .keys()
            .any(|name| name.as_str().starts_with("sec-fetch-"))
}

fn shown(header: &[u8]) -> String {
    String::from_utf8_lossy(header)
        .chars()
        .take(SHOWN)
        .collect()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const CHANGES: [Method; 4] = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

    const READS: [Method; 3] = [Method::GET, Method::HEAD, Method::OPTIONS];

    fn browsers() -> Browsers {
        Browsers {
            hosts: vec!["cts.example".to_owned()],
            origins: vec!["https://ops.example".to_owned()],
        }
    }

    fn check(
        method: &Method,
        host: &str,
        headers: &[(&str, &str)],
        tls: bool,
    ) -> Result<(), ForeignRequest> {
        let mut request = Request::builder().method(method).uri("/v1/tasks");
        if !host.is_empty() {
            request = request.header("Host", host);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        browsers().check(&head.method, &head.uri, &head.headers, tls)
    }

    fn passes(method: &Method, host: &str, headers: &[(&str, &str)]) -> bool {
        check(method, host, headers, false).is_ok()
    }

    #[test]
    fn pages_of_other_origins_change_nothing() {
        for (origins, changes) in [
            (&[][..], true),
            (&["http://cts.example:8558"], true),
            (&["http://CTS.example:8558"], true),
            (&["https://ops.example"], true),
            (&["https://ops.example", "http://cts.example:8558"], true),
            (&["https://ops.example", "http://evil.example"], false),
            (&["http://ops.example"], false),
            (&["https://ops.example:444"], false),
            (&["https://ops.example.evil"], false),
            (&["https://cts.example:8558"], false),
            (&["http://cts.example"], false),
            (&["null"], false),
            (&[""], false),
            (&["é"], false),
        ] {
            let headers: Vec<_> = origins.iter().map(|origin| ("Origin", *origin)).collect();
            for method in CHANGES {
                let passed = passes(&method, "cts.example:8558", &headers);
                assert_eq!(passed, changes, "{method} {origins:?}");
            }
            for method in READS {
                assert!(passes(&method, "cts.example:8558", &headers), "{origins:?}");
            }
        }
        assert!(!passes(&Method::POST, "", &[("Origin", "")]));
    }

    #[test]
    fn a_change_on_a_page_comes_from_that_page() {
        let url = Some("https://cts.example");
        for (headers, tls, expected) in [
            (&[("Origin", "http://10.0.0.1:8558")][..], false, true),
            (&[("Origin", "https://CTS.example")], false, true),
            (
                &[
                    ("Origin", "https://10.0.0.1:8558"),
                    ("Sec-Fetch-Site", "same-origin"),
                ],
                true,
                true,
            ),
            (&[], false, false),
            (&[("Sec-Fetch-Site", "same-origin")], false, false),
            (&[("Origin", "")], false, false),
            (&[("Origin", "null")], false, false),
            (&[("Origin", "https://10.0.0.1:8558")], false, false),
            (&[("Origin", "http://10.0.0.1:8559")], false, false),
            (&[("Origin", "https://ops.example")], false, false),
            (&[("Origin", "https://cts.example:8443")], false, false),
            (
                &[
                    ("Origin", "http://10.0.0.1:8558"),
                    ("Origin", "http://10.0.0.1:8558"),
                ],
                false,
                false,
            ),
            (
                &[
                    ("Origin", "http://10.0.0.1:8558"),
                    ("Sec-Fetch-Site", "same-site"),
                ],
                false,
                false,
            ),
            (
                &[
                    ("Origin", "http://10.0.0.1:8558"),
                    ("Sec-Fetch-Site", "none"),
                ],
                false,
                false,
            ),
        ] {
            let mut request = Request::post("/ui/").header("Host", "10.0.0.1:8558");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let (head, ()) = request.body(()).unwrap().into_parts();
            let checked = Browsers::check_own(&head.uri, &head.headers, tls, url);
            assert_eq!(checked.is_ok(), expected, "{headers:?} {tls}");
        }
        let nowhere = Request::post("/ui/").header("Origin", "http://");
        let (head, ()) = nowhere.body(()).unwrap().into_parts();
        assert!(Browsers::check_own(&head.uri, &head.headers, false, None).is_err());
    }

    #[test]
    fn with_tls_the_own_origin_is_that_of_https() {
        for (origin, tls, expected) in [
            ("https://10.0.0.1:8558", true, true),
            ("http://10.0.0.1:8558", true, false),
            ("http://10.0.0.1:8558", false, true),
        ] {
            let checked = check(&Method::POST, "10.0.0.1:8558", &[("Origin", origin)], tls);
            assert_eq!(checked.is_ok(), expected, "{origin}");
        }
    }

    #[test]
    fn a_rebound_name_opens_nothing_to_a_browser() {
        let own = ("Origin", "http://evil.example:8558");
        for method in CHANGES {
            let refused = check(&method, "evil.example:8558", &[own], false);
            assert_eq!(
                refused,
                Err(ForeignRequest::Host("evil.example:8558".to_owned()))
            );
        }
        for header in [
            own,
            ("Referer", "http://evil.example:8558/page"),
            ("Sec-Fetch-Site", "same-origin"),
            ("Sec-Fetch-Mode", "cors"),
            ("Accept-Language", ""),
            ("Origin", "null"),
        ] {
            for method in READS {
                assert!(
                    !passes(&method, "evil.example:8558", &[header]),
                    "{header:?}"
                );
                assert!(passes(&method, "cts.example:8558", &[header]), "{header:?}");
            }
        }
        // The page is known, whatever name it uses for this address.
        let known = [("Origin", "https://ops.example"), ("Accept-Language", "de")];
        assert!(passes(&Method::GET, "lb:8558", &known));
        assert!(passes(&Method::PATCH, "lb:8558", &known));
        let mixed = [known[0], own];
        assert!(!passes(&Method::GET, "evil.example:8558", &mixed));
    }

    #[test]
    fn programs_use_any_name() {
        for headers in [
            // curl, the original's command line, a check of Consul, Prometheus
            &[("User-Agent", "curl/8.5.0"), ("Accept", "*/*")][..],
            &[
                ("User-Agent", "Go-http-client/1.1"),
                ("Accept-Encoding", "gzip"),
            ],
            &[
                ("User-Agent", "Consul Health Check"),
                ("Accept", "text/plain, text/*, */*"),
            ],
            &[
                ("User-Agent", "Prometheus/2.50.1"),
                ("X-Prometheus-Scrape-Timeout-Seconds", "10"),
            ],
        ] {
            for method in CHANGES.into_iter().chain(READS) {
                for host in [
                    "lb:8558",
                    "cts.service.consul",
                    "evil.example",
                    "not a host",
                    "",
                ] {
                    assert!(
                        passes(&method, host, headers),
                        "{method} {host} {headers:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn addresses_and_known_names_are_own_ones() {
        for (host, own) in [
            ("localhost:8558", true),
            ("LOCALHOST", true),
            ("127.0.0.1:1", true),
            ("127.0.0.2", true),
            ("10.0.0.1:8558", true),
            ("[::1]:8558", true),
            ("[2001:db8::1]", true),
            ("cts.example:8558", true),
            ("", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("localhost.", false),
            ("localhost@evil.example", false),
            ("evil@localhost", false),
            ("127.0.0.1.evil.example:8558", false),
            ("127.1", false),
            ("0x7f000001", false),
            ("2001:db8::1", false),
            ("[localhost]", false),
            ("not a host", false),
        ] {
            let language = [("Accept-Language", "en")];
            assert_eq!(passes(&Method::GET, host, &language), own, "{host}");
        }
    }
}
