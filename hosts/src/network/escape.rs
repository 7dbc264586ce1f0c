//! What nmstate writes and `GLib` reads otherwise: values that want escaping, and one address.
//!
//! The format is that of `GLib` (`GKeyFile`, "Key-value file parser"): a backslash begins an escape, and blanks between
//! `=` and the value are not part of it. nmstate 2.2.62 escapes nothing at all. No text of a checked document
//! holds a control character, so its output is still unambiguous line by line, and is escaped as such.

use memchr::memmem;

/// The content of a keyfile, its values escaped and a bridge's group address written as one.
pub(super) fn escape(content: String) -> String {
    // Nearly all profiles stay as they are, which is seen at once.
    if !["\\", "= ", "group-address="].iter().any(|odd| memmem::find(content.as_bytes(), odd.as_bytes()).is_some()) {
        return content;
    }
    let mut escaped = String::with_capacity(content.len() + 16);
    for line in content.split_inclusive('\n') {
        match line.split_once('=') {
            Some((key @ "group-address", value)) => {
                escaped.push_str(key);
                escaped.push('=');
                escaped.push_str(&address(value.trim_end()).unwrap_or_else(|| value.trim_end().to_owned()));
                escaped.push('\n');
            }
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

/// A bridge's group address, which nmstate writes as the list of its bytes in decimal.
fn address(bytes: &str) -> Option<String> {
    let bytes: Vec<String> = bytes
        .split(';')
        .map(|byte| byte.parse().map(|byte: u8| format!("{byte:02X}")))
        .collect::<Result<_, _>>()
        .ok()?;
    (bytes.len() == 6).then(|| bytes.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslashes_and_leading_blanks_are_escaped_and_nothing_else() {
        let content = "[802-1x]\neap=peap;\nidentity=LAB\\user\npassword=  a = b; \\s\n\n[user]\nx=a b \n";
        assert_eq!(
            escape(content.to_owned()),
            "[802-1x]\neap=peap;\nidentity=LAB\\\\user\npassword=\\s\\sa = b; \\\\s\n\n[user]\nx=a b \n"
        );
        assert_eq!(
            escape("[bridge]\ngroup-address=1;128;194;0;0;10\n".to_owned()),
            "[bridge]\ngroup-address=01:80:C2:00:00:0A\n"
        );
        assert_eq!(escape("[a=b]\nk=\nno newline=\\".to_owned()), "[a=b]\nk=\nno newline=\\\\");
    }
}
