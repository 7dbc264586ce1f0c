//! Texts that nobody may see: the password, the token of the session, and what they look like when a BMC repeats the
//! request that they came in.

use base64::prelude::*;
use data_encoding::{HEXLOWER, HEXUPPER};

use super::credentials::Credentials;

/// What stands for a secret.
const BLANK: &str = "…";
/// Secrets that are kept: a session that ends is begun again, and its token may be repeated later.
const MOST: usize = 64;
/// A part of a Base64 text that is shorter may be anything.
const SHORTEST_CORE: usize = 6;
/// In a path, which is ours as a rule, a shorter text is no secret that a BMC repeats.
const SHORTEST_IN_PATH: usize = 4;
/// The last part of a session's path, where it is so long, may be as good as the session's token.
const LONG_NAME: usize = 16;
/// Headers whose value is a secret whatever it is.
const HEADERS: [&str; 4] = ["authorization", "x-auth-token", "set-cookie", "cookie"];
/// Properties whose value is a secret, where they stand as in JSON or in a form.
const PROPERTIES: [&str; 3] = ["password", "passwd", "token"];

/// Texts that nobody may see. Each is found in whatever way it is written: as it is, percent-encoded, escaped for JSON or
/// HTML, in hexadecimal, and in Base64, by itself or within something longer.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    plain: Vec<Vec<char>>,
    /// Parts of Base64 texts: what is around them is of the same text.
    cores: Vec<Vec<char>>,
}

impl Secrets {
    /// What gives access with these credentials.
    pub(crate) fn of(credentials: Option<&Credentials>) -> Self {
        let mut secrets = Self::default();
        if let Some(Credentials { username, password }) = credentials {
            secrets.add(password.reveal());
            secrets.add_encoded(&format!("{username}:{}", password.reveal()));
        }
        secrets
    }

    /// One more.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.is_empty() || self.plain.len() >= MOST {
            return;
        }
        self.add_plain(secret);
        if secret.len() >= SHORTEST_IN_PATH {
            self.add_plain(&HEXLOWER.encode(secret.as_bytes()));
            self.add_plain(&HEXUPPER.encode(secret.as_bytes()));
        }
        self.add_encoded(secret);
        // A request that is repeated in Base64 has it as JSON does.
        let escaped = serde_json::Value::from(secret).to_string();
        if let Some(escaped) = escaped.get(1..escaped.len() - 1).filter(|escaped| *escaped != secret) {
            self.add_encoded(escaped);
        }
    }

    /// The path at which a session ends, where it names the session by something that cannot be guessed.
    pub(crate) fn add_path(&mut self, path: &str) {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if name.len() >= LONG_NAME {
            self.add_plain(name);
        }
    }

    fn add_plain(&mut self, text: &str) {
        let text: Vec<char> = text.chars().collect();
        if !text.is_empty() && !self.plain.contains(&text) {
            self.plain.push(text);
            // A secret that contains another goes first.
            self.plain.sort_by_key(|text| std::cmp::Reverse(text.len()));
        }
    }

    /// What the text is in Base64, wherever in a longer text it begins.
    fn add_encoded(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.add_plain(&BASE64_STANDARD.encode(bytes));
        for encoding in [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD] {
            for before in 0..3 {
                let mut longer = vec![0; before];
                longer.extend_from_slice(bytes);
                let encoded: Vec<char> = encoding.encode(&longer).chars().collect();
                // Of six bits each: those that have bits of what is before, or behind, are not known.
                let core = encoded.get((before * 8).div_ceil(6)..longer.len() * 8 / 6).unwrap_or_default();
                if core.len() >= SHORTEST_CORE && !self.cores.iter().any(|known| known == core) {
                    self.cores.push(core.to_vec());
                }
            }
        }
    }

    /// A foreign text without secrets.
    pub(crate) fn blank(&self, text: &str) -> String {
        without_values(&self.replaced(text, 0))
    }

    /// A path without secrets. It is ours as a rule.
    pub(crate) fn blank_path(&self, path: &str) -> String {
        self.replaced(path, SHORTEST_IN_PATH)
    }

    /// Whether a secret is in a text that cannot be there by chance.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.replaced(text, SHORTEST_CORE) != text
    }

    fn replaced(&self, text: &str, shortest: usize) -> String {
        let characters: Vec<char> = text.chars().collect();
        let plain = self.plain.iter().filter(|secret| secret.len() >= shortest);
        let mut found: Vec<(usize, usize)> = Vec::new();
        for secret in plain {
            found.extend(occurrences(&characters, secret));
        }
        for core in &self.cores {
            found.extend(occurrences(&characters, core).map(|(start, end)| whole(&characters, start, end)));
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
                out.push_str(BLANK);
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

/// Where a secret is in a text, in any mix of encodings.
fn occurrences<'a>(text: &'a [char], secret: &'a [char]) -> impl Iterator<Item = (usize, usize)> + 'a {
    let first = secret.first().copied();
    let begins = move |start: &usize| {
        text.get(*start).is_some_and(|character| Some(*character) == first || "\\%&+".contains(*character))
    };
    (0..text.len()).filter(begins).filter_map(move |start| {
        let mut ends = vec![start];
        for &character in secret {
            let mut next = Vec::new();
            for &at in &ends {
                forms(text, at, character, &mut next);
            }
            next.sort_unstable();
            next.dedup();
            if next.is_empty() {
                return None;
            }
            ends = next;
        }
        ends.last().map(|end| (start, *end))
    })
}

/// Where a character ends that begins at `at`, in every way in which it can be written there.
fn forms(text: &[char], at: usize, wanted: char, ends: &mut Vec<usize>) {
    let rest = text.get(at..).unwrap_or_default();
    let bytes: Vec<u32> = wanted.encode_utf8(&mut [0; 4]).bytes().map(u32::from).collect();
    // Escaped, perhaps more than once.
    let escapes = rest.iter().take_while(|character| **character == '\\').count();
    for count in 0..=escapes.min(8) {
        let Some(behind) = rest.get(count..) else { break };
        if behind.first() == Some(&wanted) {
            ends.push(at + count + 1);
        }
        if count == 0 {
            continue;
        }
        let mut units = [0; 2];
        let units = wanted.encode_utf16(&mut units);
        let units: Vec<u32> = units.iter().map(|unit| u32::from(*unit)).collect();
        ends.extend(sequence(behind, 'u', 4, &units).map(|length| at + count + length));
        ends.extend(sequence(behind, 'x', 2, &bytes).map(|length| at + count + length));
    }
    ends.extend(sequence(rest, '%', 2, &bytes).map(|length| at + length));
    if wanted == ' ' && rest.first() == Some(&'+') {
        ends.push(at + 1);
    }
    if rest.first() == Some(&'&') {
        ends.extend(entity(rest, wanted).map(|length| at + length));
    }
}

/// The lengths of numbers in hexadecimal, each behind a mark that may be escaped (`\\u0041`, `%2541`). `%2541` may be an
/// `A` that was encoded twice, or a `%` before `41`: both are found.
fn sequence(text: &[char], mark: char, digits: usize, numbers: &[u32]) -> impl Iterator<Item = usize> {
    let mut ends = vec![0];
    for number in numbers {
        let mut next = Vec::new();
        for mut at in ends {
            // Between two numbers; before the first one the caller has passed them.
            while at > 0 && text.get(at) == Some(&'\\') {
                at += 1;
            }
            if text.get(at) != Some(&mark) {
                continue;
            }
            at += 1;
            while let Some(hex) = text.get(at..at + digits).filter(|hex| is_hex(hex)) {
                if u32::from_str_radix(&String::from_iter(hex), 16).ok() == Some(*number) {
                    next.push(at + digits);
                }
                if mark != '%' || hex != ['2', '5'] {
                    break;
                }
                at += digits;
            }
        }
        ends = next;
    }
    ends.into_iter()
}

fn is_hex(text: &[char]) -> bool {
    text.iter().all(char::is_ascii_hexdigit)
}

/// The length of a character reference of HTML.
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
    let is_it = match wanted {
        '&' => name == "amp",
        '<' => name == "lt",
        '>' => name == "gt",
        '"' => name == "quot",
        '\'' => name == "apos",
        _ => false,
    };
    (is_it || number == Some(u32::from(wanted))).then_some(end + 1)
}

/// The Base64 text that a part is of.
fn whole(text: &[char], start: usize, end: usize) -> (usize, usize) {
    let belongs = |character: &&char| character.is_ascii_alphanumeric() || "+/=_-%\\".contains(**character);
    let before = text.get(..start).unwrap_or_default().iter().rev().take_while(belongs).count();
    let behind = text.get(end..).unwrap_or_default().iter().take_while(belongs).count();
    (start - before, end + behind)
}

/// A text without the values of headers and properties that are secrets, whoever they are of.
fn without_values(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some((start, end)) = value(&lower, at) {
        out.push_str(text.get(at..start).unwrap_or_default());
        out.push_str(BLANK);
        at = end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// The next value that is a secret: where it begins and where it ends.
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
