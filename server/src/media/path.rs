//! Paths of the media plane.

/// The token and the file of `/i/<token>/<file>`. Every other path is none, whatever it would mean to a web server
/// that decodes or normalises: tokens are lower-case letters and digits, files those and `.` and `_`.
pub(super) fn parse(path: &str) -> Option<(&str, &str)> {
    let (token, file) = path.strip_prefix("/i/")?.split_once('/')?;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let token_fits = (1..=64).contains(&token.len()) && token.bytes().all(plain);
    let file_fits = (1..=64).contains(&file.len())
        && file.bytes().all(|byte| plain(byte) || byte == b'.' || byte == b'_')
        && !file.starts_with('.');
    (token_fits && file_fits).then_some((token, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_form_is_a_path() {
        assert_eq!(parse("/i/abc234/boot.iso"), Some(("abc234", "boot.iso")));
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
            "*",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(parse(&format!("/i/{}/f", "a".repeat(65))), None);
    }
}
