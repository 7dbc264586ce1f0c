//! The attributes of HPE's firmware (Gen10 and later) for HTTP boot: "boot from URL" and the pre-boot network.

use serde_json::{Map, Value, json};

use super::desired_setting::{DesiredSetting, dhcp_if_needed};
use super::network::StaticAddress;
use super::settings::NewValue;

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
pub(super) fn desired_settings(
    current: &Map<String, Value>,
    network: Option<(&str, &StaticAddress)>,
) -> Vec<DesiredSetting> {
    let text = |value: &str| NewValue::Value(json!(value));
    let mut desired = vec![DesiredSetting::needed(URL, NewValue::Url)];
    if current.get("HttpSupport").and_then(Value::as_str) == Some("Disabled") {
        desired.push(DesiredSetting::if_there("HttpSupport", text("Auto")));
    }
    let Some((interface, address)) = network else {
        desired.extend(dhcp_if_needed(current, ADDRESS, DHCP));
        return desired;
    };
    desired.extend([
        DesiredSetting::needed("PreBootNetwork", text(interface)),
        DesiredSetting::needed(DHCP, text("Disabled")),
        DesiredSetting::needed(ADDRESS, text(&address.address.to_string())),
        DesiredSetting::needed("Ipv4SubnetMask", text(&address.mask().to_string())),
    ]);
    if let Some(gateway) = address.gateway {
        desired.push(DesiredSetting::needed("Ipv4Gateway", text(&gateway.to_string())));
    }
    if let Some(server) = address.dns.first() {
        desired.push(DesiredSetting::if_there("Ipv4PrimaryDNS", text(&server.to_string())));
    }
    // A VLAN of the site's own would put a tag on every frame. No source has the word that switches VLANs on.
    desired.push(DesiredSetting::if_there("VlanControl", text("Disabled")));
    desired
}
