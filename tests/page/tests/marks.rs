//! Elements of the page that several tests use, as selectors of CSS, and its words.

/// The field of a token in the form of the login.
pub(crate) const TOKEN: &str = "form[action$='login'] input[name='token']";

/// The button of the form of the login.
pub(crate) const LOG_IN: &str = "form[action$='login'] button";

/// The button that ends the session.
pub(crate) const LOG_OUT: &str = "form[action$='logout'] button";

/// The entry of the navigation whose screen is shown.
pub(crate) const PART: &str = "header nav [aria-current='page']";

/// The message about an action.
pub(crate) const NOTICE: &str = "#notice";

/// Messages of the scripts at the lower edge.
pub(crate) const MESSAGES: &str = "#messages";

/// The field of a confirmation by typing.
pub(crate) const CONFIRM: &str = "input[name='confirm']";

/// Message of the scripts after the end of the session.
pub(crate) const SESSION_ENDED: &str = "Your session has ended.";

/// Message of the console about a request without a session.
pub(crate) const STATUS_401: &str = "the server responded with a status of 401";

/// Message of the console about a form that was refused.
pub(crate) const STATUS_422: &str = "the server responded with a status of 422";

/// What cannot be shown, with the reason: a screen, or a part of it.
pub(crate) const REFUSED: &str = "main [role='alert'], main p.missing, main p.problem";

/// Brings the newer data of the screen, as after a connection.
pub(crate) const REFRESH: &str =
    "const morph = new URL('morph.js', document.querySelector('script[src]').src).href;
    return import(morph).then(module => module.visit(location.href, 'refresh'))";
