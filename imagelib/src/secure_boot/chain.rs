//! What starts what, from firmware to the kernel, and what that means for the medium as a whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::examine::{Architecture, Examined};
use super::medium::{Located, Place};
use super::report::{ProgramRole, Verdict};
use super::trust::{Verifier, judge};
use crate::boot_medium::Program as Kind;
use crate::uki::{addon_path, credential_path};

/// A program of a medium, examined.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) file: Located,
    pub(super) examined: Arc<Examined>,
    /// Whether a boot entry starts it: as a kernel, or as a unified kernel image, which has an entry of its own.
    pub(super) is_kernel: bool,
    /// For an image: whether its bytes are certainly those of the base.
    pub(super) unchanged: Option<bool>,
}

/// Files of a medium that are no programs, in the EFI system partitions.
#[derive(Debug, Clone, Default)]
pub(super) struct OtherFiles {
    /// Those of the name `*.csv`.
    pub(super) boot_lists: Vec<Place>,
    /// The credentials that dayone has written.
    pub(super) credentials: Vec<Place>,
}

/// What a chain says about a program.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) role: ProgramRole,
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    pub(super) counts: bool,
}

/// What starts a machine of one architecture from one EFI system partition.
struct Chain {
    architecture: Architecture,
    /// The programs in the order in which they are started, by their indexes.
    links: Vec<(usize, Judged)>,
    /// What is missing, if something is.
    missing: Option<String>,
}

/// The verdict on a medium, and on each of its programs in their order.
///
/// There are `esps` EFI system partitions.
pub(super) fn verdict(
    found: &[Found],
    others: &OtherFiles,
    esps: usize,
    unreadable: bool,
) -> (Verdict, String, Vec<Judged>) {
    let of_esp =
        |esp| Architecture::ALL.into_iter().filter_map(move |architecture| chain(found, others, esp, architecture));
    let chains: Vec<Chain> = (0..esps).flat_map(of_esp).collect();
    // A medium for PCs may also start a few machines with 32-bit firmware, which come without Secure Boot.
    let kernels: BTreeSet<Architecture> =
        found.iter().filter(|program| program.is_kernel).filter_map(|program| program.examined.architecture).collect();
    let matching = |chain: &&Chain| kernels.contains(&chain.architecture);
    let any = chains.iter().any(|chain| matching(&chain));
    let mut judged: Vec<Option<Judged>> = found.iter().map(|_| None).collect();
    let mut worst: Option<(Verdict, String)> = None;
    let mut add = |verdict: Verdict, reason: String| {
        if worst.as_ref().is_none_or(|(known, _)| *known < verdict) {
            worst = Some((verdict, reason));
        }
    };
    for chain in &chains {
        let counts = !any || matching(&chain);
        for (index, link) in &chain.links {
            if let (true, Some(program)) = (counts, found.get(*index)) {
                add(link.verdict, format!("{} {}", program.file.name, link.reason));
            }
            let Some(known) = judged.get_mut(*index) else { continue };
            let known = known.get_or_insert_with(|| Judged { counts, ..link.clone() });
            if (known.counts, known.verdict) < (counts, link.verdict) {
                *known = Judged { counts, ..link.clone() };
            }
        }
        if let Some(missing) = chain.missing.as_ref().filter(|_| counts) {
            add(Verdict::Unknown, missing.clone());
        }
    }
    if unreadable {
        add(Verdict::Unknown, "dayone cannot read an EFI system partition on it".to_owned());
    }
    let judged =
        judged.into_iter().zip(found).map(|(known, program)| known.unwrap_or_else(|| outside_chains(found, program)));
    let judged = judged.collect();
    let nothing = "it has no boot loader for UEFI, such as EFI/BOOT/BOOTX64.EFI in an EFI system partition, and machines with \
                   UEFI Secure Boot start nothing else";
    match worst {
        Some((Verdict::Kept, first)) => {
            let reason = format!("{first}, and all that is verified after it is signed as well");
            (Verdict::Kept, reason, judged)
        }
        Some((verdict, reason)) => (verdict, reason, judged),
        None => (Verdict::Impossible, nothing.to_owned(), judged),
    }
}

fn at(found: &[Found], esp: usize, path: &str) -> Option<usize> {
    let is = |place: &Place| place.esp == Some(esp) && place.path.eq_ignore_ascii_case(path);
    found.iter().position(|program| is(&program.file.place))
}

fn chain(found: &[Found], others: &OtherFiles, esp: usize, architecture: Architecture) -> Option<Chain> {
    // UEFI 2.10 §3.5.1.1.
    let suffix = architecture.as_str();
    let first = at(found, esp, &format!("/EFI/BOOT/BOOT{suffix}.EFI"))?;
    let program = found.get(first)?;
    let mut chain = Chain { architecture, links: Vec::new(), missing: None };
    let role = role_of(program);
    chain.push(found, first, role, Verifier::Firmware);
    if chain.is_for_another(program) {
        return Some(chain);
    }
    if program.examined.kind == Kind::Shim && program.examined.vendor.is_none() {
        chain.missing = Some(format!("dayone cannot read the keys in {}", program.file.name));
        return Some(chain);
    }
    let verifier = program.examined.vendor.as_ref().map_or(Verifier::Firmware, Verifier::Shim);
    let mut last = program;
    if let Verifier::Shim(_) = verifier {
        let fallback = |name: &str| at(found, esp, &format!("/EFI/BOOT/{name}.efi"));
        if let Some(fallback) = fallback(&format!("fb{suffix}")) {
            chain.push_fallback(found, fallback, &others.boot_lists, verifier);
            return Some(chain);
        }
        if let Some(program) = fallback("fallback").and_then(|index| found.get(index)) {
            let name = &program.file.name;
            chain.missing = Some(format!(
                "older shims and SUSE's start {name} in place of the boot loader, and dayone does not know whether this one does"
            ));
        }
        // SUSE's shim starts `grub.efi`.
        let names = [format!("/EFI/BOOT/grub{suffix}.efi"), "/EFI/BOOT/grub.efi".to_owned()];
        let Some(second) = names.iter().find_map(|name| at(found, esp, name)) else {
            chain.missing = Some(format!("dayone did not find the boot loader that {} starts", program.file.name));
            return Some(chain);
        };
        last = found.get(second)?;
        chain.push(found, second, role_of(last), verifier);
    }
    if last.examined.problem.is_some() || matches!(last.examined.kind, Kind::UnifiedKernelImage { .. } | Kind::Linux) {
        chain.push_companions(found, &others.credentials, &last.file.place, verifier);
        return Some(chain);
    }
    let starts = |program: &Found| {
        // Of the boot loaders that dayone knows, systemd-boot alone starts these, from its own partition.
        let is_unified = matches!(program.examined.kind, Kind::UnifiedKernelImage { .. });
        let is_own = last.examined.kind == Kind::SystemdBoot && program.file.place.esp == Some(esp);
        (!is_unified || is_own) && program.examined.architecture.is_none_or(|own| own == architecture)
    };
    let kernels = found.iter().enumerate().filter(|(_, program)| program.is_kernel && starts(program));
    let mut kernels: Vec<usize> = kernels.map(|(index, _)| index).collect();
    if kernels.is_empty() && last.examined.kind == Kind::SystemdBoot {
        let listed = |program: &Found| {
            let place = &program.file.place;
            place.esp == Some(esp) && place.path.to_ascii_lowercase().starts_with("/efi/linux/") && starts(program)
        };
        let images = found.iter().enumerate().filter(|(_, program)| listed(program));
        kernels = images.map(|(index, _)| index).collect();
    }
    if kernels.is_empty() {
        chain.missing = Some(format!("dayone did not find a kernel that {} starts", last.file.name));
    }
    for kernel in kernels {
        let role = found.get(kernel).map_or(ProgramRole::Kernel, |program| match role_of(program) {
            ProgramRole::UnifiedKernelImage => ProgramRole::UnifiedKernelImage,
            _ => ProgramRole::Kernel,
        });
        chain.push(found, kernel, role, verifier);
        if let Some(program) = found.get(kernel) {
            chain.push_companions(found, &others.credentials, &program.file.place, verifier);
        }
    }
    Some(chain)
}

impl Chain {
    fn push(&mut self, found: &[Found], index: usize, role: ProgramRole, verifier: Verifier<'_>) {
        let Some(program) = found.get(index) else { return };
        let (verdict, reason) = match program.examined.architecture.filter(|_| self.is_for_another(program)) {
            Some(own) => {
                let reason = format!(
                    "is a program for {own}, and machines with firmware for {} do not load it",
                    self.architecture
                );
                (Verdict::Impossible, reason)
            }
            None => judge(&program.examined, verifier),
        };
        self.links.push((index, Judged { role, verdict, reason, counts: true }));
    }

    /// Whether firmware of this architecture, or a shim, refuses a program because it is for another one (`read_header` in `shim.c`).
    fn is_for_another(&self, program: &Found) -> bool {
        program.examined.architecture.is_some_and(|own| own != self.architecture)
    }

    /// Adds the program that shim starts in place of the boot loader, because firmware has started shim as `EFI/BOOT/BOOT*.EFI`
    /// (`should_use_fallback` in `shim.c`). If the program is refused, shim does not start the boot loader either.
    ///
    /// It makes boot entries of the lists `BOOT*.CSV` in other directories than `EFI/BOOT`, starts the first new one, and restarts the
    /// machine (`fallback.c`).
    fn push_fallback(&mut self, found: &[Found], index: usize, lists: &[Place], verifier: Verifier<'_>) {
        self.push(found, index, ProgramRole::Fallback, verifier);
        let (Some(program), Some((_, link))) = (found.get(index), self.links.last_mut()) else { return };
        link.reason = format!("is what the shim before it starts in place of the boot loader, and {}", link.reason);
        if link.verdict == Verdict::Impossible {
            return;
        }
        let is_shims = program.examined.sbat.iter().any(|component| component.component == "shim");
        let names = [format!("/boot{}.csv", self.architecture), "/boot.csv".to_owned()];
        let is_read = |list: &&Place| {
            let path = list.path.to_ascii_lowercase();
            let name = path.strip_prefix("/efi/").and_then(|path| Some(path.split_at(path.find('/')?)));
            list.esp == program.file.place.esp
                && name.is_some_and(|(directory, name)| directory != "boot" && names.iter().any(|known| known == name))
        };
        match lists.iter().find(is_read) {
            None if is_shims => {
                link.verdict = Verdict::Impossible;
                link.reason = format!(
                    "is what the shim before it starts in place of the boot loader: it looks for a list BOOT*.CSV of boot entries, \
                     finds none on the medium, and restarts the machine. Remove {} from the medium",
                    program.file.place.path
                );
            }
            None => {
                self.missing = Some(format!(
                    "the shim starts {} in place of the boot loader, and dayone does not know what that starts",
                    program.file.name
                ));
            }
            Some(list) => {
                self.missing = Some(format!(
                    "the shim starts {} in place of the boot loader: it makes boot entries of {}, and which one it starts depends on the \
                     entries that the machine has",
                    program.file.name, list.path
                ));
            }
        }
    }

    /// Adds what dayone has put beside the unified kernel image at a place, which was added last.
    ///
    /// A credential is no program, and firmware does not look at it. systemd refuses it if the machine has a TPM, too, and dayone
    /// does not know that.
    fn push_companions(&mut self, found: &[Found], credentials: &[Place], place: &Place, verifier: Verifier<'_>) {
        let Some(esp) = place.esp else { return };
        let path = credential_path(&place.path);
        let credential =
            credentials.iter().find(|other| other.esp == place.esp && other.path.eq_ignore_ascii_case(&path));
        if let (Some(credential), Some((_, link))) = (credential, self.links.last_mut())
            && link.verdict < Verdict::Impossible
        {
            link.verdict = Verdict::Impossible;
            link.reason = format!(
                "gets the host's configuration from {}, which is not signed: systemd refuses it on a machine with Secure Boot \
                 and a TPM, and the host boots without its network",
                credential.path
            );
        }
        let Some(index) = at(found, esp, &addon_path(&place.path)) else { return };
        let Some(program) = found.get(index) else { return };
        let (verdict, reason) = judge_addon(&program.examined, verifier);
        self.links.push((index, Judged { role: ProgramRole::Addon, verdict, reason, counts: true }));
    }
}

/// Whether the stub of a unified kernel image takes dayone's addon. If it does not, the host boots without its configuration, which
/// is no boot that anybody wants.
fn judge_addon(program: &Examined, verifier: Verifier<'_>) -> (Verdict, String) {
    match judge(program, verifier) {
        (Verdict::NeedsSiteKey, _) if program.signatures.is_empty() => {
            let reason = "is not signed: a machine with Secure Boot refuses it, and boots without the host's network \
                          configuration; give dayone a site key (--site-key)";
            (Verdict::Impossible, reason.to_owned())
        }
        judged => judged,
    }
}

/// What a program is that stands where a boot loader does.
fn role_of(program: &Found) -> ProgramRole {
    match program.examined.kind {
        _ if program.examined.vendor.is_some() => ProgramRole::Shim,
        Kind::Shim => ProgramRole::Shim,
        Kind::UnifiedKernelImage { .. } => ProgramRole::UnifiedKernelImage,
        Kind::Linux => ProgramRole::Kernel,
        Kind::SystemdBoot | Kind::Foreign(_) | Kind::Other => ProgramRole::BootLoader,
    }
}

/// The verdict on a program that no chain starts by default. If the medium has a shim, the shim verifies it.
fn outside_chains(found: &[Found], program: &Found) -> Judged {
    let is_first = |other: &&Found| {
        let path = other.file.place.path.to_ascii_lowercase();
        path.starts_with("/efi/boot/boot") && (program.is_kernel || other.file.place.esp == program.file.place.esp)
    };
    let shim = found.iter().filter(is_first).find_map(|other| other.examined.vendor.as_ref());
    let (verdict, reason) = judge(&program.examined, shim.map_or(Verifier::Firmware, Verifier::Shim));
    let path = program.file.place.path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let role = match role_of(program) {
        ProgramRole::UnifiedKernelImage => ProgramRole::UnifiedKernelImage,
        _ if program.is_kernel => ProgramRole::Kernel,
        ProgramRole::BootLoader if name.ends_with(".addon.efi") => ProgramRole::Addon,
        ProgramRole::BootLoader if name.starts_with("mm") || name.starts_with("mokmanager") => ProgramRole::MokManager,
        ProgramRole::BootLoader if name.starts_with("fb") || name.starts_with("fallback") => ProgramRole::Fallback,
        ProgramRole::BootLoader if !name.starts_with("grub") && !name.starts_with("systemd-boot") => ProgramRole::Other,
        role => role,
    };
    Judged { role, verdict, reason, counts: false }
}

#[cfg(test)]
mod tests;
