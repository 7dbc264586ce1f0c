//! Which sources a server may fetch bases from. Clients name the sources, so the operator says where they may lead.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use url::Url;
use vocabulary::url_credentials;

use crate::store::{Location, SourceError};

/// Where a server fetches bases from if the operator names no sources: the releases of Fedora CoreOS.
pub const DEFAULT_SOURCE: &str = "https://builds.coreos.fedoraproject.org/";

/// A beginning of URLs, or a directory, that the operator allows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct AllowedSource(Location);

/// Why a source cannot be allowed. No text has the credentials or the query of a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllowedSourceError {
    /// It is neither a URL nor an absolute path.
    #[error("{0:?} is not a source of bases: {1}")]
    Source(String, SourceError),
    /// The URL has a query.
    #[error("{0:?} is not the beginning of URLs: it has a query")]
    Query(String),
}

impl FromStr for AllowedSource {
    type Err = AllowedSourceError;

    fn from_str(text: &str) -> Result<Self, AllowedSourceError> {
        let shown = || url_credentials::hide_with_query(text);
        let location: Location = text.parse().map_err(|error| AllowedSourceError::Source(shown(), error))?;
        match &location {
            Location::Url(url) if url.query().is_some() => Err(AllowedSourceError::Query(shown())),
            _ => Ok(Self(location)),
        }
    }
}

impl TryFrom<String> for AllowedSource {
    type Error = AllowedSourceError;

    fn try_from(text: String) -> Result<Self, AllowedSourceError> {
        text.parse()
    }
}

impl fmt::Display for AllowedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl AllowedSource {
    /// Whether a URL has the same scheme, host and port, and a path that begins with whole parts of this one's. The parser has
    /// resolved `..` in both.
    fn allows_url(&self, url: &Url) -> bool {
        let Location::Url(allowed) = &self.0 else { return false };
        let path = allowed.path().trim_end_matches('/');
        let below = url.path().strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        allowed.origin() == url.origin() && below
    }
}

/// Why dayone does not fetch from a location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    /// No allowed source contains it. Says the same whether the file exists or not.
    #[error("the server does not fetch bases from {0}: its operator allows sources with --base-source")]
    Source(String),
    /// A redirect leads elsewhere.
    #[error(
        "the server is redirected to {0}, from where it does not fetch bases: its operator allows sources with --base-source"
    )]
    Redirect(String),
}

/// The sources that the operator allows.
#[derive(Debug, Clone, Default)]
pub struct AllowedSources {
    /// `None`: all of them.
    sources: Option<Vec<AllowedSource>>,
}

impl AllowedSources {
    /// These sources, and no others.
    pub fn only(sources: Vec<AllowedSource>) -> Self {
        Self { sources: Some(sources) }
    }

    /// Any source: for a program that fetches for the user who has started it.
    pub fn any() -> Self {
        Self { sources: None }
    }

    /// Checks that a URL may be fetched.
    pub(super) fn check_url(&self, url: &Url) -> Result<(), NotAllowed> {
        let allowed = self.sources.as_ref().is_none_or(|all| all.iter().any(|source| source.allows_url(url)));
        if allowed { Ok(()) } else { Err(NotAllowed::Source(Location::Url(url.clone()).to_string())) }
    }

    /// Returns where a path leads, if that is in an allowed directory: with all symbolic links resolved.
    pub(super) fn resolve(&self, path: &Path) -> Result<PathBuf, NotAllowed> {
        let refused = || NotAllowed::Source(path.display().to_string());
        let resolved = path.canonicalize();
        let Some(sources) = &self.sources else { return resolved.map_err(|_| refused()) };
        let directories = sources.iter().filter_map(|source| match &source.0 {
            Location::Path(directory) => Some(directory),
            Location::Url(_) => None,
        });
        let mut directories = directories.filter_map(|directory| directory.canonicalize().ok());
        match resolved {
            Ok(resolved) if directories.any(|directory| resolved.starts_with(directory)) => Ok(resolved),
            _ => Err(refused()),
        }
    }

    /// Checks a location, as far as that is possible without fetching anything.
    pub fn check(&self, location: &Location) -> Result<(), NotAllowed> {
        match location {
            Location::Url(url) => self.check_url(url),
            Location::Path(path) => self.resolve(path).map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(sources: &[&str]) -> AllowedSources {
        AllowedSources::only(sources.iter().map(|source| source.parse().unwrap()).collect())
    }

    #[test]
    fn urls_begin_with_whole_parts_of_an_allowed_one() {
        let allowed = only(&["https://example.com/images", "http://192.0.2.1:8000/"]);
        for good in [
            "https://example.com/images/a.iso",
            "https://EXAMPLE.com:443/images/b/a.iso?token=x",
            "https://example.com/images",
            "http://192.0.2.1:8000/a.iso",
        ] {
            allowed.check_url(&good.parse().unwrap()).unwrap();
        }
        for bad in [
            "https://example.com/images-of-others/a.iso",
            "https://example.com/images/../a.iso",
            "https://example.com/images/%2e%2e/a.iso",
            "https://example.com/a.iso",
            "http://example.com/images/a.iso",
            "https://example.com:8443/images/a.iso",
            "https://example.com.attacker.example/images/a.iso",
            "https://example.com@attacker.example/images/a.iso",
            "http://192.0.2.1/a.iso",
            "http://192.0.2.1:80001/a.iso",
            "http://169.254.169.254/latest/meta-data",
        ] {
            let Ok(url) = bad.parse() else { continue };
            let error = allowed.check_url(&url).unwrap_err().to_string();
            assert!(error.contains("--base-source") && !error.contains("token"), "{bad}: {error}");
        }
        assert!(only(&[DEFAULT_SOURCE]).check(&"/srv/a.iso".parse().unwrap()).is_err());
        assert!(AllowedSources::any().check_url(&"http://192.0.2.1/a.iso".parse().unwrap()).is_ok());
    }

    #[test]
    fn paths_lead_into_an_allowed_directory() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for directory in ["images", "images-of-others"] {
            std::fs::create_dir(path(directory)).unwrap();
            std::fs::write(path(directory).join("a.iso"), "x").unwrap();
        }
        std::os::unix::fs::symlink(path("images-of-others/a.iso"), path("images/link.iso")).unwrap();
        std::os::unix::fs::symlink(path("images"), path("alias")).unwrap();
        let allowed = only(&[path("alias").to_str().unwrap(), "https://example.com/"]);
        for good in ["images/a.iso", "alias/a.iso", "images-of-others/../images/a.iso"] {
            assert_eq!(allowed.resolve(&path(good)).unwrap(), path("images/a.iso").canonicalize().unwrap());
        }
        for bad in
            ["images-of-others/a.iso", "images/link.iso", "images/../images-of-others/a.iso", "images/missing", "no"]
        {
            let error = allowed.resolve(&path(bad)).unwrap_err();
            assert_eq!(error, NotAllowed::Source(path(bad).display().to_string()), "{bad}");
        }
    }

    #[test]
    fn errors_say_why_a_source_cannot_be_allowed() {
        for (bad, reason) in
            [("images", "absolute"), ("ftp://example.com/", "http and https"), ("https://a/?b=c", "query")]
        {
            let error = bad.parse::<AllowedSource>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(bad.split('?').next().unwrap()), "{error}");
        }
    }
}
