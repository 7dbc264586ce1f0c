//! The routes of a network: `routes`, and the `gateway` that cloud-init reads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::address;
use super::members;
use super::networks::Network;
use super::services;
use crate::family::Family;
use crate::input::object::{Fields, Reported};
use vocabulary::report::{DocumentPath, Report};

/// A route.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) path: DocumentPath,
    pub(super) destination: IpNet,
    /// The next hop, and where it stands; none where the destination is on the link.
    pub(super) gateway: Option<IpAddr>,
    pub(super) gateway_path: DocumentPath,
    pub(super) metric: Option<u64>,
}

/// Reads the routes of `network`, and the name servers that stand with them.
pub(super) fn read(fields: &Fields<'_>, network: &mut Network<'_>, report: &mut Report) -> Result<(), Reported> {
    if let Some(gateway) = address::address(fields, "gateway", network.family, "gateway-invalid", report)? {
        let any = match network.family {
            Family::V4 => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            Family::V6 => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        };
        let path = fields.path.key("gateway");
        network.routes.push(Route {
            destination: IpNet::new_assert(any, 0),
            gateway: Some(gateway),
            gateway_path: path.clone(),
            path,
            metric: None,
        });
    }
    let mut result = Ok(());
    for route in members::mappings(fields, "routes", report) {
        match read_one(&route, network.family, report) {
            Ok(route) => network.routes.push(route),
            Err(reported) => result = Err(reported),
        }
        network.servers.extend(services::read(&route, report));
    }
    result
}

fn read_one(fields: &Fields<'_>, family: Family, report: &mut Report) -> Result<Route, Reported> {
    members::report_unknown(fields, &["network", "netmask", "gateway", "metric", "services"], report);
    let destination = address::network(fields, "network", family, report);
    let gateway = address::address(fields, "gateway", family, "gateway-invalid", report);
    let metric = members::number(fields, "metric", 0..=u64::from(u32::MAX), report);
    let (destination, gateway, metric) = (destination?, gateway?, metric?);
    let Some(gateway) = gateway else {
        let message = "is missing: the address of the next router on the link";
        return Err(fields.wrong("gateway", "member-missing", message, report));
    };
    Ok(Route {
        path: fields.path.clone(),
        destination: destination.network.trunc(),
        gateway: Some(gateway).filter(|gateway| !gateway.is_unspecified()),
        gateway_path: fields.path.key("gateway"),
        metric,
    })
}
