//! Words that are probably meant.

/// How similar two words must be for one to be taken for the other, from 0 to 1.
const SIMILAR: f64 = 0.7;

/// The word that is most similar to `word`, if one is similar enough to be meant.
pub(super) fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let similarity = |other: &&str| strsim::normalized_damerau_levenshtein(word, other);
    let near = words.into_iter().filter(|other| similarity(other) >= SIMILAR);
    near.max_by(|one, other| similarity(one).total_cmp(&similarity(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_words_are_proposed() {
        let words = ["media-url", "media-listen", "log"];
        assert_eq!(nearest("media-ulr", words), Some("media-url"));
        assert_eq!(nearest("medialisten", words), Some("media-listen"));
        assert_eq!(nearest("frobnicate", words), None);
    }
}
