//! URLs of images as people and records may see them.

/// Replaces the user name and the password in a URL by `…`, and its query, which may have a signature. The rest stays.
///
/// BMCs show URLs also without a scheme, and people insert malformed ones: `http://user:pass/word@host/` becomes `http://…@host/`.
pub(crate) fn without_credentials(url: &str) -> String {
    let begin = match url.split_once("//") {
        Some((scheme, _)) if scheme.is_empty() || scheme.ends_with(':') => scheme.len() + "//".len(),
        _ => 0,
    };
    let (scheme, rest) = url.split_at(begin);
    // Without a path, it may be the name of a file.
    let at = end_of_credentials(rest).filter(|_| !scheme.is_empty() || rest.contains('/'));
    let (hidden, rest) = match at.and_then(|at| rest.get(at..)) {
        Some(host) => ("…", host),
        None => ("", rest),
    };
    let (path, query) = match rest.split_once('?') {
        Some((path, _)) => (path, "?…"),
        None => (rest, ""),
    };
    format!("{scheme}{hidden}{path}{query}")
}

/// Where the `@` is behind the user name and the password of a URL without its scheme. The crate of the words that all others share has
/// the same for its texts; this one stands alone.
fn end_of_credentials(url: &str) -> Option<usize> {
    let authority = url.find(['/', '?', '#', '\\']).and_then(|end| url.get(..end)).unwrap_or(url);
    let at = authority.rfind('@');
    let host = at.and_then(|at| authority.get(at + 1..)).unwrap_or(authority);
    // A `/` in a password ends the authority too early. What is behind the colon is then no port.
    let is_host = host.starts_with('[')
        || host.split_once(':').is_none_or(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    if is_host { at } else { url.rfind('@') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_queries_are_hidden_and_nothing_else() {
        for (url, shown) in [
            ("", ""),
            ("boot.iso", "boot.iso"),
            ("disk@home.iso", "disk@home.iso"),
            ("boot.iso?sig=secret", "boot.iso?…"),
            ("http://192.0.2.1:8081/i/abcdef/boot.iso", "http://192.0.2.1:8081/i/abcdef/boot.iso"),
            ("192.0.2.1:8081/i/abcdef/boot.iso", "192.0.2.1:8081/i/abcdef/boot.iso"),
            ("/i/abcdef/a@b//c.iso", "/i/abcdef/a@b//c.iso"),
            ("http://[2001:db8::1]:80/a@b", "http://[2001:db8::1]:80/a@b"),
            ("http://admin:secret@host/x.iso?sig=secret", "http://…@host/x.iso?…"),
            ("http://us@er:secret@[::1]/x", "http://…@[::1]/x"),
            ("http://user:sec/ret@host/x", "http://…@host/x"),
            ("http://user:sec?ret@host/x?c@d", "http://…@d"),
            ("cifs://user:secret@host/share/x.iso", "cifs://…@host/share/x.iso"),
            ("//user:secret@host/share/x.iso", "//…@host/share/x.iso"),
            ("user:secret@host/x.iso", "…@host/x.iso"),
        ] {
            assert_eq!(without_credentials(url), shown);
            assert_eq!(without_credentials(shown), shown, "it stays hidden");
        }
    }
}
