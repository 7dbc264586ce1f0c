//! The routes of a network: `routes`, and the `gateway` that cloud-init reads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::address;
use super::members;
use super::services;
use crate::family::Family;
use crate::input::fields::Fields;
use vocabulary::report::{DocumentPath, Report, Reported};

/// A route.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) path: DocumentPath,
    pub(super) destination: IpNet,
    /// The next hop, unless the destination is on the link.
    pub(super) gateway: Option<IpAddr>,
    pub(super) gateway_path: DocumentPath,
    pub(super) metric: Option<u64>,
}

/// The routes of a network, and the name servers in them.
#[derive(Debug, Default)]
pub(super) struct Routes {
    pub(super) routes: Vec<Route>,
    pub(super) servers: Vec<(IpAddr, DocumentPath)>,
}

/// Reads the routes of the network `fields`, whose addresses have this family.
pub(super) fn read(fields: &Fields<'_>, family: Family, report: &mut Report) -> Result<Routes, Reported> {
    let mut read = Routes::default();
    if let Some(gateway) = address::address(fields, "gateway", family, "gateway-invalid", report)? {
        let any = match family {
            Family::V4 => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            Family::V6 => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        };
        let path = fields.path.key("gateway");
        read.routes.push(Route {
            destination: IpNet::new_assert(any, 0),
            gateway: Some(gateway),
            gateway_path: path.clone(),
            path,
            metric: None,
        });
    }
    let mut all_read = Ok(());
    for route in members::mappings(fields, "routes", report) {
        match read_one(&route, family, report) {
            Ok(route) => read.routes.push(route),
            Err(reported) => all_read = Err(reported),
        }
        read.servers.extend(services::read(&route, report));
    }
    all_read.map(|()| read)
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
