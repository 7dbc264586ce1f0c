//! URLs of images as people and records may see them.

use url::Url;

/// Replaces the user name and the password in a URL by `…`, and its query, which may have a signature. The rest stays.
///
/// BMCs show URLs also without a scheme, and people insert malformed ones: `http://user:pass/word@host/` becomes `http://…@host/`.
pub(crate) fn without_credentials(url: &str) -> String {
    let begin = match url.split_once("//") {
        Some((scheme, _)) if scheme.is_empty() || scheme.ends_with(':') => scheme.len() + "//".len(),
        _ => 0,
    };
    let (scheme, rest) = url.split_at(begin);
    let authority = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    // A `/` in a password ends the authority too early. The beginning of the password then stands where a port belongs, so it is no URL.
    let end = if Url::parse(&format!("http://{rest}")).is_ok() { authority } else { rest.len() };
    // Without a path, it may be the name of a file.
    let is_url = !scheme.is_empty() || rest.contains('/');
    let at = rest.get(..end).and_then(|before| before.rfind('@')).filter(|_| is_url);
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
