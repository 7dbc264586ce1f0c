//! Makes a recipe from the arguments and the files that they name.

use std::collections::BTreeMap;

use imagelib::base::{Base, BaseIdentity, Format};
use imagelib::ignition::Additions;
use imagelib::image::{self, ImageError};
use imagelib::recipe::{DataDrive, DriveFile, PartOrder, Recipe, RootfsLocation};

use vocabulary::answers::Answers;

use crate::arguments::{BuildArguments, DataArguments};
use crate::commands::customisation::{Customisation, read};
use crate::commands::failure::Failure;
use crate::compose::NetworkOrder;
use crate::error_chain::chain;
use crate::site_key::SiteKeyPair;

/// Returns the options about the form of the host's network.
pub(super) fn network_order(arguments: &BuildArguments) -> NetworkOrder {
    NetworkOrder {
        data: arguments.data.kind,
        delivery: arguments.customisation.profile.or(arguments.base.as_ref().and_then(|base| base.profile)),
        answers: arguments.customisation.answers.first().and_then(|kind| kind.parse().ok()),
        auto_default: arguments.customisation.auto_default,
    }
}

/// Makes the recipe, without the network of a host, and reads the answer file of an installer.
///
/// The identity of the base in the recipe is a placeholder: it does not affect any byte of the image, and to compute the real one
/// dayone would have to read the whole base.
pub(super) fn ordered(arguments: &BuildArguments, format: Format) -> Result<(Recipe, Option<Answers>), Failure> {
    let network_order = network_order(arguments);
    let data = drive(&arguments.data)?;
    let customisation = &arguments.customisation;
    let Customisation { ignition, ssh_keys, files, units, kernel_arguments, answers } =
        Customisation::read(customisation)?;
    if answers.is_some() && format == Format::Data {
        return Err(Failure::System(
            "--answers: a data image is for no installer; give the installer with --base".into(),
        ));
    }
    let recipe = Recipe {
        base: BaseIdentity::of(&BTreeMap::new()),
        format,
        additions: Additions {
            no_auto_default: network_order.no_auto_default(),
            hostname: customisation.set_hostname.clone(),
            ssh_authorized_keys: ssh_keys,
            files,
            units,
            ..Additions::default()
        },
        ignition: ignition.map(|(config, _)| config),
        kernel_arguments,
        boot_entries: customisation.boot_entry.iter().cloned().collect(),
        delivery: network_order.delivery,
        rootfs: customisation.rootfs_url.clone().map(RootfsLocation::Url),
        initramfs_network: None,
        data,
        addon_signatures: None,
        // Without a base there is nothing to replace.
        replace_embedded: arguments.force && format != Format::Data,
        order: PartOrder::Canonical,
    };
    Ok((recipe, answers))
}

/// Signs what the site's key must sign.
pub(super) fn signed(recipe: Recipe, base: &Base, key: Option<&SiteKeyPair>) -> Result<Recipe, ImageError> {
    match key {
        Some(key) => image::sign(recipe, base, key),
        None => Ok(recipe),
    }
}

/// Reads the key of the site, if there is one.
pub(super) fn site_key(arguments: &BuildArguments) -> Result<Option<SiteKeyPair>, Failure> {
    let (key, certificate) = (arguments.site_key.as_deref(), arguments.site_certificate.as_deref());
    SiteKeyPair::from_options(key, certificate).map_err(|error| Failure::System(chain(&error)))
}

/// Returns the format to make. A data image has no base and may have no host; every other image needs both.
pub(super) fn format(arguments: &BuildArguments) -> Result<Format, Failure> {
    let BuildArguments { format, data, base, .. } = arguments;
    let has_documents = !arguments.documents.is_empty();
    let complaint = match (format, data.kind, base) {
        (Some(Format::Data), None, _) => "give the kind of drive: --data config-2, --data cidata or --data combustion",
        (None | Some(Format::Data), Some(_), Some(_)) => "a data image has no base; leave --base out",
        (None | Some(Format::Data), Some(_), None) if data.network_data.is_some() && has_documents => {
            "the network is given twice; leave out the documents or --network-data"
        }
        (None | Some(Format::Data), Some(_), None) => return Ok(Format::Data),
        (Some(_), Some(_), _) => "--data makes images of the format data only; leave out --data or --format",
        (_, None, None) => "give the image to customise: --base BASE",
        (_, None, Some(_)) if !has_documents => "give the documents that describe the host: dayone build FILE…",
        (wanted, None, Some(_)) => return Ok(wanted.unwrap_or(Format::Iso)),
    };
    Err(Failure::System(complaint.to_owned()))
}

/// Reads the contents of a data image.
fn drive(arguments: &DataArguments) -> Result<Option<DataDrive>, Failure> {
    let Some(kind) = arguments.kind else { return Ok(None) };
    let content = |path: &Option<_>| path.as_deref().map(|path| read(path).map(DriveFile::from)).transpose();
    Ok(Some(DataDrive {
        network_data: content(&arguments.network_data)?,
        meta_data: content(&arguments.meta_data)?,
        user_data: content(&arguments.user_data)?,
        vendor_data: content(&arguments.vendor_data)?,
        publisher: arguments.publisher.clone(),
        ..DataDrive::new(kind, arguments.file_system.unwrap_or_default())
    }))
}
