//! URLs of root file systems that a system fetches over the network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, ParseError, Url};

use crate::url_server::UrlServer;
use vocabulary::{checked_text, url_credentials, url_host};

/// The longest URL that leaves room for other kernel arguments, in bytes.
const MAX_URL_BYTES: usize = 1024;

/// Why a text is not the URL of a root file system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootfsUrlError {
    /// The scheme is missing or not supported.
    #[error("the URL of the root file system must begin with http:// or https://")]
    Scheme,
    /// A character would end the kernel argument or change its meaning.
    #[error("the URL of the root file system contains {0:?}; percent-encode it")]
    Character(char),
    /// The URL is too long. With its length in bytes.
    #[error(
        "the URL of the root file system has {0} bytes; a kernel command line has room for at most {MAX_URL_BYTES}"
    )]
    Length(usize),
    /// The URL names no server, or its port is none. With the reason.
    #[error("the URL of the root file system is not valid: {0}")]
    Invalid(ParseError),
    /// The server is an IPv4 address in another form than four decimal numbers, perhaps with leading zeros.
    #[error("the server in the URL of the root file system is {0}, but not written so; {fix}", fix = url_host::FIX)]
    Ipv4(Ipv4Addr),
}

/// An `http` or `https` URL with a server that fits into a kernel argument: printable ASCII without blanks and quotes, at most 1024 bytes.
/// The scheme is in lower case.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RootfsUrl(String);

checked_text!(RootfsUrl, RootfsUrlError);

impl fmt::Debug for RootfsUrl {
    /// Without the credentials and the query.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootfsUrl({:?})", url_credentials::hide_with_query(&self.0))
    }
}

impl FromStr for RootfsUrl {
    type Err = RootfsUrlError;

    fn from_str(text: &str) -> Result<Self, RootfsUrlError> {
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        // An initramfs compares the scheme letter by letter.
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(&*scheme, "http" | "https") || rest.is_empty() {
            return Err(RootfsUrlError::Scheme);
        }
        if let Some(wrong) = text.chars().find(|c| !c.is_ascii_graphic() || matches!(c, '"' | '\'' | '\\' | '`')) {
            return Err(RootfsUrlError::Character(wrong));
        }
        if text.len() > MAX_URL_BYTES {
            return Err(RootfsUrlError::Length(text.len()));
        }
        // The parser would skip further slashes, and take the first part of the path for the server.
        let parsed = if rest.starts_with('/') { Err(ParseError::EmptyHost) } else { Url::parse(text) };
        let parsed = parsed.map_err(RootfsUrlError::Invalid)?;
        match parsed.host() {
            Some(Host::Ipv4(address)) if !url_host::is_written(address, text) => Err(RootfsUrlError::Ipv4(address)),
            _ => Ok(Self(format!("{scheme}://{rest}"))),
        }
    }
}

impl RootfsUrl {
    /// The address of the server, if the URL has it in place of a name.
    pub fn address(&self) -> Option<IpAddr> {
        address_of(&self.0)
    }
}

/// The address in a URL. An IPv4-mapped address becomes the IPv4 address, because systems connect to it by IPv4.
fn address_of(url: &str) -> Option<IpAddr> {
    match Url::parse(url).ok()?.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(IpAddr::from(address).to_canonical()),
        Host::Domain(_) => None,
    }
}

/// Where a system fetches its root file system from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootfsLocation {
    /// This URL.
    Url(RootfsUrl),
    /// The URL of the image's own root file system. This is its beginning, the address of a media plane; the rest depends on the
    /// image's token, which only the server knows.
    MediaPlane(String),
}

impl RootfsLocation {
    /// The server that has it.
    pub fn server(&self) -> UrlServer {
        match self {
            Self::Url(url) => UrlServer::of_url(url.as_str()),
            Self::MediaPlane(url) => UrlServer::of_url(url),
        }
    }

    /// The address of that server, if the URL has it in place of a name.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Url(url) => url.address(),
            Self::MediaPlane(url) => address_of(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_kernel_argument_can_carry_is_a_url() {
        let error = |text: &str| text.parse::<RootfsUrl>().unwrap_err();
        assert_eq!("http://192.0.2.1/rootfs.img".parse::<RootfsUrl>().unwrap().as_str(), "http://192.0.2.1/rootfs.img");
        assert_eq!(error("ftp://192.0.2.1/x"), RootfsUrlError::Scheme);
        assert_eq!(error("https://"), RootfsUrlError::Scheme);
        assert_eq!(error("http://a/b c"), RootfsUrlError::Character(' '));
        assert_eq!(error("http://a/\"x"), RootfsUrlError::Character('"'));
        assert_eq!(error(&format!("http://{}", "a".repeat(1024))), RootfsUrlError::Length(1031));
        assert_eq!("HTTP://a.example/R".parse::<RootfsUrl>().unwrap().as_str(), "http://a.example/R");
    }

    #[test]
    fn a_url_has_a_server() {
        for (text, reason) in [
            ("http://192.0.2.1:99999/r.img", "invalid port number"),
            ("http:///r.img", "empty host"),
            ("http://:80/", "empty host"),
            ("http://?r", "empty host"),
            ("http://[2001:db8::1/r.img", "invalid IPv6 address"),
            ("https://192.0.2.256/r.img", "invalid IPv4 address"),
        ] {
            let error = text.parse::<RootfsUrl>().unwrap_err().to_string();
            assert_eq!(error, format!("the URL of the root file system is not valid: {reason}"), "{text}");
        }
        for text in ["http://192.0.2.010/r.img", "http://0xc0000208/r.img"] {
            assert_eq!(text.parse::<RootfsUrl>(), Err(RootfsUrlError::Ipv4(Ipv4Addr::new(192, 0, 2, 8))), "{text}");
        }
        for (text, address) in [
            ("http://192.0.2.1:8080/r.img", Some("192.0.2.1")),
            ("https://[2001:db8::1]/r.img", Some("2001:db8::1")),
            ("http://[::ffff:192.0.2.1]/r.img", Some("192.0.2.1")),
            ("http://mirror.example/192.0.2.1", None),
        ] {
            let address: Option<IpAddr> = address.map(|address| address.parse().unwrap());
            assert_eq!(text.parse::<RootfsUrl>().unwrap().address(), address, "{text}");
            assert_eq!(RootfsLocation::MediaPlane(text.to_owned()).address(), address, "{text}");
        }
    }

    #[test]
    fn the_debug_output_has_no_credentials() {
        let url: RootfsUrl = "http://user:hunter2@192.0.2.1/rootfs.img?hunter2".parse().unwrap();
        assert_eq!(format!("{url:?}"), "RootfsUrl(\"http://…@192.0.2.1/rootfs.img?…\")");
    }
}
