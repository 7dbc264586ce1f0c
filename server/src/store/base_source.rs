//! Where the files of an added base come from.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use imagelib::digest::Digest;
use serde::{Deserialize, Serialize};
use url::{Host, Url};
use utoipa::ToSchema;
use vocabulary::{url_credentials, url_host};

/// Why a source is not valid. No text has the credentials or the query of a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The URL cannot be read.
    #[error("the URL is not valid: {0}")]
    Url(#[from] url::ParseError),
    /// The host of the URL is an IPv4 address in another form than four decimal numbers, perhaps with leading zeros.
    #[error("the host of the URL is {0}, but not written so; {fix}", fix = url_host::FIX)]
    Ipv4(Ipv4Addr),
    /// The URL has a scheme that dayone does not fetch from.
    #[error("the URL begins with {0}: dayone fetches over http and https only")]
    Scheme(String),
    /// The URL has a user name or a password.
    #[error("the URL has a user name or a password, which dayone would have to store: use a URL without them")]
    Credentials,
    /// The path is relative.
    #[error("{0:?} is neither a URL nor an absolute path")]
    Relative(String),
    /// Neither a URL nor a path is given, or both are.
    #[error("give either a URL (`url`) or a path on the server (`path`)")]
    OneLocation,
    /// Nothing shows whether the bytes are right.
    #[error("a URL needs the SHA-256 of the file (`sha256`) or the URL of its signature (`signature`)")]
    Unverified,
    /// The file is compressed.
    #[error(
        "{0} is compressed, and dayone fetches files as they are: give the uncompressed file, or decompress it yourself"
    )]
    Compressed(String),
    /// The file is the image of a disk in a format of virtual machines.
    #[error(
        "{0} is the image of a disk in a format of virtual machines, and dayone fetches files as they are: fetch it yourself, and \
         convert it with qemu-img convert -O raw"
    )]
    Disk(String),
}

/// A URL, or an absolute path on the server. Displays without the query of the URL, which may hold a credential.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Location {
    /// A URL: http or https, without credentials.
    Url(Url),
    /// An absolute path.
    Path(PathBuf),
}

impl Location {
    fn url(text: &str) -> Result<Self, SourceError> {
        let mut url = Url::parse(text)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(SourceError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(SourceError::Credentials);
        }
        if let Some(Host::Ipv4(address)) = url.host()
            && !url_host::is_written(address, text)
        {
            return Err(SourceError::Ipv4(address));
        }
        url.set_fragment(None);
        Ok(Self::Url(url))
    }

    fn path(path: &Path) -> Result<Self, SourceError> {
        if path.is_absolute() {
            Ok(Self::Path(path.to_owned()))
        } else {
            // Somebody may have given a URL as the path.
            Err(SourceError::Relative(url_credentials::hide_with_query(&path.display().to_string())))
        }
    }

    /// The last part of the URL's or the file's path.
    fn file_name(&self) -> &str {
        match self {
            Self::Url(url) => url.path().rsplit('/').next().unwrap_or_default(),
            Self::Path(path) => path.file_name().and_then(|name| name.to_str()).unwrap_or_default(),
        }
    }
}

impl FromStr for Location {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        if text.contains("://") { Self::url(text) } else { Self::path(Path::new(text)) }
    }
}

impl TryFrom<String> for Location {
    type Error = SourceError;

    fn try_from(text: String) -> Result<Self, SourceError> {
        text.parse()
    }
}

impl From<Location> for String {
    fn from(location: Location) -> Self {
        match location {
            Location::Url(url) => url.into(),
            Location::Path(path) => path.display().to_string(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) if url.query().is_some() => {
                let mut shown = url.clone();
                shown.set_query(None);
                write!(f, "{shown}?…")
            }
            Self::Url(url) => url.fmt(f),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where the bytes of a file come from, and what shows that they are the right ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BaseSourceFields", into = "BaseSourceFields")]
pub struct BaseSource {
    /// Where the file is.
    pub location: Location,
    /// The SHA-256 of the file.
    pub sha256: Option<Digest>,
    /// Where the file's detached GPG signature is.
    pub signature: Option<Location>,
}

/// Where a file of a base comes from. A file from a URL needs `sha256` or `signature`. If both are given, both must be right.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = BaseSource)]
#[serde(deny_unknown_fields)]
pub struct BaseSourceFields {
    /// The URL of the file. The server must allow its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://images.example.com/fedora-coreos-live.x86_64.iso")]
    url: Option<String>,
    /// The absolute path of the file on the server, in a directory that the server allows. The server makes a copy of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The SHA-256 of the file, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = "^[0-9a-f]{64}$")]
    sha256: Option<Digest>,
    /// The URL, or the path on the server, of the file's detached GPG signature. A key that the server trusts must have made
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://images.example.com/fedora-coreos-live.x86_64.iso.sig")]
    signature: Option<String>,
}

impl TryFrom<BaseSourceFields> for BaseSource {
    type Error = SourceError;

    fn try_from(fields: BaseSourceFields) -> Result<Self, SourceError> {
        let location = match (fields.url, fields.path) {
            (Some(url), None) => Location::url(&url)?,
            (None, Some(path)) => Location::path(Path::new(&path))?,
            _ => return Err(SourceError::OneLocation),
        };
        let signature = fields.signature.map(|text| text.parse()).transpose()?;
        Self { location, sha256: fields.sha256, signature }.verifiable()
    }
}

impl From<BaseSource> for BaseSourceFields {
    fn from(source: BaseSource) -> Self {
        let text: String = source.location.clone().into();
        let (url, path) = match source.location {
            Location::Url(_) => (Some(text), None),
            Location::Path(_) => (None, Some(text)),
        };
        Self { url, path, sha256: source.sha256, signature: source.signature.map(Into::into) }
    }
}

impl BaseSource {
    /// Checks that something shows whether the bytes are right. The operator of the server answers for files on it.
    pub fn verifiable(self) -> Result<Self, SourceError> {
        let trusted = matches!(self.location, Location::Path(_));
        if !trusted && self.sha256.is_none() && self.signature.is_none() {
            return Err(SourceError::Unverified);
        }
        Ok(self)
    }

    /// Refuses a file whose name says that it must be unpacked or converted first. Publishers compress disk images; ISOs, kernels
    /// and initramfs images keep their names, whatever is inside.
    pub fn refuse_packed(&self) -> Result<(), SourceError> {
        let name = self.location.file_name();
        let ends_with = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        let is_initramfs = name.contains("initr");
        if ends_with(&[".xz", ".gz", ".zst", ".bz2"]) && !is_initramfs {
            return Err(SourceError::Compressed(name.to_owned()));
        }
        // Not .vhd: with a fixed size, that is a raw image.
        if ends_with(&[".qcow2", ".qcow", ".vmdk", ".vhdx", ".vdi"]) {
            return Err(SourceError::Disk(name.to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA256: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    fn read(json: &str) -> Result<BaseSource, String> {
        serde_json::from_str(&json.replace("SUM", SHA256)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_source_is_a_verifiable_url_or_an_absolute_path() {
        for good in [
            r#"{"url":"https://example.com/a.iso","sha256":"SUM"}"#,
            r#"{"url":"http://example.com/a.iso","signature":"http://example.com/a.iso.sig"}"#,
            r#"{"path":"/srv/a.iso"}"#,
            r#"{"path":"/srv/a.iso","sha256":"SUM","signature":"/srv/a.iso.sig"}"#,
        ] {
            let source = read(good).unwrap();
            assert_eq!(serde_json::to_string(&source).unwrap(), good.replace("SUM", SHA256));
        }
        for (bad, reason) in [
            (r#"{"url":"https://example.com/a.iso"}"#, "needs the SHA-256"),
            (r#"{"url":"ftp://example.com/a.iso","sha256":"SUM"}"#, "http and https only"),
            (r#"{"url":"file:///etc/shadow","sha256":"SUM"}"#, "http and https only"),
            (r#"{"url":"https://me:secret@example.com/a.iso","sha256":"SUM"}"#, "user name or a password"),
            (r#"{"url":"http://10.0.0.010/a.iso","sha256":"SUM"}"#, "is 10.0.0.8, but not written so"),
            (r#"{"url":"/srv/a.iso","sha256":"SUM"}"#, "not valid"),
            (r#"{"path":"a.iso"}"#, "absolute"),
            (r#"{"path":"https://me:secret@example.com/a.iso?secret"}"#, "absolute"),
            (r#"{"path":"/srv/a.iso","signature":"https:/example.com/a.sig?secret"}"#, "absolute"),
            (r#"{"path":"/srv/a.iso","url":"https://example.com/a.iso","sha256":"SUM"}"#, "either"),
            (r#"{"sha256":"SUM"}"#, "either"),
            (r#"{"path":"/srv/a.iso","signature":"a.sig"}"#, "absolute"),
            (r#"{"path":"/srv/a.iso","size":1}"#, "unknown field"),
        ] {
            let error = read(bad).unwrap_err();
            assert!(error.contains(reason) && !error.contains("secret"), "{bad}: {error}");
        }
    }

    #[test]
    fn the_query_of_a_url_is_not_shown() {
        let location: Location = "https://example.com/a.iso?X-Signature=hunter2#part".parse().unwrap();
        assert_eq!(location.to_string(), "https://example.com/a.iso?…");
        assert!(!format!("{location:?}").contains("hunter2"));
        assert_eq!(String::from(location), "https://example.com/a.iso?X-Signature=hunter2");
    }

    #[test]
    fn files_to_unpack_first_are_refused_by_their_names() {
        let refused = |location: &str| {
            let source = BaseSource { location: location.parse().unwrap(), sha256: None, signature: None };
            source.refuse_packed().is_err()
        };
        assert!(refused("https://example.com/cloud.qcow2?a=b") && refused("/srv/cloud.vmdk"));
        assert!(!refused("https://example.com/cloud.img") && !refused("/srv/cloud.raw") && !refused("/srv/cloud.vhd"));
        assert!(refused("https://example.com/metal.raw.xz?a=b") && refused("/srv/live.iso.gz"));
        assert!(!refused("https://example.com/live.iso") && !refused("/srv/initrd.img.gz"));
        assert!(!refused("/srv/initramfs.xz"));
    }
}
