//! Identifies a BMC by its address, in whatever form the address is written.
//!
//! Boots read addresses with the crate `redfish`. This crate cannot use `redfish`, because `redfish` has an HTTP client. A test of the
//! server (`boots/bmc_key.rs`) compares both readers.

use std::net::{IpAddr, Ipv4Addr};

use url::{Host, Url};

/// The schemes of Redfish that Metal3 and dayone know, without `+http` and `+https`.
const REDFISH: [&str; 7] = [
    "redfish",
    "redfish-virtualmedia",
    "redfish-uefihttp",
    "idrac-redfish",
    "idrac-virtualmedia",
    "ilo5-redfish",
    "ilo5-virtualmedia",
];

/// Metal3's other schemes.
const OTHERS: [&str; 8] = ["ipmi", "libvirt", "idrac", "ilo4", "ilo4-virtualmedia", "ilo5", "ibmc", "irmc"];

/// The host and the port of a BMC.
pub(super) type Place = (Result<IpAddr, String>, String);

/// The parts of a BMC's address that dayone compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BmcUrl {
    pub(super) place: Place,
    /// The path of the machine at the BMC. `None` for the only System of a Redfish service.
    pub(super) system: Option<String>,
    /// Whether the address has another port than the default port of its protocol.
    pub(super) has_own_port: bool,
}

impl BmcUrl {
    pub(super) fn of(text: &str) -> Self {
        let (scheme, rest) = split(text.trim());
        let url = redfish_transport(scheme.as_deref())
            .filter(|_| !rest.starts_with(['/', '\\']))
            .and_then(|transport| Url::parse(&format!("{transport}://{rest}")).ok())
            .filter(|url| host_fault(authority(rest).0, url).is_none());
        if let Some(url) = &url
            && let Some(host) = url.host()
        {
            let host = match host {
                Host::Domain(name) => Err(canonical_name(name)),
                Host::Ipv4(address) => Ok(IpAddr::V4(address)),
                Host::Ipv6(address) => Ok(plain(IpAddr::V6(address))),
            };
            let port = url.port_or_known_default().map(|port| port.to_string());
            return Self {
                place: (host, port.unwrap_or_default()),
                system: system(url.path()),
                has_own_port: url.port().is_some(),
            };
        }
        Self::of_another_protocol(scheme.as_deref().unwrap_or("https"), rest)
    }

    /// Reads the address of a BMC that does not speak Redfish, or one that is no URL.
    fn of_another_protocol(scheme: &str, rest: &str) -> Self {
        let path = rest.find(['/', '?', '#']).and_then(|start| rest.get(start..)).unwrap_or_default();
        let (host, port) = authority(rest);
        let usual = match scheme.rsplit_once('+').map_or(scheme, |(_, transport)| transport) {
            "ipmi" | "libvirt" => "623",
            "http" => "80",
            _ => "443",
        };
        let port = port.unwrap_or(usual).trim_start_matches('0');
        let address = host.parse::<IpAddr>().map(plain);
        Self {
            place: (address.map_err(|_| canonical_name(host)), port.to_owned()),
            system: Some(path.trim_end_matches('/').to_owned()),
            has_own_port: port != usual,
        }
    }

    /// The address, if the host is not a name: of `redfish-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1`, 192.0.2.9.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.place.0.as_ref().ok().copied()
    }
}

/// The scheme in lower case, if there is one, and the rest. Metal3 also accepts `ipmi:192.0.2.10`, but `host:8443` is a host with a port.
pub(super) fn split(text: &str) -> (Option<String>, &str) {
    if let Some((scheme, rest)) = text.split_once("://") {
        return (Some(scheme.to_ascii_lowercase()), rest);
    }
    if let Some((scheme, rest)) = text.split_once(':') {
        let scheme = scheme.to_ascii_lowercase();
        let base = scheme.split('+').next().unwrap_or_default();
        let is_known = REDFISH.contains(&base) || OTHERS.contains(&base) || matches!(base, "http" | "https");
        let port = rest.split('/').next().unwrap_or_default();
        if is_known && !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return (Some(scheme), rest);
        }
    }
    (None, text)
}

/// `http` or `https`, if the scheme is one of Redfish. Without a scheme it is `https`.
pub(super) fn redfish_transport(scheme: Option<&str>) -> Option<&'static str> {
    transport_of(scheme.unwrap_or("https"), |base| REDFISH.contains(&base))
}

/// Whether the scheme is one of Metal3's for another protocol than Redfish.
pub(super) fn is_of_another_protocol(scheme: &str) -> bool {
    !matches!(scheme, "http" | "https") && transport_of(scheme, |base| OTHERS.contains(&base)).is_some()
}

fn transport_of(scheme: &str, is_known: impl Fn(&str) -> bool) -> Option<&'static str> {
    match scheme {
        "http" => return Some("http"),
        "https" => return Some("https"),
        _ => {}
    }
    let (base, suffix) = scheme.split_once('+').unwrap_or((scheme, "https"));
    let transport = match suffix {
        "http" => "http",
        "https" => "https",
        _ => return None,
    };
    is_known(base).then_some(transport)
}

/// The System's path, or `None` for the paths of the service itself.
pub(super) fn system(path: &str) -> Option<String> {
    let path = path.trim_end_matches('/');
    (!matches!(path, "" | "/redfish" | "/redfish/v1" | "/redfish/v1/Systems")).then(|| path.to_owned())
}

fn canonical_name(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// The IPv4 address inside an IPv6 address that stands for one: mapped (RFC 4291 §2.5.5.2), or NAT64 (RFC 6052 §2.1).
fn plain(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => match v6.octets() {
            [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] => Ipv4Addr::new(a, b, c, d).into(),
            _ => v6.into(),
        },
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Host and port, without the brackets around an address of IPv6.
pub(super) fn authority(rest: &str) -> (&str, Option<&str>) {
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    if let Some((host, behind)) = place.strip_prefix('[').and_then(|place| place.split_once(']')) {
        return (host, behind.strip_prefix(':').filter(|port| !port.is_empty()));
    }
    match place.split_once(':') {
        // An address of IPv6 without brackets has more than one.
        Some((host, port)) if !port.contains(':') => (host, Some(port).filter(|port| !port.is_empty())),
        _ => (place, None),
    }
}

/// What is wrong with the host of a URL, which is `written` so: an IPv4 address that is another one in a URL than to its reader, such as
/// `10.0.0.010`, or a name that no DNS has.
pub(super) fn host_fault(written: &str, url: &Url) -> Option<String> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    match url.host()? {
        Host::Ipv4(read) if written.parse::<Ipv4Addr>() != Ok(read) => {
            Some(format!("has the host {written:?}, which URLs read as {read}; {}", vocabulary::url_host::FIX))
        }
        Host::Domain(name) if !name.bytes().all(is_of_name) => {
            Some(format!("has the host {name:?}, which is neither an address nor a name"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bmc_is_written_in_several_ways() {
        for (one, other) in [
            (
                "idrac-virtualmedia://192.0.2.9/redfish/v1/Systems/1",
                "redfish-virtualmedia+https://192.0.2.9:443/redfish/v1/Systems/1/",
            ),
            ("ipmi://[2001:db8::9]", "ipmi://[2001:db8:0::9]:623"),
            ("ipmi://192.0.2.9", "ipmi:192.0.2.9"),
            ("redfish+http://BMC.example.com/redfish/v1", "redfish+http://bmc.example.com.:80/redfish/v1"),
            // Boots read an address without a scheme as HTTPS. Metal3 reads it as IPMI.
            ("192.0.2.9", "redfish://192.0.2.9"),
            ("192.0.2.9", "redfish:192.0.2.9"),
            ("192.0.2.9", "redfish://[::ffff:192.0.2.9]/redfish/v1"),
            ("192.0.2.9", "redfish://[64:ff9b::192.0.2.9]"),
            ("redfish://[2001:db8::9]", "redfish:[2001:db8::9]:0443"),
        ] {
            assert_eq!(BmcUrl::of(one), BmcUrl::of(other));
        }
        for (one, other) in [
            ("redfish://192.0.2.9/redfish/v1/Systems/1", "redfish://192.0.2.9/redfish/v1/Systems/2"),
            ("ipmi://192.0.2.9:6230", "ipmi://192.0.2.9:6231"),
            ("redfish://a.example.com/x", "redfish://b.example.com/x"),
            ("192.0.2.9", "ipmi://192.0.2.9"),
            // Boots refuse such an address, and Metal3 takes it for a name.
            ("192.0.2.9", "redfish://0xc0000209"),
            ("192.0.2.8", "192.0.2.010"),
            ("redfish:8443", "redfish://8443"),
        ] {
            assert_ne!(BmcUrl::of(one), BmcUrl::of(other));
        }
    }

    #[test]
    fn the_address_of_a_bmc_is_that_of_its_url() {
        for (url, address) in [
            ("redfish-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1", Some("192.0.2.9")),
            ("ipmi://192.0.2.9:6230", Some("192.0.2.9")),
            ("ipmi:192.0.2.9", Some("192.0.2.9")),
            ("192.0.2.9", Some("192.0.2.9")),
            ("redfish:192.0.2.9", Some("192.0.2.9")),
            ("redfish://[::ffff:192.0.2.9]", Some("192.0.2.9")),
            ("redfish://[2001:db8::9]:8443/redfish/v1", Some("2001:db8::9")),
            ("redfish://2001:db8::9", Some("2001:db8::9")),
            ("redfish://bmc.example.com/", None),
            ("redfish:///redfish/v1", None),
            ("redfish://192.0.2.010/redfish/v1", None),
            ("", None),
        ] {
            assert_eq!(BmcUrl::of(url).address(), address.map(|address| address.parse().unwrap()), "{url}");
        }
    }
}
