//! The areas in the boot loaders' configurations that hold the kernel's command line.
//!
//! An area holds the arguments, an end (a line break) and padding (`#`, which makes the rest a comment).

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::CoreosIsoError;
use super::ignition::within;
use crate::fields::u64_le;
use crate::iso::fields::read_bytes;
use crate::iso::{FileEntry, Volume};
use crate::kernel_arguments::KernelArguments;
use crate::overlay::Patch;
use crate::source::Source;

pub(super) const KARGS: &str = "coreos/kargs.json";

/// coreos-installer refuses larger areas, and so does the kernel a longer command line on `x86_64` (`COMMAND_LINE_SIZE`).
pub(super) const MAX_AREA_BYTES: u64 = 2048;

/// The longest command line of areas in the configurations of boot loaders, in bytes. The kernel takes 2047
/// (`COMMAND_LINE_SIZE` of `x86_64`, aarch64 and ppc64le), and before ours GRUB and isolinux put `BOOT_IMAGE=`, a device and
/// two paths.
pub(super) const MAX_LINE_BYTES: u64 = 2047 - 128;

/// The header in the system area that described the areas before `kargs.json` did: a magic number, the size of the
/// areas, the offset of a copy of the default arguments, and the areas' offsets up to a zero. Everything little-endian.
const HEADER_OFFSET: u64 = 32 * 1024 - 24 - 72;
const HEADER_LENGTH: u64 = 72;
const HEADER_MAGIC: &[u8] = b"coreKarg";
const MAX_HEADER_AREAS: usize = 6;

/// `kargs.json`. The order of the fields is that in which coreos-installer writes them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Json {
    default: String,
    pub(super) files: Vec<JsonFile>,
    pub(super) size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct JsonFile {
    pub(super) path: String,
    pub(super) offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pad: Option<char>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<char>,
}

impl JsonFile {
    /// What fills an area, and what ends the arguments in it. Before July 2023 nothing said so.
    fn padding(&self) -> Result<(u8, u8), CoreosIsoError> {
        match (u8::try_from(self.pad.unwrap_or('#')), u8::try_from(self.end.unwrap_or('\n'))) {
            (Ok(pad), Ok(end)) if pad.is_ascii() && end.is_ascii() => Ok((pad, end)),
            _ => Err(CoreosIsoError::KernelArgumentAreas("are padded or ended with more than one byte")),
        }
    }
}

/// `kargs.json`, and where it stands in the image.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Description {
    json: Json,
    offset: u64,
    length: u64,
}

/// One area for kernel arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelArgumentArea {
    file: Option<String>,
    offset: u64,
    pad: u8,
    end: u8,
}

impl KernelArgumentArea {
    /// The file that holds the area, where the image says: `isolinux/isolinux.cfg`.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Where the area begins in the image, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What stands in the area: padding, end and white space stripped from its end.
    fn decode(&self, source: &dyn Source, size: u64) -> Result<KernelArguments, CoreosIsoError> {
        let bytes = read_bytes(source, self.offset, size)?;
        let text = str::from_utf8(&bytes).map_err(|_| CoreosIsoError::KernelArgumentAreas("are not UTF-8"))?;
        let text = text.trim_end_matches(char::from(self.pad)).trim_end_matches(char::from(self.end)).trim();
        parse(text)
    }

    /// Whether what fills it is a comment in a text, and nothing that firmware loads.
    pub(super) fn is_text(&self) -> bool {
        (self.pad, self.end) == (b'#', b'\n')
    }

    pub(super) fn encode(&self, line: &str, size: u64) -> Bytes {
        let mut content = line.as_bytes().to_vec();
        content.push(self.end);
        content.resize(usize::try_from(size).unwrap_or_default().max(content.len()), self.pad);
        content.into()
    }
}

/// All areas for kernel arguments. They have one size and, in an image that is in order, one content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelArgumentAreas {
    size: u64,
    default: KernelArguments,
    current: KernelArguments,
    areas: Vec<KernelArgumentArea>,
    description: Option<Box<Description>>,
}

impl KernelArgumentAreas {
    pub(super) fn probe(source: &dyn Source, volume: &Volume) -> Result<Option<Self>, CoreosIsoError> {
        match super::read_json::<Json>(source, volume, KARGS)? {
            Some((json, entry)) => Self::from_json(source, volume, json, &entry).map(Some),
            None => Self::from_header(source),
        }
    }

    fn from_json(source: &dyn Source, volume: &Volume, json: Json, entry: &FileEntry) -> Result<Self, CoreosIsoError> {
        let size = json.size;
        check_size(size)?;
        let mut areas = Vec::new();
        for file in &json.files {
            let path = file.path.clone();
            let (pad, end) = file.padding()?;
            let Some(entry) = super::find(source, volume, &path)? else {
                return Err(CoreosIsoError::NoFile { by: KARGS, path });
            };
            let Some(offset) = within(&entry.extents, file.offset, size) else {
                return Err(CoreosIsoError::Outside { by: KARGS, path, offset: file.offset, length: size });
            };
            areas.push(KernelArgumentArea { file: Some(path), offset, pad, end });
        }
        let mut found = Self::new(source, size, parse(json.default.trim())?, areas)?;
        let length = entry.size();
        found.description =
            within(&entry.extents, 0, length).map(|offset| Box::new(Description { json, offset, length }));
        Ok(found)
    }

    fn from_header(source: &dyn Source) -> Result<Option<Self>, CoreosIsoError> {
        const BY: &str = "the header in the system area";
        let header = read_bytes(source, HEADER_OFFSET, HEADER_LENGTH)?;
        if !header.starts_with(HEADER_MAGIC) {
            return Ok(None);
        }
        let field = |index: usize| u64_le(&header, 8 + index * 8).unwrap_or_default();
        let size = field(0);
        check_size(size)?;
        let area = |offset: u64| {
            if offset.checked_add(size).is_none_or(|end| end > source.size()) {
                let path = "the ISO image".to_owned();
                return Err(CoreosIsoError::Outside { by: BY, path, offset, length: size });
            }
            let (pad, end) = (b'#', b'\n');
            Ok(KernelArgumentArea { file: None, offset, pad, end })
        };
        let default = area(field(1))?.decode(source, size)?;
        let offsets = (0..MAX_HEADER_AREAS).map(|index| field(2 + index)).take_while(|offset| *offset != 0);
        let areas = offsets.map(area).collect::<Result<_, _>>()?;
        Self::new(source, size, default, areas).map(Some)
    }

    fn new(
        source: &dyn Source,
        size: u64,
        default: KernelArguments,
        areas: Vec<KernelArgumentArea>,
    ) -> Result<Self, CoreosIsoError> {
        if default.to_string().len() as u64 >= size {
            return Err(CoreosIsoError::KernelArgumentAreas("are smaller than the default arguments"));
        }
        let Some((first, others)) = areas.split_first() else {
            return Err(CoreosIsoError::KernelArgumentAreas("are declared, but none is listed"));
        };
        let current = first.decode(source, size)?;
        for area in others {
            if area.decode(source, size)? != current {
                return Err(CoreosIsoError::KernelArgumentAreas(
                    "differ from each other, so the arguments would depend on how the host boots; use the image as it \
                     was published",
                ));
            }
        }
        Ok(Self { size, default, current, areas, description: None })
    }

    /// The patch after which `kargs.json` calls these the arguments of the image as it was published; none where it has
    /// no such file. What coreos-installer resets the image to is that.
    pub(super) fn describe_default(&self, default: &KernelArguments) -> Result<Option<Patch>, CoreosIsoError> {
        let Some(description) = &self.description else { return Ok(None) };
        let json = Json { default: default.to_string(), ..description.json.clone() };
        // As coreos-installer does it: the length of the file stays.
        let mut text = serde_json::to_vec_pretty(&json).map_err(|error| CoreosIsoError::Json { path: KARGS, error })?;
        let (size, capacity) = (text.len() as u64, description.length);
        if size > capacity {
            return Err(CoreosIsoError::KernelArgumentsTooLong { size, capacity });
        }
        text.resize(usize::try_from(capacity).unwrap_or_default(), b' ');
        Ok(Some(Patch::bytes(description.offset, text)))
    }

    /// The size of each area, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How long a command line can be, in bytes: the end takes one.
    pub fn capacity(&self) -> u64 {
        self.size - 1
    }

    /// The arguments of the image as it was published.
    pub fn default(&self) -> &KernelArguments {
        &self.default
    }

    /// The arguments that are there now.
    pub fn current(&self) -> &KernelArguments {
        &self.current
    }

    /// The areas.
    pub fn areas(&self) -> &[KernelArgumentArea] {
        &self.areas
    }

    /// What `kargs.json` says, where there is one; its files are the areas, in the same order.
    pub(super) fn description(&self) -> Option<&Json> {
        self.description.as_deref().map(|description| &description.json)
    }

    pub(super) fn embed(&self, arguments: &KernelArguments) -> Result<Vec<Patch>, CoreosIsoError> {
        let line = arguments.to_string();
        let size = line.len() as u64;
        // An area that dayone made larger has more room than a boot loader passes on.
        let is_loaded = self.areas.iter().all(KernelArgumentArea::is_text);
        let capacity = if is_loaded { self.capacity().min(MAX_LINE_BYTES) } else { self.capacity() };
        if size > capacity {
            return Err(CoreosIsoError::KernelArgumentsTooLong { size, capacity });
        }
        Ok(self.areas.iter().map(|area| Patch::bytes(area.offset, area.encode(&line, self.size))).collect())
    }
}

fn check_size(size: u64) -> Result<(), CoreosIsoError> {
    if (2..=MAX_AREA_BYTES).contains(&size) {
        return Ok(());
    }
    Err(CoreosIsoError::KernelArgumentSize { size, limit: MAX_AREA_BYTES })
}

fn parse(text: &str) -> Result<KernelArguments, CoreosIsoError> {
    text.parse().map_err(|_| CoreosIsoError::KernelArgumentAreas("contain something other than a kernel command line"))
}
