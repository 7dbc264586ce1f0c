//! File names that a system reads and that stay in their directory.

/// Why a text is not the name of a keyfile or of a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not {what}: {reason}")]
pub struct NetworkFileNameError {
    name: String,
    what: &'static str,
    reason: String,
}

/// Checks a base name: one of `suffixes` behind letters, digits, `.` and the `special` characters, no leading dot, at most
/// 255 bytes.
pub(super) fn check(
    name: &str,
    what: &'static str,
    suffixes: &[&str],
    special: &str,
) -> Result<String, NetworkFileNameError> {
    let stem = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '.' || special.contains(c);
    let reason = if stem.is_none() {
        format!("it does not end in {}", suffixes.join(" or "))
    } else if stem.is_some_and(|stem| stem.is_empty() || stem.starts_with('.')) {
        "it begins with a dot".to_owned()
    } else if name.len() > 255 {
        "it is longer than 255 bytes".to_owned()
    } else if !name.chars().all(allowed) {
        format!("only letters, digits and the characters .{special} are allowed")
    } else {
        return Ok(name.to_owned());
    };
    Err(NetworkFileNameError { name: name.chars().take(256).collect(), what, reason })
}
