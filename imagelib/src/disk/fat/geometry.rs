//! Where the parts of a FAT file system are: its BIOS parameter block (Microsoft, FAT32 File System Specification 1.03;
//! ECMA-107 §9).

use super::FatError;
use crate::fields::{array, u16_le, u32_le};

/// The length of the boot sector that is looked at, whatever the sectors' size.
pub(super) const BOOT_SECTOR: u64 = 512;
/// The first cluster that holds data.
pub(super) const FIRST_CLUSTER: u32 = 2;

/// The width of the allocation table's entries, which depends on nothing but the number of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Fat12,
    Fat16,
    Fat32,
}

impl Width {
    const LEAST_FAT16: u32 = 4085;
    const LEAST_FAT32: u32 = 65525;

    /// Whether the number of clusters is near a bound between two widths. The specification asks to stay clear of them, because others
    /// count wrong.
    pub(super) fn is_near_bound(clusters: u32) -> bool {
        let near = |bound: u32| (bound - 16..bound + 16).contains(&clusters);
        near(Self::LEAST_FAT16) || near(Self::LEAST_FAT32)
    }

    pub(super) fn of(clusters: u32) -> Self {
        match clusters {
            0..Self::LEAST_FAT16 => Self::Fat12,
            Self::LEAST_FAT16..Self::LEAST_FAT32 => Self::Fat16,
            _ => Self::Fat32,
        }
    }

    pub(super) fn bits(self) -> u64 {
        match self {
            Self::Fat12 => 12,
            Self::Fat16 => 16,
            Self::Fat32 => 32,
        }
    }
}

/// Where the root directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// At a place of its own that never grows.
    Fixed { offset: u64, length: u64 },
    /// A chain of clusters, like any directory.
    Chain { first: u32 },
}

/// The parts of a file system, in bytes from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) width: Width,
    pub(super) cluster_size: u32,
    pub(super) clusters: u32,
    pub(super) table: u64,
    pub(super) table_size: u64,
    pub(super) tables: u64,
    pub(super) root: Root,
    pub(super) data: u64,
    /// The sector that counts the free clusters of FAT32.
    pub(super) info: Option<u64>,
    pub(super) size: u64,
}

impl Geometry {
    /// The geometry that a boot sector tells.
    pub(super) fn read(boot: &[u8]) -> Result<Self, FatError> {
        let missing = || FatError::NotFat("its first sector is too short");
        let byte = |at: usize| boot.get(at).copied().map(u64::from).ok_or_else(missing);
        let short = |at: usize| u16_le(boot, at).map(u64::from).ok_or_else(missing);
        let long = |at: usize| u32_le(boot, at).map(u64::from).ok_or_else(missing);
        let check = |holds: bool, reason| if holds { Ok(()) } else { Err(FatError::NotFat(reason)) };

        check(array(boot, 510) == Some([0x55, 0xAA]), "its first sector has no signature")?;
        let (sector, per_cluster) = (short(11)?, byte(13)?);
        check(sector.is_power_of_two() && (512..=4096).contains(&sector), "its sectors have an impossible size")?;
        check(per_cluster.is_power_of_two(), "its clusters have an impossible size")?;
        let (reserved, tables, root_entries) = (short(14)?, byte(16)?, short(17)?);
        check(reserved > 0, "it has no boot sector")?;
        check(matches!(tables, 1 | 2), "it has neither one nor two allocation tables")?;
        let (small_total, large_total) = (short(19)?, long(32)?);
        check((small_total == 0) != (large_total == 0), "its size is missing, or given twice")?;
        let total = small_total + large_total;
        let small_table = short(22)?;
        let wide = small_table == 0;
        let table_sectors = if wide { long(36)? } else { small_table };
        let root_sectors = (root_entries * 32).div_ceil(sector);
        let data = reserved + tables * table_sectors + root_sectors;
        let clusters = total.saturating_sub(data) / per_cluster;
        let clusters = u32::try_from(clusters).ok().filter(|clusters| (1..0x0FFF_FFF5).contains(clusters));
        let clusters = clusters.ok_or(FatError::NotFat("it has no room for data"))?;
        let width = Width::of(clusters);
        check(wide == (width == Width::Fat32), "its number of clusters does not fit its allocation table")?;
        check(wide == (root_entries == 0), "its root directory is not where it must be")?;
        let entries = table_sectors * sector * 8 / width.bits();
        check(entries >= u64::from(clusters) + u64::from(FIRST_CLUSTER), "its allocation table is too short")?;

        let mut info = None;
        let mut root = Root::Fixed { offset: (data - root_sectors) * sector, length: root_sectors * sector };
        if wide {
            let (flags, version, first, info_sector, backup) =
                (short(40)?, short(42)?, long(44)?, short(48)?, short(50)?);
            check(version == 0, "it is of an unknown version")?;
            check(flags & 0x80 == 0, "only one of its allocation tables is in use")?;
            check(
                (1..reserved).contains(&info_sector) && backup < reserved,
                "its information sector or its backup lies outside the reserved sectors",
            )?;
            info = Some(info_sector * sector);
            root = Root::Chain { first: u32::try_from(first).unwrap_or(0) };
        }
        Ok(Self {
            width,
            cluster_size: u32::try_from(sector * per_cluster).map_err(|_| missing())?,
            clusters,
            table: reserved * sector,
            table_size: table_sectors * sector,
            tables,
            root,
            data: data * sector,
            info,
            size: total * sector,
        })
    }

    /// Where a cluster begins; none for a number that no cluster has.
    pub(super) fn cluster(&self, number: u32) -> Option<u64> {
        let index = number.checked_sub(FIRST_CLUSTER).filter(|index| *index < self.clusters)?;
        Some(self.data + u64::from(index) * u64::from(self.cluster_size))
    }

    /// How many clusters so many bytes take.
    pub(super) fn clusters_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.cluster_size))
    }
}
