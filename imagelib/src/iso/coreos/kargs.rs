//! The areas in the boot loaders' configurations that hold the kernel's command line.
//!
//! An area holds the arguments, an end (a line break) and padding (`#`, which makes the rest a comment).

use bytes::Bytes;
use serde::Deserialize;

use super::CoreosIsoError;
use super::ignition::within;
use crate::iso::Volume;
use crate::iso::fields::u64_le;
use crate::kernel_arguments::KernelArguments;
use crate::overlay::Patch;
use crate::source::Source;

const KARGS: &str = "coreos/kargs.json";

/// coreos-installer refuses larger areas, and so does the kernel a longer command line on `x86_64` (`COMMAND_LINE_SIZE`).
const LARGEST_AREA: u64 = 2048;

/// The header in the system area that described the areas before `kargs.json` did: a magic number, the size of the
/// areas, the offset of a copy of the default arguments, and the areas' offsets up to a zero. Everything little-endian.
const HEADER_OFFSET: u64 = 32 * 1024 - 24 - 72;
const HEADER_LENGTH: u64 = 72;
const HEADER_MAGIC: &[u8] = b"coreKarg";
const HEADER_MOST_AREAS: usize = 6;

#[derive(Deserialize)]
struct Json {
    default: String,
    files: Vec<JsonFile>,
    size: u64,
}

#[derive(Deserialize)]
struct JsonFile {
    path: String,
    offset: u64,
    #[serde(default = "default_pad")]
    pad: char,
    #[serde(default = "default_end")]
    end: char,
}

fn default_pad() -> char {
    '#'
}

fn default_end() -> char {
    '\n'
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
        let bytes = source
            .read_vec(self.offset, size)
            .map_err(|source| CoreosIsoError::Read { offset: self.offset, source })?;
        let text = str::from_utf8(&bytes).map_err(|_| CoreosIsoError::KernelArgumentAreas("are not UTF-8"))?;
        let text = text.trim_end_matches(char::from(self.pad)).trim_end_matches(char::from(self.end)).trim();
        parse(text)
    }

    fn encode(&self, line: &str, size: u64) -> Bytes {
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
}

impl KernelArgumentAreas {
    pub(super) fn probe(source: &dyn Source, volume: &Volume) -> Result<Option<Self>, CoreosIsoError> {
        match super::read_json::<Json>(source, volume, KARGS)? {
            Some(json) => Self::from_json(source, volume, json).map(Some),
            None => Self::from_header(source),
        }
    }

    fn from_json(source: &dyn Source, volume: &Volume, json: Json) -> Result<Self, CoreosIsoError> {
        check_size(json.size)?;
        let mut areas = Vec::new();
        for JsonFile { path, offset: start, pad, end } in json.files {
            let Some(entry) = super::find(source, volume, &path)? else {
                return Err(CoreosIsoError::NoFile { by: KARGS, path });
            };
            let (Ok(pad), Ok(end), true) = (u8::try_from(pad), u8::try_from(end), pad.is_ascii() && end.is_ascii())
            else {
                return Err(CoreosIsoError::KernelArgumentAreas("are padded or ended with more than one byte"));
            };
            let Some(offset) = within(&entry.extents, start, json.size) else {
                return Err(CoreosIsoError::Outside { by: KARGS, path, offset: start, length: json.size });
            };
            areas.push(KernelArgumentArea { file: Some(path), offset, pad, end });
        }
        Self::new(source, json.size, parse(json.default.trim())?, areas)
    }

    fn from_header(source: &dyn Source) -> Result<Option<Self>, CoreosIsoError> {
        const BY: &str = "the header in the system area";
        let header = source
            .read_vec(HEADER_OFFSET, HEADER_LENGTH)
            .map_err(|source| CoreosIsoError::Read { offset: HEADER_OFFSET, source })?;
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
        let offsets = (0..HEADER_MOST_AREAS).map(|index| field(2 + index)).take_while(|offset| *offset != 0);
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
            return Err(CoreosIsoError::KernelArgumentAreas("are said to exist, and none is named"));
        };
        let current = first.decode(source, size)?;
        for area in others {
            if area.decode(source, size)? != current {
                return Err(CoreosIsoError::KernelArgumentAreas(
                    "do not hold the same arguments, so that these depend on how it is booted; \
                     use the image as it was published",
                ));
            }
        }
        Ok(Self { size, default, current, areas })
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

    pub(super) fn embed(&self, arguments: &KernelArguments) -> Result<Vec<Patch>, CoreosIsoError> {
        let line = arguments.to_string();
        let size = line.len() as u64;
        if size > self.capacity() {
            return Err(CoreosIsoError::KernelArgumentsTooLong { size, capacity: self.capacity() });
        }
        Ok(self.areas.iter().map(|area| Patch::bytes(area.offset, area.encode(&line, self.size))).collect())
    }
}

fn check_size(size: u64) -> Result<(), CoreosIsoError> {
    if (2..=LARGEST_AREA).contains(&size) {
        return Ok(());
    }
    Err(CoreosIsoError::KernelArgumentSize { size, limit: LARGEST_AREA })
}

fn parse(text: &str) -> Result<KernelArguments, CoreosIsoError> {
    text.parse().map_err(|_| CoreosIsoError::KernelArgumentAreas("hold what is not a kernel command line"))
}
