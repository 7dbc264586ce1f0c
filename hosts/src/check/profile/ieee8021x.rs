//! `[802-1x]`.

use super::Profile;
use crate::nmstate_document::quoted;

const GROUP: &str = "802-1x";
const METHODS: [&str; 9] = ["leap", "md5", "tls", "peap", "ttls", "sim", "fast", "pwd", "external"];

/// Certificates, and the passwords of those on a token.
const CERTIFICATES: [(&str, Option<&str>); 6] = [
    ("ca-cert", Some("ca-cert-password")),
    ("phase2-ca-cert", Some("phase2-ca-cert-password")),
    ("client-cert", Some("client-cert-password")),
    ("phase2-client-cert", Some("phase2-client-cert-password")),
    ("private-key", None),
    ("phase2-private-key", None),
];

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    if !profile.has(GROUP) {
        return;
    }
    if profile.flag(GROUP, "optional") == Some(true) && profile.kind() != "802-3-ethernet" {
        profile.refuse(GROUP, "optional", "is true, and the profile is not of type ethernet", "remove it");
    }
    let methods = profile.list(GROUP, "eap");
    if methods.is_empty() {
        return profile.refuse(GROUP, "eap", "is missing", "write the method, such as tls or peap");
    }
    if let Some(unknown) = methods.iter().find(|method| !METHODS.contains(&method.as_str())) {
        let what = format!("has {}, which is not a method", quoted(unknown));
        return profile.refuse(GROUP, "eap", &what, &format!("use one of {}", METHODS.join(", ")));
    }
    for method in &methods {
        check_method(profile, method);
    }
    let flags = profile.number(GROUP, "phase1-auth-flags").unwrap_or(0);
    let both = [(0x2, 0x20), (0x4, 0x40), (0x8, 0x80), (0x10, 0x100)]
        .into_iter()
        .any(|(off, on)| flags & off != 0 && flags & on != 0);
    if flags & !0x1ff != 0 || both {
        let expected = "a sum of known bits that does not enable and disable one version of TLS";
        profile.must_be(GROUP, "phase1-auth-flags", expected);
    }
    for (key, password) in CERTIFICATES {
        check_certificate(profile, key, password);
    }
}

fn check_method(profile: &mut Profile<'_, '_>, method: &str) {
    let missing = |profile: &Profile<'_, '_>, key: &str| profile.text(GROUP, key).is_none_or(|text| text.is_empty());
    match method {
        "tls" => {
            for (key, what) in
                [("client-cert", "the client's certificate"), ("private-key", "the client's private key")]
            {
                if missing(profile, key) {
                    let problem = format!("is missing, and the method tls needs {what}");
                    profile.refuse(GROUP, key, &problem, "write the path of the file on the host");
                }
            }
        }
        "sim" | "external" => {}
        _ => {
            if missing(profile, "identity") {
                let problem = format!("is missing, and the method {method} needs a name to log in with");
                profile.refuse(GROUP, "identity", &problem, "add identity");
            }
            if matches!(method, "peap" | "ttls") {
                let present =
                    ["phase2-auth", "phase2-autheap"].into_iter().filter(|key| profile.entry(GROUP, key).is_some());
                let (problem, fix) = match present.count() {
                    0 => (
                        format!("is missing, and {method} needs a method inside its tunnel"),
                        "add one, such as mschapv2",
                    ),
                    1 => return,
                    _ => ("is set together with phase2-autheap".to_owned(), "remove one of the two"),
                };
                profile.refuse(GROUP, "phase2-auth", &problem, fix);
            }
        }
    }
}

fn check_certificate(profile: &mut Profile<'_, '_>, key: &str, password: Option<&str>) {
    let Some(text) = profile.text(GROUP, key) else { return };
    let is_token = text.starts_with("pkcs11:");
    if text.is_empty() {
        profile.reads_only(GROUP, key, "the path of a file, or data:;base64,…");
    } else if let Some(path) = text.strip_prefix("file://") {
        if !path.starts_with('/') {
            profile.reads_only(GROUP, key, "file:// and an absolute path");
        }
    } else if let Some(data) = text.strip_prefix("data:;base64,") {
        let digits = data.trim_end_matches('=');
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
        if data.len() % 4 != 0 || data.len() - digits.len() > 2 || digits.is_empty() || !digits.chars().all(plain) {
            profile.reads_only(GROUP, key, "data:;base64, and the file in base64");
        }
    }
    if let Some(password) = password.filter(|password| profile.entry(GROUP, password).is_some() && !is_token) {
        let what = format!("is set, and {key} is not on a token (pkcs11:)");
        profile.refuse(GROUP, password, &what, "remove it");
    }
}
