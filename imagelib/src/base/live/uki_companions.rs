//! What a medium has beside a unified kernel image already: addons and credentials, which its stub takes as well
//! (`systemd-stub(7)`).

use std::ops::Range;

use super::partitions::EspVolume;
use crate::authenticode::PeImage;
use crate::disk::fat::FatFile;
use crate::overlay::{Overlay, OverlaySource, Segment, Sizes};
use crate::source::{Role, Source};
use crate::uki::{CREDENTIAL_NAME, MAX_CREDENTIAL_BYTES, companions_directory, is_credential_of_dayone};

/// Where the stub looks for what is for all images of a partition.
const FOR_ALL: [&str; 2] = ["loader/addons", "loader/credentials"];
/// The longest kernel arguments of an addon that are read, in bytes.
const MAX_ARGUMENTS_BYTES: u64 = 64 << 10;

/// What is beside a unified kernel image.
#[derive(Debug, Clone, Default)]
pub(super) struct UkiCompanions {
    /// The kernel arguments of each addon.
    pub(super) arguments: Vec<String>,
    /// The size of all credentials together, in bytes.
    pub(super) credential_bytes: u64,
    /// The path of another one's credential that has the name of dayone's.
    pub(super) same_name: Option<String>,
    /// Whether dayone has written a credential.
    pub(super) of_dayone: bool,
}

impl UkiCompanions {
    /// Looks beside the image at a path of a partition.
    pub(super) fn of(source: &dyn Source, esp: &EspVolume, uki: &str) -> Self {
        let directory = companions_directory(uki);
        let is_beside = |file: &&FatFile| {
            let parent = file.path.rsplit_once('/').map_or("", |(parent, _)| parent);
            FOR_ALL.iter().chain([&directory.as_str()]).any(|known| known.eq_ignore_ascii_case(parent))
        };
        let mut found = Self::default();
        for file in esp.fat.files().iter().filter(is_beside) {
            let path = file.path.to_ascii_lowercase();
            let name = path.rsplit('/').next().unwrap_or_default();
            if name.ends_with(".addon.efi") {
                found.arguments.extend(arguments(source, &file.extents));
            } else if name.rsplit_once('.').is_some_and(|(_, suffix)| suffix == "cred") {
                // systemd leaves out one that alone is too large, and goes on.
                let size = Some(u64::from(file.size)).filter(|size| *size <= MAX_CREDENTIAL_BYTES);
                found.credential_bytes = found.credential_bytes.saturating_add(size.unwrap_or(0));
                if name == CREDENTIAL_NAME {
                    if is_credential_of_dayone(source, &file.extents) {
                        found.of_dayone = true;
                    } else {
                        found.same_name = Some(file.path.clone());
                    }
                }
            }
        }
        found
    }
}

/// The kernel arguments of an addon. The stub passes one that it cannot read over.
fn arguments(source: &dyn Source, extents: &[Range<u64>]) -> Option<String> {
    let segments = extents.iter().map(|range| Segment::base(Role::Iso, range.clone())).collect();
    let program = Overlay::concatenated(&Sizes::from([(Role::Iso, source.size())]), segments).ok()?;
    let program = OverlaySource::new(&program, (Role::Iso, source));
    let section = PeImage::read(&program).ok()?.section(&program, b".cmdline", MAX_ARGUMENTS_BYTES).ok()??;
    Some(String::from_utf8_lossy(&section).trim_matches(['\0', ' ', '\n']).to_owned())
}
