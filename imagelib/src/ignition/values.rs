//! How many values a config has, before it is read.

/// How many values a config may have. A file takes about five. In memory, a value takes up to a hundred times its length.
pub(super) const MAX_VALUES: usize = 100_000;

/// The number of values in a text of JSON, about: each stands behind one of three characters.
pub(super) fn values(json: &[u8]) -> usize {
    let (mut in_text, mut is_escaped, mut count) = (false, false, 0);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' | b',' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (json, count) in [("1", 0), ("[1, 2, {\"a\": [3]}]", 5), (r#"["a,[{\",\\", 2]"#, 2)] {
            assert_eq!(values(json.as_bytes()), count, "{json}");
        }
    }
}
