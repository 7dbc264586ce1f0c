//! The base of images' URLs. It must suit the strictest firmware.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::str::FromStr;

use imagelib::url_host;
use url::{Host, Url};

/// Maximum length of a URL in characters, which several vendors demand.
const MAX_URL_BYTES: usize = 255;

/// What [`MediaUrl::file`] appends to the base: `/i/`, a token, `/`, and the longest name of a file that BMCs read.
const MAX_FILE_BYTES: usize = "/i/".len() + 26 + "/".len() + "initrd.img".len();

/// The maximum length of the base that follows from that.
const MAX_BASE_BYTES: usize = MAX_URL_BYTES - MAX_FILE_BYTES;

/// Why a text cannot be the base of images' URLs. Each error says what BMCs refuse, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MediaUrlError {
    /// The scheme is missing, has capitals, or is another one.
    #[error("it must begin with http:// or https:// in lower case, by which BMCs choose the protocol")]
    Scheme,
    /// The text is not a URL.
    #[error("it is not a URL: {0}")]
    Syntax(url::ParseError),
    /// The URL has a user name or a password.
    #[error("it must not contain a user name or a password: the token in each URL protects the image")]
    Credentials,
    /// The URL has a query.
    #[error("it must not contain a query ('?'): Supermicro's BMCs refuse such URLs")]
    Query,
    /// The URL has a fragment.
    #[error("it must not contain a fragment ('#')")]
    Fragment,
    /// This segment of the path has characters other than lower-case letters and digits.
    #[error(
        "its path {0:?} must have only lower-case letters and digits: some BMCs refuse '-', '=', '%' and other \
         characters"
    )]
    Path(String),
    /// The URL has so many characters that images' URLs would be too long for BMCs.
    #[error(
        "it has {0} characters, so images' URLs would be longer than the {MAX_URL_BYTES} characters that BMCs accept; \
         use at most {MAX_BASE_BYTES}"
    )]
    Length(usize),
    /// The address is `0.0.0.0` or `[::]`.
    #[error("{0} is an address to listen on, which BMCs cannot reach; use this machine's address on the BMCs' network")]
    Unspecified(IpAddr),
    /// The host is an IPv4 address in another form than four decimal numbers, perhaps with leading zeros.
    #[error("its host is {0} in a URL, but not written so; {fix}", fix = url_host::FIX)]
    Ipv4(Ipv4Addr),
    /// The address is a multicast or broadcast address.
    #[error("{0} is a multicast or broadcast address; use this machine's address on the BMCs' network")]
    Group(IpAddr),
    /// The address has a zone, such as `%2`.
    #[error(
        "{0} has a zone, which a URL cannot have; add --media-url with another address of this machine on the BMCs' network"
    )]
    Zone(SocketAddrV6),
}

/// The base of all images' URLs, such as `http://192.0.2.10:8081` or `https://[2001:db8::1]/media`, without a slash at
/// the end. All known BMCs accept the URLs that are made from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaUrl {
    text: String,
    host: MediaHost,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum MediaHost {
    Name(String),
    Address(IpAddr),
}

impl MediaUrl {
    /// Makes the URL of a listener that is bound to one address. Not all firmware understands an IPv4-mapped address.
    pub fn of_listener(address: SocketAddr, tls: bool) -> Result<Self, MediaUrlError> {
        if let SocketAddr::V6(address) = address
            && address.scope_id() != 0
        {
            return Err(MediaUrlError::Zone(address));
        }
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        format!("{}://{address}", if tls { "https" } else { "http" }).parse()
    }

    /// The URL of the file `name` (such as `boot.iso`) of the image whose token is `token`.
    pub fn file(&self, token: &impl fmt::Display, name: &str) -> String {
        format!("{}/i/{token}/{name}", self.text)
    }

    /// The URL of `name` directly after the host and the port. Leaves out this URL's path, as Metal3's
    /// image-customization-controller does.
    pub fn at_root(&self, name: &str) -> String {
        let end = self.text.match_indices('/').nth(2).map_or(self.text.len(), |(slash, _)| slash);
        format!("{}/{name}", self.text.get(..end).unwrap_or(&self.text))
    }

    /// Splits off the path, if there is one.
    pub fn without_path(self) -> (Self, Option<String>) {
        let root = self.at_root("");
        let path =
            self.text.strip_prefix(root.trim_end_matches('/')).filter(|path| !path.is_empty()).map(str::to_owned);
        (Self { text: root.trim_end_matches('/').to_owned(), host: self.host }, path)
    }

    /// The URL with which the host that has `token` calls home.
    pub fn call_home(&self, token: &impl fmt::Display) -> String {
        format!("{}/h/{token}", self.text)
    }

    /// The host name or the address, without brackets.
    pub fn host(&self) -> String {
        match &self.host {
            MediaHost::Name(name) => name.clone(),
            MediaHost::Address(address) => address.to_string(),
        }
    }

    /// The address by which clients connect, if the URL has an address in place of a name. An IPv4-mapped address becomes the IPv4 address.
    pub fn address(&self) -> Option<IpAddr> {
        match &self.host {
            MediaHost::Name(_) => None,
            MediaHost::Address(address) => Some(address.to_canonical()),
        }
    }

    /// Whether the URL has `https://`.
    pub fn is_https(&self) -> bool {
        self.text.starts_with("https://")
    }

    /// Warnings about a URL that is valid, but probably wrong.
    pub fn warnings(&self) -> Vec<String> {
        match &self.host {
            MediaHost::Name(name) => vec![format!(
                "the media URL has a host name ({name}), but networks of BMCs often have no DNS; an IP address works \
                 everywhere"
            )],
            MediaHost::Address(address) if address.to_canonical().is_loopback() => {
                vec![format!("the media URL is a loopback address ({address}): only this machine can fetch images")]
            }
            MediaHost::Address(IpAddr::V6(address)) if address.is_unicast_link_local() => vec![format!(
                "the media URL is a link-local address ({address}): a URL cannot say which network it is on, so most clients \
                 cannot reach it; use another address of this machine on the BMCs' network"
            )],
            MediaHost::Address(_) => Vec::new(),
        }
    }
}

impl FromStr for MediaUrl {
    type Err = MediaUrlError;

    fn from_str(text: &str) -> Result<Self, MediaUrlError> {
        // The URL parser would accept and correct "HTTP:/x" and "http:\\x". Firmware does not.
        let Some(rest) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) else {
            return Err(MediaUrlError::Scheme);
        };
        let url = Url::parse(text).map_err(MediaUrlError::Syntax)?;
        if url.query().is_some() {
            return Err(MediaUrlError::Query);
        }
        if url.fragment().is_some() {
            return Err(MediaUrlError::Fragment);
        }
        if !url.username().is_empty() || url.password().is_some() || rest.contains('@') {
            return Err(MediaUrlError::Credentials);
        }
        // Compares with the path as it was written: the parser changes "/a/../b" and backslashes.
        let path = rest.split_once('/').map_or("", |(_, path)| path).trim_end_matches('/');
        if url.path().trim_matches('/') != path {
            return Err(MediaUrlError::Path(path.to_owned()));
        }
        if let Some(bad) = path.split('/').find(|component| !is_plain(component) && !path.is_empty()) {
            return Err(MediaUrlError::Path(bad.to_owned()));
        }
        let host = match url.host() {
            Some(Host::Domain(name)) => MediaHost::Name(name.to_owned()),
            Some(Host::Ipv4(address)) if !url_host::is_written(address, text) => {
                return Err(MediaUrlError::Ipv4(address));
            }
            Some(Host::Ipv4(address)) => MediaHost::Address(reachable(address.into())?),
            Some(Host::Ipv6(address)) => MediaHost::Address(reachable(address.into())?),
            None => return Err(MediaUrlError::Syntax(url::ParseError::EmptyHost)),
        };
        let text = url.as_str().trim_end_matches('/').to_owned();
        if text.len() > MAX_BASE_BYTES {
            return Err(MediaUrlError::Length(text.len()));
        }
        Ok(Self { text, host })
    }
}

fn is_plain(component: &str) -> bool {
    !component.is_empty() && component.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn reachable(address: IpAddr) -> Result<IpAddr, MediaUrlError> {
    let canonical = address.to_canonical();
    if canonical.is_unspecified() {
        Err(MediaUrlError::Unspecified(address))
    } else if canonical.is_multicast() || matches!(canonical, IpAddr::V4(v4) if v4.is_broadcast()) {
        Err(MediaUrlError::Group(address))
    } else {
        Ok(address)
    }
}

impl fmt::Display for MediaUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz";

    #[test]
    fn urls_of_files_suit_firmware() {
        for (base, file) in [
            ("http://192.0.2.10", "http://192.0.2.10/i/abcdefghijklmnopqrstuvwxyz/boot.iso"),
            ("http://192.0.2.10:8081/", "http://192.0.2.10:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso"),
            ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443/i/abcdefghijklmnopqrstuvwxyz/boot.iso"),
            ("http://192.0.2.10/media/x1/", "http://192.0.2.10/media/x1/i/abcdefghijklmnopqrstuvwxyz/boot.iso"),
            ("https://boot.example.com", "https://boot.example.com/i/abcdefghijklmnopqrstuvwxyz/boot.iso"),
        ] {
            assert_eq!(base.parse::<MediaUrl>().unwrap().file(&TOKEN, "boot.iso"), file);
        }
    }

    #[test]
    fn names_follow_the_host_and_port_whatever_the_path_is() {
        for (base, url) in [
            ("http://192.0.2.10", "http://192.0.2.10/worker-0.iso"),
            ("http://images.example.svc.cluster.local/", "http://images.example.svc.cluster.local/worker-0.iso"),
            ("https://[2001:db8::1]:8443/media/x1/", "https://[2001:db8::1]:8443/worker-0.iso"),
        ] {
            assert_eq!(base.parse::<MediaUrl>().unwrap().at_root("worker-0.iso"), url);
        }
    }

    #[test]
    fn a_path_can_be_left_out() {
        for (base, root, path) in [
            ("http://192.0.2.10", "http://192.0.2.10", None),
            ("http://192.0.2.10:8084/", "http://192.0.2.10:8084", None),
            ("https://[2001:db8::1]:8443/media/x1/", "https://[2001:db8::1]:8443", Some("/media/x1")),
        ] {
            let (url, left_out) = base.parse::<MediaUrl>().unwrap().without_path();
            assert_eq!((url.to_string().as_str(), left_out.as_deref()), (root, path));
            assert_eq!(url.warnings().len(), base.parse::<MediaUrl>().unwrap().warnings().len());
        }
    }

    #[test]
    fn urls_that_bmcs_refuse_are_refused() {
        for (bad, reason) in [
            ("", "begin with"),
            ("192.0.2.10", "begin with"),
            ("ftp://192.0.2.10", "begin with"),
            ("HTTP://192.0.2.10", "begin with"),
            ("http:192.0.2.10", "begin with"),
            (" http://192.0.2.10", "begin with"),
            ("http://", "not a URL"),
            ("http://[::1", "not a URL"),
            ("http://192.0.2.10:99999", "not a URL"),
            ("http://192.0.2.10/?a", "query"),
            ("http://192.0.2.10?", "query"),
            ("http://192.0.2.10/#a", "fragment"),
            ("http://user@192.0.2.10", "user name"),
            ("http://user:secret@192.0.2.10", "user name"),
            ("http://@192.0.2.10", "user name"),
            ("http://192.0.2.10/my-media", "\"my-media\""),
            ("http://192.0.2.10/Media", "\"Media\""),
            ("http://192.0.2.10/a=b", "\"a=b\""),
            ("http://192.0.2.10/a//b", "\"\""),
            ("http://192.0.2.10/a/../b", "\"a/../b\""),
            ("http://192.0.2.10/%61", "\"%61\""),
            ("http://192.0.2.10\\a", "its path"),
            ("http://192.0.2.10/a\nb", "its path"),
            ("http://0.0.0.0:8081", "listen on"),
            ("http://[::]:8081", "listen on"),
            ("http://255.255.255.255", "multicast or broadcast"),
            ("http://10.0.0.010:8081", "its host is 10.0.0.8 in a URL"),
            ("http://0xa000008", "without leading zeros"),
            ("http://[ff02::1]", "multicast or broadcast"),
        ] {
            let error = bad.parse::<MediaUrl>().expect_err(bad).to_string();
            assert!(error.contains(reason), "{bad}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_longest_url_has_255_characters() {
        let fits = format!("http://192.0.2.10/{}", "x".repeat(MAX_BASE_BYTES - 18));
        assert_eq!(fits.parse::<MediaUrl>().unwrap().file(&TOKEN, "initrd.img").len(), 255);
        assert!(matches!(format!("{fits}x").parse::<MediaUrl>(), Err(MediaUrlError::Length(216))));
    }

    #[test]
    fn names_and_loopback_addresses_are_warned_of() {
        let warnings = |url: &str| url.parse::<MediaUrl>().unwrap().warnings().join("\n");
        assert!(warnings("http://boot.example.com").contains("no DNS"));
        assert!(warnings("http://localhost:8081").contains("no DNS"));
        assert!(warnings("http://127.0.0.1:8081").contains("loopback"));
        assert!(warnings("http://[::ffff:127.0.0.1]").contains("loopback"));
        assert!(warnings("http://[fe80::5]:8081").contains("link-local"));
        assert_eq!(warnings("http://[2001:db8::1]"), "");
        assert_eq!(warnings("http://169.254.1.1"), "", "the network between a host and its own BMC");
    }

    #[test]
    fn the_url_of_a_listener_has_the_plain_address() {
        for (address, url) in [
            ("192.0.2.1:8081", "http://192.0.2.1:8081"),
            ("[::ffff:192.0.2.1]:8081", "http://192.0.2.1:8081"),
            ("[2001:db8::1]:8081", "http://[2001:db8::1]:8081"),
        ] {
            assert_eq!(MediaUrl::of_listener(address.parse().unwrap(), false).unwrap().to_string(), url);
        }
        let error = MediaUrl::of_listener("[fe80::5%2]:8081".parse().unwrap(), false).unwrap_err().to_string();
        assert!(error.contains("[fe80::5%2]:8081 has a zone") && error.contains("--media-url"), "{error}");
    }

    #[test]
    fn the_address_is_the_one_that_clients_connect_to() {
        let address = |url: &str| url.parse::<MediaUrl>().unwrap().address().map(|address| address.to_string());
        assert_eq!(address("http://[::ffff:192.0.2.1]:8081").as_deref(), Some("192.0.2.1"));
        assert_eq!(address("https://[2001:db8::1]/media").as_deref(), Some("2001:db8::1"));
        assert_eq!(address("http://boot.example.com"), None);
    }
}
