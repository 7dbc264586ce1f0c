//! Which clients may read the images of boots, if the server restricts them to the BMCs (`boot-only-from: bmc`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use hosts::model::{Family, Topology};
use imagelib::recipe::{Recipe, RecipeId, RootfsLocation};
use media::MediaUrl;
use media::access::{Network, OnlyFrom};
use url::Host;

use crate::api::Api;
use crate::api::images::Sealed;
use crate::api::problem::{Problem, ProblemKind};
use crate::boots::{BootMethod, NewBoot, static_addresses};

/// The addresses with which a host connects to this server, or why dayone does not know them.
pub(super) type HostAddresses = Result<Vec<IpAddr>, String>;

/// Finds the addresses with which a host connects to the media URL. If the media URL has an address, they are of the same family.
pub(super) fn of_host(media_url: &MediaUrl, topology: &Topology) -> HostAddresses {
    let addresses = static_addresses(topology);
    let Some(server) = media_url.address() else {
        return if addresses.is_empty() { Err("it has no static address".to_owned()) } else { Ok(addresses) };
    };
    let family = Family::of(server);
    let addresses: Vec<IpAddr> = addresses.into_iter().filter(|address| Family::of(*address) == family).collect();
    let protocol = protocol(server);
    if addresses.is_empty() {
        return Err(format!(
            "it has no static {protocol} address, and the media URL has the {protocol} address {server}"
        ));
    }
    let active = || topology.interfaces.iter().filter(|interface| interface.active);
    // Nothing is nearer than a network of the host's own. A route of its own other than the default route counts as near, too. If the
    // network tells the host of a nearer route, the media plane refuses the host.
    let leads_there = active().filter(|interface| !interface.ip(family).is_automatic()).any(|interface| {
        let mut routes = topology.main_routes(interface).map(|route| route.destination);
        interface.ip(family).addresses.iter().any(|own| own.network.contains(&server))
            || routes.any(|destination| destination.prefix_len() > 0 && destination.contains(&server))
    });
    if !leads_there && active().any(|interface| interface.ip(family).is_automatic()) {
        return Err(format!("it also gets {protocol} addresses from the network, and may use one of them"));
    }
    Ok(addresses)
}

fn protocol(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

/// Restricts each new image to the clients that its boots need. `hosts` and `images` are those of `boots`, in the same order.
pub(super) fn restrict(
    api: &Api,
    boots: &[NewBoot],
    hosts: Vec<HostAddresses>,
    images: &mut [Sealed],
) -> Result<(), Problem> {
    let mut needed: BTreeMap<RecipeId, Vec<Network>> = BTreeMap::new();
    let server = api.media_url.address();
    for ((boot, image), host) in boots.iter().zip(&*images).zip(hosts) {
        // Hosts with equal recipes share an image.
        needed.entry(boot.image).or_default().extend(clients(server, boot, host, image.recipe.recipe())?);
    }
    for (boot, image) in boots.iter().zip(images) {
        let networks = needed.get(&boot.image).cloned().unwrap_or_default();
        image.limits.only_from = with_present(api, &boot.image, networks)?;
    }
    Ok(())
}

/// The clients of one boot: the BMC, and the host if it fetches its root file system from this server. `server` is the address in the
/// media URL, if the URL has an address.
fn clients(
    server: Option<IpAddr>,
    boot: &NewBoot,
    host: HostAddresses,
    recipe: &Recipe,
) -> Result<Vec<Network>, Problem> {
    let name = boot.host.as_deref().unwrap_or("the host");
    if boot.method == BootMethod::Http {
        let detail = format!(
            "{name}: this server serves images only to the BMC (boot-only-from: bmc), but with method http the host's firmware reads the \
             image, with an address that dayone does not know; give the networks that may read the image (only_from)"
        );
        return Err(Problem::new(ProblemKind::ImageRefused, detail));
    }
    let bmc = bmc(server, boot).map_err(|why| {
        let detail = format!(
            "{name}: this server serves images only to the BMC (boot-only-from: bmc), and {why}, or the networks that may read the \
             image (only_from)"
        );
        Problem::new(ProblemKind::BmcRefused, detail)
    })?;
    let mut clients = vec![Network::from(bmc)];
    if let Some(RootfsLocation::MediaPlane(_)) = recipe.rootfs {
        let host = host.map_err(|why| {
            let detail = format!(
                "{name}: this server serves images only to the BMC (boot-only-from: bmc), but the host fetches its root file \
                 system from this server, with an address that dayone does not know: {why}; give the networks that may read the \
                 image (only_from), or another rootfs_url"
            );
            Problem::new(ProblemKind::ImageRefused, detail)
        })?;
        clients.extend(host.into_iter().map(Network::from));
    }
    Ok(clients)
}

/// Returns the address with which the BMC reads the image. The error says why dayone does not know it, and what the user must give.
fn bmc(server: Option<IpAddr>, boot: &NewBoot) -> Result<IpAddr, String> {
    let bmc: IpAddr = match boot.address.canonical_host() {
        Host::Ipv4(address) => address.into(),
        Host::Ipv6(address) => address.into(),
        Host::Domain(domain) => {
            return Err(format!("the BMC's address is the name {domain}; give its IP address"));
        }
    };
    match server.filter(|server| server.is_ipv4() != bmc.is_ipv4()) {
        Some(server) => {
            let protocol = protocol(server);
            Err(format!(
                "the BMC needs an {protocol} address to read from {server}, the address in the media URL, but its own is {bmc}; give \
                 its {protocol} address"
            ))
        }
        None => Ok(bmc),
    }
}

/// Adds the clients that the image has already, while another boot needs them: new limits replace the present ones.
fn with_present(api: &Api, id: &RecipeId, mut networks: Vec<Network>) -> Result<Option<OnlyFrom>, Problem> {
    if api.boots.of_image(id).is_some()
        && let Some(image) = api.store.image(id)
    {
        match image.access().and_then(|access| access.limits().only_from.clone()) {
            Some(present) => networks.extend_from_slice(present.networks()),
            None => return Ok(None),
        }
    }
    let refused = |error| Problem::new(ProblemKind::ImageRefused, format!("only_from: {error}"));
    OnlyFrom::try_from(networks).map(Some).map_err(refused)
}

#[cfg(test)]
mod tests {
    use vocabulary::report::DocumentPath;

    use super::*;

    fn found(media_url: &str, networks: &[&str]) -> Result<String, String> {
        let profile = |(number, network): (usize, &&str)| {
            format!("[connection]\nid=eth{number}\ntype=ethernet\ninterface-name=eth{number}\n{network}\n")
        };
        let profiles: Vec<String> = networks.iter().enumerate().map(profile).collect();
        let profiles = profiles.iter().map(|content| (DocumentPath::root(), content.as_str()));
        let addresses = of_host(&media_url.parse().unwrap(), &Topology::from_profiles(profiles, None))?;
        Ok(addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_host_connects_with_static_addresses_of_the_media_urls_family() {
        const V4: &str = "[ipv4]\nmethod=manual\naddress1=192.0.2.50/24\n";
        const V6: &str = "[ipv6]\nmethod=manual\naddress1=2001:db8:1::50/64\n";
        const SLAAC: &str = "[ipv6]\nmethod=auto\n";
        const DHCP: &str = "[ipv4]\nmethod=auto\n[ipv6]\nmethod=disabled\n";
        let (both, with_slaac) = (format!("{V4}{V6}"), format!("{V4}{SLAAC}"));
        let (by_ipv4, by_ipv6, by_name) = ("http://198.51.100.5", "http://[2001:db8::5]", "http://boot.example.com");
        assert_eq!(found(by_ipv4, &[&both]).unwrap(), "192.0.2.50");
        assert_eq!(found("http://[::ffff:198.51.100.5]", &[&both]).unwrap(), "192.0.2.50");
        assert_eq!(found(by_ipv6, &[&both]).unwrap(), "2001:db8:1::50");
        assert_eq!(found(by_name, &[&both]).unwrap(), "192.0.2.50 2001:db8:1::50");
        assert_eq!(found(by_ipv4, &[&with_slaac]).unwrap(), "192.0.2.50");
        assert!(found(by_ipv6, &[&with_slaac]).unwrap_err().contains("no static IPv6 address"));
        assert!(found(by_name, &[DHCP]).unwrap_err().contains("no static address"));

        // The host may use an address from the network, unless the server is in the network of a static address.
        assert!(found(by_ipv4, &[&both, DHCP]).unwrap_err().contains("also gets IPv4 addresses"));
        assert_eq!(found("http://192.0.2.5", &[&both, DHCP]).unwrap(), "192.0.2.50");
        // Or a route of the host's own leads there.
        let with_route = |to: &str| format!("{V4}route1={to},192.0.2.1\n");
        assert_eq!(found(by_ipv4, &[&with_route("198.51.100.0/24"), DHCP]).unwrap(), "192.0.2.50");
        assert!(found(by_ipv4, &[&with_route("0.0.0.0/0"), DHCP]).unwrap_err().contains("also gets IPv4 addresses"));
        assert!(found(by_ipv6, &[&both, SLAAC]).unwrap_err().contains("also gets IPv6 addresses"));
        let static_and_slaac = "[ipv6]\nmethod=auto\naddress1=2001:db8::50/64\n";
        assert!(found(by_ipv6, &[static_and_slaac]).unwrap_err().contains("also gets IPv6 addresses"));
    }
}
