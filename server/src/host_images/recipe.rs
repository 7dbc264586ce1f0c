//! The recipe of one host's image.

use hosts::network::ConvertedNetwork;
use imagelib::delivery::DeliveryProfile;
use imagelib::ignition::Additions;
use imagelib::kernel_arguments::KernelArgumentEdits;
use imagelib::recipe::{PartOrder, Recipe};
use vocabulary::host::HostName;
use vocabulary::report::Report;

use super::network::network;
use super::{BuildError, HostFormat, ImageRequest};
use crate::compose::{NetworkOrder, compose};
use crate::ironic_agent::{self, AgentError, AgentHost, AgentSettings};
use crate::store::OpenBase;

/// Makes the recipe, with the warnings about the network data. `agent` is `None` if there is nothing to configure.
pub(super) fn recipe(
    request: &ImageRequest<'_>,
    open: &OpenBase,
    agent: Option<&AgentSettings>,
) -> Result<(Recipe, Report), BuildError> {
    let mut report = Report::new();
    let profile = open.base.profile();
    let network = converted(request, open, &mut report)?;
    let has_network_data = network.is_some();
    let network = network.unwrap_or_default();
    let host = AgentHost { hostname: Some(request.host), has_network_data, keyfiles: network.keyfiles.len() };
    let invalid = |error: AgentError| BuildError::invalid(error.to_string());
    let is_coreos = profile == DeliveryProfile::Coreos;
    let (mut ignition, mut files) = (None, Vec::new());
    match agent {
        Some(settings) if is_coreos => ignition = Some(ironic_agent::ignition(settings, &host).map_err(invalid)?),
        Some(settings) if !settings.ironic_urls.is_empty() => {
            files = ironic_agent::ramdisk_files(settings, &host).map_err(invalid)?;
        }
        _ => {}
    }
    // On a CoreOS, a script in the agent's Ignition config sets the host name, and only if the system has no other name.
    let derived = if ignition.is_some() { None } else { request.host.parse::<HostName>().ok() };
    let hostname = network.hostname.clone().or(derived);
    let additions = Additions { hostname, files, ..Additions::default() };
    let ordered = Recipe {
        ignition,
        kernel_arguments: kernel_arguments(request, open)?,
        // The Ignition config in the base is for every host. The agent's config replaces it.
        replace_embedded: is_coreos,
        // The order is always the same. With another one, the URL of every host's image would change.
        order: PartOrder::AsGiven,
        ..Recipe::new(open.identity, request.format.into(), additions)
    };
    if request.format == HostFormat::Initrd && profile == DeliveryProfile::Talos {
        let reason = "Talos takes its network from a kernel argument, and dayone does not set kernel arguments for the format 'initrd' here; use 'iso'";
        return Err(BuildError::invalid(reason.to_owned()));
    }
    Ok((compose(ordered, network, profile), report))
}

/// Converts the host's network. `None` without network data.
fn converted(
    request: &ImageRequest<'_>,
    open: &OpenBase,
    report: &mut Report,
) -> Result<Option<ConvertedNetwork>, BuildError> {
    let Some(source) = request.network.as_ref().filter(|source| !source.is_blank()) else { return Ok(None) };
    // NICs without a profile may come up with DHCP, as with image-customization-controller.
    let target = NetworkOrder { auto_default: true, ..NetworkOrder::default() }.target(Some(&open.base));
    let network = network(source, None, target, report)?;
    if network.keyfiles.is_empty() && network.networkd_units.is_empty() && network.talos_network.is_none() {
        let message = "describes no interface, so the host's network is not configured";
        report.warning("network-empty", source.path(), message);
    }
    Ok(Some(network))
}

/// The changes of the kernel arguments. For an initramfs there are none here: its boot loader gets the arguments from the
/// object's status.
fn kernel_arguments(request: &ImageRequest<'_>, open: &OpenBase) -> Result<KernelArgumentEdits, BuildError> {
    if request.format == HostFormat::Initrd {
        return Ok(KernelArgumentEdits::default());
    }
    let carried = open.base.changed_kernel_arguments();
    let mut edits = carried.map_err(|error| BuildError::invalid(format!("the base image: {error}")))?;
    edits.append.extend(request.kernel_arguments.iter().cloned());
    Ok(edits)
}
