//! From the arguments to a recipe: the documents converted, the files read.

use std::collections::BTreeMap;

use hosts::network::ConvertedNetwork;
use imagelib::base::{Base, BaseIdentity, Format};
use imagelib::ignition::Additions;
use imagelib::recipe::{PartOrder, Recipe, RootfsLocation};
use vocabulary::report::Report;

use super::data;
use crate::arguments::BuildArguments;
use crate::commands::customisation::Customisation;
use crate::commands::documents::{self, OneHost};
use crate::commands::failure::Failure;

/// What the arguments describe, for a host, where there is one, over a base. What should be known about the documents is added to the report.
///
/// The base's identity in the recipe is made up: it decides which base an image is laid over, and no byte of it. The
/// real one would take reading all of the base.
pub(super) fn recipe(
    arguments: BuildArguments,
    format: Format,
    host: Option<&OneHost>,
    base: &Base,
    report: &mut Report,
) -> Result<Recipe, Failure> {
    let customisation = arguments.customisation;
    let profile = customisation.profile.or(arguments.base.and_then(|base| base.profile));
    let network_files = match arguments.data.kind {
        Some(kind) => kind.network_files(),
        None => profile.unwrap_or_else(|| base.profile()).network_files(),
    };
    // A drive says nothing of NICs that the documents do not mention.
    let no_auto_default = !customisation.auto_default && format != Format::Data;
    let network = match host {
        Some(host) => documents::network(host, network_files, base.network_manager_version(), no_auto_default, report)?,
        None => ConvertedNetwork::default(),
    };
    let data = data::drive(&arguments.data, network.network_data)?;
    let Customisation { ignition, ssh_keys, files, units, kernel_arguments } = Customisation::read(&customisation)?;
    let additions = Additions {
        keyfiles: network.keyfiles,
        networkd_units: network.networkd_units,
        no_auto_default,
        hostname: customisation.hostname.or(network.hostname),
        ssh_authorized_keys: ssh_keys,
        files,
        units,
    };
    Ok(Recipe {
        base: BaseIdentity::of(&BTreeMap::new()),
        format,
        additions,
        ignition: ignition.map(|(config, _)| config),
        kernel_arguments,
        boot_entries: customisation.boot_entry.into_iter().collect(),
        delivery: profile,
        rootfs: customisation.rootfs_url.map(RootfsLocation::Url),
        data,
        // Without a base there is nothing to replace.
        replace_embedded: arguments.force && format != Format::Data,
        order: PartOrder::Canonical,
    })
}
