//! The server that a URL names.

use std::fmt;
use std::net::Ipv4Addr;

/// The server in a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlServer {
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// A name, an IPv6 address, or an address in an unusual form, as the URL has it.
    Other(String),
}

impl UrlServer {
    /// The server of an `http` or `https` URL.
    pub fn of_url(url: &str) -> Self {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        // The colons of an IPv6 address are between brackets.
        let end = host.rfind(']').map_or_else(|| host.find(':'), |bracket| Some(bracket + 1)).unwrap_or(host.len());
        let host = host.get(..end).unwrap_or(host);
        host.parse().map_or_else(|_| Self::Other(host.to_owned()), Self::Ipv4)
    }
}

impl fmt::Display for UrlServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ipv4(address) => address.fmt(f),
            Self::Other(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_a_url_is_an_ipv4_address_or_something_else() {
        for url in ["http://192.0.2.1", "http://192.0.2.1:8081/i/x", "http://u:p@192.0.2.1/x@y", "https://192.0.2.1?a"]
        {
            assert_eq!(UrlServer::of_url(url), UrlServer::Ipv4(Ipv4Addr::new(192, 0, 2, 1)), "{url}");
        }
        for (url, other) in [
            ("http://a.example:80/192.0.2.1", "a.example"),
            ("http://[2001:db8::1]:8081/", "[2001:db8::1]"),
            ("http://192.0.2.1.example/", "192.0.2.1.example"),
            ("http://3221225985/", "3221225985"),
            ("http://", ""),
        ] {
            assert_eq!(UrlServer::of_url(url), UrlServer::Other(other.to_owned()), "{url}");
        }
    }
}
