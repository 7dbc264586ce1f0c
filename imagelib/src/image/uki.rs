//! Addons for the unified kernel images of a live ISO: the host's files and kernel arguments beside the programs, which do not
//! change.

use std::collections::BTreeSet;

use super::ImageError;
use crate::authenticode::{SignError, SiteCertificate, Unsigned};
use crate::base::Format;
use crate::base::live::{LiveIso, LiveUki, UsableUki};
use crate::boot_config::MAX_COMMAND_LINE;
use crate::delivery::{self, EmbeddedFile, Members};
use crate::disk::fat::FatPath;
use crate::kernel_arguments::KernelArgument;
use crate::recipe::{AddonSignatures, Recipe};
use crate::uki::{Addon, addon_directory, addon_path};
use vocabulary::report::{DocumentPath, Report};

/// An addon and its place.
pub(super) struct PlannedAddon {
    /// The index of the EFI system partition.
    pub(super) esp: usize,
    /// Its directory.
    pub(super) directory: FatPath,
    /// Its path.
    pub(super) path: FatPath,
    pub(super) program: Unsigned,
}

/// The addons of an image.
#[derive(Default)]
pub(super) struct Addons {
    pub(super) planned: Vec<PlannedAddon>,
    /// The files in them.
    pub(super) embedded: Vec<EmbeddedFile>,
    pub(super) report: Report,
}

/// Plans the addons that a recipe gives.
pub(super) fn plan(recipe: &Recipe, live: &LiveIso) -> Result<Addons, ImageError> {
    let mut addons = Addons::default();
    if recipe.changes_nothing() || recipe.format == Format::Initrd || live.is_customised() {
        return Ok(addons);
    }
    let mut first_refusal = None;
    for (uki, usable, is_default) in live.usable_ukis() {
        let place = format!("/{}", uki.path);
        if !recipe.boot_entries.is_empty() {
            let message = "gets no network configuration and no kernel arguments: the order names the boot entries that get \
                           them, and this program is not a boot entry";
            addons.report.warning("uki-unchanged", &DocumentPath::document(&place), message);
            continue;
        }
        match addon(recipe, uki, usable) {
            Ok((addon, embedded)) => {
                addons.planned.push(addon);
                for file in embedded {
                    // Several images bring the same files.
                    if !addons.embedded.contains(&file) {
                        addons.embedded.push(file);
                    }
                }
                let profile = recipe.delivery.unwrap_or(usable.surveyed.detected.profile);
                let path = DocumentPath::document(&place);
                addons.report.append(delivery::report(profile, &usable.surveyed.tree, &path));
            }
            Err(error) if is_default => return Err(error),
            Err(error) => {
                let message = format!("gets no network configuration: {error}");
                addons.report.warning("uki-unchanged", &DocumentPath::document(&place), message);
                first_refusal.get_or_insert(error);
            }
        }
    }
    match first_refusal {
        Some(refusal) if addons.planned.is_empty() && live.entries().next().is_none() => Err(refusal),
        _ => Ok(addons),
    }
}

fn addon(recipe: &Recipe, uki: &LiveUki, usable: &UsableUki) -> Result<(PlannedAddon, Vec<EmbeddedFile>), ImageError> {
    let refuse = |reason: String| ImageError::UnifiedKernelImage { path: format!("/{}", uki.path), reason };
    let wanted = &recipe.kernel_arguments;
    if !wanted.delete.is_empty() || !wanted.replace.is_empty() {
        let reason = "its kernel arguments are in the signed program, to which an addon can only append";
        return Err(refuse(reason.to_owned()));
    }
    let arguments: Vec<&str> = wanted.append.iter().map(KernelArgument::as_str).collect();
    let arguments = arguments.join(" ");
    let length = usable.arguments.len() + usize::from(!arguments.is_empty()) + arguments.len();
    if length > MAX_COMMAND_LINE {
        let reason = format!("its kernel arguments would have {length} bytes; the kernel takes {MAX_COMMAND_LINE}");
        return Err(refuse(reason));
    }
    let (mut initrd, mut embedded) = (None, Vec::new());
    if !recipe.additions.is_empty() || recipe.ignition.is_some() {
        if let Some(reason) = &usable.without_initrd {
            return Err(refuse(reason.to_string()));
        }
        let profile = recipe.delivery.unwrap_or(usable.surveyed.detected.profile);
        let tree = &usable.surveyed.tree;
        let members = delivery::members(profile, &recipe.additions, recipe.ignition.as_ref(), tree)?;
        let Members { archive, embedded: files, report: _ } = members;
        (initrd, embedded) = (Some(archive.to_bytes()), files);
    }
    let arguments = Some(arguments).filter(|arguments| !arguments.is_empty());
    let program = Addon { machine: usable.machine, arguments, initrd }.to_bytes();
    let program = program.ok_or_else(|| refuse("its addon would have 4 GiB or more".to_owned()))?;
    let (directory, path) = (addon_directory(&uki.path).parse()?, addon_path(&uki.path).parse()?);
    let program = Unsigned::new(program)?;
    Ok((PlannedAddon { esp: uki.esp, directory, path, program }, embedded))
}

/// The kernel arguments of the first unified kernel image with those that its addon appends.
pub(super) fn kernel_arguments(recipe: &Recipe, live: &LiveIso) -> Option<String> {
    let mut ukis: Vec<(&UsableUki, bool)> = live.usable_ukis().map(|(_, usable, default)| (usable, default)).collect();
    ukis.sort_by_key(|(_, is_default)| !is_default);
    let (usable, _) = ukis.first()?;
    let appended = recipe.kernel_arguments.append.iter().map(KernelArgument::as_str);
    let all: Vec<&str> = std::iter::once(usable.arguments.as_str()).chain(appended).collect();
    Some(all.join(" ").trim().to_owned())
}

impl Addons {
    /// The content of each addon, with its signature if the recipe has signatures. Warns if it has none.
    pub(super) fn contents(&mut self, recipe: &Recipe) -> Result<Vec<Vec<u8>>, ImageError> {
        let Some(AddonSignatures { certificate, signatures }) = &recipe.addon_signatures else {
            for PlannedAddon { path, .. } in &self.planned {
                let message = "is not signed, because there is no site key: a machine with Secure Boot refuses it, and boots \
                               without the network configuration";
                self.report.warning("addon-unsigned", &DocumentPath::document(path.as_str()), message);
            }
            return Ok(self.planned.iter().map(|addon| addon.program.bytes().to_vec()).collect());
        };
        let certificate = SiteCertificate::from_der(certificate.clone())?;
        let signed = |addon: &PlannedAddon| {
            let missing = || ImageError::AddonSignature(SignError::OtherKey);
            let signature = signatures.get(&addon.program.digest()).ok_or_else(missing)?;
            Ok(addon.program.signed(&certificate, &signature.0)?)
        };
        self.planned.iter().map(signed).collect()
    }

    /// The EFI system partitions that they are in, by their indexes.
    pub(super) fn esps(&self) -> BTreeSet<usize> {
        self.planned.iter().map(|addon| addon.esp).collect()
    }
}
