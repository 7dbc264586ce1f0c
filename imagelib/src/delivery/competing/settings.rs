//! The settings in configuration files of NetworkManager and systemd-networkd.

/// The settings in a text: section, key and value.
pub(super) fn settings(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut section = "";
    text.lines().filter_map(move |line| {
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            return None;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
            return None;
        }
        let (key, value) = line.split_once('=')?;
        Some((section, key.trim(), value.trim()))
    })
}

/// Whether a pattern with `*` and `?` may match a name. Sets (`[a-z]`) may match everything.
///
/// It takes time in proportion to the length of both, whatever the pattern is.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    if pattern.contains('[') {
        return true;
    }
    // For each length, whether the pattern so far matches that much of the name.
    let mut reached: Vec<bool> = std::iter::once(true).chain(name.bytes().map(|_| false)).collect();
    for symbol in pattern.bytes() {
        reached = if symbol == b'*' {
            let longer = reached.iter().scan(false, |any, here| {
                *any |= *here;
                Some(*any)
            });
            longer.collect()
        } else {
            let next = reached.iter().zip(name.bytes());
            let next = next.map(|(here, byte)| *here && (symbol == b'?' || symbol == byte));
            std::iter::once(false).chain(next).collect()
        };
    }
    reached.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names() {
        for (pattern, name, expected) in [
            ("*", "eth0", true),
            ("*", "", true),
            ("eth?", "eth0", true),
            ("eth?", "eth", false),
            ("e*0", "eth0", true),
            ("e*0", "eth1", false),
            ("**h*", "eth0", true),
            ("eth0", "eth01", false),
            ("[a-z]*", "eth0", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn settings_have_sections() {
        let text = "a=1\n[x]\n# b=2\n;c=3\n d = 4 = 5 \nnone\n[y z]\ne=\n";
        assert_eq!(settings(text).collect::<Vec<_>>(), [("", "a", "1"), ("x", "d", "4 = 5"), ("y z", "e", "")]);
    }
}
