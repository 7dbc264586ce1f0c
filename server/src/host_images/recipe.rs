//! What goes into the image of one host.

use imagelib::delivery::{self, ConvertedNetwork, DeliveryProfile};
use imagelib::host::HostName;
use imagelib::ignition::Additions;
use imagelib::input;
use imagelib::kernel_arguments::KernelArgumentEdits;
use imagelib::recipe::Recipe;
use imagelib::report::Report;

use super::{BuildError, HostFormat, ImageRequest};
use crate::ironic_agent::{self, AgentError, AgentHost, AgentSettings};
use crate::store::OpenBase;

/// The recipe, with warnings about the network data. `agent`: what the agent is told; none where there is nothing to tell.
pub(super) fn recipe(
    request: &ImageRequest<'_>,
    open: &OpenBase,
    agent: Option<&AgentSettings>,
) -> Result<(Recipe, Report), BuildError> {
    let mut report = Report::new();
    let profile = open.base.profile();
    let (network, has_network_data) = network(request, profile, &mut report)?;
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
    // CoreOS's is set by what the agent's Ignition config brings, and only where there is no other.
    let derived = if ignition.is_some() { None } else { request.host.parse::<HostName>().ok() };
    let additions = Additions {
        keyfiles: network.keyfiles,
        networkd_units: network.networkd_units,
        hostname: network.hostname.or(derived),
        files,
        ..Additions::default()
    };
    let carried = open.base.changed_kernel_arguments();
    let mut kernel_arguments = carried.map_err(|error| BuildError::invalid(format!("the base image: {error}")))?;
    if request.format == HostFormat::Iso {
        kernel_arguments.append.extend(request.kernel_arguments.iter().cloned());
    } else {
        kernel_arguments = KernelArgumentEdits::default();
    }
    let recipe = Recipe {
        ignition,
        kernel_arguments,
        // What the base carries was put there for every host, and the agent's config takes its place.
        replace_embedded: is_coreos,
        ..Recipe::new(open.identity, request.format.into(), additions)
    };
    Ok((recipe, report))
}

/// The host's network, and whether there were any network data.
fn network(
    request: &ImageRequest<'_>,
    profile: DeliveryProfile,
    report: &mut Report,
) -> Result<(ConvertedNetwork, bool), BuildError> {
    let data = request.network.as_ref().filter(|data| !data.bytes.trim_ascii().is_empty());
    let Some(data) = data else { return Ok((ConvertedNetwork::default(), false)) };
    let (host, found) = input::read_nmstate(data.bytes, &data.path);
    report.append(found);
    let Some(host) = host else { return Err(BuildError::refused(report)) };
    let (converted, found) = delivery::convert_network(&host, profile.network_files(), false);
    report.append(found);
    let Some(network) = converted else { return Err(BuildError::refused(report)) };
    if network.keyfiles.is_empty() && network.networkd_units.is_empty() {
        report.warning("network-empty", &data.path, "describes no interface, so the host's network is not configured");
    }
    Ok((network, true))
}
