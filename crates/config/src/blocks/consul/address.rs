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

/// Whether an address without slashes at its end has a path after its host.
pub(crate) fn has_path(address: &str) -> bool {
    let behind_scheme = match address.split_once("://") {
        Some(("unix", _path_of_socket)) => return false,
        Some((_scheme, rest)) => rest,
        None => address,
    };
    behind_scheme.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_hosts_and_sockets() {
        for (address, expected) in [
            ("127.0.0.1:8500", false),
            ("https://consul.example.net", false),
            ("unix:///run/consul.sock", false),
            ("https://proxy/consul", true),
            ("proxy:8500/consul", true),
        ] {
            assert_eq!(has_path(address), expected, "{address}");
        }
    }

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
