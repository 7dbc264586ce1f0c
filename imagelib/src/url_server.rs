//! The server that a URL names.

use std::fmt;
use std::net::Ipv4Addr;

use url::{Host, Url};

/// The server in a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlServer {
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// A name or an IPv6 address; the whole text if it is no URL.
    Other(String),
}

impl UrlServer {
    /// The server of an `http` or `https` URL.
    pub fn of_url(url: &str) -> Self {
        match Url::parse(url).ok().as_ref().and_then(Url::host) {
            Some(Host::Ipv4(address)) => Self::Ipv4(address),
            Some(other) => Self::Other(other.to_string()),
            None => Self::Other(url.to_owned()),
        }
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
            ("http://", "http://"),
        ] {
            assert_eq!(UrlServer::of_url(url), UrlServer::Other(other.to_owned()), "{url}");
        }
    }
}
