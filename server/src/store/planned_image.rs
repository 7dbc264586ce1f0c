//! An image that is planned over its open base: the files that the media plane serves.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use imagelib::base::Base;
use imagelib::digest::Digest;
use imagelib::image::{self, FileName, Image, ImageError};
use imagelib::overlay::{Content, Overlay, OverlayError, Segment, Sizes};
use imagelib::recipe::{Recipe, RootfsLocation, RootfsUrl, RootfsUrlError};
use imagelib::secure_boot::{SecureBoot, Verdict};
use media::served::{ETag, ServedFile};
use media::{MediaToken, MediaUrl, MediaUrlError};
use parking_lot::Mutex;

use super::identities::Identities;
use super::ipxe;
use super::open_base::OpenBase;
use super::packed_recipe::UnpackError;

/// The iPXE script's name in an image's URL.
pub const IPXE_SCRIPT: &str = "boot.ipxe";

/// An image over an open base.
#[derive(Debug)]
pub struct PlannedImage {
    /// The base.
    pub base: Arc<OpenBase>,
    /// The plan.
    pub image: Image,
    /// In the order of their names: a few, for which a map would take a KiB.
    served: Vec<(&'static str, ServedFile)>,
    secure_boot: Mutex<Option<Arc<SecureBoot>>>,
}

/// Why planning an image failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlanError {
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A mistake in dayone.
    #[error("the image does not fit its base: {0}")]
    Overlay(#[from] OverlayError),
    /// A mistake in dayone.
    #[error("the image needs a file that its base does not have")]
    NoFile,
    /// The recipe cannot be unpacked.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The media URL in the recipe is not valid.
    #[error("the URL of the root file system: {0}")]
    MediaUrl(MediaUrlError),
    /// The URL of the root file system cannot be a kernel argument.
    #[error(transparent)]
    RootfsUrl(#[from] RootfsUrlError),
    /// Another version of dayone published the image with other bytes, or the image holds its URL under an installation key that is gone.
    #[error(
        "with this version of dayone{}, the image would have other bytes than when it was published; run the version that published \
         it{}, or release the image and publish it again",
        if *holds_its_url { " or this installation key" } else { "" },
        if *holds_its_url { ", restore the key that the server had then (the image holds its own URL)" } else { "" }
    )]
    OtherBytes {
        /// Whether the bytes depend on the installation key.
        holds_its_url: bool,
    },
}

/// The URL of the image's own root file system, for a recipe whose host fetches it from the media plane.
fn rootfs_url(recipe: &Recipe, base: &Base, token: &MediaToken) -> Result<Option<RootfsUrl>, PlanError> {
    let Some(RootfsLocation::MediaPlane(media_url)) = &recipe.rootfs else { return Ok(None) };
    let media_url: MediaUrl = media_url.parse().map_err(PlanError::MediaUrl)?;
    Ok(Some(media_url.file(&token.as_str(), image::rootfs_name(recipe, base).as_str()).parse()?))
}

/// The media type of a file. Firmware that boots by HTTP takes from it what to make of the file: a CD or a disk in memory
/// (UEFI 2.10, 24.7 HTTP Boot). BMCs do not look at it.
fn media_type(file: FileName) -> &'static str {
    match file {
        FileName::BootIso => "application/vnd.efi-iso",
        FileName::BootDisk => "application/vnd.efi-img",
        _ => "application/octet-stream",
    }
}

impl PlannedImage {
    /// Plans an image, and prepares the files that are served.
    pub(super) fn plan(
        recipe: &Recipe,
        base: &Arc<OpenBase>,
        token: &MediaToken,
        created: SystemTime,
        media_url: &MediaUrl,
    ) -> Result<Self, PlanError> {
        let rootfs_url = rootfs_url(recipe, &base.base, token)?;
        let image = Image::plan_at(recipe, &base.base, base.identity, rootfs_url.as_ref())?;
        let served_file = |overlay: Overlay, identity: &Digest, media_type| ServedFile {
            base: Arc::new(base.files_of(&overlay)),
            overlay: Arc::new(overlay),
            etag: ETag::new(identity),
            last_modified: created,
            changes: false,
            host: None,
            media_type,
            reading: None,
            access: None,
            keeps: None,
        };
        let mut served = Vec::new();
        for (name, part) in &image.files {
            let identity = base.identity_of(part).ok_or(PlanError::NoFile)?;
            served.push((name.as_str(), served_file(part.clone(), &identity, media_type(*name))));
        }
        if let Some(script) = ipxe::script(&image, |file| media_url.file(&token.as_str(), file.as_str()))? {
            let identity = Digest::of(script.as_bytes());
            let content = Segment::Own(Content::Bytes(Bytes::from(script)));
            let overlay = Overlay::concatenated(&Sizes::new(), vec![content])?;
            served.push((IPXE_SCRIPT, served_file(overlay, &identity, "text/plain; charset=utf-8")));
        }
        served.sort_by_key(|(name, _)| *name);
        served.shrink_to_fit();
        Ok(Self { base: Arc::clone(base), image, served, secure_boot: Mutex::default() })
    }

    /// The identities of the bytes of each file.
    pub(super) fn identities(&self) -> Identities {
        let files = self.image.files.iter();
        files.filter_map(|(name, part)| Some((name.to_string(), self.base.identity_of(part)?))).collect()
    }

    /// The served file with this name.
    pub(super) fn served(&self, file: &str) -> Option<(&'static str, &ServedFile)> {
        self.served.iter().find(|(name, _)| *name == file).map(|(name, served)| (*name, served))
    }

    /// The served files in the order of their names, with their sizes.
    pub(super) fn sizes(&self) -> Vec<(&'static str, u64)> {
        self.served.iter().map(|(name, file)| (*name, file.overlay.size())).collect()
    }

    /// How many answers with bytes of the image are under way: each of them holds the files of the base.
    pub(super) fn transfers(&self) -> usize {
        self.served.iter().map(|(_, file)| Arc::strong_count(&file.base).saturating_sub(1)).sum()
    }

    /// How many bytes of its files are not the base's.
    pub(super) fn own_bytes(&self) -> u64 {
        self.served.iter().map(|(_, file)| file.overlay.patch_size()).sum()
    }

    /// Whether machines with Secure Boot start the image; `None` for a data image. The first call reads directories in the
    /// image.
    pub fn secure_boot(&self) -> Option<Arc<SecureBoot>> {
        // The lock is held while reading, so that other callers wait instead of reading the same.
        let mut known = self.secure_boot.lock();
        if let Some(known) = known.as_ref() {
            return Some(Arc::clone(known));
        }
        let found = Arc::new(self.base.secure_boot_of(&self.image)?);
        // A failed read may succeed later.
        if found.verdict != Verdict::Unknown {
            *known = Some(Arc::clone(&found));
        }
        Some(found)
    }
}
