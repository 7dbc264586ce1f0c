//! How many bytes of a medium a BMC passes on until the system on it runs.

use serde::Serialize;
use utoipa::ToSchema;

use crate::base::live::{EntryView, LiveInitrd, LiveIso};
use crate::base::{Base, Format, IsoBase, IsoSystem, KernelInitrdBase};
use crate::boot_medium::Esp;

/// How many bytes of an image a BMC passes on until the host's system runs, before the host's own files are added. A BMC that fetches the
/// whole image before the host starts passes on all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = MediumReads)]
pub struct MediumReads {
    /// The format of the image.
    #[schema(value_type = String, example = "minimal-iso")]
    pub format: Format,
    /// What every boot reads, in bytes.
    pub at_least: u64,
    /// What no boot exceeds, in bytes, unless something is read twice.
    pub at_most: u64,
    /// What the figures are based on.
    pub basis: &'static str,
}

/// The whole medium is more than is read: boot loaders for other machines, other boot entries, padding.
const SYSTEM_ON_MEDIUM: &str = "at least the kernel and the initramfs of the smallest boot entry, and at most the whole medium: the \
                                system reads as much of its root file system as it needs";
const NO_ROOT: &str = "at least the kernel and the initramfs of the smallest boot entry, and at most the whole medium, which has no \
                       root file system";

impl MediumReads {
    /// The figures for all formats that a BMC shows to a host.
    pub fn of(base: &Base) -> Vec<Self> {
        let formats = base.formats().into_iter();
        formats.filter_map(|format| Self::of_format(base, format)).collect()
    }

    /// Those for one format. `None` if no BMC shows it, or dayone does not know which files a boot reads.
    pub fn of_format(base: &Base, format: Format) -> Option<Self> {
        let (at_least, at_most) = match (base, format) {
            (_, Format::Initrd | Format::Data) | (Base::Nothing, _) => None,
            (Base::Iso(iso), _) => of_iso(iso, format),
            (Base::Disk(disk), _) => Some((of_entries(disk.system.as_ref().ok()?)?, disk.size)),
            (Base::KernelInitrd(base), _) => of_kernel(base, format),
        }?;
        let has_root = matches!(base, Base::Iso(_) | Base::Disk(_)) && format != Format::MinimalIso;
        let basis = if has_root { SYSTEM_ON_MEDIUM } else { NO_ROOT };
        Some(Self { format, at_least: at_least.min(at_most), at_most, basis })
    }
}

fn of_iso(iso: &IsoBase, format: Format) -> Option<(u64, u64)> {
    let is_minimal = format == Format::MinimalIso;
    match &iso.system {
        IsoSystem::Coreos(coreos) => {
            let live = coreos.live.as_ref()?;
            let length = |range: &std::ops::Range<u64>| range.end.saturating_sub(range.start);
            let size = if is_minimal { coreos.minimal.as_ref().ok()?.size() } else { iso.size };
            Some((length(&live.kernel) + length(&live.initrd), size))
        }
        IsoSystem::Live(live) => {
            let size = if is_minimal { live.minimal().ok()?.size } else { iso.size };
            // They move to the end, and what was there stays.
            let grown: u64 = live.initrds().iter().filter(|initrd| initrd.esp.is_none()).map(LiveInitrd::size).sum();
            Some((of_entries(live)?, if is_minimal { size } else { size + grown }))
        }
        IsoSystem::Other(_) => None,
    }
}

/// The kernel and the initramfs of the entry that needs the least.
fn of_entries(live: &LiveIso) -> Option<u64> {
    let size = |entry: EntryView<'_>| {
        let kernel = match entry.kernel_on_medium()? {
            (None, path) => live.editor()?.file(path)?.extent.length,
            (Some(esp), path) => live.esps().get(esp)?.fat.file(path.trim_start_matches('/'))?.size.into(),
        };
        Some(kernel + entry.initrd?.size())
    };
    live.entries().filter_map(size).min()
}

/// The loaders, a menu and directories come on top: less than a MiB beside the EFI system partition.
fn of_kernel(base: &KernelInitrdBase, format: Format) -> Option<(u64, u64)> {
    const REST: u64 = 1 << 20;
    // A disk image has free space, which no boot reads.
    let files = (format == Format::Iso).then_some(base.kernel_size? + base.initrd_size)?;
    let esp = base.loaders.esp.as_ref().map_or(0, Esp::size);
    Some((files, files + esp + REST))
}
