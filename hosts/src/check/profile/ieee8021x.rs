//! `[802-1x]`.

use super::{Effect, Profile};
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

/// Methods that log in with a password, by themselves or in the tunnel of another one. `otp` asks for none.
const WITH_PASSWORD: [&str; 9] = ["leap", "md5", "fast", "pwd", "pap", "chap", "mschap", "mschapv2", "gtc"];

/// Types that NetworkManager activates at once, without authentication.
const WITHOUT_AUTHENTICATION: [&str; 7] = ["bond", "bridge", "dummy", "macvlan", "vlan", "vrf", "vxlan"];

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

/// Reports a profile that stays without authentication, and one that NetworkManager cannot activate: it asks for a secret, and at
/// boot no program gives it one.
///
/// What it asks for is in libnm's `nm-setting-8021x.c`, `need_secrets`; that it fails then, in the daemon's log
/// (`need-auth -> failed (reason 'no-secrets')`).
pub(super) fn check_activation(profile: &mut Profile<'_, '_>) {
    if !profile.has(GROUP) {
        return;
    }
    let kind = profile.kind();
    if WITHOUT_AUTHENTICATION.contains(&&*kind) {
        let message = format!(
            "has no effect: NetworkManager does not authenticate an interface of type {kind}; write 802.1X at the \
             NICs below it, if it has any"
        );
        return profile.problem(GROUP, None, Effect::Dropped, message);
    }
    // Who activates a profile by hand can give the secret. Without it, NetworkManager goes on where authentication is optional.
    if profile.flag("connection", "autoconnect") == Some(false) || profile.flag(GROUP, "optional") == Some(true) {
        return;
    }
    for method in profile.list(GROUP, "eap") {
        let inner = match &*method {
            "peap" | "ttls" => ["phase2-auth", "phase2-autheap"].into_iter().find_map(|key| profile.text(GROUP, key)),
            _ => None,
        };
        match inner.as_deref().unwrap_or(&method) {
            "sim" => need(profile, &method, "pin"),
            "tls" => need_of_keys(profile, &method, if inner.is_some() { "phase2-" } else { "" }),
            // An empty one counts as missing, like an empty password.
            inner if WITH_PASSWORD.contains(&inner) && !has_text(profile, "password-raw") => {
                need(profile, &method, "password");
            }
            _ => {}
        }
    }
}

fn has_text(profile: &Profile<'_, '_>, key: &str) -> bool {
    profile.text(GROUP, key).is_some_and(|text| !text.is_empty())
}

/// Reports the password or PIN at `key` if it is missing, unless its flags say that an agent has it, which is another finding.
fn need(profile: &mut Profile<'_, '_>, method: &str, key: &str) {
    let flags = profile.number(GROUP, &format!("{key}-flags")).unwrap_or(0);
    if flags.trailing_zeros() >= 2 && !has_text(profile, key) {
        not_activated(profile, method, key, "");
    }
}

/// Reports missing passwords of a private key and of certificates on tokens. For a key in a file, NetworkManager wants some text,
/// even if the key is not encrypted. An empty one will do. Of tokens, 1.30 asks for none and 1.42 for all.
fn need_of_keys(profile: &mut Profile<'_, '_>, method: &str, prefix: &str) {
    for (name, only_on_token) in [("private-key", false), ("ca-cert", true), ("client-cert", true)] {
        let value = profile.text(GROUP, &format!("{prefix}{name}")).filter(|value| !value.is_empty());
        let is_token = value.as_ref().is_some_and(|value| value.starts_with("pkcs11:"));
        let key = format!("{prefix}{name}-password");
        let flags = profile.number(GROUP, &format!("{key}-flags")).unwrap_or(0);
        // NetworkManager refuses a profile without a key, but not if the key is missing inside a tunnel.
        let is_refused = value.is_none() && prefix.is_empty();
        if is_refused || (only_on_token && !is_token) || flags & 7 != 0 || profile.entry(GROUP, &key).is_some() {
            continue;
        }
        if is_token {
            let message = format!(
                "is missing: NetworkManager 1.42 asks for the PIN of the token, no program gives it one at boot, and the interface \
                 does not come up; add {key}, or {key}-flags=4 in a keyfile of your own"
            );
            profile.problem(GROUP, Some(&key), Effect::NotActivatedByLater, message);
        } else {
            not_activated(profile, method, &key, "; for a key that is not encrypted, any text will do");
        }
    }
}

fn not_activated(profile: &mut Profile<'_, '_>, method: &str, key: &str, hint: &str) {
    let message = format!(
        "is missing, and the method {method} needs it: NetworkManager asks for it, no program gives it one at boot, and the \
         interface does not come up; add {key}{hint}"
    );
    profile.problem(GROUP, Some(key), Effect::NotActivated, message);
}
