//! From the arguments to a recipe: the files read.

use std::collections::BTreeMap;

use hosts::network::ConvertedNetwork;
use imagelib::base::{BaseIdentity, Format};
use imagelib::ignition::Additions;
use imagelib::recipe::{PartOrder, Recipe, RootfsLocation};

use super::data;
use crate::arguments::BuildArguments;
use crate::commands::customisation::Customisation;
use crate::commands::failure::Failure;
use crate::compose::{NetworkOrder, compose};

/// What the arguments say of the form of the host's network.
pub(super) fn network_order(arguments: &BuildArguments) -> NetworkOrder {
    NetworkOrder {
        data: arguments.data.kind,
        delivery: arguments.customisation.profile.or(arguments.base.as_ref().and_then(|base| base.profile)),
        auto_default: arguments.customisation.auto_default,
    }
}

/// What the arguments describe, with the network of a host, where there is one.
///
/// The base's identity in the recipe is made up: it decides which base an image is laid over, and no byte of it. The
/// real one would take reading all of the base.
pub(super) fn recipe(
    arguments: BuildArguments,
    format: Format,
    network: Option<ConvertedNetwork>,
) -> Result<Recipe, Failure> {
    let network_order = network_order(&arguments);
    let data = data::drive(&arguments.data)?;
    let customisation = arguments.customisation;
    let Customisation { ignition, ssh_keys, files, units, kernel_arguments } = Customisation::read(&customisation)?;
    let ordered = Recipe {
        base: BaseIdentity::of(&BTreeMap::new()),
        format,
        additions: Additions {
            no_auto_default: network_order.no_auto_default(),
            hostname: customisation.hostname,
            ssh_authorized_keys: ssh_keys,
            files,
            units,
            ..Additions::default()
        },
        ignition: ignition.map(|(config, _)| config),
        kernel_arguments,
        boot_entries: customisation.boot_entry.into_iter().collect(),
        delivery: network_order.delivery,
        rootfs: customisation.rootfs_url.map(RootfsLocation::Url),
        data,
        // Without a base there is nothing to replace.
        replace_embedded: arguments.force && format != Format::Data,
        order: PartOrder::Canonical,
    };
    Ok(compose(ordered, network.unwrap_or_default()))
}
