//! The attributes of HPE's firmware (Gen10 and later) for HTTP boot: "boot from URL" and the pre-boot network.

use serde_json::{Map, Value, json};

use super::network::StaticAddress;
use super::settings::NewValue;
use super::wish::{Wish, dhcp_if_needed};

pub(super) const URL: &str = "UrlBootFile";
const DHCP: &str = "Dhcpv4";
const ADDRESS: &str = "Ipv4Address";

/// The attributes without which the firmware cannot have a static address.
pub(super) const STATIC: [&str; 4] = ["PreBootNetwork", DHCP, ADDRESS, "Ipv4SubnetMask"];

/// The attributes whose values make this one writable.
pub(super) fn parents(attribute: &str) -> &'static [&'static str] {
    match attribute {
        ADDRESS | "Ipv4SubnetMask" | "Ipv4Gateway" | "Ipv4PrimaryDNS" => &[DHCP],
        _ => &[],
    }
}

/// What a boot from this URL needs.
pub(super) fn wishes(current: &Map<String, Value>, network: Option<(&str, &StaticAddress)>) -> Vec<Wish> {
    let text = |value: &str| NewValue::Value(json!(value));
    let mut wishes = vec![Wish::needed(URL, NewValue::Url)];
    if current.get("HttpSupport").and_then(Value::as_str) == Some("Disabled") {
        wishes.push(Wish::if_there("HttpSupport", text("Auto")));
    }
    let Some((interface, address)) = network else {
        wishes.extend(dhcp_if_needed(current, ADDRESS, DHCP));
        return wishes;
    };
    wishes.extend([
        Wish::needed("PreBootNetwork", text(interface)),
        Wish::needed(DHCP, text("Disabled")),
        Wish::needed(ADDRESS, text(&address.address.to_string())),
        Wish::needed("Ipv4SubnetMask", text(&address.mask().to_string())),
    ]);
    if let Some(gateway) = address.gateway {
        wishes.push(Wish::needed("Ipv4Gateway", text(&gateway.to_string())));
    }
    if let Some(server) = address.dns.first() {
        wishes.push(Wish::if_there("Ipv4PrimaryDNS", text(&server.to_string())));
    }
    // A VLAN of the site's own would put a tag on every frame. No source has the word that switches VLANs on.
    wishes.push(Wish::if_there("VlanControl", text("Disabled")));
    wishes
}
