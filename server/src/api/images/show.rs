//! Images as the API shows them.

use std::collections::BTreeMap;

use imagelib::base::Format;
use media::MediaUrl;
use serde::Serialize;
use utoipa::ToSchema;
use vocabulary::report::Report;

use crate::api::timestamp::rfc3339;
use crate::findings::{FindingBody, findings};
use crate::store::{IPXE_SCRIPT, ImageState, PlannedImage, StoredImage};

/// An image and where BMCs find it. The URLs are credentials: whoever has one can read the image.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Image)]
pub(super) struct ImageBody {
    #[serde(flatten)]
    summary: SummaryBody,
    /// What to give to the BMC: the URL of the ISO, of the disk, or of the initramfs.
    #[schema(example = "http://192.0.2.10:8081/i/uws2ljnfuws2ljnfuws2ljnfuw/boot.iso")]
    url: Option<String>,
    /// Every file of the image, by name: `boot.iso`, `boot.img`, `data.iso` or `data.img`, or `vmlinuz`, `initrd.img` and perhaps `rootfs.img`.
    files: BTreeMap<&'static str, FileBody>,
    /// URL of an iPXE script that boots the image, where it is made for network boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    ipxe: Option<String>,
    /// The kernel arguments of the image's boot entries; for network boot, those that the kernel needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_arguments: Option<String>,
    /// What should be known about the image; in the answer to its request, also about the documents.
    findings: Vec<FindingBody>,
}

/// What is known of every image, and is no secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ImageSummary)]
pub(super) struct SummaryBody {
    /// The image's identity: the SHA-256 of all that goes into it. The same request gives the same one.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    id: String,
    /// Name of the base when the image was requested first; absent for a data image, which has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    /// Kind of image.
    format: Format,
    /// What the documents of the first request call the host.
    label: Option<String>,
    /// When it was requested first (RFC 3339); the `Last-Modified` of its files.
    #[schema(example = "2026-02-28T23:59:59Z", format = DateTime)]
    created: String,
    /// Whether it can be served at the moment. If not, its base is not there, and its URLs answer 503.
    available: bool,
    /// Why it cannot be served, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Length of the ISO, or of the initramfs, in bytes.
    size: Option<u64>,
    /// Entity tag of the ISO, or of the initramfs, as it stands in the header: quoted.
    #[schema(example = "\"9f86d081884c7d659a2feaa0c55ad015\"")]
    etag: Option<String>,
}

/// A file of an image.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ImageFile)]
pub(super) struct FileBody {
    /// Where BMCs find it.
    url: String,
    /// Length in bytes.
    size: u64,
    /// Entity tag as it stands in the header: quoted. Changes with the bytes and with nothing else.
    etag: String,
}

/// The files of `planned`, without URLs: name, length, entity tag.
fn files(image: &StoredImage, planned: &PlannedImage) -> Vec<(&'static str, u64, String)> {
    let etags: BTreeMap<&str, String> = image.etags().map(|(name, etag)| (name, etag.to_string())).collect();
    let files = planned.image.files.iter();
    files
        .map(|(name, file)| {
            let name = name.as_str();
            (name, file.size(), etags.get(name).cloned().unwrap_or_default())
        })
        .collect()
}

/// What may stand in a list.
pub(super) fn summary(image: &StoredImage) -> SummaryBody {
    summarise(image, &image.state())
}

fn summarise(image: &StoredImage, state: &ImageState) -> SummaryBody {
    let planned = state.as_ref().ok().map(AsRef::as_ref);
    let main = planned.and_then(|planned| {
        let (name, _) = planned.image.main_file()?;
        files(image, planned).into_iter().find(|(other, ..)| *other == name.as_str())
    });
    let (size, etag) = main.map(|(_, size, etag)| (size, etag)).unzip();
    SummaryBody {
        id: image.id().to_string(),
        base: image.base_name().map(ToString::to_string),
        format: image.recipe().format,
        label: image.label().map(ToOwned::to_owned),
        created: rfc3339(image.created()),
        available: planned.is_some(),
        reason: state.as_ref().err().cloned(),
        size,
        etag,
    }
}

/// The whole, with what `documents` says about the documents that it was made of.
pub(super) fn image(image: &StoredImage, media_url: &MediaUrl, documents: Report) -> ImageBody {
    let token = image.token();
    let url = |name: &str| media_url.file(&token.as_str(), name);
    let state = image.state();
    let planned = state.as_ref().ok().map(AsRef::as_ref);
    let mut report = documents;
    if let Some(planned) = planned {
        report.append(planned.image.report.clone());
    }
    let file = |(name, size, etag)| (name, FileBody { url: url(name), size, etag });
    ImageBody {
        summary: summarise(image, &state),
        url: planned.and_then(|planned| planned.image.main_file()).map(|(name, _)| url(name.as_str())),
        files: planned.map(|planned| files(image, planned).into_iter().map(file).collect()).unwrap_or_default(),
        ipxe: planned.is_some_and(PlannedImage::has_ipxe_script).then(|| url(IPXE_SCRIPT)),
        kernel_arguments: planned.and_then(|planned| planned.image.kernel_arguments.clone()),
        findings: findings(&report),
    }
}
