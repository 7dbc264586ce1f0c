//! Kernel arguments on their way through GRUB, which takes quotes off, and puts others on for the kernel
//! (`grub-core/lib/cmdline.c`).

use std::borrow::Cow;

/// What GRUB gives to the kernel for a word that it has taken the quotes off, its variables apart.
pub(super) fn passed_on(word: &str) -> String {
    quoted(&escaped(word))
}

/// What GRUB must give to the kernel so that the kernel understands `argument`.
pub(in super::super) fn understood(argument: &str) -> String {
    quoted(&meaning(argument))
}

/// GRUB puts a word with a space into double quotes as a whole; the quotes stand around the value here, which means the
/// same to the kernel.
fn quoted(word: &str) -> String {
    if !word.contains(' ') {
        return word.to_owned();
    }
    match word.split_once('=') {
        Some((key, value)) if !key.is_empty() && !key.contains(' ') => format!("{key}=\"{value}\""),
        _ => format!("\"{word}\""),
    }
}

fn escaped(word: &str) -> Cow<'_, str> {
    if !word.contains(['\\', '\'', '"']) {
        return word.into();
    }
    let mut output = String::with_capacity(word.len() + 8);
    for (at, character) in word.char_indices() {
        let rest = word.get(at..).unwrap_or_default().as_bytes();
        let is_code =
            matches!(rest, [b'\\', b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit());
        if matches!(character, '\\' | '\'' | '"') && !is_code {
            output.push('\\');
        }
        output.push(character);
    }
    output.into()
}

/// What the kernel understands of an argument: quotes around it, or around its value, are not part of it.
fn meaning(argument: &str) -> Cow<'_, str> {
    let closed = |text: &str| text.strip_suffix('"').map(str::len);
    if let Some(inner) = argument.strip_prefix('"') {
        return closed(inner).and_then(|end| inner.get(..end)).unwrap_or(inner).into();
    }
    match argument.split_once("=\"") {
        Some((key, value)) if !key.contains('=') && !key.is_empty() => {
            let value = value.strip_suffix('"').unwrap_or(value);
            format!("{key}={value}").into()
        }
        _ => argument.into(),
    }
}

/// An argument as a word of a script. The argument has no single quote.
pub(in super::super) fn written(argument: &str) -> Cow<'_, str> {
    let meaning = meaning(argument);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+~[]^!".contains(c);
    if meaning.chars().all(plain) && !meaning.is_empty() { meaning } else { format!("'{meaning}'").into() }
}
