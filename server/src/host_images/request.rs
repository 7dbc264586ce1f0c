//! Requests for hosts' images, and their results.

use imagelib::base::Format;
use imagelib::image::FileName;
use imagelib::kernel_arguments::KernelArgument;
use imagelib::recipe::RecipeId;
use vocabulary::report::{DocumentPath, Report, Severity};

use crate::store::{BaseName, Store, StoredImage};

/// The formats of images that a PreprovisioningImage can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostFormat {
    /// A bootable ISO, for virtual media.
    Iso,
    /// An initramfs, for network boot.
    Initrd,
}

impl HostFormat {
    /// The name in `spec.acceptFormats`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Iso => "iso",
            Self::Initrd => "initrd",
        }
    }

    /// The format with this name.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Iso, Self::Initrd].into_iter().find(|format| format.as_str() == word)
    }
}

/// A user's document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'a> {
    /// The content of the Secret's key, or of the file.
    pub bytes: &'a [u8],
    /// The path of findings about the document.
    pub path: DocumentPath,
}

/// A host's network, as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkSource<'a> {
    /// An NMState document.
    Nmstate(Document<'a>),
    /// A Secret. Its keys say what they hold.
    Secret {
        /// The path of findings about the Secret.
        path: DocumentPath,
        /// The keys that hold a network, with their values.
        data: Vec<(&'a str, &'a [u8])>,
    },
}

impl NetworkSource<'_> {
    /// Whether the network is only white space.
    pub(super) fn is_blank(&self) -> bool {
        let is_blank = |bytes: &[u8]| bytes.trim_ascii().is_empty();
        match self {
            Self::Nmstate(document) => is_blank(document.bytes),
            Self::Secret { data, .. } => data.iter().all(|(_, bytes)| is_blank(bytes)),
        }
    }

    pub(super) fn path(&self) -> &DocumentPath {
        match self {
            Self::Nmstate(document) => &document.path,
            Self::Secret { path, .. } => path,
        }
    }
}

/// A request for one host's image.
#[derive(Clone)]
pub struct ImageRequest<'a> {
    /// The owner of the image. A later image of the same owner replaces this one.
    pub owner: &'a str,
    /// The host's name.
    pub host: &'a str,
    /// The format of the image.
    pub format: HostFormat,
    /// `x86_64` or `aarch64`; empty for the architecture that dayone runs on.
    pub architecture: &'a str,
    /// The stream of base images.
    pub stream: Option<&'a str>,
    /// The host's network, if there is one. White space alone is no network.
    pub network: Option<NetworkSource<'a>>,
    /// Arguments to append to the kernel's command line.
    pub kernel_arguments: &'a [KernelArgument],
}

/// A published image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublishedImage {
    /// The id of the image.
    pub id: Option<RecipeId>,
    /// The name of its base; a drive has none.
    pub base: Option<BaseName>,
    /// The URL of the image, which depends only on its content.
    pub url: String,
    /// During a rotation of the installation key: the URL under the other key, which answers, too.
    pub other_url: Option<String>,
    /// For an initramfs: the URL of its kernel.
    pub kernel_url: Option<String>,
    /// For an initramfs: additional arguments for its kernel.
    pub extra_kernel_parameters: String,
    /// Findings about the network.
    pub report: Report,
}

impl PublishedImage {
    /// A file of the owner's image, as the store serves it.
    pub(super) fn of(store: &Store, owner: &str, image: &StoredImage, file: FileName) -> Self {
        let (url, other_url) = (store.url(owner, image, file), store.other_url(owner, image, file));
        Self { id: Some(image.id()), url, other_url, ..Self::default() }
    }
}

/// Why there is no image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The request cannot be fulfilled; somebody has to change something.
    #[error("{message}")]
    Invalid {
        /// What is wrong. Never contains the content of a Secret.
        message: String,
        /// All findings.
        report: Report,
    },
    /// There is no file of a base for this request, whether there was one before or not.
    #[error("{0}")]
    NoBase(String),
    /// The image cannot be made yet.
    #[error("{0}")]
    NotReady(String),
    /// The image cannot be made at the moment, and dayone still serves the owner's previous image.
    #[error("{0}")]
    Kept(String),
    /// Something failed; another attempt may succeed.
    #[error("{0}")]
    Other(String),
}

impl From<HostFormat> for Format {
    fn from(format: HostFormat) -> Self {
        match format {
            HostFormat::Iso => Self::Iso,
            HostFormat::Initrd => Self::Initrd,
        }
    }
}

impl BuildError {
    /// The request is not valid, for this reason.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid { message: message.into(), report: Report::new() }
    }

    /// The request is not valid, because of the errors in this report.
    pub fn refused(report: &Report) -> Self {
        let errors = report.findings().iter().filter(|finding| finding.severity == Severity::Error);
        let message: Vec<String> = errors.map(ToString::to_string).collect();
        Self::Invalid { message: message.join("; "), report: report.clone() }
    }
}
