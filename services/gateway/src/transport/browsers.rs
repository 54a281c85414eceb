//! Requests that browsers send for pages of other sites (docs/rest.md#browsers).

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderValue, Method, header};

use crate::options::Browsers;
use crate::problem::Problem;

/// Names of the loopback.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The listener of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listened {
    /// Only programs on this machine can reach it.
    pub(crate) on_loopback: bool,
    /// Whether the listener serves TLS.
    pub(crate) tls: bool,
}

impl Browsers {
    /// Refuses a change for a page of another site, and on the loopback any request for a site whose name leads there.
    /// Other clients than browsers send neither `Origin` nor a foreign `Host`.
    pub(crate) fn check(&self, head: &Parts, listened: Listened) -> Result<(), Problem> {
        let host = host_of(head);
        if listened.on_loopback
            && let Some(host) = host
            && !self.is_known(host)
        {
            return Err(Problem::foreign_host(host));
        }
        if matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS) {
            return Ok(());
        }
        let scheme = if listened.tls { "https" } else { "http" };
        let own = host.map(|host| format!("{scheme}://{host}"));
        for origin in head.headers.get_all(header::ORIGIN) {
            let text = origin.to_str().unwrap_or_default();
            let is_own = own
                .as_ref()
                .is_some_and(|own| own.eq_ignore_ascii_case(text));
            if !is_own && !self.origins.iter().any(|known| known == text) {
                return Err(Problem::foreign_origin(&shown(origin)));
            }
        }
        Ok(())
    }

    /// Whether a `Host` with this text, which may have a port, leads here under a name that is known.
    fn is_known(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        let name = authority.host();
        let known = self.hosts.iter().map(String::as_str).chain(LOOPBACK);
        !host.contains('@')
            && known
                .into_iter()
                .any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// The host that a request names: with HTTP/2 in its target, otherwise in a header.
fn host_of(head: &Parts) -> Option<&str> {
    let target = head.uri.authority().map(Authority::as_str);
    let header = || head.headers.get(header::HOST).map(HeaderValue::to_str);
    target.or_else(|| header().map(Result::unwrap_or_default))
}

fn shown(origin: &HeaderValue) -> String {
    String::from_utf8_lossy(origin.as_bytes())
        .chars()
        .take(200)
        .collect()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const REMOTE: Listened = Listened {
        on_loopback: false,
        tls: false,
    };
    const LOCAL: Listened = Listened {
        on_loopback: true,
        tls: false,
    };

    fn browsers() -> Browsers {
        Browsers {
            hosts: vec!["cts.example".to_owned()],
            origins: vec!["https://ops.example".to_owned()],
        }
    }

    fn passes(method: &Method, host: &str, origins: &[&str], listened: Listened) -> bool {
        let mut request = Request::builder().method(method).uri("/v1/tasks");
        if !host.is_empty() {
            request = request.header("Host", host);
        }
        for origin in origins {
            request = request.header("Origin", *origin);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        browsers().check(&head, listened).is_ok()
    }

    #[test]
    fn pages_of_other_sites_read_and_change_nothing() {
        for (origins, changes) in [
            (&[][..], true),
            (&["http://lb:8558"], true),
            (&["http://LB:8558"], true),
            (&["https://ops.example"], true),
            (&["https://ops.example", "http://evil.example"], false),
            (&["http://ops.example"], false),
            (&["https://ops.example:444"], false),
            (&["https://ops.example.evil"], false),
            (&["https://lb:8558"], false),
            (&["http://lb"], false),
            (&["null"], false),
            (&[""], false),
            (&["é"], false),
        ] {
            for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
                let passed = passes(&method, "lb:8558", origins, REMOTE);
                assert_eq!(passed, changes, "{method} {origins:?}");
            }
            assert!(
                passes(&Method::GET, "lb:8558", origins, REMOTE),
                "{origins:?}"
            );
        }
    }

    #[test]
    fn with_tls_the_own_origin_is_that_of_https() {
        let tls = Listened {
            tls: true,
            ..REMOTE
        };
        assert!(passes(&Method::POST, "lb:8558", &["https://lb:8558"], tls));
        assert!(!passes(&Method::POST, "lb:8558", &["http://lb:8558"], tls));
    }

    #[test]
    fn the_loopback_answers_under_its_names_only() {
        for (host, answers) in [
            ("localhost:8558", true),
            ("LOCALHOST", true),
            ("127.0.0.1:1", true),
            ("[::1]:8558", true),
            ("cts.example:8558", true),
            ("", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("localhost@evil.example", false),
            ("evil@localhost", false),
            ("127.0.0.1.evil.example:8558", false),
            ("127.0.0.2", false),
            ("not a host", false),
        ] {
            assert_eq!(passes(&Method::GET, host, &[], LOCAL), answers, "{host}");
            assert!(passes(&Method::GET, host, &[], REMOTE), "{host}");
        }
        let rebound = passes(
            &Method::POST,
            "evil.example",
            &["http://evil.example"],
            LOCAL,
        );
        assert!(!rebound);
    }
}
