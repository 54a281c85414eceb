//! Meaning of an answer: done, refused, or to be repeated (docs/hcp-terraform.md#retries).

use std::error::Error;
use std::time::Duration;

use cts_tls::causes;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use secrecy::SecretString;

use crate::details::{RefusedCall, details};
use crate::error::ApiError;
use crate::problem::{Failure, ProtocolProblem};
use crate::request::{Access, Repeat, Request};
use crate::transport::{Answer, SendError};

/// Pause after a refusal (429) that names none.
const PAUSE_WITHOUT_A_NAME: Duration = Duration::from_secs(1);

/// A request did not work.
pub(crate) enum Verdict {
    /// For good.
    Final(ApiError),
    /// This time; the error counts if there is no other try.
    Again {
        error: Box<ApiError>,
        /// The pause that the server names.
        pause: Option<Duration>,
    },
}

/// Judges an answer. `hidden` is the token.
pub(crate) fn judge(
    request: &Request,
    sent: Result<Answer, SendError>,
    hidden: &SecretString,
) -> Result<Answer, Verdict> {
    let answer = sent.map_err(|error| unanswered(request, error))?;
    let status = answer.status;
    if status.is_success() {
        return Ok(answer);
    }
    let call = request.call.clone();
    if status == StatusCode::TOO_MANY_REQUESTS {
        let pause = named_pause(&answer.headers).unwrap_or(PAUSE_WITHOUT_A_NAME);
        let limit = number(&answer.headers, "x-ratelimit-limit");
        return Err(Verdict::Again {
            error: Box::new(ApiError::RateLimited { call, limit, pause }),
            pause: Some(pause),
        });
    }
    let details = match request.access {
        Access::Signed => Vec::new(),
        Access::Token | Access::Open => details(&answer.body, hidden),
    };
    let status = status.as_u16();
    if status >= 500 || status == 408 {
        let cause = Failure::Status { status, details };
        return Err(match request.repeat {
            Repeat::Never => Verdict::Final(ApiError::OutcomeUnknown { call, cause }),
            Repeat::Safe => Verdict::Again {
                error: Box::new(ApiError::Unavailable { call, cause }),
                pause: named_pause(&answer.headers),
            },
        });
    }
    if status < 400 {
        let problem = ProtocolProblem::Status(status);
        return Err(Verdict::Final(ApiError::Protocol { call, problem }));
    }
    let refusal = RefusedCall {
        call,
        status,
        details,
    };
    Err(Verdict::Final(refused(request.access, refusal)))
}

fn refused(access: Access, refusal: RefusedCall) -> ApiError {
    match (access, refusal.status) {
        (Access::Signed, 401 | 403 | 404 | 410) => ApiError::ExpiredUrl(refusal),
        (_, 401) => ApiError::Unauthorized(refusal),
        (_, 403) => ApiError::Forbidden(refusal),
        (_, 404) => ApiError::NotFound(refusal),
        (_, 409) => ApiError::Conflict(refusal),
        (_, 400 | 412 | 413 | 422) => ApiError::Invalid(refusal),
        _ => ApiError::Refused(refusal),
    }
}

fn unanswered(request: &Request, error: SendError) -> Verdict {
    let call = request.call.clone();
    match error {
        SendError::Redirect(direction) => Verdict::Final(ApiError::Protocol {
            call,
            problem: ProtocolProblem::Redirect(direction),
        }),
        SendError::Answer(problem) => Verdict::Final(unusable(request, problem)),
        SendError::Transport(source) => {
            // Without a connection the request was not sent.
            let may_be_repeated = source.is_connect() || request.repeat == Repeat::Safe;
            if may_be_repeated && is_tls(&source) {
                return Verdict::Final(ApiError::Tls { call, source });
            }
            let cause = Failure::Transport(source);
            if !may_be_repeated {
                return Verdict::Final(ApiError::OutcomeUnknown { call, cause });
            }
            Verdict::Again {
                error: Box::new(ApiError::Unavailable { call, cause }),
                pause: None,
            }
        }
    }
}

/// The error of a request that the server has carried out, with an answer that cannot be used.
pub(crate) fn unusable(request: &Request, problem: ProtocolProblem) -> ApiError {
    let call = request.call.clone();
    match request.repeat {
        Repeat::Safe => ApiError::Protocol { call, problem },
        Repeat::Never => ApiError::OutcomeUnknown {
            call,
            cause: Failure::Protocol(problem),
        },
    }
}

fn is_tls(error: &reqwest::Error) -> bool {
    causes(error).any(<dyn Error>::is::<rustls::Error>)
}

/// The pause that an answer names, in seconds that may have a fraction.
fn named_pause(headers: &HeaderMap) -> Option<Duration> {
    ["x-ratelimit-reset", RETRY_AFTER.as_str()]
        .into_iter()
        .filter_map(|name| headers.get(name)?.to_str().ok()?.trim().parse().ok())
        .find_map(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

pub(crate) fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn pause(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = headers.iter().map(|&(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        named_pause(&headers.collect())
    }

    #[test]
    fn a_pause_has_fractions_and_may_come_from_either_header() {
        let milliseconds = |number| Some(Duration::from_millis(number));
        assert_eq!(pause(&[("x-ratelimit-reset", "0.321")]), milliseconds(321));
        assert_eq!(pause(&[("retry-after", "2")]), milliseconds(2000));
        let both = [("retry-after", "2"), ("x-ratelimit-reset", " 1 ")];
        assert_eq!(pause(&both), milliseconds(1000));
        for odd in ["-1", "NaN", "inf", "1e300", "soon", ""] {
            assert_eq!(pause(&[("x-ratelimit-reset", odd)]), None, "{odd}");
            let other = [("x-ratelimit-reset", odd), ("retry-after", "1")];
            assert_eq!(pause(&other), milliseconds(1000), "{odd}");
        }
    }
}
