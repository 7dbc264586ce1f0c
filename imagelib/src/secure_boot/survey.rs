//! Secure Boot of a base, and of the images of it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use data_encoding::HEXLOWER;

use super::chain::{self, Found, Judged, OtherFiles};
use super::examine::{Examined, examine};
use super::medium::{Located, MAX_PROGRAMS, Medium, Place};
use super::report::{Program, SecureBoot, Verdict};
use super::unsigned;
use crate::base::live::{EntryView, LiveIso};
use crate::base::{Base, IsoSystem};
use crate::image::{FileName, Image};
use crate::iso::IsoError;
use crate::overlay::{Overlay, OverlaySource, Segment, Sizes};
use crate::source::{Role, Source, Sources};

/// The kernel of a CoreOS live ISO.
const COREOS_KERNEL: &str = "/images/pxeboot/vmlinuz";
/// The kernel on media that dayone makes around it.
const OWN_KERNEL: &str = "/vmlinuz";
/// Why nothing is said about the boot loader of a network boot.
const NO_LOADER: &str = "the boot loader that starts its kernel is not part of it";

/// Bytes of a base's files: the file, the first byte, and the byte after the last one.
type Ranges = Vec<(Role, u64, u64)>;

/// Programs of a base by their bytes.
type Known = BTreeMap<Ranges, Arc<Examined>>;

/// What is known about Secure Boot of a base.
#[derive(Debug, Clone)]
pub struct Survey {
    report: SecureBoot,
    known: Known,
}

/// The files of a base.
#[derive(Clone, Copy)]
struct Files<'a>(&'a (dyn Sources + Send + Sync));

impl Sources for Files<'_> {
    fn source(&self, role: Role) -> Option<&dyn Source> {
        self.0.source(role)
    }
}

/// A survey in the making.
struct Surveyor<'a> {
    files: Files<'a>,
    sizes: Sizes,
    known: Known,
    /// For an image: whether a program that is not among the known ones is not the base's.
    of_image: bool,
    found: Vec<Found>,
    /// A kernel that was not found.
    missing: Option<String>,
}

impl Survey {
    /// Finds and examines the programs of a base. Reads all of them, some MB.
    pub fn of_base(base: &Base, files: &(dyn Sources + Send + Sync)) -> Self {
        let mut surveyor = Surveyor::new(files, BTreeMap::new(), false);
        let report = match base {
            Base::Iso(_) | Base::Disk(_) => surveyor.iso(base).unwrap_or_else(|error| unknown(error.to_string())),
            Base::KernelInitrd(kernel_initrd) => {
                let kernel = kernel_initrd.kernel_size.map(|size| vec![Segment::base(Role::Kernel, 0..size)]);
                let has_bios = kernel_initrd.loaders.bios.is_some();
                surveyor.kernel_initrd(base, kernel, has_bios)
            }
            Base::Nothing => unknown("it has no files".to_owned()),
        };
        Self { report, known: surveyor.known }
    }

    /// What it shows about the base.
    pub fn report(&self) -> &SecureBoot {
        &self.report
    }

    /// What it shows about an image of the base. `None` for a data image, which nothing boots from.
    ///
    /// Reads the directories in the image. A program that consists of the same ranges as one of the base is not read again; any
    /// other program is.
    pub fn of_image(&self, image: &Image, base: &Base, files: &(dyn Sources + Send + Sync)) -> Option<SecureBoot> {
        let (name, overlay) = image.main_file()?;
        let mut surveyor = Surveyor::new(files, self.known.clone(), true);
        let source = OverlaySource::new(overlay, Files(files));
        let medium = match name {
            FileName::BootIso => Medium::iso(&source),
            FileName::BootDisk => Ok(Medium::iso(&source).unwrap_or_else(|_| Medium::disk(&source))),
            FileName::DataIso | FileName::DataDisk => return None,
            FileName::Initrd | FileName::Kernel | FileName::Rootfs | FileName::RootSquashfs | FileName::RootIso => {
                let kernel = image.files.get(&FileName::Kernel);
                let kernel = kernel.map(|kernel| kernel.segments(0..kernel.size()).collect());
                return Some(surveyor.network_boot(base, kernel));
            }
        };
        let segments = |range: &Range<u64>| -> Vec<Segment> { overlay.segments(range.clone()).collect() };
        let report = medium.and_then(|medium| surveyor.medium(base, &medium, &segments));
        Some(report.unwrap_or_else(|error| unknown(error.to_string())))
    }
}

impl<'a> Surveyor<'a> {
    fn new(files: &'a (dyn Sources + Send + Sync), known: Known, of_image: bool) -> Self {
        let size = |role: Role| Some((role, files.source(role)?.size()));
        let sizes = Role::ALL.into_iter().filter_map(size).collect();
        Self { files: Files(files), sizes, known, of_image, found: Vec::new(), missing: None }
    }

    fn iso(&mut self, base: &Base) -> Result<SecureBoot, IsoError> {
        let files = self.files;
        let Some(source) = files.0.source(Role::Iso) else { return Ok(unknown("it has no ISO".to_owned())) };
        let medium = if let Base::Disk(_) = base { Medium::disk(source) } else { Medium::iso(source)? };
        self.medium(base, &medium, &|range| vec![Segment::base(Role::Iso, range.clone())])
    }

    fn kernel_initrd(&mut self, base: &Base, kernel: Option<Vec<Segment>>, has_bios: bool) -> SecureBoot {
        let files = self.files;
        let Some(source) = files.0.source(Role::Esp) else {
            let report = self.network_boot(base, kernel);
            let reason = "its boot loader is for BIOS, which has no Secure Boot".to_owned();
            return if has_bios { SecureBoot { verdict: Verdict::Impossible, reason, ..report } } else { report };
        };
        let medium = Medium::esp(source);
        for file in medium.in_esps(".efi") {
            let segments = file.extents.iter().map(|range| Segment::base(Role::Esp, range.clone())).collect();
            self.add(file, segments, false);
        }
        self.add_kernel(kernel);
        self.finish(base, Some(&medium))
    }

    /// A medium whose ranges have these segments.
    fn medium(
        &mut self,
        base: &Base,
        medium: &Medium<'_>,
        segments: &dyn Fn(&Range<u64>) -> Vec<Segment>,
    ) -> Result<SecureBoot, IsoError> {
        let Kernels { places: kernels, unified, missing } = Kernels::of(base, medium);
        self.missing = missing;
        for kernel in &kernels {
            match medium.find(kernel)? {
                Some(file) => {
                    let segments = file.extents.iter().flat_map(segments).collect();
                    self.add(file, segments, true);
                }
                None => self.missing = Some(format!("dayone did not find the kernel {}", kernel.path)),
            }
        }
        for file in medium.in_esps(".efi") {
            if !kernels.contains(&file.place) {
                let segments = file.extents.iter().flat_map(segments).collect();
                let is_started = unified.contains(&file.place);
                self.add(file, segments, is_started);
            }
        }
        Ok(self.finish(base, Some(medium)))
    }

    /// A kernel that the user's boot loader starts.
    fn network_boot(&mut self, base: &Base, kernel: Option<Vec<Segment>>) -> SecureBoot {
        self.add_kernel(kernel);
        let report = self.finish(base, None);
        SecureBoot { verdict: Verdict::Unknown, reason: NO_LOADER.to_owned(), ..report }
    }

    fn add_kernel(&mut self, kernel: Option<Vec<Segment>>) {
        if let Some(segments) = kernel {
            let place = Place { esp: None, path: OWN_KERNEL.to_owned() };
            self.add(Located { place, name: "vmlinuz".to_owned(), extents: Vec::new() }, segments, true);
        }
    }

    fn add(&mut self, file: Located, segments: Vec<Segment>, is_kernel: bool) {
        let key = ranges(&segments);
        let known = key.as_ref().and_then(|key| self.known.get(key)).cloned();
        let unchanged = self.of_image.then_some(known.is_some());
        let examined = known.unwrap_or_else(|| {
            let examined = Arc::new(self.examine(segments));
            // What an image has is not the base's for that.
            if !self.of_image {
                self.known.extend(key.map(|key| (key, Arc::clone(&examined))));
            }
            examined
        });
        self.found.push(Found { file, examined, is_kernel, unchanged });
    }

    fn examine(&self, segments: Vec<Segment>) -> Examined {
        if self.found.len() >= MAX_PROGRAMS {
            return Examined::unreadable("is one of too many programs on the medium: dayone did not look at it");
        }
        match Overlay::concatenated(&self.sizes, segments) {
            Ok(program) => examine(&OverlaySource::new(&program, self.files)),
            Err(error) => Examined::unreadable(&format!("cannot be read: {error}")),
        }
    }

    fn finish(&mut self, base: &Base, medium: Option<&Medium<'_>>) -> SecureBoot {
        let found = std::mem::take(&mut self.found);
        let (esps, unreadable) = medium.map_or((0, false), |medium| (medium.esps(), medium.unreadable));
        let places = |suffix: &str| -> Vec<Place> {
            medium.into_iter().flat_map(|medium| medium.in_esps(suffix)).map(|file| file.place).collect()
        };
        let credentials = medium.map(Medium::credentials_of_dayone).unwrap_or_default();
        let others = OtherFiles { boot_lists: places(".csv"), credentials };
        let (mut verdict, mut reason, judged) = chain::verdict(&found, &others, esps, unreadable);
        if let Some(missing) = self.missing.take().filter(|_| verdict < Verdict::Unknown) {
            (verdict, reason) = (Verdict::Unknown, missing);
        }
        let programs: Vec<Program> =
            found.into_iter().zip(judged).map(|(found, judged)| program(found, judged)).collect();
        let mut counting = programs.iter().filter(|program| program.counts);
        if verdict == Verdict::Kept && self.of_image && counting.all(|program| program.unchanged == Some(true)) {
            reason.push_str("; dayone has changed none of them");
        }
        SecureBoot { verdict, reason, programs, unsigned: unsigned::files(base, medium) }
    }
}

fn unknown(reason: String) -> SecureBoot {
    SecureBoot { verdict: Verdict::Unknown, reason, programs: Vec::new(), unsigned: Vec::new() }
}

/// The kernels that machines with UEFI start from a medium.
#[derive(Default)]
struct Kernels {
    places: Vec<Place>,
    /// The unified kernel images, which contain theirs.
    unified: Vec<Place>,
    /// One that is not on the medium, if there is one.
    missing: Option<String>,
}

impl Kernels {
    fn of(base: &Base, medium: &Medium<'_>) -> Self {
        let single = |esp, path: &str| Self { places: vec![Place { esp, path: path.to_owned() }], ..Self::default() };
        match base {
            Base::Iso(iso) => match &iso.system {
                IsoSystem::Coreos(_) => single(None, COREOS_KERNEL),
                IsoSystem::Live(live) => Self::of_live(live),
                IsoSystem::Other(_) => Self::default(),
            },
            Base::Disk(disk) => disk.system.as_deref().map_or_else(|_| Self::default(), Self::of_live),
            Base::KernelInitrd(_) => single((!medium.is_iso()).then_some(0), OWN_KERNEL),
            Base::Nothing => Self::default(),
        }
    }

    fn of_live(live: &LiveIso) -> Self {
        let unified = live.ukis().iter().map(|uki| Place { esp: Some(uki.esp), path: format!("/{}", uki.path) });
        let mut kernels = Self { unified: unified.collect(), ..Self::default() };
        for entry in live.entries().filter(EntryView::is_for_uefi) {
            if let Some((esp, path)) = entry.kernel_on_medium() {
                let place = Place { esp, path: path.to_owned() };
                if !kernels.places.contains(&place) {
                    kernels.places.push(place);
                }
            } else {
                let (kernel, title) = (&entry.linux.kernel, &entry.entry.title);
                kernels.missing = Some(format!("dayone did not find {kernel}, the kernel of the boot entry {title:?}"));
            }
        }
        kernels
    }
}

/// The ranges of the base's files that segments consist of, in as few pieces as possible. `None` if there are other bytes among
/// them.
fn ranges(segments: &[Segment]) -> Option<Ranges> {
    let mut ranges = Ranges::new();
    for segment in segments {
        let Segment::Base { file, offset, length } = *segment else { return None };
        let end = offset.checked_add(length)?;
        match ranges.last_mut().filter(|(role, _, last)| *role == file && *last == offset) {
            Some((_, _, last)) => *last = end,
            None => ranges.push((file, offset, end)),
        }
    }
    Some(ranges)
}

fn program(found: Found, judged: Judged) -> Program {
    let Found { file, examined, unchanged, .. } = found;
    let Judged { role, verdict, reason, counts } = judged;
    Program {
        path: file.name,
        role,
        architecture: examined.architecture,
        counts,
        verdict,
        reason,
        unchanged,
        authenticode_sha256: examined.digest.map(|digest| HEXLOWER.encode(&digest)),
        signatures: examined.signatures.clone(),
        sbat: examined.sbat.clone(),
    }
}
