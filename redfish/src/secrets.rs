//! Masks secrets in the texts of a BMC: the password, the session's token, and every encoding in which a BMC may repeat
//! them.

use base64::prelude::*;
use data_encoding::{HEXLOWER, HEXUPPER};

use super::credentials::Credentials;

/// What replaces a secret.
const MASK: &str = "…";
/// Maximum number of secrets. A BMC may still repeat the tokens of earlier sessions.
const MAX_SECRETS: usize = 64;
/// Minimum length of a part of a Base64 text: a shorter one could match anything.
const SHORTEST_CORE: usize = 6;
/// Minimum length of a secret that is masked in a path: a shorter one matches by chance.
const SHORTEST_IN_PATH: usize = 4;
/// From this length on, the last segment of a session's path may serve as a credential.
const LONG_NAME: usize = 16;
/// Headers whose value is always masked.
const HEADERS: [&str; 4] = ["authorization", "x-auth-token", "set-cookie", "cookie"];
/// Properties whose value is always masked, if they are written as in JSON or in a form.
const PROPERTIES: [&str; 3] = ["password", "passwd", "token"];

/// The secrets of one BMC. Each is found plain, percent-encoded, escaped for JSON or HTML, in hexadecimal and in
/// Base64, by itself or within a longer text.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    plain: Vec<Box<str>>,
    /// Parts of Base64 texts that contain a secret. The characters around them belong to the same text.
    cores: Vec<Box<str>>,
}

impl Secrets {
    /// The password, and the `user:password` of HTTP's Basic authentication.
    pub(crate) fn of(credentials: Option<&Credentials>) -> Self {
        let mut secrets = Self::default();
        if let Some(Credentials { username, password }) = credentials {
            secrets.add(password.reveal());
            secrets.add_encoded(&format!("{username}:{}", password.reveal()));
        }
        secrets
    }

    /// Adds a secret.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.is_empty() || self.plain.len() >= MAX_SECRETS {
            return;
        }
        self.add_plain(secret);
        if secret.len() >= SHORTEST_IN_PATH {
            self.add_plain(&HEXLOWER.encode(secret.as_bytes()));
            self.add_plain(&HEXUPPER.encode(secret.as_bytes()));
        }
        self.add_encoded(secret);
        // A request that is repeated in Base64 contains the secret as JSON escapes it.
        let escaped = serde_json::Value::from(secret).to_string();
        if let Some(escaped) = escaped.get(1..escaped.len() - 1).filter(|escaped| *escaped != secret) {
            self.add_encoded(escaped);
        }
    }

    /// Adds the last segment of a session's path, if nobody can guess it.
    pub(crate) fn add_path(&mut self, path: &str) {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if name.len() >= LONG_NAME {
            self.add_plain(name);
        }
    }

    fn add_plain(&mut self, text: &str) {
        if !text.is_empty() && !self.plain.iter().any(|known| **known == *text) {
            self.plain.push(text.into());
        }
    }

    /// Adds the Base64 of a text, for every offset in a longer text at which it can begin.
    fn add_encoded(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.add_plain(&BASE64_STANDARD.encode(bytes));
        for encoding in [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD] {
            for before in 0..3 {
                let mut longer = vec![0; before];
                longer.extend_from_slice(bytes);
                let encoded = encoding.encode(&longer);
                // A character is six bits. Those that share bits with the neighbouring text are unknown.
                let core = encoded.get((before * 8).div_ceil(6)..longer.len() * 8 / 6).unwrap_or_default();
                if core.len() >= SHORTEST_CORE && !self.cores.iter().any(|known| **known == *core) {
                    self.cores.push(core.into());
                }
            }
        }
    }

    /// Masks the secrets in a BMC's text.
    pub(crate) fn mask(&self, text: &str) -> String {
        without_values(&self.replaced(text, 0))
    }

    /// Masks the secrets in a path.
    pub(crate) fn mask_path(&self, path: &str) -> String {
        self.replaced(path, SHORTEST_IN_PATH)
    }

    /// Whether a text contains a secret that is too long to be there by chance.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.replaced(text, SHORTEST_CORE) != text
    }

    fn replaced(&self, text: &str, shortest: usize) -> String {
        let characters: Vec<char> = text.chars().collect();
        let plain = self.plain.iter().filter(|secret| secret.chars().count() >= shortest);
        let mut found: Vec<(usize, usize)> = Vec::new();
        for secret in plain {
            found.extend(occurrences(&characters, secret));
        }
        for core in &self.cores {
            let parts = occurrences(&characters, core).into_iter();
            found.extend(parts.map(|(start, end)| whole(&characters, start, end)));
        }
        if found.is_empty() {
            return text.to_owned();
        }
        found.sort_unstable();
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (start, end) in found {
            if start >= at {
                out.extend(characters.get(at..start).unwrap_or_default());
                out.push_str(MASK);
            }
            at = at.max(end);
        }
        out.extend(characters.get(at..).unwrap_or_default());
        out
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(…)")
    }
}

/// The places of a secret in a text, in any mix of encodings.
fn occurrences(text: &[char], secret: &str) -> Vec<(usize, usize)> {
    let first = secret.chars().next();
    let mut found = Vec::new();
    // Kept from place to place, because almost none of them leads further.
    let (mut ends, mut next) = (Vec::new(), Vec::new());
    for (start, character) in text.iter().enumerate() {
        if !matches!(character, '\\' | '%' | '&' | '+') && Some(*character) != first {
            continue;
        }
        ends.clear();
        ends.push(start);
        for wanted in secret.chars() {
            next.clear();
            for &at in &ends {
                forms(text, at, wanted, &mut next);
            }
            next.sort_unstable();
            next.dedup();
            std::mem::swap(&mut ends, &mut next);
            if ends.is_empty() {
                break;
            }
        }
        found.extend(ends.last().map(|end| (start, *end)));
    }
    found
}

/// Adds the ends of a character that begins at `at`, for every encoding in which it can be written there.
fn forms(text: &[char], at: usize, wanted: char, ends: &mut Vec<usize>) {
    let rest = text.get(at..).unwrap_or_default();
    let Some(first) = rest.first() else { return };
    if *first == wanted {
        ends.push(at + 1);
    }
    let mut bytes = [0; 4];
    let bytes = wanted.encode_utf8(&mut bytes).bytes().map(u32::from);
    match first {
        '\\' => {
            // The character may be escaped more than once.
            let escapes = rest.iter().take_while(|character| **character == '\\').count();
            for count in 1..=escapes.min(8) {
                let Some(behind) = rest.get(count..) else { break };
                if behind.first() == Some(&wanted) {
                    ends.push(at + count + 1);
                }
                let mut units = [0; 2];
                let units = wanted.encode_utf16(&mut units).iter().map(|unit| u32::from(*unit));
                ends.extend(sequence(behind, 'u', 4, units).into_iter().map(|length| at + count + length));
                ends.extend(sequence(behind, 'x', 2, bytes.clone()).into_iter().map(|length| at + count + length));
            }
        }
        '%' => ends.extend(sequence(rest, '%', 2, bytes).into_iter().map(|length| at + length)),
        '+' if wanted == ' ' => ends.push(at + 1),
        '&' => ends.extend(entity(rest, wanted).map(|length| at + length)),
        _ => {}
    }
}

/// The lengths of hexadecimal numbers that follow an escape mark, which may be escaped itself (`\\u0041`, `%2541`).
/// `%2541` is an `A` that was encoded twice, or a `%` before `41`: both are found.
fn sequence(text: &[char], mark: char, digits: usize, numbers: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut ends = Vec::new();
    for (index, number) in numbers.enumerate() {
        let mut next = Vec::new();
        for &start in if index == 0 { &[0][..] } else { &ends } {
            let mut at = start;
            // Skips the escapes between two numbers. The caller has skipped those before the first.
            while at > 0 && text.get(at) == Some(&'\\') {
                at += 1;
            }
            if text.get(at) != Some(&mark) {
                continue;
            }
            at += 1;
            while let Some(found) = text.get(at..at + digits).and_then(hexadecimal) {
                if found == number {
                    next.push(at + digits);
                }
                // A percent sign, which may be that of the next number.
                if mark != '%' || found != u32::from('%') {
                    break;
                }
                at += digits;
            }
        }
        if next.is_empty() {
            return next;
        }
        ends = next;
    }
    ends
}

fn hexadecimal(digits: &[char]) -> Option<u32> {
    let mut number = 0;
    for digit in digits {
        number = number << 4 | digit.to_digit(16)?;
    }
    Some(number)
}

/// The length of an HTML character reference.
fn entity(text: &[char], wanted: char) -> Option<usize> {
    let end = text.iter().take(16).position(|character| *character == ';')?;
    let name: String = text.get(1..end)?.iter().collect();
    // `&` may itself be written as `&amp;`.
    if name == "amp" && wanted != '&' {
        let inner: Vec<char> = std::iter::once('&').chain(text.iter().skip(end + 1).take(16).copied()).collect();
        return entity(&inner, wanted).map(|length| end + length);
    }
    let number = name.strip_prefix('#').and_then(|number| match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => number.parse().ok(),
    });
    let is_named = match wanted {
        '&' => name == "amp",
        '<' => name == "lt",
        '>' => name == "gt",
        '"' => name == "quot",
        '\'' => name == "apos",
        _ => false,
    };
    (is_named || number == Some(u32::from(wanted))).then_some(end + 1)
}

/// The whole Base64 text that contains a part.
fn whole(text: &[char], start: usize, end: usize) -> (usize, usize) {
    let belongs = |character: &&char| character.is_ascii_alphanumeric() || "+/=_-%\\".contains(**character);
    let before = text.get(..start).unwrap_or_default().iter().rev().take_while(belongs).count();
    let behind = text.get(end..).unwrap_or_default().iter().take_while(belongs).count();
    (start - before, end + behind)
}

/// Masks the values of headers and properties that always are secrets.
fn without_values(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some((start, end)) = value(&lower, at) {
        out.push_str(text.get(at..start).unwrap_or_default());
        out.push_str(MASK);
        at = end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// The start and the end of the next value that is a secret.
fn value(text: &str, from: usize) -> Option<(usize, usize)> {
    let names = HEADERS.iter().map(|name| (*name, true)).chain(PROPERTIES.iter().map(|name| (*name, false)));
    let found = names.filter_map(|(name, is_header)| {
        let rest = text.get(from..)?;
        rest.match_indices(name).find_map(|(at, _)| {
            let behind = from + at + name.len();
            value_behind(text, behind, is_header)
        })
    });
    found.min()
}

fn value_behind(text: &str, at: usize, is_header: bool) -> Option<(usize, usize)> {
    let rest = text.get(at..)?;
    let quote = |character: char| matches!(character, '"' | '\'' | '\\');
    let behind_name = rest.trim_start_matches(quote);
    let is_quoted = behind_name.len() < rest.len();
    let behind_space = behind_name.trim_start_matches(' ');
    let mark = behind_space.chars().next().filter(|mark| matches!(mark, ':' | '='))?;
    // "Password: it must be changed" is a sentence.
    if !is_header && !is_quoted && mark == ':' {
        return None;
    }
    let mut value = behind_space.get(1..)?.trim_start_matches(|c: char| c == ' ' || quote(c));
    for scheme in ["basic ", "bearer ", "digest ", "token "] {
        value = value.strip_prefix(scheme).unwrap_or(value);
    }
    let start = text.len() - value.len();
    let end = value.find(|c: char| quote(c) || c.is_whitespace() || matches!(c, ',' | ';' | '&' | '}' | '<' | '…'));
    let length = end.unwrap_or(value.len());
    (length > 0).then_some((start, start + length))
}

#[cfg(test)]
mod tests;
