//! Whether an initramfs has the drivers for a RAM disk, into which UEFI HTTP boot puts a medium.

use std::collections::BTreeSet;

use super::signs::has_file;
use crate::initramfs::Survey;

/// The modules that make a RAM disk of the firmware a block device: it is a persistent memory range in ACPI's table NFIT.
pub(crate) const DRIVERS: [&str; 3] = ["nfit", "libnvdimm", "nd_pmem"];

/// File systems in an initramfs that dayone does not read, and in which dracut may put the modules.
const PACKED: [&str; 3] = ["squash-root.img", "squashfs-root.img", "erofs-root.img"];

/// Whether an initramfs, or its kernel, has the drivers for a RAM disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Drivers {
    Present,
    /// These are missing.
    Missing(Vec<&'static str>),
    /// dayone cannot tell, for this reason.
    Unknown(&'static str),
}

impl Drivers {
    pub(crate) fn of(survey: &Survey) -> Self {
        let modules: BTreeSet<String> = survey.tree.nodes().filter_map(|(path, _)| module(path)).collect();
        let built_in = survey.modules_builtin.as_ref();
        let in_kernel: BTreeSet<String> =
            built_in.into_iter().flat_map(|text| text.split(|byte| *byte == b'\n')).filter_map(module).collect();
        let has = |driver: &&str| modules.contains(*driver) || in_kernel.contains(*driver);
        let missing: Vec<&str> = DRIVERS.into_iter().filter(|driver| !has(driver)).collect();
        if missing.is_empty() {
            Self::Present
        } else if PACKED.iter().any(|path| has_file(&survey.tree, path)) {
            Self::Unknown("the modules are in a file system inside the initramfs, which dayone does not read")
        } else if built_in.is_none() {
            Self::Unknown("the initramfs has no list of what its kernel contains (modules.builtin)")
        } else {
            Self::Missing(missing)
        }
    }
}

/// The name of the module in a file, as the kernel writes it.
fn module(path: &[u8]) -> Option<String> {
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    let (name, compression) = std::str::from_utf8(name).ok()?.split_once(".ko")?;
    matches!(compression, "" | ".gz" | ".xz" | ".zst").then(|| name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpio::Archive;
    use crate::initramfs::survey;

    const MODULES: &str = "usr/lib/modules/6.12.0";

    fn drivers(files: &[(&str, &str)]) -> Drivers {
        let mut archive = Archive::new();
        for (path, content) in files {
            archive.file(path.replace('@', MODULES).parse().unwrap(), 0o644, (*content).to_owned()).unwrap();
        }
        archive.add_parents(0o755).unwrap();
        Drivers::of(&survey(&archive.to_bytes(), &[], 0).unwrap())
    }

    #[test]
    fn modules_are_found_wherever_they_are_and_however_they_are_compressed() {
        let all = [
            ("@/kernel/drivers/acpi/nfit/nfit.ko.xz", ""),
            ("@/kernel/drivers/nvdimm/libnvdimm.ko.zst", ""),
            ("@/kernel/drivers/nvdimm/nd-pmem.ko", ""),
        ];
        assert_eq!(drivers(&all), Drivers::Present);
        let built_in = "kernel/drivers/nvdimm/libnvdimm.ko\nkernel/drivers/nvdimm/nd_pmem.ko\n";
        assert_eq!(drivers(&[all[0], ("@/modules.builtin", built_in)]), Drivers::Present);
    }

    #[test]
    fn they_are_missing_only_if_the_kernel_certainly_has_none() {
        let other = ("@/kernel/drivers/block/loop.ko", "");
        let listed = ("@/modules.builtin", "kernel/drivers/acpi/nfit/nfit.ko\n");
        assert_eq!(drivers(&[other, listed]), Drivers::Missing(vec!["libnvdimm", "nd_pmem"]));
        let similar = ("@/kernel/drivers/cxl/cxl_pmem.ko", "");
        assert_eq!(drivers(&[similar, ("@/modules.builtin", "")]), Drivers::Missing(DRIVERS.to_vec()));
        assert!(matches!(drivers(&[other]), Drivers::Unknown(_)));
        assert!(matches!(drivers(&[("squashfs-root.img", ""), listed]), Drivers::Unknown(_)));
    }
}
