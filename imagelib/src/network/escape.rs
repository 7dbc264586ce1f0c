//! GKeyFile escaping, which nmstate leaves out.
//!
//! The format is GLib's (`GKeyFile`, "Key-value file parser"): a backslash begins an escape, and blanks between
//! `=` and the value are not part of it. nmstate 2.2.62 escapes nothing at all. No text of a checked document
//! holds a control character, so its output is still unambiguous line by line, and is escaped as such.

/// The content of a keyfile, its values escaped.
pub(super) fn escape(content: &str) -> String {
    let mut escaped = String::with_capacity(content.len() + 16);
    for line in content.split_inclusive('\n') {
        match line.split_once('=') {
            Some((key, value)) if !line.starts_with('[') => {
                escaped.push_str(key);
                escaped.push('=');
                let text = value.trim_start_matches(' ');
                for _ in text.len()..value.len() {
                    escaped.push_str("\\s");
                }
                escaped.push_str(&text.replace('\\', "\\\\"));
            }
            _ => escaped.push_str(line),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslashes_and_leading_blanks_are_escaped_and_nothing_else() {
        let content = "[802-1x]\neap=peap;\nidentity=LAB\\user\npassword=  a = b; \\s\n\n[user]\nx=a b \n";
        assert_eq!(
            escape(content),
            "[802-1x]\neap=peap;\nidentity=LAB\\\\user\npassword=\\s\\sa = b; \\\\s\n\n[user]\nx=a b \n"
        );
        assert_eq!(escape("[a=b]\nk=\nno newline=\\"), "[a=b]\nk=\nno newline=\\\\");
    }
}
