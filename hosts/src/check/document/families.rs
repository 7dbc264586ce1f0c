//! Both families of an interface: addresses and what comes by itself.

use std::net::IpAddr;

use serde_yaml::{Mapping, Value};

use crate::family::Family;
use crate::members::get;
use crate::nmstate_document::interfaces::Interface;
use crate::nmstate_document::{elements, is_true, mapping, number, quoted, text};
use vocabulary::report::{DocumentPath, Report};

/// Protocols of addresses that nmstate takes for its own; it knows them by the numbers 1 to 3, too.
const OF_THE_KERNEL: [&str; 3] = ["lo", "ra", "kernel_ll"];

/// Settings of what DHCP and router advertisements bring. To be `false` is no setting: then nothing comes anyway.
const AUTOMATIC: [&str; 8] = [
    "auto-route-metric",
    "auto-route-table-id",
    "dhcp-client-id",
    "dhcp-custom-hostname",
    "dhcp-duid",
    "dhcp-send-hostname",
    "token",
    "addr-gen-mode",
];

/// Reports what is lost, and what NetworkManager refuses.
///
/// `carries` says whether other interfaces of the document stand on it: then it is there for them, and needs no address.
pub(crate) fn check(interface: &Interface<'_>, carries: bool, report: &mut Report) {
    for family in Family::BOTH {
        if let Some(ip) = mapping(interface.map, family.key()) {
            check_one(ip, family, carries, &interface.path.key(family.key()), report);
        }
    }
}

fn check_one(ip: &Mapping, family: Family, carries: bool, path: &DocumentPath, report: &mut Report) {
    let addresses = elements(ip, &["address"]);
    let automatic = is_true(get(ip, "dhcp")) || is_true(get(ip, "autoconf"));
    let wanted = !addresses.is_empty() || automatic;
    if !is_true(get(ip, "enabled")) {
        if wanted && get(ip, "enabled").is_none() {
            let message =
                format!("does not set enabled, and without it nmstate disables {}; add enabled: true", family.key());
            report.error("ip-not-enabled", path, message);
        } else {
            let lost = ["address", "dhcp", "autoconf"].into_iter().chain(AUTOMATIC).chain(["forwarding"]);
            unused(ip, lost, "is not used: enabled is not true", path, report);
        }
        return;
    }
    if !automatic {
        let without = match family {
            Family::V4 => "is not used: dhcp is not true",
            Family::V6 => "is not used: neither dhcp nor autoconf is true",
        };
        unused(ip, AUTOMATIC, without, path, report);
    }
    if automatic && get(ip, "dhcp-send-hostname").is_some_and(|sends| !sends.is_null() && !is_true(Some(sends))) {
        unused(ip, ["dhcp-custom-hostname"], "is not used: dhcp-send-hostname is not true", path, report);
    }
    if family == Family::V6 {
        check_automatic(ip, path, report);
    } else if !wanted && !carries {
        report.warning(
            "ip-without-address",
            path,
            "is enabled and has neither an address nor dhcp: the interface gets no IPv4 address",
        );
    }
    for (index, address) in addresses.iter().filter_map(Value::as_mapping).enumerate() {
        check_address(address, &path.key("address").index(index), report);
    }
}

/// Reports those of `keys` that ask for something, and have no effect.
fn unused(
    ip: &Mapping,
    keys: impl IntoIterator<Item = &'static str>,
    message: &str,
    path: &DocumentPath,
    report: &mut Report,
) {
    for key in keys {
        let asks = match get(ip, key) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Sequence(list)) => !list.is_empty(),
            Some(_) => true,
        };
        if asks {
            report.warning("not-in-keyfiles", &path.key(key), message);
        }
    }
}

/// Settings of `DHCPv6` and router advertisements. Without either, they are in no keyfile and have no effect.
fn check_automatic(ip: &Mapping, path: &DocumentPath, report: &mut Report) {
    if !is_true(get(ip, "dhcp")) && !is_true(get(ip, "autoconf")) {
        return;
    }
    if is_true(get(ip, "autoconf")) && !is_true(get(ip, "dhcp")) {
        let message = "is true and dhcp is not, which nmstate cannot write to a keyfile; set dhcp: true as well (the \
                       host uses DHCPv6 only if the routers announce it), or autoconf: false with a static address";
        report.error("autoconf-without-dhcp", &path.key("autoconf"), message);
    }
    if text(ip, "token").is_some_and(|token| !matches!(token, "" | "::"))
        && text(ip, "addr-gen-mode").is_some_and(|mode| !mode.eq_ignore_ascii_case("eui64"))
    {
        let message =
            "works only if addresses are generated as eui64: with any other mode, NetworkManager refuses the profile";
        report.error("token-without-eui64", &path.key("token"), message);
    }
    if let Some(duid) = text(ip, "dhcp-duid").filter(|duid| ["en", "uuid"].iter().any(|d| duid.eq_ignore_ascii_case(d)))
    {
        let message = format!("is {}, with which NetworkManager refuses the profile; write ll or llt", quoted(duid));
        report.error("dhcp-duid", &path.key("dhcp-duid"), message);
    }
}

fn check_address(address: &Mapping, path: &DocumentPath, report: &mut Report) {
    if text(address, "valid-life-time").is_some_and(|time| time != "forever") {
        let message = "has a limited valid-life-time, so nmstate assumes that DHCP gave it, and drops it; remove \
                       valid-life-time";
        report.error("address-lost", &path.key("valid-life-time"), message);
    }
    if let Some(protocol) = get(address, "protocol").filter(|protocol| !protocol.is_null()) {
        let at = path.key("protocol");
        if text(address, "protocol").is_some_and(|name| OF_THE_KERNEL.contains(&name))
            || number(Some(protocol)).is_some_and(|number| (1..=3).contains(&number))
        {
            report.warning("reported-only", &at, "has no effect: NMState only reports it, and does not set it");
        } else {
            let message = "says that a program other than NetworkManager manages the address, and nmstate drops it; remove \
                           protocol";
            report.error("address-lost", &at, message);
        }
    }
    if let Some(IpAddr::V6(ip)) = text(address, "ip").and_then(|ip| ip.parse().ok())
        && ip.is_unicast_link_local()
    {
        let message = "is link-local, and nmstate leaves it out: the kernel makes its own";
        report.warning("not-in-keyfiles", &path.key("ip"), message);
    }
}
