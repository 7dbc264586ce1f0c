//! What the programs of a boot medium are, as far as it matters for what can be changed.

use std::ops::Range;

use crate::fields::{u16_le, u32_le};
use crate::source::Source;

/// The beginning of a program: its headers are in there.
const BEGINNING: u64 = 64 << 10;
/// The largest section that is read: `os-release` and the like.
const MAX_SECTION_BYTES: u64 = 64 << 10;
/// The largest program that is looked into as a whole. systemd-boot has 200 KiB.
const MAX_LOADER_BYTES: u64 = 8 << 20;
/// By this text in a program, systemd-boot finds itself among others (`src/boot/efi/boot.c`).
const SYSTEMD_BOOT: &[u8] = b"#### LoaderInfo: systemd-boot ";
/// What shim says that it is (`version.c.in`).
const SHIM: &[u8] = b"UEFI SHIM\n$Version:";
/// Boot loaders with menus of their own, by a text that each of them has and GRUB does not: the names of the configurations of rEFInd
/// and ELILO in UTF-16, and the place in Limine for the checksum of its configuration (`common/lib/config.c`).
const FOREIGN: [(&[u8], &str); 3] = [
    (b"r\0e\0f\0i\0n\0d\0.\0c\0o\0n\0f\0", "rEFInd"),
    (b"e\0l\0i\0l\0o\0.\0c\0o\0n\0f\0", "ELILO"),
    (b"++CONFIG_B2SUM_SIGNATURE++", "Limine"),
];

/// A program that firmware, or a boot loader, starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    /// A unified kernel image: kernel, initrd and arguments in one EFI program. With the key by which systemd-boot
    /// sorts it.
    UnifiedKernelImage {
        /// `IMAGE_ID` or `ID` of its `os-release`.
        sort_key: String,
    },
    /// A Linux kernel.
    Linux,
    /// systemd-boot, which reads its own partition alone.
    SystemdBoot,
    /// shim, which starts the boot loader beside it.
    Shim,
    /// Another boot loader, with its name. It has menus of its own.
    Foreign(&'static str),
    /// Anything else, such as GRUB.
    Other,
}

impl Program {
    /// Looks into the program that lies at these ranges. What cannot be read is anything else.
    pub(crate) fn at(source: &dyn Source, extents: &[Range<u64>]) -> Self {
        let bytes = beginning(source, extents, 0, BEGINNING);
        let sections = sections(&bytes).unwrap_or_default();
        let find = |name: &[u8]| sections.iter().find(|section| section.name == name);
        if find(b".linux").is_some() {
            let os_release = find(b".osrel")
                .map(|section| beginning(source, extents, section.offset, section.length.min(MAX_SECTION_BYTES)));
            return Self::UnifiedKernelImage { sort_key: sort_key(&os_release.unwrap_or_default()) };
        }
        if is_linux(&bytes) {
            return Self::Linux;
        }
        let length: u64 = extents.iter().map(|range| range.end.saturating_sub(range.start)).sum();
        if sections.is_empty() || length > MAX_LOADER_BYTES {
            return Self::Other;
        }
        let bytes = beginning(source, extents, 0, length);
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        if has(SYSTEMD_BOOT) {
            Self::SystemdBoot
        } else if has(SHIM) {
            Self::Shim
        } else {
            FOREIGN.into_iter().find(|(text, _)| has(text)).map_or(Self::Other, |(_, name)| Self::Foreign(name))
        }
    }

    /// What it is, where dayone can add nothing to it.
    pub(crate) fn unreachable(&self) -> Option<&'static str> {
        match self {
            Self::UnifiedKernelImage { .. } => {
                Some("a unified kernel image, which contains its own initrd and kernel arguments")
            }
            Self::Linux => Some("a Linux kernel that starts without an initrd"),
            Self::SystemdBoot | Self::Shim | Self::Foreign(_) | Self::Other => None,
        }
    }
}

/// A section of an EFI program.
struct Section {
    name: Vec<u8>,
    /// Where it stands in the file.
    offset: u64,
    length: u64,
}

/// The sections of a program in the format PE (Microsoft's "PE Format", "COFF File Header" and "Section Table").
fn sections(bytes: &[u8]) -> Option<Vec<Section>> {
    if !bytes.starts_with(b"MZ") {
        return None;
    }
    let header = usize::try_from(u32_le(bytes, 0x3c)?).ok()?;
    if bytes.get(header..)?.get(..4)? != b"PE\0\0" {
        return None;
    }
    let table = header.checked_add(24)?.checked_add(u16_le(bytes, header + 20)?.into())?;
    let records = bytes.get(table..)?.chunks_exact(40).take(u16_le(bytes, header + 6)?.into());
    let section = |record: &[u8]| {
        let name = record.get(..8)?.split(|byte| *byte == 0).next()?.to_vec();
        // The file may be longer than what is in use, and the other way round.
        let length = u32_le(record, 8)?.min(u32_le(record, 16)?);
        Some(Section { name, offset: u32_le(record, 20)?.into(), length: length.into() })
    };
    records.map(section).collect()
}

/// Whether it is a Linux kernel: of x86 by the version in its setup header (Documentation/arch/x86/boot.rst), which
/// memory tests and iPXE lack although they have the header; of arm64 by its magic number, or packed for EFI.
fn is_linux(bytes: &[u8]) -> bool {
    if bytes.get(0x38..0x3c) == Some(b"ARM\x64") || bytes.starts_with(b"MZ") && bytes.get(4..8) == Some(b"zimg") {
        return true;
    }
    let version = || {
        let at = usize::from(u16_le(bytes, 0x20e)?) + 0x200;
        let text = bytes.get(at..)?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text.get(..text.len().min(256))?).into_owned())
    };
    bytes.get(0x202..0x206) == Some(b"HdrS")
        && version().is_some_and(|version| {
            version.starts_with(|first: char| first.is_ascii_digit())
                && version.contains(" (")
                && version.contains(" #")
        })
}

/// What systemd-boot sorts a unified kernel image by (`config_load_type2_entries`).
fn sort_key(os_release: &[u8]) -> String {
    let text = String::from_utf8_lossy(os_release);
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='));
        line.map(|value| value.trim_matches(['"', '\'']).to_owned())
    };
    value("IMAGE_ID").or_else(|| value("ID")).unwrap_or_default()
}

/// Bytes of a file, as many as there are.
fn beginning(source: &dyn Source, extents: &[Range<u64>], mut skip: u64, mut length: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Range { start, end } in extents {
        let extent = end.saturating_sub(*start);
        let from = skip.min(extent);
        skip -= from;
        let part = (extent - from).min(length);
        length -= part;
        match source.read_vec(start + from, part) {
            Ok(part) => bytes.extend(part),
            Err(_) => break,
        }
    }
    bytes
}
