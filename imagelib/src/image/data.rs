//! Data images: drives without a base.

use std::collections::BTreeMap;

use super::changes::Change;
use super::{DeliveredBy, EmbeddedFile, FileName, Image, ImageError};
use crate::base::Format;
use crate::data_image::{Combustion, ConfigDrive, DataImage, DataKind, DataSpec, FileSystem, NoCloud};
use crate::overlay::{Overlay, Sizes};
use crate::recipe::{DataDrive, DriveFile, Recipe};
use vocabulary::report::Report;

pub(super) fn plan(recipe: &Recipe) -> Result<Image, ImageError> {
    let Some(drive) = recipe.data.as_ref().filter(|_| recipe.format == Format::Data) else {
        let reason = "without a base, dayone makes only data images, and needs to know their kind";
        return Err(ImageError::Format { format: recipe.format, reason });
    };
    if let Some((what, reason)) = misplaced(recipe, drive) {
        return Err(ImageError::NoEffect { what, reason });
    }
    let image = DataImage::build(&spec(recipe, drive))?;
    let (name, segments) = match drive.file_system {
        FileSystem::Iso => (FileName::DataIso, image.iso()?),
        FileSystem::Vfat => (FileName::DataDisk, image.vfat()?),
    };
    let file = Overlay::concatenated(&Sizes::new(), segments)?;
    let embedded = image
        .files()
        .map(|(path, mode, content)| EmbeddedFile::new(path.as_str(), DeliveredBy::Drive, u32::from(mode), content));
    Ok(Image {
        embedded: embedded.collect(),
        changes: vec![Change::authored(name.as_str(), "made", file.size())],
        files: BTreeMap::from([(name, file)]),
        kernel_arguments: None,
        rootfs_argument: None,
        report: Report::new(),
    })
}

fn spec(recipe: &Recipe, drive: &DataDrive) -> DataSpec {
    let hostname = recipe.additions.hostname.clone();
    let content = |file: &Option<DriveFile>| file.as_ref().map(|file| file.bytes().clone());
    let (network, meta_data) = (content(&drive.network_data), content(&drive.meta_data));
    let (user_data, vendor_data) = (content(&drive.user_data), content(&drive.vendor_data));
    match drive.kind {
        DataKind::ConfigDrive => DataSpec::ConfigDrive(ConfigDrive {
            network_data: network,
            meta_data,
            user_data,
            vendor_data,
            hostname,
            publisher: drive.publisher.clone().unwrap_or_default(),
        }),
        DataKind::NoCloud => {
            DataSpec::NoCloud(NoCloud { network_config: network, meta_data, user_data, vendor_data, hostname })
        }
        DataKind::Combustion => DataSpec::Combustion(Combustion {
            keyfiles: recipe.additions.keyfiles.clone(),
            hostname,
            script: user_data,
            files: BTreeMap::new(),
        }),
    }
}

/// A part of the recipe that the drive has no place for, and the reason. dayone must not drop it silently.
fn misplaced(recipe: &Recipe, drive: &DataDrive) -> Option<(&'static str, &'static str)> {
    let additions = &recipe.additions;
    let reason = match drive.kind {
        DataKind::ConfigDrive => "a config-2 drive has no place for it",
        DataKind::NoCloud => "a cidata drive has no place for it",
        DataKind::Combustion => "a combustion drive has no place for it",
    };
    let (config_drive, combustion) = (drive.kind == DataKind::ConfigDrive, drive.kind == DataKind::Combustion);
    let found = [
        (!additions.keyfiles.is_empty() && !combustion, "a NetworkManager profile"),
        (!additions.networkd_units.is_empty(), "a unit of systemd-networkd"),
        (drive.network_data.is_some() && combustion, "network data"),
        (drive.meta_data.is_some() && combustion, "meta data"),
        (drive.vendor_data.is_some() && combustion, "vendor data"),
        (drive.publisher.is_some() && !config_drive, "a publisher"),
        (additions.no_auto_default, "a configuration of NetworkManager"),
        (!additions.ssh_authorized_keys.is_empty(), "an SSH key"),
        (!additions.files.is_empty(), "a file for the system"),
        (!additions.units.is_empty(), "a systemd unit"),
        (recipe.ignition.is_some(), "an Ignition config"),
        (!recipe.kernel_arguments.is_empty(), "a kernel argument"),
        (recipe.delivery.is_some(), "a delivery profile"),
        (recipe.replace_embedded, "permission to replace an embedded configuration"),
    ];
    if drive.publisher.is_some() && config_drive && drive.file_system == FileSystem::Vfat {
        return Some(("a publisher", "FAT has no place for it"));
    }
    found.into_iter().find(|(there, _)| *there).map(|(_, what)| (what, reason))
}
