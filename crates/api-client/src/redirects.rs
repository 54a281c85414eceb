//! Which redirections are followed.

use reqwest::{StatusCode, Url, redirect};

/// A redirection that keeps method and body is followed. Any other would turn a change into a question, whose answer
/// would be taken for success. A token must not leave TLS; the HTTP library takes it away towards another host.
pub(crate) fn redirects(with_token: bool) -> redirect::Policy {
    redirect::Policy::custom(move |attempt| {
        let keeps_the_request = matches!(
            attempt.status(),
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        let was_secure = attempt.previous().last().map(Url::scheme) == Some("https");
        let leaves_tls = was_secure && attempt.url().scheme() != "https";
        if !keeps_the_request || (with_token && leaves_tls) {
            attempt.stop()
        } else if attempt.previous().len() > 10 {
            attempt.error("too many redirections")
        } else {
            attempt.follow()
        }
    })
}
