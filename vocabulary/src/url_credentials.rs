//! Texts with URLs, as errors and logs may show them.

use std::borrow::Cow;

/// Replaces the user name and the password of every URL in a text by `…`. The rest of the text stays.
///
/// It also works for malformed URLs: `http://user:pass/word@host/` becomes `http://…@host/`.
pub fn hide(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, url)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let (url, _) = url.split_at(end_of_url(url));
        if let Some(at) = end_of_credentials(url) {
            shown.push('…');
            rest = rest.get(before.len() + "://".len() + at..).unwrap_or_default();
        } else {
            rest = rest.get(before.len() + "://".len()..).unwrap_or_default();
        }
    }
    shown + rest
}

/// As [`hide`], and also replaces the query of every URL by `…`, because it may be a credential, too.
///
/// Punctuation behind a URL stays: `"https://host/?key=secret" is wrong` becomes `"https://host/?…" is wrong`.
pub fn hide_with_queries(text: &str) -> String {
    let hidden = hide(text);
    let mut shown = String::with_capacity(hidden.len());
    let mut rest = hidden.as_str();
    while let Some((before, after)) = rest.split_once("://") {
        let (url, behind) = after.split_at(end_of_url(after));
        shown.push_str(before);
        shown.push_str("://");
        shown.push_str(&without_query(url));
        rest = behind;
    }
    shown + rest
}

fn without_query(url: &str) -> Cow<'_, str> {
    const PUNCTUATION: [char; 8] = ['"', '\'', '`', ')', ',', '.', ':', ';'];
    let Some((before, query)) = url.split_once('?') else { return url.into() };
    let query = query.trim_end_matches(PUNCTUATION);
    if query.is_empty() {
        return url.into();
    }
    let punctuation = url.get(before.len() + 1 + query.len()..).unwrap_or_default();
    format!("{before}?…{punctuation}").into()
}

/// As [`hide`] for one URL, without its query, which may be a credential, too.
pub fn hide_with_query(url: &str) -> String {
    let shown = hide(url);
    shown.split_once('?').map(|(before, _)| format!("{before}?…")).unwrap_or(shown)
}

/// As [`hide_with_query`] if a value is a URL; other values stay.
pub fn hide_in_value(value: &str) -> String {
    if value.contains("://") { hide_with_query(value) } else { value.to_owned() }
}

/// Where a URL without its scheme ends. A password may have quotes, so these do not end it.
fn end_of_url(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || c.is_control()).unwrap_or(text.len())
}

/// Where the `@` is behind the user name and the password of a URL without its scheme.
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn credentials_are_hidden_and_nothing_else() {
        for (text, shown) in [
            ("", ""),
            ("me@example.com", "me@example.com"),
            ("/other.iso", "/other.iso"),
            ("http://proxy:3128/a@b", "http://proxy:3128/a@b"),
            ("http://[2001:db8::1]/a@b", "http://[2001:db8::1]/a@b"),
            ("http://host/a:b@c", "http://host/a:b@c"),
            ("http://user:secret@proxy:3128/a@b", "http://…@proxy:3128/a@b"),
            ("http://secret@host", "http://…@host"),
            ("http://us@er:secret@host/", "http://…@host/"),
            ("http://user:sec/ret@host/x", "http://…@host/x"),
            ("http://user:sec?ret@host/x", "http://…@host/x"),
            ("http://user:sec#ret@[::1]/x", "http://…@[::1]/x"),
            (
                "\"ftp://u:secret@a/\" is not a URL, and https://secret@b/c@d is",
                "\"ftp://…@a/\" is not a URL, and https://…@b/c@d is",
            ),
            ("a://secret@b://secret@c", "a://…@b://…@c"),
            ("x://", "x://"),
        ] {
            assert_eq!(hide(text), shown);
            assert_eq!(hide(shown), shown, "it stays hidden");
        }
    }

    #[test]
    fn queries_are_hidden_too() {
        for (url, shown) in [
            ("https://a/b?X-Signature=secret", "https://a/b?…"),
            ("https://user:secret@a/b?c@d", "https://…@a/b?…"),
            ("https://user:sec?ret@a/b?c", "https://…@a/b?…"),
            ("https://a/b", "https://a/b"),
        ] {
            assert_eq!(hide_with_query(url), shown);
            assert_eq!(hide_in_value(url), shown);
        }
    }

    #[test]
    fn the_queries_of_all_urls_in_a_text_are_hidden() {
        for (text, shown) in [
            ("\"https://a/?key=secret\" is wrong; is it x?", "\"https://a/?…\" is wrong; is it x?"),
            ("https://user:secret@a/?secret, https://b/?secret", "https://…@a/?…, https://b/?…"),
            ("https://a/?sec\"ret\" (http://b?secret).", "https://a/?…\" (http://b?…)."),
            ("is it https://a/? or https://b/?\"", "is it https://a/? or https://b/?\""),
            ("x?secret=a://b", "x?secret=a://b"),
        ] {
            assert_eq!(hide_with_queries(text), shown);
            assert_eq!(hide_with_queries(shown), shown, "it stays hidden");
        }
    }

    #[test]
    fn other_values_stay() {
        assert_eq!(hide_in_value("what?"), "what?");
        assert_eq!(hide_with_query("/other.iso?key=secret"), "/other.iso?…");
    }

    proptest! {
        #[test]
        fn a_password_is_never_shown(
            user in "[a-z:@%]{0,4}",
            // Digits before a `/` would be a port, and what is between an `@` and a `/` would be the host.
            password in "[a-z][!$-.0-;=A-Z_a-z~]{0,6}hunter2[!#-&(-;=?-_a-z{-~]{0,6}",
            around in "[a-z \"]{0,4}",
            path in "[a-z/:?]{0,6}",
        ) {
            let text = format!("{around}https://{user}:{password}@host/{path}{around}");
            prop_assert!(!hide(&text).contains("hunter2"), "{text}: {}", hide(&text));
        }

        #[test]
        fn texts_without_an_at_sign_do_not_change(text in "[^@]*") {
            prop_assert_eq!(hide(&text), text);
        }
    }
}
