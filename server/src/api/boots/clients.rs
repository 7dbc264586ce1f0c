//! Which clients may read the images of boots, if the server restricts them to the BMCs (`boot-only-from: bmc`).

use std::collections::BTreeMap;

use imagelib::recipe::{Recipe, RecipeId, RootfsLocation};
use media::access::{Network, OnlyFrom};
use url::Host;

use crate::api::Api;
use crate::api::images::Sealed;
use crate::api::problem::{Problem, ProblemKind};
use crate::boots::{BootMethod, NewBoot};

/// Restricts each new image to the clients that its boots need. `images` are those of `boots`, in the same order.
pub(super) fn restrict(api: &Api, boots: &[NewBoot], images: &mut [Sealed]) -> Result<(), Problem> {
    let mut needed: BTreeMap<RecipeId, Vec<Network>> = BTreeMap::new();
    for (boot, image) in boots.iter().zip(&*images) {
        // Hosts with equal recipes share an image.
        needed.entry(boot.image).or_default().extend(clients(boot, image.recipe.recipe())?);
    }
    for (boot, image) in boots.iter().zip(images) {
        let networks = needed.get(&boot.image).cloned().unwrap_or_default();
        image.limits.only_from = with_present(api, &boot.image, networks)?;
    }
    Ok(())
}

/// The clients of one boot: the BMC, and the host if it fetches its root file system from this server.
fn clients(boot: &NewBoot, recipe: &Recipe) -> Result<Vec<Network>, Problem> {
    let name = boot.host.as_deref().unwrap_or("the host");
    if boot.method == BootMethod::Http {
        let detail = format!(
            "{name}: this server serves images only to the BMC (boot-only-from: bmc), but with method http the host's firmware reads the \
             image, with an address that dayone does not know; give the networks that may read the image (only_from)"
        );
        return Err(Problem::new(ProblemKind::ImageRefused, detail));
    }
    let bmc: Network = match boot.address.host() {
        Host::Ipv4(address) => std::net::IpAddr::from(address).into(),
        Host::Ipv6(address) => std::net::IpAddr::from(address).into(),
        Host::Domain(domain) => {
            let detail = format!(
                "{name}: this server serves images only to the BMC (boot-only-from: bmc), and the BMC's address is the name \
                 {domain}; give its IP address, or the networks that may read the image (only_from)"
            );
            return Err(Problem::new(ProblemKind::BmcRefused, detail));
        }
    };
    let mut clients = vec![bmc];
    if let Some(RootfsLocation::MediaPlane(_)) = recipe.rootfs {
        if boot.addresses.is_empty() {
            let detail = format!(
                "{name}: this server serves images only to the BMC (boot-only-from: bmc), but the host fetches its root file \
                 system from this server, with an address that dayone does not know; give the networks that may read the image \
                 (only_from), or another rootfs_url"
            );
            return Err(Problem::new(ProblemKind::ImageRefused, detail));
        }
        clients.extend(boot.addresses.iter().map(|address| Network::from(*address)));
    }
    Ok(clients)
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
