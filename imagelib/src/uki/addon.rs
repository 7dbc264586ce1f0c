//! Addons: EFI programs with data for systemd-stub (systemd, `src/boot/addon.c`; `ukify build --stub addonx64.efi.stub`).
//!
//! For systemd-stub, the firmware or shim loads and verifies an addon, but never runs it. This module writes what they require of a
//! program that they load: headers with a place for signatures, a section of code around the entry point, and SBAT data.

use crate::fields::put;

/// The name of dayone's addons.
const NAME: &str = "host.addon.efi";
/// What the stub adds to the name of its program for the directory of its companions.
const DIRECTORY: &str = ".extra.d";

/// The directory of the companions of the unified kernel image at a path.
pub(crate) fn companions_directory(uki: &str) -> String {
    format!("{uki}{DIRECTORY}")
}

/// The path of dayone's addon for the unified kernel image at a path.
pub(crate) fn addon_path(uki: &str) -> String {
    format!("{}/{NAME}", companions_directory(uki))
}

/// What an addon says of itself to shim, which refuses programs without (shim, `SBAT.md`). As `ukify` has it, so that who revokes
/// addons revokes these.
const SBAT: &str = "sbat,1,SBAT Version,sbat,1,https://github.com/rhboot/shim/blob/main/SBAT.md\n\
    uki-addon,1,UKI Addon,addon,1,https://www.freedesktop.org/software/systemd/man/latest/systemd-stub.html\n";

/// The offset of the PE header.
const HEADER: usize = 0x40;
const OPTIONAL: usize = HEADER + 24;
const OPTIONAL_SIZE: u16 = 240;
const TABLE: usize = OPTIONAL + OPTIONAL_SIZE as usize;
const RECORD: usize = 40;
/// In the file.
const FILE_ALIGNMENT: u32 = 512;
/// In memory: a page, so that firmware can protect each section.
const MEMORY_ALIGNMENT: u32 = 4096;
/// Any address will do: nothing in the program depends on it.
const IMAGE_BASE: u64 = 1 << 32;
/// An executable with nothing to link or to debug, and with large addresses.
const CHARACTERISTICS: u16 = 0x022e;
/// Any address, and no execution of data.
const DLL_CHARACTERISTICS: u16 = 0x0160;
const EFI_APPLICATION: u16 = 10;
const CODE: u32 = 0x6000_0020;
const DATA: u32 = 0x4000_0040;

/// A processor architecture for which dayone writes addons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Machine {
    X64,
    Aa64,
}

impl Machine {
    /// The architecture that the header of a program names.
    pub(crate) fn of(machine: u16) -> Option<Self> {
        [Self::X64, Self::Aa64].into_iter().find(|known| known.number() == machine)
    }

    fn number(self) -> u16 {
        match self {
            Self::X64 => 0x8664,
            Self::Aa64 => 0xaa64,
        }
    }

    /// A function that returns `EFI_UNSUPPORTED`.
    fn code(self) -> &'static [u8] {
        match self {
            Self::X64 => b"\x48\xb8\x03\0\0\0\0\0\0\x80\xc3",
            Self::Aa64 => b"\x60\x00\x80\xd2\x00\x00\xf0\xf2\xc0\x03\x5f\xd6",
        }
    }
}

/// An addon to write.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Addon {
    /// The architecture of the unified kernel image that it is for.
    pub(crate) machine: Machine,
    /// Kernel arguments, which the stub appends to those of the image.
    pub(crate) arguments: Option<String>,
    /// An archive, which the stub appends to the initrd of the image.
    pub(crate) initrd: Option<Vec<u8>>,
}

debug_only!(Addon { machine });

impl Addon {
    /// The program, without a signature. `None` if it would have 4 GiB or more.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let data = |name: &'static [u8], content| Section { name, content, characteristics: DATA };
        let code = Section { name: b".text", content: self.machine.code(), characteristics: CODE };
        let mut sections = vec![code, data(b".sbat", SBAT.as_bytes())];
        sections.extend(self.arguments.as_ref().map(|arguments| data(b".cmdline", arguments.as_bytes())));
        sections.extend(self.initrd.as_ref().map(|initrd| data(b".initrd", initrd)));
        write(self.machine, &sections)
    }
}

struct Section<'a> {
    name: &'static [u8],
    content: &'a [u8],
    characteristics: u32,
}

/// The number rounded up to a multiple. `None` if it is too large.
fn aligned(number: u32, alignment: u32) -> Option<u32> {
    number.checked_next_multiple_of(alignment)
}

fn write(machine: Machine, sections: &[Section<'_>]) -> Option<Vec<u8>> {
    let headers = aligned(u32::try_from(TABLE + RECORD * sections.len()).ok()?, FILE_ALIGNMENT)?;
    let mut bytes = vec![0; usize::try_from(headers).ok()?];
    let (mut address, mut code_size, mut data_size) = (MEMORY_ALIGNMENT, 0_u32, 0_u32);
    for (index, section) in sections.iter().enumerate() {
        let length = u32::try_from(section.content.len()).ok()?;
        let (offset, in_file) = (u32::try_from(bytes.len()).ok()?, aligned(length, FILE_ALIGNMENT)?);
        let mut record = [0; RECORD];
        put(&mut record, 0, section.name);
        for (at, number) in [(8, length), (12, address), (16, in_file), (20, offset), (36, section.characteristics)] {
            put(&mut record, at, &number.to_le_bytes());
        }
        put(&mut bytes, TABLE + RECORD * index, &record);
        bytes.extend_from_slice(section.content);
        bytes.resize(usize::try_from(offset.checked_add(in_file)?).ok()?, 0);
        let size = if section.characteristics == CODE { &mut code_size } else { &mut data_size };
        *size = size.checked_add(in_file)?;
        address = address.checked_add(aligned(length, MEMORY_ALIGNMENT)?)?;
    }
    put(&mut bytes, 0, b"MZ");
    put(&mut bytes, 0x3c, &u32::try_from(HEADER).ok()?.to_le_bytes());
    put(&mut bytes, HEADER, b"PE\0\0");
    put(&mut bytes, HEADER + 4, &machine.number().to_le_bytes());
    put(&mut bytes, HEADER + 6, &u16::try_from(sections.len()).ok()?.to_le_bytes());
    put(&mut bytes, HEADER + 20, &OPTIONAL_SIZE.to_le_bytes());
    put(&mut bytes, HEADER + 22, &CHARACTERISTICS.to_le_bytes());
    put(&mut bytes, OPTIONAL, &0x020b_u16.to_le_bytes());
    for (at, number) in [
        (4, code_size),
        (8, data_size),
        // The entry point, and the beginning of the code.
        (16, MEMORY_ALIGNMENT),
        (20, MEMORY_ALIGNMENT),
        (32, MEMORY_ALIGNMENT),
        (36, FILE_ALIGNMENT),
        (56, address),
        (60, headers),
        // The number of entries in the directory, all of them empty.
        (108, 16),
    ] {
        put(&mut bytes, OPTIONAL + at, &number.to_le_bytes());
    }
    put(&mut bytes, OPTIONAL + 24, &IMAGE_BASE.to_le_bytes());
    put(&mut bytes, OPTIONAL + 68, &EFI_APPLICATION.to_le_bytes());
    put(&mut bytes, OPTIONAL + 70, &DLL_CHARACTERISTICS.to_le_bytes());
    Some(bytes)
}
