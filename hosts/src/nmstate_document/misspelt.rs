//! Finds names of interfaces that are probably misspelt.
//!
//! The kernel's names for NICs are similar: a host may have `eno1`, `eno2` and `ens1`. So two such names are never taken for
//! each other, nor are two names that differ only in a digit.

/// Whether a person may have written `name` and meant `other`.
pub(crate) fn may_mean(name: &str, other: &str) -> bool {
    if name.len() < 3 || other.len() < 3 || name.len().abs_diff(other.len()) > 1 || name == other {
        return false;
    }
    let both = (name.as_bytes(), other.as_bytes());
    if both.0.iter().copied().map(seen).eq(both.1.iter().copied().map(seen)) {
        return true;
    }
    let usual = (is_usual(name), is_usual(other));
    if usual.0 && usual.1 {
        return false;
    }
    match slip(both.0, both.1) {
        Some(Slip::Swapped) => true,
        // `uplink` and `uplinkb` are told apart by what stands at the end.
        Some(Slip::Missed { letter, at_end }) => usual.0 || usual.1 || (letter && !at_end),
        // So are `nica` and `nicb`.
        Some(Slip::Mistyped) => usual.0 != usual.1,
        None => false,
    }
}

/// The character that a reader takes it for.
fn seen(byte: u8) -> u8 {
    match byte {
        b'o' | b'O' => b'0',
        b'l' | b'I' => b'1',
        other => other,
    }
}

/// One slip of a finger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slip {
    /// Two characters beside each other are the other way round.
    Swapped,
    /// A character is there in one name only.
    Missed { letter: bool, at_end: bool },
    /// A character is another one, and the two are not both digits.
    Mistyped,
}

/// The one slip that makes `other` of `name`, in either direction.
fn slip(name: &[u8], other: &[u8]) -> Option<Slip> {
    let same = name.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (own, theirs) = (name.get(same..)?, other.get(same..)?);
    match (own, theirs) {
        ([a, b, rest @ ..], [c, d, others @ ..]) if a == d && b == c && rest == others => {
            (!(a.is_ascii_digit() && b.is_ascii_digit())).then_some(Slip::Swapped)
        }
        ([a, rest @ ..], [b, others @ ..]) if rest == others => {
            (!(a.is_ascii_digit() && b.is_ascii_digit())).then_some(Slip::Mistyped)
        }
        ([more, rest @ ..], shorter) | (shorter, [more, rest @ ..]) if rest == shorter => {
            Some(Slip::Missed { letter: !more.is_ascii_digit(), at_end: shorter.is_empty() })
        }
        _ => None,
    }
}

/// Whether the kernel or udev gives NICs such names (`systemd.net-naming-scheme(7)`).
pub(super) fn is_usual(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if ["eth", "em", "ib", "veth", "wlan", "usb"].iter().any(|kind| name.strip_prefix(kind).is_some_and(is_number)) {
        return true;
    }
    if name
        .strip_prefix('p')
        .is_some_and(|rest| rest.split_once('p').is_some_and(|(a, b)| is_number(a) && is_number(b)))
    {
        return true;
    }
    let Some(rest) = ["en", "ib", "sl", "wl", "ww"].iter().find_map(|kind| name.strip_prefix(kind)) else {
        return false;
    };
    let is_hexadecimal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'.');
    if rest.strip_prefix('x').is_some_and(|mac| mac.len() == 12 && is_hexadecimal(mac)) {
        return true;
    }
    if rest.strip_prefix('c').is_some_and(is_hexadecimal) {
        return true;
    }
    let domain = rest.strip_prefix('P').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let parts = parts(domain.unwrap_or(rest));
    match parts.as_deref() {
        Some(["p", "s", ..]) => true,
        Some([first, rest @ ..]) => {
            matches!(*first, "o" | "s" | "d" | "a" | "v") && rest.iter().all(|part| part.len() <= 2)
        }
        _ => false,
    }
}

/// The letters before each number, where the text is nothing but letters with numbers behind them.
fn parts(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let letters = rest.find(|c: char| c.is_ascii_digit())?;
        let (part, numbers) = rest.split_at(letters);
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return None;
        }
        parts.push(part);
        rest = numbers.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NICS: [&str; 22] = [
        "eth0",
        "eth1",
        "eth10",
        "em1",
        "em2",
        "p1p1",
        "p1p2",
        "eno1",
        "eno2",
        "eno12",
        "ens1",
        "ens2",
        "ens1f0",
        "ens1f1",
        "enp1s0",
        "enp1s0f0",
        "enp1s0f1np1",
        "eno1np0",
        "enP2p1s0f0",
        "enx525400123456",
        "enc600",
        "ib0",
    ];

    #[test]
    fn names_of_nics_are_never_taken_for_each_other() {
        for name in NICS {
            assert!(is_usual(name), "{name}");
            for other in NICS {
                assert!(!may_mean(name, other), "{name} {other}");
            }
        }
    }

    #[test]
    fn slips_of_fingers_and_eyes_are_seen() {
        for (wrong, meant) in [
            ("en02", "eno2"),
            ("enol", "eno1"),
            ("eht0", "eth0"),
            ("enslf0", "ens1f0"),
            ("ens1fO", "ens1f0"),
            ("etho", "eth0"),
            ("eno2f", "eno2"),
            ("enps0", "enp0s0"),
            ("etg0", "eth0"),
            ("e1h0", "eth0"),
            ("uplnik-a", "uplink-a"),
            ("uplnk-a", "uplink-a"),
        ] {
            assert!(may_mean(wrong, meant) && may_mean(meant, wrong), "{wrong} {meant}");
        }
    }

    #[test]
    fn names_that_stand_for_things_beside_each_other_are_not_mistakes() {
        for (one, other) in [
            ("nica", "nicb"),
            ("uplink", "uplinkb"),
            ("left", "right"),
            ("int0", "ext0"),
            ("nic-10", "nic-01"),
            ("bond0", "bond1"),
            ("storage1", "storage11"),
            ("eno1", "eno11"),
            ("a1", "al"),
        ] {
            assert!(!may_mean(one, other) && !may_mean(other, one), "{one} {other}");
        }
    }

    proptest! {
        /// Whatever the names: it is the same from both sides, no name is its own misspelling, and one digit for another is none.
        #[test]
        fn it_is_the_same_from_both_sides(one in "[a-eol01]{1,6}", other in "[a-eol01]{1,6}", digits in "[0-9]{3,6}") {
            prop_assert_eq!(may_mean(&one, &other), may_mean(&other, &one));
            prop_assert!(!may_mean(&one, &one));
            prop_assert!(!may_mean(&digits, &digits.chars().rev().collect::<String>()));
        }
    }
}
