//! The unified kernel images on the EFI system partitions.

use std::ops::Range;

use super::configurations::Configuration;
use super::initrds::{Surveyed, survey_ranges};
use super::partitions::EspVolume;
use super::systemd_boot;
use super::uki_companions::UkiCompanions;
use crate::boot_config::Loader;
use crate::boot_medium::Program;
use crate::delivery::DeliveryProfile;
use crate::iso::IsoError;
use crate::overlay::{Overlay, OverlaySource, Segment, Sizes};
use crate::source::{Role, Source};
use crate::uki::{Machine, UnifiedKernel, UnusableUki};

/// A unified kernel image that firmware, shim or systemd-boot starts from an EFI system partition.
#[derive(Debug, Clone)]
pub(crate) struct LiveUki {
    /// The index of its EFI system partition.
    pub(crate) esp: usize,
    /// Its path there, without a slash in front.
    pub(crate) path: String,
    /// Its length in bytes.
    pub(super) size: u64,
    /// What is in it. `None` if it cannot be read.
    pub(super) unified: Option<UnifiedKernel>,
    /// Whether dayone has written a credential beside it.
    pub(super) has_credential: bool,
    /// What dayone needs to write an addon for it, or why dayone cannot.
    pub(crate) state: Result<UsableUki, UnusableUki>,
}

/// A unified kernel image to which an addon brings all that its system takes.
#[derive(Debug, Clone)]
pub(crate) struct UsableUki {
    pub(crate) machine: Machine,
    /// What brings files to its system.
    pub(crate) files: FilesIn,
    /// Its kernel arguments.
    pub(crate) arguments: String,
    /// What a boot entry has in place of them, each.
    pub(crate) options: Vec<String>,
    /// What other addons append to them.
    pub(crate) appended: Vec<String>,
    /// The system that its initrd starts.
    pub(crate) surveyed: Surveyed,
}

impl UsableUki {
    /// Its kernel arguments, what boot entries have in place of them, and what other addons append.
    pub(crate) fn command_line_parts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.arguments).chain(&self.options).chain(&self.appended).map(String::as_str)
    }
}

/// What brings the host's files to the system of a unified kernel image.
#[derive(Debug, Clone)]
pub(crate) enum FilesIn {
    /// An initrd in the addon.
    Initrd,
    /// A credential, in the addon or beside it.
    Credential {
        /// The size of the credentials of others, in bytes.
        others: u64,
    },
    /// Nothing, for this reason.
    Nothing(UnusableUki),
}

impl LiveUki {
    /// Whether it is the program at a path of a partition. FAT ignores case.
    pub(super) fn is_at(&self, esp: usize, path: &str) -> bool {
        self.esp == esp && self.path.eq_ignore_ascii_case(path.trim_start_matches('/'))
    }

    /// Its title in messages and menus.
    pub(super) fn title(&self) -> String {
        self.unified.as_ref().and_then(|unified| unified.system.clone()).unwrap_or_else(|| format!("/{}", self.path))
    }
}

/// Finds the unified kernel images that firmware or shim starts itself, those that systemd-boot lists, and those that its entries
/// name.
pub(super) fn find(
    source: &dyn Source,
    esps: &[EspVolume],
    configurations: &[Configuration],
) -> Result<Vec<LiveUki>, IsoError> {
    let mut found: Vec<LiveUki> = Vec::new();
    for (index, esp) in esps.iter().enumerate() {
        let started = esp.started(source).into_iter().map(|(path, _)| path);
        let listed = esp.fat.files().iter().filter(|file| systemd_boot::is_listed(file)).map(|file| file.path.clone());
        let entries = configurations.iter().filter(|configuration| {
            configuration.esp == Some(index) && configuration.found.config.loader() == Loader::SystemdBoot
        });
        let named = entries.flat_map(|configuration| {
            let entries = configuration.found.config.entries().iter();
            entries.filter_map(|entry| {
                configuration.found.config.resolve(entry.program.as_deref()?, &configuration.found.directory)
            })
        });
        for path in started.chain(listed).chain(named) {
            let Some(file) = esp.fat.file(path.trim_start_matches('/')) else { continue };
            let is_known = found.iter().any(|known| known.is_at(index, &file.path));
            if is_known || !matches!(Program::at(source, &file.extents), Program::UnifiedKernelImage { .. }) {
                continue;
            }
            let companions = UkiCompanions::of(source, esp, &file.path);
            let has_credential = companions.of_dayone;
            let (unified, mut state) = examine(source, &file.path, &file.extents, companions)?;
            if let Ok(usable) = &mut state {
                usable.options = options(index, &file.path, configurations);
            }
            found.push(LiveUki {
                esp: index,
                path: file.path.clone(),
                size: file.size.into(),
                unified,
                has_credential,
                state,
            });
        }
    }
    Ok(found)
}

type Examined = (Option<UnifiedKernel>, Result<UsableUki, UnusableUki>);

/// The options with which boot entries start a program. Without Secure Boot, the stub takes them in place of its own arguments.
fn options(esp: usize, path: &str, configurations: &[Configuration]) -> Vec<String> {
    let of_esp = configurations.iter().filter(|configuration| configuration.esp == Some(esp));
    let entries = of_esp.flat_map(|configuration| {
        let Configuration { found, .. } = configuration;
        found.config.entries().iter().filter_map(|entry| {
            let started = found.config.resolve(entry.program.as_deref()?, &found.directory)?;
            let is_this = started.trim_start_matches('/').eq_ignore_ascii_case(path);
            (is_this && !entry.options.is_empty()).then(|| entry.options.clone())
        })
    });
    entries.collect()
}

/// Examines a program of this path.
fn examine(
    source: &dyn Source,
    path: &str,
    extents: &[Range<u64>],
    companions: UkiCompanions,
) -> Result<Examined, IsoError> {
    let outside = || UnusableUki::Program("lies outside of the image".to_owned());
    let segments = extents.iter().map(|range| Segment::base(Role::Iso, range.clone())).collect();
    let sizes = Sizes::from([(Role::Iso, source.size())]);
    let Ok(program) = Overlay::concatenated(&sizes, segments) else { return Ok((None, Err(outside()))) };
    let unified = match UnifiedKernel::read(&OverlaySource::new(&program, (Role::Iso, source))) {
        Ok(unified) => unified,
        Err(error) => return Ok((None, Err(error))),
    };
    let (machine, initrd) = match unified.usable() {
        _ if path.rsplit('/').next().unwrap_or(path).contains('+') => {
            return Ok((Some(unified), Err(UnusableUki::BootCounter)));
        }
        Ok(usable) => usable,
        Err(error) => return Ok((Some(unified), Err(error))),
    };
    let ranges: Option<Vec<Range<u64>>> = program
        .segments(initrd)
        .map(|segment| match segment {
            Segment::Base { offset, length, .. } => Some(offset..offset.saturating_add(length)),
            Segment::Own(_) => None,
        })
        .collect();
    let state = match ranges {
        None => Err(outside()),
        Some(ranges) => {
            let surveyed = survey_ranges(source, std::iter::once(ranges.as_slice()))?;
            let surveyed = surveyed.map_err(|error| UnusableUki::Initrd(error.to_string()));
            // Others read their files before, or do not have this systemd.
            let reads_credentials = surveyed.as_ref().is_ok_and(|surveyed| {
                surveyed.reads_credentials && surveyed.detected.profile == DeliveryProfile::Dracut
            });
            let UkiCompanions { arguments: appended, credential_bytes: others, same_name, of_dayone: _ } = companions;
            let files = match (unified.without_initrd(), same_name) {
                (None, _) => FilesIn::Initrd,
                (Some(_), Some(path)) if reads_credentials => {
                    FilesIn::Nothing(UnusableUki::CredentialExists(format!("/{path}")))
                }
                (Some(_), None) if reads_credentials => FilesIn::Credential { others },
                (Some(arguments_only), _) => FilesIn::Nothing(arguments_only),
            };
            // Kernel arguments are enough for a system that takes no files.
            let takes_files = surveyed.as_ref().map_or(true, |surveyed| surveyed.detected.profile.takes_files());
            match files {
                FilesIn::Nothing(reason) if takes_files => Err(reason),
                files => surveyed.map(|surveyed| {
                    let arguments = unified.arguments.clone();
                    UsableUki { machine, files, arguments, options: Vec::new(), appended, surveyed }
                }),
            }
        }
    };
    Ok((Some(unified), state))
}
