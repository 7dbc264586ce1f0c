//! Changes to a text by byte ranges. All other bytes stay as they are.

use std::fmt;
use std::ops::Range;

use super::text::{lossy, slice};

/// New bytes for a range of a text.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) span: Range<usize>,
    pub(super) text: Vec<u8>,
}

/// The part `range` of `text` with `changes`, which all lie within it.
///
/// If two entries share a command, both ask for the same change; it is made once. Changes at the same place keep their order.
pub(super) fn apply(text: &[u8], range: Range<usize>, mut changes: Vec<Change>) -> Vec<u8> {
    changes.sort_by_key(|change| (change.span.start, change.span.end));
    let mut output = Vec::with_capacity(range.len() + changes.iter().map(|change| change.text.len()).sum::<usize>());
    let mut at = range.start;
    let mut applied: Vec<Change> = Vec::new();
    for change in changes {
        if applied.last().is_some_and(|last| last.span != change.span) {
            applied.clear();
        }
        if applied.contains(&change) {
            continue;
        }
        output.extend_from_slice(slice(text, &(at..change.span.start)));
        output.extend_from_slice(&change.text);
        at = change.span.end;
        applied.push(change);
    }
    output.extend_from_slice(slice(text, &(at..range.end)));
    output
}

/// A kernel argument and its place in a configuration.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The argument as written, with its quotes.
    pub(super) span: Range<usize>,
    /// What to delete with it: also the white space before it, if another word precedes it.
    pub(super) cut: Range<usize>,
    /// The argument as the kernel gets it.
    pub(super) text: String,
}

impl fmt::Debug for Word {
    /// Without the text, as for [`crate::kernel_arguments::KernelArguments`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Word({:?})", self.span)
    }
}

impl Word {
    /// Whether the arguments that follow are not for the live system, but for `init` or, in Debian's installer, for the
    /// installed system.
    pub(super) fn is_separator(&self) -> bool {
        matches!(self.text.as_str(), "--" | "---")
    }

    pub(super) fn replaced(&self, text: &str) -> Change {
        Change { span: self.span.clone(), text: text.into() }
    }

    pub(super) fn deleted(&self) -> Change {
        Change { span: self.cut.clone(), text: Vec::new() }
    }
}

/// A place for new words, and the text that must surround them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) at: Range<usize>,
    pub(super) before: String,
    pub(super) between: String,
    pub(super) after: &'static str,
}

impl Slot {
    /// At `at`, with `before` in front of each word.
    pub(super) fn behind(at: usize, before: impl Into<String>) -> Self {
        let before = before.into();
        Self { at: at..at, between: before.clone(), before, after: "" }
    }

    /// On a new line, which begins with `before`.
    pub(super) fn line(at: usize, before: String) -> Self {
        Self { at: at..at, before, between: " ".to_owned(), after: "" }
    }

    /// Behind the last of `words`, but before a separator.
    pub(super) fn among(words: &[Word]) -> Option<Self> {
        let separator = words.iter().find(|word| word.is_separator());
        let Some(separator) = separator else { return words.last().map(|last| Self::behind(last.span.end, " ")) };
        let (cut, start) = (separator.cut.start, separator.span.start);
        if cut < start {
            return Some(Self::behind(cut, " "));
        }
        Some(Self { at: start..start, before: String::new(), between: " ".to_owned(), after: " " })
    }

    pub(super) fn filled(&self, items: &[impl AsRef<str>]) -> Change {
        let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
        let text = [&self.before, items.join(&self.between).as_str(), self.after].concat();
        Change { span: self.at.clone(), text: text.into_bytes() }
    }
}

/// The kernel arguments in a range, separated by white space outside double quotes, as in `next_arg` of the kernel's
/// `lib/cmdline.c`.
pub(super) fn kernel_words(text: &[u8], range: Range<usize>) -> Vec<Word> {
    let mut quoted = false;
    let mut end = range.start;
    let spans: Vec<Range<usize>> = slice(text, &range)
        .split(|byte| {
            quoted ^= *byte == b'"';
            !quoted && matches!(byte, b' ' | b'\t' | b'\n' | b'\x0b' | b'\x0c' | b'\r')
        })
        .map(|word| {
            let span = end..end + word.len();
            end = span.end + 1;
            span
        })
        .filter(|span| !span.is_empty())
        .collect();
    let mut words: Vec<Word> = Vec::with_capacity(spans.len());
    for span in spans {
        let cut = words.last().map_or(span.start, |last| last.span.end)..span.end;
        words.push(Word { text: lossy(text, &span), cut, span });
    }
    words
}
