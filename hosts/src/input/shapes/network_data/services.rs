//! `services` of the document, of networks and of routes. dayone reads the name servers.

use std::net::IpAddr;

use serde_yaml::Value;

use super::members;
use crate::input::fields::Fields;
use crate::input::listing::quoted;
use vocabulary::report::{DocumentPath, Report};

/// Reads the name servers in `services`.
pub(super) fn read(fields: &Fields<'_>, report: &mut Report) -> Vec<(IpAddr, DocumentPath)> {
    let mut servers = Vec::new();
    for service in members::mappings(fields, "services", report) {
        match service.required_text("type", "such as dns", report) {
            Ok("dns") => {
                let found = name_servers(&service, "address", report);
                if service.mapping.get("address").is_none_or(Value::is_null) {
                    let message = "is missing: the address of the name server";
                    report.error("member-missing", &service.path.key("address"), message);
                }
                servers.extend(found);
            }
            Ok(other) => {
                let message = format!("is {}, and dayone uses only dns", quoted(other));
                report.warning("service-not-used", &service.path.key("type"), message);
            }
            Err(_) => {}
        }
    }
    servers
}

/// Reads the addresses of name servers at `key`.
pub(in crate::input::shapes) fn name_servers(
    fields: &Fields<'_>,
    key: &str,
    report: &mut Report,
) -> Vec<(IpAddr, DocumentPath)> {
    let mut servers = Vec::new();
    for (text, path) in members::words(fields, key, report) {
        if let Ok(address) = text.parse() {
            servers.push((address, path));
        } else {
            let message = format!("is {}, which is not an IP address", quoted(text));
            report.error("name-server-invalid", &path, message);
        }
    }
    servers
}
