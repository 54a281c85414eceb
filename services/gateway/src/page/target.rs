//! Targets of requests for the page: paths as sent, below its prefix.
//!
//! Screens and actions are found by `cts_page`, which takes the segments of a path apart and decodes each for itself. A
//! path is never normalised, so `..` and empty segments lead nowhere.

use http::Method;

/// Target of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// `/`, from where browsers are led to the page.
    Root,
    /// The prefix without its last slash.
    Prefix,
    /// The stylesheet or a script.
    Asset(&'a str),
    LoginForm,
    LogIn,
    LogOut,
    /// The way to the issuer of a login.
    LoginStart,
    /// The way back from the issuer of a login, with a code that counts once.
    LoginCallback,
    /// An answer of the API that is passed on: versions to follow, or a part of a log. The path after `/v1/`.
    Stream(&'a str),
    /// The whole log of the run with this id, as a file.
    RawLog(&'a str),
    /// A screen or a fragment of it.
    Screen(&'a str),
    Action(&'a str),
    /// A method that the path does not have; the methods that it has.
    OtherMethod(&'static str),
    /// Not a path of the page.
    Elsewhere,
}

impl<'a> Target<'a> {
    /// The target of `method` on `path`, where the page is at `prefix`.
    pub(super) fn of(prefix: &str, method: &Method, path: &'a str) -> Self {
        let Some(below) = path.strip_prefix(prefix) else {
            return match path {
                "/" => Self::Root,
                _ if prefix.strip_suffix('/') == Some(path) => Self::Prefix,
                _ => Self::Elsewhere,
            };
        };
        let target = Self::of_reading(below);
        let only_get = matches!(
            target,
            Self::Stream(_) | Self::RawLog(_) | Self::LoginStart | Self::LoginCallback
        );
        match *method {
            Method::HEAD | Method::POST if only_get => Self::OtherMethod("GET"),
            Method::GET | Method::HEAD => target,
            Method::POST => match target {
                Self::Asset(_) => Self::OtherMethod("GET, HEAD"),
                Self::LoginForm => Self::LogIn,
                Self::OtherMethod(_) => Self::LogOut,
                _ => Self::Action(below),
            },
            _ => Self::OtherMethod("GET, HEAD, POST"),
        }
    }

    fn of_reading(below: &'a str) -> Self {
        match below {
            "login" => return Self::LoginForm,
            "logout" => return Self::OtherMethod("POST"),
            "follow" => return Self::Stream(below),
            "login/start" => return Self::LoginStart,
            "login/callback" => return Self::LoginCallback,
            _ if below.starts_with("assets/") => return Self::Asset(below),
            _ => {}
        }
        let run = below.strip_prefix("runs/");
        match run.and_then(|rest| rest.split_once('/')) {
            Some((_run, "log")) => Self::Stream(below),
            Some((run, "raw")) => Self::RawLog(run),
            _ => Self::Screen(below),
        }
    }

    /// The value of the label `http.route`.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Root | Self::Prefix | Self::Elsewhere | Self::OtherMethod(_) => "page/none",
            Self::Asset(_) => "page/assets",
            Self::LoginForm
            | Self::LogIn
            | Self::LogOut
            | Self::LoginStart
            | Self::LoginCallback => "page/login",
            Self::Stream(_) => "page/stream",
            Self::RawLog(_) => "page/raw",
            Self::Screen(_) => "page/screen",
            Self::Action(_) => "page/action",
        }
    }

    /// Whether browsers show the answer as a document, so that problems are documents, too.
    pub(super) const fn is_document(self) -> bool {
        !matches!(
            self,
            Self::Asset(_) | Self::Stream(_) | Self::RawLog(_) | Self::OtherMethod(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_paths_below_the_prefix_as_sent() {
        use Target::{
            Action, Asset, Elsewhere, LogIn, LogOut, LoginCallback, LoginForm, LoginStart,
            OtherMethod, Prefix, RawLog, Root, Screen, Stream,
        };
        let (get, head, post) = (Method::GET, Method::HEAD, Method::POST);
        for (method, path, expected) in [
            (&get, "/", Root),
            (&get, "/ui", Prefix),
            (&get, "/ui/", Screen("")),
            (&head, "/ui/", Screen("")),
            (&get, "/ui/tasks/a%2Fb", Screen("tasks/a%2Fb")),
            (&get, "/ui/../v1/tasks", Screen("../v1/tasks")),
            (&get, "/ui//follow", Screen("/follow")),
            (&get, "/ui/%66ollow", Screen("%66ollow")),
            (&get, "//ui/", Elsewhere),
            (&get, "/ui%2F", Elsewhere),
            (&get, "/UI/", Elsewhere),
            (&get, "/uitasks", Elsewhere),
            (&get, "/v1/tasks", Elsewhere),
            (&get, "/ui/follow", Stream("follow")),
            (&get, "/ui/follow/", Screen("follow/")),
            (&get, "/ui/runs/1/log", Stream("runs/1/log")),
            (&get, "/ui/runs//log", Stream("runs//log")),
            (&get, "/ui/runs/1/raw", RawLog("1")),
            (&get, "/ui/runs/1/2/raw", Screen("runs/1/2/raw")),
            (&head, "/ui/runs/1/raw", OtherMethod("GET")),
            (&post, "/ui/follow", OtherMethod("GET")),
            (&get, "/ui/assets/0/page.css", Asset("assets/0/page.css")),
            (&post, "/ui/assets/0/page.css", OtherMethod("GET, HEAD")),
            (&get, "/ui/login", LoginForm),
            (&post, "/ui/login", LogIn),
            (&post, "/ui/login/", Action("login/")),
            (&get, "/ui/login/start", LoginStart),
            (&get, "/ui/login/callback", LoginCallback),
            (&head, "/ui/login/callback", OtherMethod("GET")),
            (&post, "/ui/login/start", OtherMethod("GET")),
            (&get, "/ui/login/other", Screen("login/other")),
            (&get, "/ui/logout", OtherMethod("POST")),
            (&head, "/ui/logout", OtherMethod("POST")),
            (&post, "/ui/logout", LogOut),
            (&post, "/ui/tasks/web/enable", Action("tasks/web/enable")),
            (&Method::PUT, "/ui/tasks", OtherMethod("GET, HEAD, POST")),
            (&Method::OPTIONS, "/ui/", OtherMethod("GET, HEAD, POST")),
        ] {
            assert_eq!(
                Target::of("/ui/", method, path),
                expected,
                "{method} {path}"
            );
        }
    }
}
