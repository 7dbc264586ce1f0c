//! Paths of the media plane.

use super::probe::{PROBE_FILE, PROBE_TOKEN};
use crate::{MediaToken, UrlForm};

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// `/i/<token>/<file>`: a file of an image.
    File { token: &'a str, file: &'a str },
    /// `/h/<token>`: a host calls home.
    CallHome { token: &'a str },
    /// `/…/<uuid>`: a file of an image, in the form that has UUIDs.
    Uuid { uuid: &'a str },
    /// `/…/<name>`: a file of an image, in the form that has names.
    Name { name: &'a str },
}

impl<'a> Target<'a> {
    /// Whether it is the probe, which anybody may read, or the call that the doctor makes in place of a host.
    pub(super) fn is_probe(self) -> bool {
        matches!(self, Self::File { token: PROBE_TOKEN, file: PROBE_FILE } | Self::CallHome { token: PROBE_TOKEN })
    }

    /// Parses a path, without decoding or normalising it. Tokens have lower-case letters and digits. File names also
    /// have `.` and `_`. In the forms with names or UUIDs, any path may come before the name.
    pub(super) fn parse(path: &'a str, urls: UrlForm) -> Option<Self> {
        let exact = Self::exact(path);
        if urls == UrlForm::Capability {
            return exact;
        }
        // Without a valid token, the beginning is only a path before a name.
        let has_token = |target: &Self| target.token().is_some_and(|token| token.parse::<MediaToken>().is_ok());
        exact.filter(has_token).or_else(|| {
            let (_, name) = path.rsplit_once('/').filter(|(_, name)| urls.has(name))?;
            Some(if urls == UrlForm::Uuid { Self::Uuid { uuid: name } } else { Self::Name { name } })
        })
    }

    fn exact(path: &'a str) -> Option<Self> {
        if let Some(token) = path.strip_prefix("/h/") {
            return is_token(token).then_some(Self::CallHome { token });
        }
        let (token, file) = path.strip_prefix("/i/")?.split_once('/')?;
        let file_fits = (1..=64).contains(&file.len())
            && file.bytes().all(|byte| is_plain(byte) || byte == b'.' || byte == b'_')
            && !file.starts_with('.');
        (is_token(token) && file_fits).then_some(Self::File { token, file })
    }

    fn token(&self) -> Option<&'a str> {
        match self {
            Self::File { token, .. } | Self::CallHome { token } => Some(token),
            Self::Uuid { .. } | Self::Name { .. } => None,
        }
    }

    /// What a log may show: the beginning of the secret, and the name of the file.
    pub(super) fn shown(self) -> (&'a str, &'a str) {
        match self {
            Self::File { token, file } => (shown(token), file),
            Self::CallHome { token } => (shown(token), ""),
            Self::Uuid { uuid } => (shown(uuid), ""),
            Self::Name { name } => ("", name),
        }
    }
}

fn is_token(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Shortens a token. Six of its 26 characters tell images apart, and leave 100 bits to guess.
fn shown(token: &str) -> &str {
    token.get(..token.len().min(26) * 6 / 26).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_form_is_a_path() {
        let parse = |path| Target::parse(path, UrlForm::Capability);
        assert_eq!(parse("/i/abc234/boot.iso"), Some(Target::File { token: "abc234", file: "boot.iso" }));
        assert_eq!(parse("/h/abc234"), Some(Target::CallHome { token: "abc234" }));
        for bad in [
            "",
            "/",
            "/i",
            "/i/",
            "/i/abc",
            "/i/abc/",
            "/i//boot.iso",
            "//i/abc/boot.iso",
            "/i/abc//boot.iso",
            "/i/abc/boot.iso/",
            "/i/abc/d/boot.iso",
            "/i/abc/../boot.iso",
            "/i/abc/.",
            "/i/abc/..",
            "/i/%61bc/boot.iso",
            "/i/abc/boot%2eiso",
            "/i/ABC/boot.iso",
            "/I/abc/boot.iso",
            "/x/i/abc/boot.iso",
            "i/abc/boot.iso",
            "/h",
            "/h/",
            "/h/abc/",
            "/h/abc/boot.iso",
            "/h/ABC",
            "/H/abc",
            "*",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        for bad in [format!("/i/{}/f", "a".repeat(65)), format!("/h/{}", "a".repeat(65))] {
            assert_eq!(Target::parse(&bad, UrlForm::Capability), None);
        }
    }

    #[test]
    fn the_other_forms_use_the_last_segment_of_a_path() {
        const UUID: &str = "a5a5a5a5-a5a5-45a5-a5a5-a5a5a5a5a5a5";
        for before in ["/", "/images/", "/a/b/", "//", "/i/abc/", "/h/", "/../"] {
            let path = format!("{before}{UUID}");
            assert_eq!(Target::parse(&path, UrlForm::Uuid), Some(Target::Uuid { uuid: UUID }), "{path}");
            let path = format!("{before}worker-0.iso");
            assert_eq!(Target::parse(&path, UrlForm::Named), Some(Target::Name { name: "worker-0.iso" }), "{path}");
            assert_eq!(Target::parse(&path, UrlForm::Uuid), None, "{path}");
        }
        for bad in
            ["", "/", "*", "worker-0.iso", "/worker-0.iso/", "/..", "/a/..", "/.", "/a%2fb", "/a b", "/a/.hidden"]
        {
            assert_eq!(Target::parse(bad, UrlForm::Named), None, "{bad}");
        }
        for bad in ["/", "/a5a5", &format!("/{UUID}/"), &format!("/{UUID}.iso"), &format!("/{}", UUID.to_uppercase())] {
            assert_eq!(Target::parse(bad, UrlForm::Uuid), None, "{bad}");
        }
    }

    #[test]
    fn the_exact_form_is_one_of_every_form() {
        const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz";
        for urls in [UrlForm::Capability, UrlForm::Uuid, UrlForm::Named] {
            let path = format!("/i/{TOKEN}/boot.iso");
            assert_eq!(Target::parse(&path, urls), Some(Target::File { token: TOKEN, file: "boot.iso" }));
            assert_eq!(Target::parse(&format!("/h/{TOKEN}"), urls), Some(Target::CallHome { token: TOKEN }));
        }
    }

    #[test]
    fn a_log_shows_no_secret() {
        let shown = |path, urls| Target::parse(path, urls).unwrap().shown();
        assert_eq!(shown("/i/abcdefghijklmnopqrstuvwxyz/boot.iso", UrlForm::Capability), ("abcdef", "boot.iso"));
        assert_eq!(shown("/a5a5a5a5-a5a5-45a5-a5a5-a5a5a5a5a5a5", UrlForm::Uuid), ("a5a5a5", ""));
        assert_eq!(shown("/worker-0.iso", UrlForm::Named), ("", "worker-0.iso"));
    }

    #[test]
    fn little_of_a_token_is_shown() {
        assert_eq!(shown("abcdefghijklmnopqrstuvwxyz"), "abcdef");
        assert_eq!(shown("abc"), "");
        assert_eq!(shown(&"a".repeat(64)), "aaaaaa");
    }
}
