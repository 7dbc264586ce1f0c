//! How large the parts of a new file system are, and the boot sector that tells.

use super::FatError;
use super::geometry::{FIRST_CLUSTER, Geometry, Root, Width};
use super::name::VolumeLabel;
use crate::disk::SECTOR;
use crate::fields::put;

/// A new file system's size is a multiple of this.
const STEP: u64 = 1 << 20;
/// FAT32 begins with 65525 clusters. The specification asks to stay clear of the bounds, because others count wrong.
const LEAST_FAT32_CLUSTERS: u64 = 65525 + 64;
/// A data drive's clusters.
const SMALL_CLUSTER: u64 = 2048;
/// The bound of a data drive: fewer clusters than FAT16 can have.
const MAX_SMALL_CLUSTERS: u64 = 60_000;
/// The records of a root directory of FAT12 and FAT16, if they need not be more.
const ROOT_RECORDS: u64 = 512;
/// Where the copy of a FAT32 boot sector is, and where the sector that counts free clusters.
pub(super) const BACKUP: u64 = 6;
pub(super) const INFO: u64 = 1;

/// The file system that has room for what takes so many clusters of a given size.
pub(super) fn fat32(needed: impl Fn(u64) -> u64) -> Result<Geometry, FatError> {
    // The larger the clusters, the less of the table a firmware reads to find a file.
    let mut cluster = 32 << 10;
    while cluster > SECTOR && needed(cluster) < LEAST_FAT32_CLUSTERS {
        cluster /= 2;
    }
    shape(cluster, needed(cluster).max(LEAST_FAT32_CLUSTERS), None)
}

/// The same for a data drive, with so many records in its root directory.
pub(super) fn small(needed: impl Fn(u64) -> u64, root_records: u64) -> Result<Geometry, FatError> {
    let clusters = needed(SMALL_CLUSTER);
    if clusters > MAX_SMALL_CLUSTERS {
        return Err(FatError::TooLarge { what: "files", limit: MAX_SMALL_CLUSTERS * SMALL_CLUSTER });
    }
    shape(SMALL_CLUSTER, clusters, Some(root_records.max(ROOT_RECORDS)))
}

fn shape(cluster: u64, least: u64, root_records: Option<u64>) -> Result<Geometry, FatError> {
    let too_large = || FatError::FileTooLarge("the whole".to_owned());
    // The table has room for what rounding up adds.
    let entries = least + 2 * STEP / cluster + u64::from(FIRST_CLUSTER);
    let table = (entries * if root_records.is_some() { 2 } else { 4 }).div_ceil(SECTOR) * SECTOR;
    let root = root_records.map_or(0, |records| (records * 32).next_multiple_of(SECTOR));
    let mut reserved = SECTOR;
    if root_records.is_none() {
        // Files begin at pages of the disk, as their bytes do in the base.
        reserved = (32 * SECTOR + 2 * table).next_multiple_of(4096) - 2 * table;
    }
    let data = reserved + 2 * table + root;
    let mut size = (data + least * cluster).next_multiple_of(STEP);
    let clusters_of = |size: u64| u32::try_from((size - data) / cluster).map_err(|_| too_large());
    if root_records.is_some() && Width::is_near_bound(clusters_of(size)?) {
        size += STEP;
    }
    let clusters = clusters_of(size)?;
    u32::try_from(size / SECTOR).map_err(|_| too_large())?;
    let root = match root_records {
        Some(_) => Root::Fixed { offset: data - root, length: root },
        None => Root::Chain { first: FIRST_CLUSTER },
    };
    Ok(Geometry {
        width: Width::of(clusters),
        cluster_size: u32::try_from(cluster).map_err(|_| too_large())?,
        clusters,
        table: reserved,
        table_size: table,
        tables: 2,
        root,
        data,
        info: root_records.is_none().then_some(INFO * SECTOR),
        size,
    })
}

/// The boot sector of a file system that begins with this sector of its disk.
pub(super) fn boot_sector(geometry: &Geometry, label: VolumeLabel, id: u32, first_sector: u32) -> Vec<u8> {
    // All of these fit: the geometry is one of ours.
    let short = |value: u64| u16::try_from(value).unwrap_or(0).to_le_bytes();
    let long = |value: u64| u32::try_from(value).unwrap_or(0).to_le_bytes();
    let (sectors, table) = (geometry.size / SECTOR, geometry.table_size / SECTOR);
    let per_cluster = u8::try_from(u64::from(geometry.cluster_size) / SECTOR).unwrap_or(0);
    let mut boot = vec![0; 512];
    put(&mut boot, 3, b"DAYONE  ");
    put(&mut boot, 11, &short(SECTOR));
    put(&mut boot, 13, &[per_cluster]);
    put(&mut boot, 14, &short(geometry.table / SECTOR));
    put(&mut boot, 16, &[2]);
    put(&mut boot, if sectors < 1 << 16 { 19 } else { 32 }, &long(sectors));
    put(&mut boot, 21, &[0xF8]);
    // The geometry of the days of cylinders: any that divides the size.
    put(&mut boot, 24, &short(32));
    put(&mut boot, 26, &short(64));
    put(&mut boot, 28, &first_sector.to_le_bytes());
    let extended = match geometry.root {
        Root::Fixed { length, .. } => {
            put(&mut boot, 0, &[0xEB, 0x3C, 0x90]);
            put(&mut boot, 17, &short(length / 32));
            put(&mut boot, 22, &short(table));
            36
        }
        Root::Chain { first } => {
            put(&mut boot, 0, &[0xEB, 0x58, 0x90]);
            put(&mut boot, 36, &long(table));
            put(&mut boot, 44, &first.to_le_bytes());
            put(&mut boot, 48, &short(INFO));
            put(&mut boot, 50, &short(BACKUP));
            64
        }
    };
    put(&mut boot, extended, &[0x80, 0, 0x29]);
    put(&mut boot, extended + 3, &id.to_le_bytes());
    put(&mut boot, extended + 7, label.as_bytes());
    put(
        &mut boot,
        extended + 18,
        match geometry.width {
            Width::Fat12 => b"FAT12   ",
            Width::Fat16 => b"FAT16   ",
            Width::Fat32 => b"FAT32   ",
        },
    );
    put(&mut boot, 510, &[0x55, 0xAA]);
    boot
}

/// The sector of FAT32 that counts the free clusters.
pub(super) fn info_sector(free: u32, next: u32) -> Vec<u8> {
    let mut info = vec![0; 512];
    put(&mut info, 0, b"RRaA");
    put(&mut info, 484, b"rrAa");
    put(&mut info, 488, &free.to_le_bytes());
    put(&mut info, 492, &next.to_le_bytes());
    put(&mut info, 510, &[0x55, 0xAA]);
    info
}
