//! Which sources a server may fetch bases from. Clients name the sources, so the operator says where they may lead.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use percent_encoding::percent_decode_str;
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
    /// The rest of a URL's path, if the URL has the same scheme, host and port, and a path that begins with whole parts of this one's.
    /// The parser has resolved `..` in both.
    fn rest_of<'a>(&self, url: &'a Url) -> Option<&'a str> {
        let Location::Url(allowed) = &self.0 else { return None };
        let rest = url.path().strip_prefix(allowed.path().trim_end_matches('/'))?;
        let is_below = rest.is_empty() || rest.starts_with('/');
        (allowed.origin() == url.origin() && is_below).then_some(rest)
    }
}

/// Whether servers may disagree about where a path of a URL leads: many decode `%2f` before they resolve `..`, some take `\` for `/`, decode
/// twice, or leave out what follows a `;`.
fn is_ambiguous(path: &str) -> bool {
    let mut path = path.to_owned();
    loop {
        if path.contains('\\') || path.split('/').any(|part| matches!(part.split(';').next(), Some("." | ".."))) {
            return true;
        }
        let decoded = percent_decode_str(&path).decode_utf8_lossy().into_owned();
        if decoded == path {
            return false;
        }
        if decoded.matches('/').count() > path.matches('/').count() {
            return true;
        }
        path = decoded;
    }
}

/// Why dayone does not fetch from a location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    /// No allowed source contains it. Says the same whether the file exists or not.
    #[error("the server does not fetch bases from {0}: its operator allows sources with --base-source")]
    Source(String),
    /// Servers disagree about where the URL leads.
    #[error(
        "the server does not fetch bases from {0}: its path has an encoded slash, a backslash or a part `..`, with which it can lead out \
         of what the operator allows; give the URL without them"
    )]
    Ambiguous(String),
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
        let Some(sources) = &self.sources else { return Ok(()) };
        let shown = || Location::Url(url.clone()).to_string();
        let mut rests = sources.iter().filter_map(|source| source.rest_of(url)).peekable();
        if rests.peek().is_none() {
            return Err(NotAllowed::Source(shown()));
        }
        // The operator's own part of the URL can have an encoded slash.
        if rests.all(is_ambiguous) { Err(NotAllowed::Ambiguous(shown())) } else { Ok(()) }
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
    use proptest::prelude::*;

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
    fn no_url_leads_out_of_an_allowed_one_on_a_server_that_decodes_it() {
        let allowed = only(&["https://example.com/images/", "https://example.com/projects/a%2Fb/"]);
        for bad in [
            "..%2fa.iso",
            "..%2Fa.iso",
            "..%5ca.iso",
            "x%2f..%2f..%2fa.iso",
            "x%5C..%5C..%5Ca.iso",
            "%2e%2e%2fa.iso",
            "..%252fa.iso",
            "%252e%252e/a.iso",
            "..;/a.iso",
            "..%3b/a.iso",
            "a%2fb.iso",
        ] {
            let url = format!("https://example.com/images/{bad}").parse().unwrap();
            let error = allowed.check_url(&url).unwrap_err();
            assert!(matches!(error, NotAllowed::Ambiguous(_)), "{bad}: {error}");
        }
        for good in ["images/a%20b..c.iso", "images/...", "images/100%25.iso", "images/a;b", "projects/a%2Fb/c.iso"] {
            allowed.check_url(&format!("https://example.com/{good}").parse().unwrap()).unwrap();
        }
        let outside = "https://example.com/projects/a%2Fc/d.iso".parse().unwrap();
        assert!(matches!(allowed.check_url(&outside), Err(NotAllowed::Source(_))));
    }

    /// Where a path leads on a server that decodes as often as it can, takes `\\` for `/`, leaves out what follows a `;`, and then
    /// resolves `.` and `..`.
    fn leads_to(path: &str) -> Vec<String> {
        let mut path = path.to_owned();
        loop {
            let decoded = percent_decode_str(&path).decode_utf8_lossy().into_owned();
            if decoded == path {
                break;
            }
            path = decoded;
        }
        let mut parts = Vec::new();
        for part in path.split(['/', '\\']) {
            match part.split(';').next().unwrap() {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part.to_owned()),
            }
        }
        parts
    }

    proptest! {
        #[test]
        fn every_reading_of_an_allowed_url_is_below_what_is_allowed(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("."), Just(".."), Just("/"), Just("\\"), Just("%"), Just("25"), Just("2f"), Just("2E"), Just("5c"), Just("%2f"),
                    Just("%5C"), Just("%2e"), Just(";"), Just("%3B"), Just("a"), Just("images"),
                ],
                0..12,
            ),
        ) {
            let url: Url = format!("https://example.com/images/{}", parts.concat()).parse().unwrap();
            if only(&["https://example.com/images/"]).check_url(&url).is_ok() {
                let parts = leads_to(url.path());
                prop_assert!(parts.first().is_some_and(|first| first == "images"), "{url}: {parts:?}");
            }
        }
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
