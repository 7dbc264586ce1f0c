//! The addresses of BMCs, as Metal3 documents them for `spec.bmc.address` of a `BareMetalHost`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::networks::plain;

/// The path of every service root (DSP0266 §6.2).
pub(crate) const ROOT: &str = "/redfish/v1/";

/// Maximum length of an address, in bytes.
const MAX_LENGTH: usize = 1024;

/// The vendor that an address's scheme names. It counts only if the BMC itself does not reveal its vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Dell iDRAC.
    Idrac,
    /// HPE iLO 5 and later.
    Ilo,
}

/// Metal3's scheme for hosts that boot by UEFI HTTP boot.
const UEFI_HTTP: &str = "redfish-uefihttp";

/// Metal3's schemes that use Redfish, without `+http` and `+https`.
const REDFISH_SCHEMES: [(&str, Option<Dialect>); 7] = [
    ("redfish", None),
    ("redfish-virtualmedia", None),
    (UEFI_HTTP, None),
    ("idrac-redfish", Some(Dialect::Idrac)),
    ("idrac-virtualmedia", Some(Dialect::Idrac)),
    ("ilo5-redfish", Some(Dialect::Ilo)),
    ("ilo5-virtualmedia", Some(Dialect::Ilo)),
];

/// Metal3's other schemes, each with the Redfish scheme to use instead.
const OTHER_SCHEMES: [(&str, &str); 8] = [
    ("ipmi", "redfish-virtualmedia"),
    ("libvirt", "redfish-virtualmedia+http"),
    ("idrac", "idrac-virtualmedia"),
    ("ilo4", "redfish-virtualmedia"),
    ("ilo4-virtualmedia", "redfish-virtualmedia"),
    ("ilo5", "ilo5-virtualmedia"),
    ("ibmc", "redfish-virtualmedia"),
    ("irmc", "redfish-virtualmedia"),
];

/// Why a text is not the address of a BMC. Never quotes a part that may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The text is empty.
    #[error("the BMC's address is empty; write, for example, redfish-virtualmedia://192.0.2.10/redfish/v1/Systems/1")]
    Empty,
    /// The text is too long.
    #[error("the BMC's address is longer than {MAX_LENGTH} bytes")]
    TooLong,
    /// The text has an `@`, as in `user:password@host`.
    #[error("the BMC's address has a user name or a password before an '@'; give them separately")]
    Userinfo,
    /// The scheme is that of another protocol.
    #[error(
        "{scheme}:// is not Redfish, which virtual media needs; if this BMC supports Redfish, write {instead}://{rest}"
    )]
    OtherProtocol {
        /// The scheme in the address.
        scheme: String,
        /// The scheme to use instead.
        instead: &'static str,
        /// The host and the port in the address.
        rest: String,
    },
    /// The scheme is unknown.
    #[error(
        "the scheme {0:?} of the BMC's address is unknown; use redfish-virtualmedia, redfish, idrac-virtualmedia, \
         idrac-redfish, ilo5-virtualmedia, ilo5-redfish or redfish-uefihttp, each also with +http or +https, or \
         http or https"
    )]
    UnknownScheme(String),
    /// The port is 623.
    #[error("port 623 in the BMC's address is the port of IPMI; leave the port out, because Redfish uses 443")]
    IpmiPort,
    /// The host is missing or invalid.
    #[error("the BMC's address has no valid host: {0}; write IPv6 addresses in brackets and without a zone")]
    Host(String),
    /// The host is an IPv4 address in another form than four decimal numbers, perhaps with leading zeros.
    #[error(
        "the BMC's address has the host {written:?}, which URLs read as {read}; write the IPv4 address as four decimal numbers without \
         leading zeros"
    )]
    Ipv4 {
        /// The host in the address.
        written: String,
        /// The address that it is in a URL.
        read: Ipv4Addr,
    },
    /// The text has a `?` or `#`.
    #[error("the BMC's address contains '?' or '#'; remove it and what follows")]
    QueryOrFragment,
    /// The path is not that of a System.
    #[error(
        "the path {0:?} in the BMC's address is not the path of a System, such as /redfish/v1/Systems/1; correct it or \
         leave it out"
    )]
    Path(String),
}

/// The address of a BMC's Redfish service, and the System to use.
///
/// Parse it from a text such as `redfish-virtualmedia+https://192.0.2.10/redfish/v1/Systems/1`. Without a scheme it is
/// HTTPS. `Display` and `Debug` show it as it was written. It cannot contain a user name or a password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BmcAddress {
    written: String,
    origin: Url,
    system: Option<String>,
    hint: Option<Dialect>,
    by_http: bool,
}

impl BmcAddress {
    /// The service's URL: `http` or `https`, the host, the port, and the path `/`.
    pub fn origin(&self) -> &Url {
        &self.origin
    }

    /// The path of the System, without a slash at its end. `None` if the address names no System.
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// The vendor that the scheme names.
    pub fn hint(&self) -> Option<Dialect> {
        self.hint
    }

    /// Whether the scheme says that the host's firmware fetches the image (UEFI HTTP boot).
    pub fn is_for_uefi_http(&self) -> bool {
        self.by_http
    }

    /// The host: an IP address or a name.
    pub fn host(&self) -> Host<&str> {
        // `from_str` has checked that there is a host.
        self.origin.host().unwrap_or(Host::Domain(""))
    }

    /// The host in a form that does not depend on how it was written. An IPv6 address that stands for an IPv4 address (mapped, or
    /// NAT64) becomes that address.
    pub fn canonical_host(&self) -> Host<String> {
        let address = match self.host() {
            Host::Domain(name) => return Host::Domain(name.trim_end_matches('.').to_ascii_lowercase()),
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
        };
        match plain(address) {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        }
    }
}

impl FromStr for BmcAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(AddressError::TooLong);
        }
        let (scheme, rest) = split(text);
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
        // Before anything else: no error may show a password.
        if text.contains('@') {
            return Err(AddressError::Userinfo);
        }
        let (transport, hint) = transport(scheme.as_deref(), authority)?;
        if path.contains(['?', '#']) {
            return Err(AddressError::QueryOrFragment);
        }
        if authority.is_empty() {
            return Err(AddressError::Host("it is empty".to_owned()));
        }
        let url = Url::parse(&format!("{transport}://{authority}{path}"));
        let mut origin = url.map_err(|error| AddressError::Host(error.to_string()))?;
        check_host(authority, &origin)?;
        if origin.port() == Some(623) {
            return Err(AddressError::IpmiPort);
        }
        let system = system(origin.path())?;
        origin.set_path("/");
        let by_http = scheme.is_some_and(|scheme| scheme.split('+').next() == Some(UEFI_HTTP));
        Ok(Self { written: text.to_owned(), origin, system, hint, by_http })
    }
}

/// Refuses an IPv4 address that is another one in a URL than to its reader, such as `10.0.0.010`, and a name that no DNS has.
fn check_host(authority: &str, url: &Url) -> Result<(), AddressError> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    match url.host() {
        Some(Host::Ipv4(read)) => {
            let written = authority.split(':').next().unwrap_or_default();
            let is_plain = written.parse::<Ipv4Addr>() == Ok(read);
            if is_plain { Ok(()) } else { Err(AddressError::Ipv4 { written: written.to_owned(), read }) }
        }
        Some(Host::Domain(name)) if !name.bytes().all(is_of_name) => {
            Err(AddressError::Host(format!("{name:?} is neither an address nor a name")))
        }
        _ => Ok(()),
    }
}

/// The scheme in lower case, if there is one, and the rest.
fn split(text: &str) -> (Option<String>, &str) {
    if let Some((scheme, rest)) = text.split_once("://") {
        return (Some(scheme.to_ascii_lowercase()), rest);
    }
    // Metal3 also accepts `ipmi:192.0.2.10`. But `host:8443` is a host with a port.
    if let Some((scheme, rest)) = text.split_once(':') {
        let scheme = scheme.to_ascii_lowercase();
        let base = scheme.split_once('+').map_or(scheme.as_str(), |(base, _)| base);
        let known = REDFISH_SCHEMES.iter().any(|(name, _)| *name == base)
            || OTHER_SCHEMES.iter().any(|(name, _)| *name == base)
            || matches!(base, "http" | "https");
        let port = rest.split('/').next().unwrap_or_default();
        if known && !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return (Some(scheme), rest);
        }
    }
    (None, text)
}

/// `http` or `https`, and the vendor that the scheme names.
fn transport(scheme: Option<&str>, authority: &str) -> Result<(&'static str, Option<Dialect>), AddressError> {
    let Some(scheme) = scheme else { return Ok(("https", None)) };
    let (base, suffix) = scheme.split_once('+').map_or((scheme, None), |(base, suffix)| (base, Some(suffix)));
    let unknown = || AddressError::UnknownScheme(scheme.chars().take(40).collect());
    if suffix.is_none() && matches!(base, "http" | "https") {
        return Ok((if base == "http" { "http" } else { "https" }, None));
    }
    let transport = match suffix {
        Some("http") => "http",
        None | Some("https") => "https",
        Some(_) => return Err(unknown()),
    };
    if let Some((_, hint)) = REDFISH_SCHEMES.iter().find(|(name, _)| *name == base) {
        return Ok((transport, *hint));
    }
    match OTHER_SCHEMES.iter().find(|(name, _)| *name == base) {
        Some((_, instead)) => Err(AddressError::OtherProtocol {
            scheme: scheme.to_owned(),
            instead,
            rest: authority.strip_suffix(":623").unwrap_or(authority).to_owned(),
        }),
        None => Err(unknown()),
    }
}

/// The System's path, or `None` for the paths of the service itself.
fn system(path: &str) -> Result<Option<String>, AddressError> {
    let path = path.trim_end_matches('/');
    if matches!(path, "" | "/redfish" | "/redfish/v1" | "/redfish/v1/Systems") {
        return Ok(None);
    }
    let inside = path.strip_prefix("/redfish/").is_some_and(|rest| rest.split('/').all(|segment| !segment.is_empty()));
    if inside { Ok(Some(path.to_owned())) } else { Err(AddressError::Path(path.to_owned())) }
}

impl fmt::Display for BmcAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl fmt::Debug for BmcAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BmcAddress({})", self.written)
    }
}

impl TryFrom<String> for BmcAddress {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<BmcAddress> for String {
    fn from(address: BmcAddress) -> Self {
        address.written
    }
}

#[cfg(test)]
mod tests;
