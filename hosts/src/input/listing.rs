//! Lists of names in sentences.

use serde_yaml::Mapping;

/// Lists the keys of mappings as [`listed`] does.
pub(super) fn keys<'a>(mappings: impl IntoIterator<Item = &'a Mapping>) -> String {
    listed(mappings.into_iter().flat_map(Mapping::keys).map(|key| key.as_str().unwrap_or("?")))
}

/// One name, as [`listed`] shows it.
pub(super) fn quoted(name: &str) -> String {
    listed([name].into_iter())
}

/// Lists at most ten names of at most 63 characters. Names with unusual characters are quoted.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut all = Vec::new();
    let mut names = names.fuse();
    for name in names.by_ref().take(10) {
        let short: String = name.chars().take(63).collect();
        let plain = !short.is_empty() && short.chars().all(|c| c.is_alphanumeric() || "-._/?".contains(c));
        all.push(if plain { short } else { format!("{short:?}") });
    }
    // Maps know their length. Counting the names for each of ten thousand hosts would take longer than everything else.
    let more = match names.size_hint() {
        (least, Some(most)) if least == most => least,
        _ => names.count(),
    };
    match more {
        0 if all.is_empty() => "none".to_owned(),
        0 => all.join(", "),
        more => format!("{} and {more} more", all.join(", ")),
    }
}
