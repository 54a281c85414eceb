//! Requests that browsers send for pages of other sites (docs/rest.md#browsers).

use cts_listen::{Browsers, ForeignRequest};
use http::Method;
use http::request::Parts;

use crate::problem::Problem;

/// The listener of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listened {
    /// Only programs on this machine can reach it.
    pub(crate) on_loopback: bool,
    /// Whether the listener serves TLS.
    pub(crate) tls: bool,
    pub(crate) port: u16,
}

impl Listened {
    /// Refuses requests of foreign pages, and on the loopback any request for a name that is not known.
    pub(crate) fn check(self, browsers: &Browsers, head: &Parts) -> Result<(), Problem> {
        self.check_as(browsers, &head.method, head)
    }

    /// Refuses requests for a name that is not known, whatever they change.
    pub(crate) fn check_host(self, browsers: &Browsers, head: &Parts) -> Result<(), Problem> {
        self.check_as(browsers, &Method::GET, head)
    }

    fn check_as(self, browsers: &Browsers, method: &Method, head: &Parts) -> Result<(), Problem> {
        let check = || -> Result<(), ForeignRequest> {
            if self.on_loopback {
                browsers.check_host(&head.uri, &head.headers)?;
            }
            browsers.check(method, &head.uri, &head.headers, self.tls)
        };
        check().map_err(|foreign| Problem::foreign(&foreign))
    }
}
