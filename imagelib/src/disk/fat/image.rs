//! A FAT file system in a base, usually an EFI system partition. Everything that planning needs is read once.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::FatError;
use super::directory::{self, Entry};
use super::geometry::{BOOT_SECTOR, Geometry, Root};
use super::table::Table;
use crate::source::Source;

/// An allocation table of this size is that of a file system of 4 GiB, where an EFI system partition has megabytes.
const MAX_TABLE_BYTES: u64 = 4 << 20;
/// All directories together.
const MAX_DIRECTORIES_BYTES: u64 = 2 << 20;
/// Directories within each other.
const DEEPEST: usize = 16;
/// A configuration file that is kept.
const MAX_CONFIGURATION_BYTES: u32 = 256 << 10;
/// All configuration files together.
const MAX_CONFIGURATIONS_BYTES: u64 = 2 << 20;
/// What the names of boot loaders' configuration files end with.
const CONFIGURATIONS: [&str; 2] = [".cfg", ".conf"];

/// A file of a FAT file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FatFile {
    /// Its path, with slashes between the names and no slash in front.
    pub path: String,
    /// Its size in bytes.
    pub size: u32,
    /// The ranges of the base with its content, in order.
    pub extents: Vec<Range<u64>>,
    /// Where its directory record stands.
    pub(super) record: u64,
    /// The clusters of its content, where that is kept.
    pub(super) kept: Option<Vec<u64>>,
}

/// A FAT12, FAT16 or FAT32 file system in a range of a base. It holds in memory what edits need: the boot sector, the
/// allocation tables, the directories and the boot loaders' configuration files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FatImage {
    pub(super) start: u64,
    pub(super) geometry: Geometry,
    pub(super) pieces: BTreeMap<u64, Bytes>,
    pub(super) files: Vec<FatFile>,
    pub(super) directories: Vec<String>,
    /// The directories that take no new records.
    pub(super) closed: Vec<String>,
    pub(super) free_clusters: u64,
}

impl FatImage {
    /// Reads the file system in this range of the base.
    pub fn open(source: &dyn Source, range: Range<u64>) -> Result<Self, FatError> {
        let length = range.end.min(source.size()).saturating_sub(range.start);
        if length < BOOT_SECTOR {
            return Err(FatError::NotFat("it is shorter than a sector"));
        }
        let reader = Reader { source, start: range.start };
        let boot = reader.read(0, BOOT_SECTOR)?;
        let geometry = Geometry::read(&boot)?;
        if geometry.size > length {
            return Err(FatError::Incomplete { expected: geometry.size, actual: length });
        }
        if geometry.table_size > MAX_TABLE_BYTES {
            return Err(FatError::TooLarge { what: "allocation tables", limit: MAX_TABLE_BYTES });
        }
        let mut pieces = BTreeMap::from([(0, boot)]);
        if let Some(info) = geometry.info {
            pieces.insert(info, reader.read(info, BOOT_SECTOR)?);
        }
        let table = reader.read(geometry.table, geometry.table_size)?;
        if geometry.tables == 2 {
            let second = geometry.table + geometry.table_size;
            if reader.read(second, geometry.table_size)? != table {
                return Err(FatError::Damaged("its two allocation tables differ"));
            }
            pieces.insert(second, table.clone());
        }
        pieces.insert(geometry.table, table.clone());
        let mut walk = Walk {
            reader,
            geometry: &geometry,
            table: Table::new(&geometry, table),
            pieces,
            files: Vec::new(),
            directories: Vec::new(),
            closed: Vec::new(),
            directory_bytes: 0,
            kept_bytes: 0,
        };
        walk.all()?;
        let (free_clusters, Walk { pieces, files, directories, closed, .. }) = (walk.table.free(), walk);
        Ok(Self { start: range.start, geometry, pieces, files, directories, closed, free_clusters })
    }

    /// Its range in the base, in bytes.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.geometry.size)
    }

    /// The files, directory by directory.
    pub fn files(&self) -> &[FatFile] {
        &self.files
    }

    /// The file at a path. Ignores case.
    pub fn file(&self, path: &str) -> Option<&FatFile> {
        self.files.iter().find(|file| file.path.eq_ignore_ascii_case(path))
    }

    /// The content of a boot loader's configuration file (`.cfg` or `.conf`). `None` for other files, whose content is not in
    /// memory, and if the file does not exist.
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.file(path)?;
        let clusters = file.kept.as_ref()?;
        let mut content = Vec::with_capacity(clusters.len() * self.geometry.cluster_size as usize);
        for cluster in clusters {
            content.extend_from_slice(self.pieces.get(cluster)?);
        }
        content.truncate(file.size as usize);
        Some(content)
    }

    /// The number of free bytes.
    pub fn free(&self) -> u64 {
        self.free_clusters * u64::from(self.geometry.cluster_size)
    }
}

struct Reader<'a> {
    source: &'a dyn Source,
    start: u64,
}

impl Reader<'_> {
    fn read(&self, offset: u64, length: u64) -> Result<Bytes, FatError> {
        self.source.read_vec(self.start + offset, length).map(Bytes::from).map_err(FatError::Read)
    }
}

struct Walk<'a> {
    reader: Reader<'a>,
    geometry: &'a Geometry,
    table: Table<'a>,
    pieces: BTreeMap<u64, Bytes>,
    files: Vec<FatFile>,
    directories: Vec<String>,
    closed: Vec<String>,
    directory_bytes: u64,
    kept_bytes: u64,
}

impl Walk<'_> {
    fn all(&mut self) -> Result<(), FatError> {
        let root = match self.geometry.root {
            Root::Fixed { offset, length } => {
                let bytes = self.reader.read(offset, length)?;
                self.pieces.insert(offset, bytes.clone());
                Listing { places: vec![offset], length, bytes: bytes.to_vec() }
            }
            Root::Chain { first } => self.directory(first)?,
        };
        let mut waiting = vec![(String::new(), 0, root)];
        while let Some((path, depth, listing)) = waiting.pop() {
            if directory::has_records_behind_end(&listing.bytes) {
                self.closed.push(path.clone());
            }
            for entry in directory::entries(&listing.bytes) {
                let path = if path.is_empty() { entry.name.clone() } else { format!("{path}/{}", entry.name) };
                if !entry.directory {
                    self.file(path, &entry, &listing)?;
                } else if depth == DEEPEST {
                    return Err(FatError::Damaged("its directories are nested too deep"));
                } else {
                    self.directories.push(path.clone());
                    waiting.push((path, depth + 1, self.directory(entry.first)?));
                }
            }
        }
        Ok(())
    }

    fn directory(&mut self, first: u32) -> Result<Listing, FatError> {
        let length = u64::from(self.geometry.cluster_size);
        // A directory has no size of its own: the bound is what all of them may have.
        let chain = self.table.chain(first, MAX_DIRECTORIES_BYTES / length + 1)?;
        self.directory_bytes += chain.len() as u64 * length;
        if self.directory_bytes > MAX_DIRECTORIES_BYTES {
            return Err(FatError::TooLarge { what: "directories", limit: MAX_DIRECTORIES_BYTES });
        }
        let places = self.keep(&chain)?;
        let bytes = places.iter().filter_map(|place| self.pieces.get(place)).flatten().copied().collect();
        Ok(Listing { places, length, bytes })
    }

    fn file(&mut self, path: String, entry: &Entry, listing: &Listing) -> Result<(), FatError> {
        let clusters = self.geometry.clusters_of(u64::from(entry.size));
        let chain = match entry.first {
            0 => Vec::new(),
            first => self.table.chain(first, clusters.max(1))?,
        };
        if (chain.len() as u64) < clusters {
            return Err(FatError::Damaged("a file is longer than its chain of clusters"));
        }
        let length = chain.len() as u64 * u64::from(self.geometry.cluster_size);
        let wanted = CONFIGURATIONS.iter().any(|end| path.to_ascii_lowercase().ends_with(end));
        let mut kept = None;
        if wanted && entry.size <= MAX_CONFIGURATION_BYTES && self.kept_bytes + length <= MAX_CONFIGURATIONS_BYTES {
            self.kept_bytes += length;
            kept = Some(self.keep(&chain)?);
        }
        let record = listing.position(entry.record as u64).unwrap_or(0);
        let extents = self.extents(&chain, u64::from(entry.size));
        self.files.push(FatFile { path, size: entry.size, extents, record, kept });
        Ok(())
    }

    /// The first `size` bytes of a chain, as ranges of the base.
    fn extents(&self, chain: &[u32], size: u64) -> Vec<Range<u64>> {
        let mut extents: Vec<Range<u64>> = Vec::new();
        let mut rest = size;
        for place in chain.iter().filter_map(|cluster| self.geometry.cluster(*cluster)) {
            let length = rest.min(u64::from(self.geometry.cluster_size));
            let start = self.reader.start + place;
            match extents.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end += length,
                None if length > 0 => extents.push(start..start + length),
                None => {}
            }
            rest -= length;
        }
        extents
    }

    /// Reads clusters and keeps them; says where they stand.
    fn keep(&mut self, chain: &[u32]) -> Result<Vec<u64>, FatError> {
        let place = |cluster: &u32| self.geometry.cluster(*cluster);
        let places: Vec<u64> = chain.iter().filter_map(place).collect();
        for place in &places {
            self.pieces.insert(*place, self.reader.read(*place, u64::from(self.geometry.cluster_size))?);
        }
        Ok(places)
    }
}

/// A directory's bytes, and where the pieces of this length that they are made of stand.
struct Listing {
    places: Vec<u64>,
    length: u64,
    bytes: Vec<u8>,
}

impl Listing {
    /// Where in the file system this byte of the directory stands.
    fn position(&self, offset: u64) -> Option<u64> {
        let piece = usize::try_from(offset / self.length).ok()?;
        Some(self.places.get(piece)? + offset % self.length)
    }
}
