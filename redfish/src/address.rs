//! Addresses of BMCs, in the forms that Metal3 documents for `spec.bmc.address` of a `BareMetalHost`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// Longer ones are no addresses.
const MAX_LENGTH: usize = 1024;

/// What an address's scheme says of its BMC beyond Redfish. A hint: the BMC itself says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Dell iDRAC.
    Idrac,
    /// HPE iLO 5 and later.
    Ilo,
}

/// The schemes of Metal3 that are Redfish, without `+http` and `+https`.
const REDFISH_SCHEMES: [(&str, Option<Dialect>); 7] = [
    ("redfish", None),
    ("redfish-virtualmedia", None),
    ("redfish-uefihttp", None),
    ("idrac-redfish", Some(Dialect::Idrac)),
    ("idrac-virtualmedia", Some(Dialect::Idrac)),
    ("ilo5-redfish", Some(Dialect::Ilo)),
    ("ilo5-virtualmedia", Some(Dialect::Ilo)),
];

/// Those that are something else, and what works in their place.
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

/// Why a text is no address that can be used. Quotes nothing that may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Nothing.
    #[error("the BMC's address is empty; it is written like redfish-virtualmedia://192.0.2.10/redfish/v1/Systems/1")]
    Empty,
    /// Very long.
    #[error("the BMC's address is longer than {MAX_LENGTH} characters")]
    TooLong,
    /// `user:password@`.
    #[error("the BMC's address holds a user name or a password before an '@'; these are given on their own")]
    Userinfo,
    /// Another protocol, for which Redfish may be used instead.
    #[error(
        "{scheme}:// is not Redfish, and virtual media needs it; if this BMC has Redfish, write {instead}://{rest}"
    )]
    OtherProtocol {
        /// The scheme.
        scheme: String,
        /// The scheme to write.
        instead: &'static str,
        /// The host.
        rest: String,
    },
    /// A scheme that nobody knows.
    #[error(
        "the scheme {0:?} of the BMC's address is not known; these are: redfish-virtualmedia, redfish, \
         idrac-virtualmedia, idrac-redfish, ilo5-virtualmedia, ilo5-redfish, redfish-uefihttp, each with +http or \
         +https behind it if need be, http and https"
    )]
    UnknownScheme(String),
    /// Port 623.
    #[error("port 623 of the BMC's address is IPMI's; Redfish is on 443, which need not be written")]
    IpmiPort,
    /// No host, or one that cannot be.
    #[error("the BMC's address has no usable host: {0}; IPv6 addresses are written in brackets, without a zone")]
    Host(String),
    /// `?` or `#`.
    #[error("the BMC's address has a '?' or '#' in it, and neither means anything there")]
    QueryOrFragment,
    /// A path that is no System's.
    #[error(
        "the path {0:?} of the BMC's address is not that of a System, such as /redfish/v1/Systems/1; it may be left out"
    )]
    Path(String),
}

/// Where a BMC's Redfish service is, and which of its Systems is meant.
///
/// Displays as it was written, which is without user name and password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BmcAddress {
    written: String,
    origin: Url,
    system: Option<String>,
    hint: Option<Dialect>,
}

impl BmcAddress {
    /// The service's URL with the path `/`: `http` or `https`, host, port.
    pub fn origin(&self) -> &Url {
        &self.origin
    }

    /// The path of the System that the address names, without a slash at its end.
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// What the scheme says of the BMC.
    pub fn hint(&self) -> Option<Dialect> {
        self.hint
    }

    /// The host as a literal address or a name.
    pub fn host(&self) -> Host<&str> {
        // Parsing has seen that there is one.
        self.origin.host().unwrap_or(Host::Domain(""))
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
        if rest.contains('@') {
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
        if origin.port() == Some(623) {
            return Err(AddressError::IpmiPort);
        }
        let system = system(origin.path())?;
        origin.set_path("/");
        Ok(Self { written: text.to_owned(), origin, system, hint })
    }
}

/// The scheme in lower case, if there is one, and what is behind it.
fn split(text: &str) -> (Option<String>, &str) {
    if let Some((scheme, rest)) = text.split_once("://") {
        return (Some(scheme.to_ascii_lowercase()), rest);
    }
    // Metal3 takes `ipmi:192.0.2.10` too. `host:8443` is a host.
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

/// `http` or `https`, and what the scheme says of the BMC.
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

/// The System's path; none for the service's own paths.
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
