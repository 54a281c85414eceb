//! The `hostname` of a driver block and of `TFC_HOSTNAME`.

use url::Url;

/// A text is no `hostname` of a server. The message continues a sentence that begins with the name of the setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHostname {
    /// The text has a path, a user or a wrong scheme, or is no host name.
    #[error(
        "must be a server alone, as in \"tfe.example.net\", with or without https:// and a port"
    )]
    NotAServer,
    /// The text has the scheme `http`.
    #[error("begins with http://, and the API is only used with https")]
    PlainHttp,
}

/// Returns the URL of the server, without a path. `allow_plain_http` is for test servers.
pub fn remote_server_url(hostname: &str, allow_plain_http: bool) -> Result<Url, InvalidHostname> {
    let hostname = hostname.trim();
    let address = if hostname.contains("://") {
        hostname.to_owned()
    } else {
        format!("https://{hostname}")
    };
    let url = Url::parse(&address).map_err(|_error| InvalidHostname::NotAServer)?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    let has_rest = url.path() != "/" || url.query().is_some() || url.fragment().is_some();
    if url.host_str().is_none_or(str::is_empty) || has_user || has_rest {
        return Err(InvalidHostname::NotAServer);
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if allow_plain_http => Ok(url),
        "http" => Err(InvalidHostname::PlainHttp),
        _ => Err(InvalidHostname::NotAServer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_https_whether_the_text_has_it_or_not() {
        for (hostname, url) in [
            ("app.example.net", "https://app.example.net/"),
            ("https://APP.example.net/", "https://app.example.net/"),
            (" app.example.net:8443 ", "https://app.example.net:8443/"),
            ("[::1]:8443", "https://[::1]:8443/"),
        ] {
            let server = remote_server_url(hostname, false);
            assert_eq!(server.unwrap().as_str(), url);
        }
    }

    #[test]
    fn refuses_hostnames_that_are_not_just_a_server() {
        for hostname in [
            "",
            "https://",
            "ftp://app.example.net",
            "https://user@app.example.net",
            "https://:secret@app.example.net",
            "app.example.net/api",
            "app.example.net?x=y",
            "app.example.net#x",
        ] {
            let refused = remote_server_url(hostname, true);
            assert_eq!(refused, Err(InvalidHostname::NotAServer), "{hostname}");
        }
    }

    #[test]
    fn plain_http_needs_the_switch() {
        let hostname = "http://127.0.0.1:80";
        let refused = remote_server_url(hostname, false);
        assert_eq!(refused, Err(InvalidHostname::PlainHttp));
        remote_server_url(hostname, true).unwrap();
    }
}
