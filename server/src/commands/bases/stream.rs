//! Metadata of CoreOS streams: which release is the newest, and where its files are.

use std::collections::BTreeMap;
use std::path::Path;

use imagelib::digest::Digest;
use redfish::Verification;
use serde::Deserialize;
use vocabulary::url_credentials;

use crate::arguments::StreamArguments;
use crate::bases::{AllowedSources, DEFAULT_SOURCE, Downloader, Patience};
use crate::commands::failure::Failure;
use crate::store::{BaseSource, Location};

/// The largest metadata file, in bytes. Today's have some ten thousand.
const MAX_METADATA_BYTES: u64 = 4 << 20;

#[derive(Deserialize)]
struct Metadata {
    architectures: BTreeMap<String, Architecture>,
}

#[derive(Deserialize)]
struct Architecture {
    artifacts: BTreeMap<String, Platform>,
}

#[derive(Deserialize)]
struct Platform {
    release: String,
    formats: BTreeMap<String, BTreeMap<String, Artifact>>,
}

#[derive(Deserialize)]
struct Artifact {
    location: String,
    signature: Option<String>,
    sha256: Option<Digest>,
}

/// The newest release of a stream.
pub(crate) struct Release {
    /// Its version.
    pub(crate) version: String,
    /// Its live ISO.
    pub(crate) iso: BaseSource,
}

/// Returns the release that the arguments name; `None` if they name none.
pub(super) async fn release(
    arguments: &StreamArguments,
    verification: &Verification,
) -> Result<Option<Release>, Failure> {
    let location = match (&arguments.stream, &arguments.metadata) {
        (Some(stream), _) => format!("{DEFAULT_SOURCE}streams/{}.json", name(stream)?),
        (None, Some(metadata)) => metadata.clone(),
        (None, None) => return Ok(None),
    };
    let what = format!("the stream metadata at {location}");
    let (json, trusted) = read(&location, verification).await?;
    let release =
        parse(&json, &arguments.architecture, trusted).map_err(|why| Failure::Input(format!("{what}: {why}")))?;
    Ok(Some(release))
}

/// A stream's name, which becomes a part of a URL.
fn name(stream: &str) -> Result<&str, Failure> {
    let good = !stream.is_empty() && stream.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if good { Ok(stream) } else { Err(Failure::System(format!("--stream: {stream:?} is not the name of a stream"))) }
}

/// Reads metadata from a URL or a file. Returns whether nobody on the network can have changed it.
async fn read(location: &str, verification: &Verification) -> Result<(Vec<u8>, bool), Failure> {
    let what = || format!("cannot read {location}");
    if !location.contains("://") {
        let json = crate::store::read_limited(Path::new(location), MAX_METADATA_BYTES);
        return Ok((json.map_err(|error| Failure::system(&what(), &error))?, true));
    }
    let url = match location.parse() {
        Ok(Location::Url(url)) => url,
        Ok(Location::Path(_)) => return Err(Failure::System(format!("{location} is not a URL"))),
        Err(error) => return Err(Failure::system(&what(), &error)),
    };
    let downloader = Downloader::new(AllowedSources::any(), verification, Patience::default(), MAX_METADATA_BYTES);
    let downloader = downloader.map_err(Failure::System)?;
    let json = downloader.read_small(&url).await.map_err(|error| Failure::input(&what(), &error))?;
    Ok((json, url.scheme() == "https"))
}

/// Finds the live ISO for an architecture. Its digest counts only if the metadata is `trusted`; a signature always does.
pub(crate) fn parse(json: &[u8], architecture: &str, trusted: bool) -> Result<Release, String> {
    let metadata: Metadata =
        serde_json::from_slice(json).map_err(|error| format!("it is not stream metadata: {error}"))?;
    let known = || metadata.architectures.keys().cloned().collect::<Vec<_>>().join(", ");
    let found = metadata.architectures.get(architecture);
    let found = found.ok_or_else(|| format!("it has no architecture {architecture:?}, but {}", known()))?;
    let metal = found.artifacts.get("metal").ok_or("it has no artifacts for metal")?;
    let iso = metal.formats.get("iso").and_then(|files| files.get("disk")).ok_or("it has no live ISO")?;
    let location = |text: &str| {
        text.parse::<Location>().map_err(|error| format!("{:?}: {error}", url_credentials::hide_with_query(text)))
    };
    let signature = iso.signature.as_deref().filter(|text| !text.is_empty()).map(location).transpose()?;
    let source = BaseSource { location: location(&iso.location)?, sha256: iso.sha256, signature };
    if !matches!(source.location, Location::Url(_)) {
        return Err(format!("{:?} is not a URL", url_credentials::hide_with_query(&iso.location)));
    }
    if source.signature.is_none() && !trusted {
        return Err("it comes over plain HTTP, and its ISO has no signature: use https".to_owned());
    }
    let iso = source.verifiable().map_err(|error| error.to_string())?;
    Ok(Release { version: metal.release.clone(), iso })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Fedora CoreOS publishes it, shortened.
    const STREAM: &str = r#"{"stream": "stable", "metadata": {"last-modified": "2026-11-01T00:00:00Z"},
        "architectures": {"x86_64": {"artifacts": {"metal": {"release": "44.20261101.3.0", "formats": {
            "4k.raw.xz": {"disk": {"location": "https://builds.example/4k.raw.xz", "signature": "https://builds.example/4k.raw.xz.sig", "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "uncompressed-sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
            "iso": {"disk": {"location": "https://builds.example/live.iso", "signature": "https://builds.example/live.iso.sig", "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
            "pxe": {"kernel": {"location": "https://builds.example/kernel", "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}}}}},
          "images": {}}}}"#;

    #[test]
    fn the_live_iso_of_a_stream_has_a_digest_and_a_signature() {
        let release = parse(STREAM.as_bytes(), "x86_64", true).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(release.version, "44.20261101.3.0");
        assert_eq!(release.iso.location.to_string(), "https://builds.example/live.iso");
        assert_eq!(release.iso.signature.unwrap().to_string(), "https://builds.example/live.iso.sig");
        assert_eq!(release.iso.sha256, Some(Digest::of(b"test")));
        assert!(parse(STREAM.as_bytes(), "x86_64", false).is_ok(), "the signature is enough");
    }

    #[test]
    fn metadata_without_a_signature_must_come_over_a_trusted_way() {
        // As that of RHCOS.
        let unsigned = STREAM.replace(r#""signature": "https://builds.example/live.iso.sig","#, "");
        assert!(parse(unsigned.as_bytes(), "x86_64", true).is_ok_and(|release| release.iso.signature.is_none()));
        let refused =
            |json: &str, architecture, trusted| parse(json.as_bytes(), architecture, trusted).err().unwrap_or_default();
        assert!(refused(&unsigned, "x86_64", false).contains("plain HTTP"));
        assert!(refused(STREAM, "s390x", true).contains("no architecture \"s390x\", but x86_64"));
        assert!(refused(&STREAM.replace("\"iso\"", "\"raw\""), "x86_64", true).contains("no live ISO"));
        assert!(
            refused(&STREAM.replace("https://builds.example/live.iso\"", "/etc/shadow\""), "x86_64", true)
                .contains("not a URL")
        );
        assert!(refused("{}", "x86_64", true).contains("not stream metadata"));
        assert!(name("../other").is_err() && name("stable").is_ok());
    }
}
