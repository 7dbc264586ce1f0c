//! The minimal ISO: a CoreOS live ISO without its root file system, about 100 MiB, which fetches that file system over the
//! network. The full ISO contains a description of it (`/coreos/miniso.dat`), so dayone makes it as an overlay that consists
//! mostly of ranges of the full ISO.
//!
//! It is the same, byte by byte, as what `coreos-installer iso extract minimal-iso` writes.

mod error;
mod format;
#[cfg(test)]
mod tests;

use bytes::Bytes;

pub use error::MinimalIsoError;

use self::format::PackedIso;
use super::{CoreosIso, Grown, Growth, GrowthError};
use crate::compression::Compression;
use crate::digest::Digest;
use crate::iso::Volume;
use crate::kernel_arguments::KernelArguments;
use crate::overlay::{Content, Overlay, OverlayError, OverlaySource, Patch, Segment, Sizes};
use crate::source::{Role, Source};

const MINISO: &str = "coreos/miniso.dat";

/// The largest description that makes sense, in bytes. coreos-installer sets the same bound; real ones have 16 KiB.
const MAX_DESCRIPTION_BYTES: u64 = 1 << 20;

/// The most that can lie between the files of a minimal ISO: descriptors, directories, and the padding of `isohybrid`
/// to a multiple of one MiB.
const MAX_BYTES_BETWEEN: u64 = 4 << 20;

/// The argument by which the system finds its medium, which holds no root file system here.
const MEDIUM_ARGUMENT: &str = "coreos.liveiso";

/// Runs of zeros from this length on are not kept in memory, in bytes.
const ZEROS: usize = 2048;

const NOT_COREOS: MinimalIsoError =
    MinimalIsoError::Damaged("describes something other than a CoreOS live ISO with /coreos/kargs.json");

/// The minimal ISO that goes with a full one.
#[derive(Debug, Clone)]
pub struct MinimalIso {
    /// As it was packed, whatever is embedded in the full one.
    packed: Overlay,
    digest: Digest,
    /// The same, but that `coreos.liveiso` is none of the arguments it was published with.
    published: Overlay,
    areas: CoreosIso,
    growth: Growth,
}

impl MinimalIso {
    /// Reads the description of the minimal ISO. `None` if the ISO has none, as before the end of 2021. Does not read all of
    /// the minimal ISO: see [`MinimalIso::verify`].
    pub fn probe(source: &dyn Source, volume: &Volume) -> Result<Option<Self>, MinimalIsoError> {
        let Some(entry) = super::find(source, volume, MINISO)? else { return Ok(None) };
        let description = entry.read(source, MAX_DESCRIPTION_BYTES)?;
        let description = format::parse(&description)?;
        let found = unpacked(&description, source.size())?;
        let base = (Role::Iso, source);

        let view = OverlaySource::new(&found, base);
        let areas = CoreosIso::probe(&view, &Volume::open(&view)?)?.ok_or(NOT_COREOS)?;
        let arguments = areas.kernel_arguments().ok_or(NOT_COREOS)?;
        let default = arguments.default();
        let packed = patched(&found, areas.embed(Bytes::new(), Some(default))?)?;
        let described = arguments.describe_default(&default.without(MEDIUM_ARGUMENT))?.ok_or(NOT_COREOS)?;
        let published = patched(&packed, vec![described])?;

        let view = OverlaySource::new(&published, base);
        let volume = Volume::open(&view)?;
        let areas = CoreosIso::probe(&view, &volume)?.ok_or(NOT_COREOS)?;
        let growth = Growth::probe(&view, &volume, &areas)?;
        Ok(Some(Self { packed, digest: description.digest, published, areas, growth }))
    }

    /// Its size in bytes, unless its embed areas must grow.
    pub fn size(&self) -> u64 {
        self.published.size()
    }

    /// Its embed areas, with offsets in the minimal ISO. Its published kernel arguments are those of the full ISO without
    /// `coreos.liveiso`. To boot, it also needs `coreos.live.rootfs_url`.
    pub fn areas(&self) -> &CoreosIso {
        &self.areas
    }

    /// Reads all of the minimal ISO and compares its SHA-256 with the recorded one. Ignores what is embedded in the full ISO,
    /// as [`MinimalIso::plan`] does.
    pub fn verify(&self, source: &dyn Source) -> Result<(), MinimalIsoError> {
        let found = self.packed.digest(&(Role::Iso, source), |_| None)?;
        if found == self.digest { Ok(()) } else { Err(MinimalIsoError::Digest { expected: self.digest, found }) }
    }

    /// The minimal ISO with this archive and these kernel arguments, as an overlay over the full ISO.
    pub fn plan(&self, archive: impl Into<Bytes>, arguments: &KernelArguments) -> Result<Grown, GrowthError> {
        let Grown { overlay, changes } = self.growth.plan(&self.areas, archive, Some(arguments))?;
        Ok(Grown { overlay: overlay.laid_over(&self.published)?, changes })
    }
}

fn patched(image: &Overlay, patches: Vec<Patch>) -> Result<Overlay, OverlayError> {
    Overlay::patched(Role::Iso, image.size(), patches)?.laid_over(image)
}

/// What lies between the common files, and ranges of the full ISO, which has `full_size` bytes.
fn unpacked(description: &PackedIso<'_>, full_size: u64) -> Result<Overlay, MinimalIsoError> {
    let between = Compression::Xz.decompress(description.between, MAX_BYTES_BETWEEN)?;
    let mut segments = Vec::new();
    let mut position = 0_u64;
    let mut rest = between.as_slice();
    for file in &description.files {
        let gap = file.minimal.checked_sub(position).ok_or(MinimalIsoError::Damaged("has files that overlap"))?;
        let split = usize::try_from(gap).ok().and_then(|gap| rest.split_at_checked(gap));
        let (own, behind) =
            split.ok_or(MinimalIsoError::Damaged("has less between the files than their places ask for"))?;
        push_own(&mut segments, own);
        segments.push(Segment::Base { file: Role::Iso, offset: file.full, length: file.length });
        (position, rest) = (file.minimal + file.length, behind);
    }
    push_own(&mut segments, rest);
    let packed = Overlay::concatenated(&Sizes::from([(Role::Iso, full_size)]), segments)?;
    // It is the full one without a file.
    if packed.size() > full_size {
        return Err(MinimalIsoError::Damaged("describes an ISO that is larger than this one"));
    }
    Ok(packed)
}

/// Bytes of our own, without the long runs of zeros among them, which need no memory.
fn push_own(segments: &mut Vec<Segment>, mut bytes: &[u8]) {
    let is_zero = |chunk: &[u8]| chunk.len() == ZEROS && chunk.iter().all(|byte| *byte == 0);
    while let Some(first) = bytes.chunks(ZEROS).next() {
        let zeros = is_zero(first);
        let run = bytes.chunks(ZEROS).take_while(|chunk| is_zero(chunk) == zeros).map(<[u8]>::len).sum();
        let (run, rest) = bytes.split_at(run);
        let content =
            if zeros { Content::Zeros(run.len() as u64) } else { Content::Bytes(Bytes::copy_from_slice(run)) };
        segments.push(Segment::Own(content));
        bytes = rest;
    }
}
