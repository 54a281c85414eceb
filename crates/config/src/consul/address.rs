//! The one form of an address for every use of it.

/// Without the slashes that people paste with it: the Consul client of Terraform takes them for a part of the port.
pub(crate) fn without_slash(mut address: String) -> String {
    if address.starts_with("unix://") {
        return address;
    }
    let host_at = address.find("://").map_or(0, |scheme| scheme + 3);
    let end = address.trim_end_matches('/').len();
    if end > host_at {
        address.truncate(end);
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slashes_at_the_end_go() {
        for (written, expected) in [
            ("127.0.0.1:8500", "127.0.0.1:8500"),
            ("127.0.0.1:8500/", "127.0.0.1:8500"),
            ("http://127.0.0.1:8500//", "http://127.0.0.1:8500"),
            ("https://proxy/consul/", "https://proxy/consul"),
            ("unix:///run/consul/", "unix:///run/consul/"),
            ("http://", "http://"),
            ("/", "/"),
        ] {
            assert_eq!(without_slash(written.to_owned()), expected);
        }
    }
}
