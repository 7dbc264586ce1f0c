//! What is asked of whoever makes hosts' images, and what comes of it.

use imagelib::base::Format;
use imagelib::kernel_arguments::KernelArgument;
use vocabulary::report::{DocumentPath, Report, Severity};

/// The kinds of images that a PreprovisioningImage can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostFormat {
    /// A bootable ISO, for virtual media.
    Iso,
    /// An initramfs, for network boot.
    Initrd,
}

impl HostFormat {
    /// The word for it in `spec.acceptFormats`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Iso => "iso",
            Self::Initrd => "initrd",
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Iso, Self::Initrd].into_iter().find(|format| format.as_str() == word)
    }
}

/// A document of a user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'a> {
    /// As it stands in the Secret, or in the file.
    pub bytes: &'a [u8],
    /// What findings are told with.
    pub path: DocumentPath,
}

/// A host's network, as its user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkSource<'a> {
    /// A document of NMState.
    Nmstate(Document<'a>),
    /// A Secret whose keys say what they hold.
    Secret {
        /// What findings are told with.
        path: DocumentPath,
        /// The keys that hold a network, and what is under them.
        data: Vec<(&'a str, &'a [u8])>,
    },
}

impl NetworkSource<'_> {
    /// Whether nothing is in it.
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

/// An order for one host's image.
#[derive(Clone)]
pub struct ImageRequest<'a> {
    /// Whom the image belongs to. A later order of the same owner takes the place of this one.
    pub owner: &'a str,
    /// The host's name.
    pub host: &'a str,
    /// What kind of image.
    pub format: HostFormat,
    /// `x86_64`, `aarch64`; empty for that of the process.
    pub architecture: &'a str,
    /// Of which base images.
    pub stream: Option<&'a str>,
    /// Its network, where there is any. Blank is none.
    pub network: Option<NetworkSource<'a>>,
    /// Added to the kernel's command line.
    pub kernel_arguments: &'a [KernelArgument],
}

/// An image that is published.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublishedImage {
    /// Where it is: a function of its content.
    pub url: String,
    /// Where its kernel is, for an initramfs.
    pub kernel_url: Option<String>,
    /// What its kernel is to be started with, for an initramfs.
    pub extra_kernel_parameters: String,
    /// What the user should know.
    pub report: Report,
}

/// Why there is no image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// It cannot be made of this; somebody has to change something.
    #[error("{message}")]
    Invalid {
        /// What is wrong, for people; never a secret's content.
        message: String,
        /// What else was found.
        report: Report,
    },
    /// It will be possible after a while.
    #[error("{0}")]
    NotReady(String),
    /// It cannot be made at the moment, and the one that its owner has is served on.
    #[error("{0}")]
    Kept(String),
    /// Something failed that is worth another try.
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
    /// Why, in a sentence.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid { message: message.into(), report: Report::new() }
    }

    /// Of findings among which are errors.
    pub fn refused(report: &Report) -> Self {
        let errors = report.findings().iter().filter(|finding| finding.severity == Severity::Error);
        let message: Vec<String> = errors.map(ToString::to_string).collect();
        Self::Invalid { message: message.join("; "), report: report.clone() }
    }
}
