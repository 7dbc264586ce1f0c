//! Images as the API shows them.

use std::collections::BTreeMap;

use imagelib::base::Format;
use media::MediaUrl;
use media::reading::Time;
use serde::Serialize;
use utoipa::ToSchema;
use vocabulary::report::Report;

use super::access::AccessBody;
use crate::audit::Event;
use crate::findings::{FindingBody, findings};
use crate::store::{IPXE_SCRIPT, Publication, StoredImage};

/// An image with its URLs. The URLs are credentials: anyone who has one can read the image.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Image)]
pub(crate) struct ImageBody {
    #[serde(flatten)]
    pub(crate) summary: SummaryBody,
    /// The URL for the BMC: of the ISO, the disk or the initramfs. Null for clients with the role `read`.
    #[schema(example = "http://192.0.2.10:8081/i/uws2ljnfuws2ljnfuws2ljnfuw/boot.iso")]
    pub(crate) url: Option<String>,
    /// The files of the image, by name: `boot.iso`, `boot.img`, `data.iso` or `data.img`, or `vmlinuz`, `initrd.img` and
    /// perhaps `rootfs.img`. Beside a `minimal-iso` of live-boot: `rootfs.squashfs`, of casper: `rootfs.iso`.
    pub(crate) files: BTreeMap<&'static str, FileBody>,
    /// The URL of an iPXE script that boots the image, if it is for network boot. Absent for clients with the role `read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ipxe: Option<String>,
    /// The kernel arguments of the image's boot entries; for network boot, the kernel arguments that the kernel needs.
    /// Absent for clients with the role `read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kernel_arguments: Option<String>,
    /// Findings about the image; in the answer to an order, also about the documents.
    pub(crate) findings: Vec<FindingBody>,
}

impl ImageBody {
    /// Removes what a client that may not make images must not get: with a URL, it could read all secrets of the host.
    pub(crate) fn withhold_secrets(&mut self) {
        self.url = None;
        self.ipxe = None;
        // Users put passwords into kernel arguments.
        self.kernel_arguments = None;
        self.files.values_mut().for_each(|file| file.url = None);
    }
}

/// The properties of every image that are not secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ImageSummary)]
pub(crate) struct SummaryBody {
    /// The image's id: the SHA-256 of its content. The same request gives the same id.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub(crate) id: String,
    /// The name of the base at the first request; absent for a data image, which has no base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<String>,
    /// The format of the image.
    pub(crate) format: Format,
    /// The host's name in the documents of the first request.
    pub(crate) label: Option<String>,
    /// The time of the first request (RFC 3339), which is also the `Last-Modified` of its files.
    #[schema(example = "2026-02-28T23:59:59Z", format = DateTime)]
    pub(crate) created: String,
    /// Whether the server can serve the image at the moment. If not, its base is unavailable, and its URLs answer 503.
    pub(crate) available: bool,
    /// Why the server cannot serve the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// The length of the ISO, the disk or the initramfs, in bytes.
    pub(crate) size: Option<u64>,
    /// The entity tag of the ISO, the disk or the initramfs, in quotes as in the header.
    #[schema(example = "\"9f86d081884c7d659a2feaa0c55ad015\"")]
    pub(crate) etag: Option<String>,
    /// The limits on the access to the image; absent if everybody who has its URL may read it until it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) access: Option<AccessBody>,
}

/// A file of an image.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ImageFile)]
pub(crate) struct FileBody {
    /// The URL for BMCs. Absent for clients with the role `read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The length in bytes.
    pub(crate) size: u64,
    /// The entity tag, in quotes as in the header. It changes if and only if the bytes change.
    pub(crate) etag: String,
    /// How many times the file was read as a whole, if that is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reads: Option<u64>,
}

/// The name, the length and the entity tag of each file of an image, without the iPXE script.
fn files(image: &StoredImage, sizes: &[(&'static str, u64)]) -> Vec<(&'static str, u64, String)> {
    let etags: BTreeMap<&str, String> = image.etags().map(|(name, etag)| (name, etag.to_string())).collect();
    sizes.iter().filter_map(|(name, size)| Some((*name, *size, etags.get(name).cloned()?))).collect()
}

/// Describes an image without secrets, for a list.
pub(crate) fn summary(image: &StoredImage) -> SummaryBody {
    let sizes = image.sizes();
    let main = sizes.as_ref().ok().and_then(|sizes| {
        let main = image.main_file()?;
        files(image, sizes).into_iter().find(|(name, ..)| *name == main)
    });
    let (size, etag) = main.map(|(_, size, etag)| (size, etag)).unzip();
    SummaryBody {
        id: image.id().to_string(),
        base: image.base_name().map(ToString::to_string),
        format: image.format(),
        label: image.label().map(ToOwned::to_owned),
        created: Time(image.created()).to_string(),
        available: sizes.is_ok(),
        reason: sizes.err(),
        size,
        etag,
        access: image.access().as_deref().map(AccessBody::from),
    }
}

/// What the audit log records about an order.
pub(in crate::api) fn ordered(image: &StoredImage, publication: Publication) -> Event {
    Event::ImageOrdered {
        image: image.id().to_string(),
        host: image.label().map(ToOwned::to_owned),
        base: image.base_name().map(ToString::to_string),
        new: publication == Publication::Created,
    }
}

/// Describes an image completely, with the findings about its documents.
pub(crate) fn image(image: &StoredImage, media_url: &MediaUrl, documents: Report) -> ImageBody {
    let token = image.token();
    let url = |name: &str| media_url.file(&token.as_str(), name);
    let state = image.state();
    let planned = state.as_ref().ok();
    let sizes = image.sizes().unwrap_or_default();
    let mut report = documents;
    if let Some(planned) = planned {
        report.append(planned.image.report.clone());
    }
    let access = image.access();
    let file = |(name, size, etag)| {
        let reads = access.as_ref().and_then(|access| access.reads(name, size));
        (name, FileBody { url: Some(url(name)), size, etag, reads })
    };
    ImageBody {
        summary: summary(image),
        url: planned.and_then(|planned| planned.image.main_file()).map(|(name, _)| url(name.as_str())),
        files: files(image, &sizes).into_iter().map(file).collect(),
        ipxe: sizes.iter().any(|(name, _)| *name == IPXE_SCRIPT).then(|| url(IPXE_SCRIPT)),
        kernel_arguments: planned.and_then(|planned| planned.image.kernel_arguments.clone()),
        findings: findings(&report),
    }
}
