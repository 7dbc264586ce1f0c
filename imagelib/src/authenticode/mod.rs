//! EFI programs as files, and their Authenticode signatures: what a signature covers, who has made it, and how one is made.

mod certificate;
mod hash;
mod pe;
mod sign;
mod signature;

pub(crate) use certificate::{Certificate, Verified};
pub(crate) use hash::Algorithm;
pub(crate) use pe::{PeError, PeImage};
pub(crate) use sign::Unsigned;
pub use sign::{SignError, SiteCertificate, SiteKey};
pub(crate) use signature::Authenticode;
