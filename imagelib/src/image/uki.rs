//! Addons and credentials for the unified kernel images of a live ISO: the host's files and kernel arguments beside the programs, which
//! do not change.

use std::collections::BTreeSet;

use super::ImageError;
use crate::authenticode::{SignError, SiteCertificate, Unsigned};
use crate::base::Format;
use crate::base::live::{FilesIn, LiveIso, LiveUki, UsableUki};
use crate::boot_config::MAX_COMMAND_LINE;
use crate::delivery::{self, DeliveryProfile, EmbeddedFile, Members, RootFileSystem, TmpfilesLines};
use crate::disk::fat::{FatEdit, FatPath};
use crate::kernel_arguments::KernelArgument;
use crate::recipe::{AddonSignatures, Recipe};
use crate::uki::{
    Addon, addon_path, companions_directory, credential_argument, credential_file, credential_path, hides_credential,
};
use vocabulary::report::{DocumentPath, Report};

/// What goes beside a unified kernel image.
struct Companions {
    /// The index of the EFI system partition.
    esp: usize,
    /// Their directory.
    directory: FatPath,
    /// The addon and its path.
    addon: Option<(FatPath, Unsigned)>,
    /// The credential and its path.
    credential: Option<(FatPath, Vec<u8>)>,
}

/// The addons and credentials of an image.
#[derive(Default)]
pub(super) struct Addons {
    planned: Vec<Companions>,
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
        match companions(recipe, uki, usable, live.root_file_system()) {
            Ok((planned, embedded, report)) => {
                addons.planned.push(planned);
                for file in embedded {
                    // Several images bring the same files.
                    if !addons.embedded.contains(&file) {
                        addons.embedded.push(file);
                    }
                }
                let profile = recipe.delivery.unwrap_or(usable.surveyed.detected.profile);
                let additions = &recipe.additions;
                addons.report.append(report);
                let own: Vec<String> = usable.command_line_parts().flat_map(words).collect();
                let appended = recipe.kernel_arguments.append.iter().map(KernelArgument::as_str);
                let arguments = own.iter().map(String::as_str).chain(appended);
                let keys = delivery::network_arguments(profile, &usable.surveyed.tree, additions, arguments.clone());
                let path = DocumentPath::document(&format!("kernel arguments of {place}"));
                delivery::warn_of_arguments(&mut addons.report, &keys, &path);
                if let Some(key) = delivery::config_argument(profile, arguments) {
                    delivery::warn_of_config(&mut addons.report, key, &path);
                }
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

/// What the system of a unified kernel image is to get.
#[derive(Default)]
struct Payload {
    /// Kernel arguments, in the addon.
    arguments: String,
    /// An archive, in the addon.
    initrd: Option<Vec<u8>>,
    /// A file beside the addon.
    credential: Option<Vec<u8>>,
    embedded: Vec<EmbeddedFile>,
    /// What to warn about.
    report: Report,
}

fn companions(
    recipe: &Recipe,
    uki: &LiveUki,
    usable: &UsableUki,
    root: RootFileSystem,
) -> Result<(Companions, Vec<EmbeddedFile>, Report), ImageError> {
    let refuse = |reason: String| ImageError::UnifiedKernelImage { path: format!("/{}", uki.path), reason };
    let path = DocumentPath::document(&format!("/{}", uki.path));
    let Payload { arguments, initrd, credential, embedded, report } = payload(recipe, usable, root, &path, refuse)?;
    let arguments = Some(arguments).filter(|arguments| !arguments.is_empty());
    let mut companions =
        Companions { esp: uki.esp, directory: companions_directory(&uki.path).parse()?, addon: None, credential: None };
    if let Some(content) = credential {
        companions.credential = Some((credential_path(&uki.path).parse()?, content));
    }
    if arguments.is_some() || initrd.is_some() {
        let program = Addon { machine: usable.machine, arguments, initrd }.to_bytes();
        let program = program.ok_or_else(|| refuse("its addon would have 4 GiB or more".to_owned()))?;
        companions.addon = Some((addon_path(&uki.path).parse()?, Unsigned::new(program)?));
    }
    Ok((companions, embedded, report))
}

fn payload(
    recipe: &Recipe,
    usable: &UsableUki,
    root: RootFileSystem,
    path: &DocumentPath,
    refuse: impl Fn(String) -> ImageError,
) -> Result<Payload, ImageError> {
    let wanted = &recipe.kernel_arguments;
    if !wanted.delete.is_empty() || !wanted.replace.is_empty() {
        let reason = "its kernel arguments are in the signed program, to which an addon can only append";
        return Err(refuse(reason.to_owned()));
    }
    let arguments = appended(recipe, usable);
    let arguments: Vec<&str> = arguments.iter().map(KernelArgument::as_str).collect();
    let arguments = arguments.join(" ");
    let length = command_line(usable, &arguments);
    if length > MAX_COMMAND_LINE {
        let reason = format!("its kernel arguments would have {length} bytes; the kernel takes {MAX_COMMAND_LINE}");
        return Err(refuse(reason));
    }
    let profile = recipe.delivery.unwrap_or(usable.surveyed.detected.profile);
    let tree = &usable.surveyed.tree;
    let report = delivery::report(profile, tree, Some(&recipe.additions), path);
    let payload = Payload { arguments, report, ..Payload::default() };
    if !recipe.has_files() {
        return Ok(payload);
    }
    match &usable.files {
        FilesIn::Nothing(reason) => Err(refuse(reason.to_string())),
        FilesIn::Initrd => {
            let (additions, ignition) = (&recipe.additions, recipe.ignition.as_ref());
            let members = delivery::members_with_network(profile, additions, ignition, None, tree, root, path)?;
            let Members { archive, embedded, report } = members;
            Ok(Payload { initrd: Some(archive.to_bytes()), embedded, report, ..payload })
        }
        FilesIn::Credential { .. } if profile != DeliveryProfile::Dracut => {
            let reason = format!(
                "a credential brings files to systems of the delivery profile 'dracut' alone, and this is '{profile}'"
            );
            Err(refuse(reason))
        }
        FilesIn::Credential { others } => in_credential(recipe, usable, payload, *others, refuse),
    }
}

/// The kernel arguments in the addon: those of the recipe, and those without which the system would ignore its Ignition config, whether
/// it starts with the program's own arguments or with those of a boot entry.
fn appended(recipe: &Recipe, usable: &UsableUki) -> Vec<KernelArgument> {
    let mut appended = recipe.kernel_arguments.append.clone();
    if !recipe.has_files() {
        return appended;
    }
    let profile = recipe.delivery.unwrap_or(usable.surveyed.detected.profile);
    let others = usable.appended.iter().map(String::as_str).chain(appended.iter().map(KernelArgument::as_str));
    let others: Vec<&str> = others.flat_map(str::split_whitespace).collect();
    // The options of a boot entry stand in place of the program's own arguments, and the addon is for both.
    let lines = std::iter::once(&usable.arguments).chain(&usable.options);
    let missing = |line: &String| profile.missing_for_ignition(line.split_whitespace().chain(others.iter().copied()));
    let missing: BTreeSet<_> = lines.flat_map(missing).collect();
    appended.extend(missing);
    appended
}

/// Puts the host's files into a credential: a kernel argument, which the addon's signature covers; or a file, if the argument would be too
/// long, or must not be read by every user of the host.
fn in_credential(
    recipe: &Recipe,
    usable: &UsableUki,
    payload: Payload,
    others: u64,
    refuse: impl Fn(String) -> ImageError,
) -> Result<Payload, ImageError> {
    let own = [&usable.arguments, &payload.arguments];
    for arguments in own.into_iter().chain(&usable.options).chain(&usable.appended) {
        let words = words(arguments);
        if let Some(check) = delivery::verifies_medium(&words) {
            return Err(refuse(format!("its system verifies its medium ({check}), which dayone changes")));
        }
        if let Some(hides) = hides_credential(&words) {
            return Err(refuse(format!("with the kernel argument {hides}, systemd does not read dayone's credential")));
        }
        if let Some(argument) = delivery::needs_network(&words) {
            let reason = format!(
                "its initramfs needs the network ({argument}), and NetworkManager there may start before systemd has written the \
                 keyfiles of a credential"
            );
            return Err(refuse(reason));
        }
    }
    let TmpfilesLines { text, embedded, may_be_secret } =
        TmpfilesLines::of(&recipe.additions, recipe.ignition.as_ref())?;
    if text.is_empty() {
        return Ok(payload);
    }
    let mut arguments = credential_argument(&text);
    if !payload.arguments.is_empty() {
        arguments = format!("{} {arguments}", payload.arguments);
    }
    if !may_be_secret && command_line(usable, &arguments) <= MAX_COMMAND_LINE {
        return Ok(Payload { arguments, embedded, ..payload });
    }
    let file = credential_file(&text, others);
    let file = file.ok_or_else(|| refuse("all its credentials together would have more than 1 MiB".to_owned()))?;
    Ok(Payload { credential: Some(file), embedded, ..payload })
}

/// The words of a command line, as systemd and dracut read them: without quotes. What is quoted may be several words here.
fn words(arguments: &str) -> Vec<String> {
    arguments.split_whitespace().map(|word| word.replace(['"', '\''], "")).collect()
}

/// The length of the kernel's longest command line with more arguments.
fn command_line(usable: &UsableUki, arguments: &str) -> usize {
    let own = usable.options.iter().chain([&usable.arguments]).map(String::len).max().unwrap_or_default();
    let appended = usable.appended.iter().map(String::as_str).chain([arguments]);
    own + appended.filter(|text| !text.is_empty()).map(|text| text.len() + 1).sum::<usize>()
}

/// The kernel arguments of the first unified kernel image with those that its addon appends.
pub(super) fn kernel_arguments(recipe: &Recipe, live: &LiveIso) -> Option<String> {
    let mut ukis: Vec<(&UsableUki, bool)> = live.usable_ukis().map(|(_, usable, default)| (usable, default)).collect();
    ukis.sort_by_key(|(_, is_default)| !is_default);
    let (usable, _) = ukis.first()?;
    let appended = appended(recipe, usable);
    let appended = appended.iter().map(KernelArgument::as_str);
    let all: Vec<&str> = std::iter::once(usable.arguments.as_str()).chain(appended).collect();
    Some(all.join(" ").trim().to_owned())
}

impl Addons {
    /// The addons.
    pub(super) fn programs(&self) -> impl Iterator<Item = &Unsigned> {
        self.planned.iter().filter_map(|companions| companions.addon.as_ref()).map(|(_, program)| program)
    }

    /// What to write into the EFI system partitions, by their indexes. The addons have signatures if the recipe has them. Warns about
    /// what has none.
    pub(super) fn edits(&mut self, recipe: &Recipe) -> Result<Vec<(usize, FatPath, FatEdit)>, ImageError> {
        let signatures = recipe.addon_signatures.as_ref();
        let certificate = signatures.map(|signatures| SiteCertificate::from_der(signatures.certificate.clone()));
        let certificate = certificate.transpose()?;
        let signed = signatures.zip(certificate.as_ref());
        let mut edits = Vec::new();
        for Companions { esp, directory, addon, credential } in &self.planned {
            if addon.is_some() || credential.is_some() {
                edits.push((*esp, directory.clone(), FatEdit::Directory));
            }
            if let Some((path, content)) = credential {
                let message = "is a credential, which cannot be signed: a machine with Secure Boot and a TPM refuses it, and boots \
                               without the network configuration";
                self.report.warning("credential-unsigned", &DocumentPath::document(path.as_str()), message);
                edits.push((*esp, path.clone(), FatEdit::Write(content.clone().into())));
            }
            let Some((path, program)) = addon else { continue };
            let content = if let Some((AddonSignatures { signatures, .. }, certificate)) = signed {
                let missing = || ImageError::AddonSignature(SignError::OtherKey);
                program.signed(certificate, &signatures.get(&program.digest()).ok_or_else(missing)?.0)?
            } else {
                let message = "is not signed, because there is no site key: a machine with Secure Boot refuses it, and boots \
                               without the network configuration";
                self.report.warning("addon-unsigned", &DocumentPath::document(path.as_str()), message);
                program.bytes().to_vec()
            };
            edits.push((*esp, path.clone(), FatEdit::Write(content.into())));
        }
        Ok(edits)
    }

    /// Whether nothing goes beside any unified kernel image.
    pub(super) fn is_empty(&self) -> bool {
        self.planned.is_empty()
    }

    /// The EFI system partitions that they are in, by their indexes.
    pub(super) fn esps(&self) -> BTreeSet<usize> {
        self.planned.iter().map(|companions| companions.esp).collect()
    }
}
