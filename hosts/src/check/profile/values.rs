//! Values as libnm reads them.

use std::net::{Ipv4Addr, Ipv6Addr};

/// What `g_ascii_isspace` takes for a blank.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// A number as C writes it: decimal, hexadecimal behind `0x`, octal behind `0`.
pub(super) fn integer(text: &str) -> Option<i128> {
    let text = text.trim_matches(is_space);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits_of = |digits: &str, radix| {
        let plain = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        plain.then(|| i128::from_str_radix(digits, radix).ok()).flatten()
    };
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let octal = digits.strip_prefix('0').filter(|rest| !rest.is_empty());
    let number = match (hexadecimal, octal) {
        (Some(digits), _) => digits_of(digits, 16),
        (None, Some(digits)) => digits_of(digits, 8),
        (None, None) => digits_of(digits, 10),
    }?;
    Some(if negative { -number } else { number })
}

/// A number that is decimal whatever it begins with.
pub(super) fn decimal(text: &str) -> Option<i128> {
    let text = text.trim_matches(is_space);
    let digits = text.strip_prefix('+').unwrap_or(text);
    let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |digits| (true, digits));
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number: i128 = plain.then(|| digits.parse().ok()).flatten()?;
    Some(if negative { -number } else { number })
}

/// A decimal number within a range.
pub(super) fn decimal_within(text: &str, least: i128, greatest: i128) -> Option<i128> {
    decimal(text).filter(|number| (least..=greatest).contains(number))
}

/// `GLib`'s truth of a value.
pub(super) fn flag(text: &str) -> Option<bool> {
    match text.trim_end_matches(is_space) {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// A truth value in an attribute of a route or of a virtual function (`_nm_utils_ascii_str_to_bool`).
pub(super) fn is_truth_word(text: &str) -> bool {
    let words = ["true", "yes", "on", "1", "false", "no", "off", "0"];
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

pub(super) fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// An address of the family, with or without the length of a prefix.
pub(super) fn is_network(text: &str, is_v6: bool) -> bool {
    let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let longest = if is_v6 { 128 } else { 32 };
    is_address(address, is_v6) && length.is_none_or(|length| decimal_within(length, 0, longest).is_some())
}

pub(super) fn is_address(text: &str, is_v6: bool) -> bool {
    if is_v6 { is_ipv6(text) } else { is_ipv4(text) }
}

/// The bytes of a hardware address of `length` bytes: hexadecimal, between colons or hyphens.
pub(super) fn hardware_address(text: &str, length: usize) -> Option<Vec<u8>> {
    let separator = if text.contains('-') { '-' } else { ':' };
    let byte = |part: &str| {
        let plain = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit());
        plain.then(|| u8::from_str_radix(part, 16).ok()).flatten()
    };
    let bytes: Vec<u8> = text.split(separator).map(byte).collect::<Option<_>>()?;
    (bytes.len() == length).then_some(bytes)
}

/// [`hardware_address`], or the old form, a list of decimal numbers.
pub(super) fn is_hardware_address_of_profile(text: &str, length: usize) -> bool {
    let list: Vec<&str> = text.strip_suffix(';').unwrap_or(text).split(';').collect();
    hardware_address(text, length).is_some()
        || (list.len() == length && list.iter().all(|byte| decimal_within(byte, 0, 255).is_some()))
}

/// A UUID as NetworkManager takes one.
pub(super) fn is_uuid(text: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    let parts: Vec<&str> = text.split('-').collect();
    let plain = parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(|part| is_hex(part));
    // What `ifcfg` files had: a SHA-1 digest.
    plain || (text.len() == 40 && is_hex(text))
}

/// A name that the kernel takes for an interface, where NetworkManager asks for no more.
pub(super) fn is_kernel_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 15
        && !matches!(name, "." | "..")
        && !name.contains(|c: char| matches!(c, '/' | ':') || is_space(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        for (text, number) in [
            ("10", Some(10)),
            ("0x1F", Some(31)),
            ("010", Some(8)),
            ("0", Some(0)),
            ("-1", Some(-1)),
            (" +7 ", Some(7)),
            ("08", None),
            ("1x", None),
            ("", None),
            ("-", None),
            ("0x", None),
        ] {
            assert_eq!(integer(text), number, "{text:?}");
        }
        assert_eq!((decimal("010"), decimal("0x1"), decimal_within("256", 0, 255)), (Some(10), None, None));
    }

    #[test]
    fn addresses_uuids_and_names() {
        assert!(hardware_address("52-54-0-0-00-01", 6).is_some() && hardware_address("52:54:00", 6).is_none());
        assert!(is_hardware_address_of_profile("82;84;0;0;0;1;", 6) && !is_hardware_address_of_profile("x", 6));
        assert!(is_uuid("0523c0a1-5f5e-5603-bcf2-68155d5d322e") && !is_uuid("0523c0a1"));
        assert!(is_network("192.0.2.0/24", false) && is_network("::1", true) && !is_network("192.0.2.0/33", false));
        assert!(is_kernel_name("all") && !is_kernel_name("a b") && !is_kernel_name(""));
    }
}
