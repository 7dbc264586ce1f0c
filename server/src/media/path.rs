//! Paths of the media plane.

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// `/i/<token>/<file>`: a file of an image.
    File { token: &'a str, file: &'a str },
    /// `/h/<token>`: a host calls home.
    CallHome { token: &'a str },
}

impl<'a> Target<'a> {
    /// Reads a path. Every other path stands for nothing, whatever it would mean to a web server that decodes or
    /// normalises: tokens are lower-case letters and digits, files those and `.` and `_`.
    pub(super) fn parse(path: &'a str) -> Option<Self> {
        if let Some(token) = path.strip_prefix("/h/") {
            return is_token(token).then_some(Self::CallHome { token });
        }
        let (token, file) = path.strip_prefix("/i/")?.split_once('/')?;
        let file_fits = (1..=64).contains(&file.len())
            && file.bytes().all(|byte| is_plain(byte) || byte == b'.' || byte == b'_')
            && !file.starts_with('.');
        (is_token(token) && file_fits).then_some(Self::File { token, file })
    }

    pub(super) fn token(self) -> &'a str {
        match self {
            Self::File { token, .. } | Self::CallHome { token } => token,
        }
    }

    /// The file's name; nothing for a call home.
    pub(super) fn file(self) -> &'a str {
        match self {
            Self::File { file, .. } => file,
            Self::CallHome { .. } => "",
        }
    }
}

fn is_token(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_form_is_a_path() {
        assert_eq!(Target::parse("/i/abc234/boot.iso"), Some(Target::File { token: "abc234", file: "boot.iso" }));
        assert_eq!(Target::parse("/h/abc234"), Some(Target::CallHome { token: "abc234" }));
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
            assert_eq!(Target::parse(bad), None, "{bad}");
        }
        assert_eq!(Target::parse(&format!("/i/{}/f", "a".repeat(65))), None);
        assert_eq!(Target::parse(&format!("/h/{}", "a".repeat(65))), None);
    }
}
