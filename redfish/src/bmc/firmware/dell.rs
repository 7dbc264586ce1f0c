//! The attributes of Dell's firmware (14G and later) for HTTP boot: those of its first HTTP device.

use serde_json::{Map, Value, json};

use super::desired_setting::{DesiredSetting, dhcp_if_needed};
use super::network::StaticAddress;
use super::settings::NewValue;

pub(super) const URL: &str = "HttpDev1Uri";
const ENABLED: &str = "HttpDev1EnDis";
const DHCP: &str = "HttpDev1DhcpEnDis";
const DNS_DHCP: &str = "HttpDev1DnsDhcpEnDis";
const VLAN: &str = "HttpDev1VlanEnDis";
const ADDRESS: &str = "HttpDev1Ip";

/// The attributes without which the firmware cannot have a static address.
pub(super) const STATIC: [&str; 3] = [DHCP, ADDRESS, "HttpDev1Mask"];

/// The attributes whose values make this one writable.
pub(super) fn parents(attribute: &str) -> &'static [&'static str] {
    match attribute {
        ENABLED => &[],
        "HttpDev1Dns1" | "HttpDev1Dns2" => &[ENABLED, DHCP, DNS_DHCP],
        ADDRESS | "HttpDev1Mask" | "HttpDev1Gateway" | DNS_DHCP => &[ENABLED, DHCP],
        "HttpDev1VlanId" => &[ENABLED, VLAN],
        _ if attribute.starts_with("HttpDev1") => &[ENABLED],
        _ => &[],
    }
}

/// What a boot from this URL needs.
pub(super) fn desired_settings(
    current: &Map<String, Value>,
    image_url: &str,
    network: Option<(&str, &StaticAddress)>,
) -> Vec<DesiredSetting> {
    let text = |value: &str| NewValue::Value(json!(value));
    let mut desired =
        vec![DesiredSetting::needed(ENABLED, text("Enabled")), DesiredSetting::needed(URL, NewValue::Url)];
    if image_url.starts_with("http://") {
        // With the default, OneWay, the firmware refuses plain HTTP (UEFI0417).
        desired.push(DesiredSetting::if_there("HttpDev1TlsMode", text("None")));
    }
    let Some((interface, address)) = network else {
        desired.extend(dhcp_if_needed(current, ADDRESS, DHCP));
        return desired;
    };
    desired.extend([
        DesiredSetting::needed("HttpDev1Interface", text(interface)),
        DesiredSetting::if_there("HttpDev1Protocol", text("IPv4")),
        DesiredSetting::needed(DHCP, text("Disabled")),
        DesiredSetting::needed(ADDRESS, text(&address.address.to_string())),
        DesiredSetting::needed("HttpDev1Mask", text(&address.mask().to_string())),
    ]);
    if let Some(gateway) = address.gateway {
        desired.push(DesiredSetting::needed("HttpDev1Gateway", text(&gateway.to_string())));
    }
    match address.vlan {
        Some(vlan) => {
            desired.push(DesiredSetting::needed(VLAN, text("Enabled")));
            desired.push(DesiredSetting::needed("HttpDev1VlanId", NewValue::Value(json!(vlan))));
        }
        None => desired.push(DesiredSetting::if_there(VLAN, text("Disabled"))),
    }
    if !address.dns.is_empty() {
        desired.push(DesiredSetting::if_there(DNS_DHCP, text("Disabled")));
        let servers = address.dns.iter().zip(["HttpDev1Dns1", "HttpDev1Dns2"]);
        desired
            .extend(servers.map(|(server, attribute)| DesiredSetting::if_there(attribute, text(&server.to_string()))));
    }
    desired
}
