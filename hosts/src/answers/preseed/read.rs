//! Reads the answers in a preseed file as the installer does: `bin/debconf-set-selections` of the udeb `preseed-common`, a shell script.
//! The program of this name in an installed Debian reads lines in another way.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

/// The answers by which the installer reads other files or runs commands while it reads this one, and what it does
/// (`preseed.sh` in `preseed-common`, and `network-preseed`). All of them can change the answers of this file.
const ELSEWHERE: [(&str, &str); 6] = [
    ("preseed/early_command", "runs a command"),
    ("preseed/file", "reads another file"),
    ("preseed/include", "reads other files"),
    ("preseed/include_command", "reads the files that a command names"),
    ("preseed/run", "runs other programs"),
    ("preseed/url", "reads another file"),
];

/// What a file says of the network. Other answers are not kept, because they may be secret.
pub(super) struct Preseed {
    /// The answers about the network, by their questions.
    pub(super) answers: BTreeMap<String, Given>,
    /// What the installer does by answers that dayone cannot follow, by their questions: the numbers of their lines, and what it does.
    pub(super) elsewhere: BTreeMap<&'static str, (usize, &'static str)>,
}

/// An answer, and where it stands.
pub(super) struct Given {
    pub(super) value: String,
    /// The number of its line, from 1.
    pub(super) line: usize,
}

/// Why the installer would stop at a line, or read it together with dayone's lines. Nothing of the line is shown, because it may be secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mistake {
    #[error("is not an owner, a question, a type and a value, such as \"d-i netcfg/get_domain string example.com\"")]
    NoAnswer,
    #[error("is a comment with spaces before it, which the installer takes for an answer; remove the spaces")]
    IndentedComment,
    #[error("has a NUL byte, which the installer leaves out; remove it")]
    Nul,
    #[error("ends with a backslash, and no line follows that it could be joined with")]
    Unfinished,
    #[error(
        "begins with a byte order mark, so the installer takes it for an answer and not for a comment; save the file without the mark"
    )]
    ByteOrderMark,
}

/// A line that has been joined from several.
#[derive(Default)]
struct Begun {
    line: usize,
    text: String,
}

impl Preseed {
    /// Reads a file. Also returns the mistakes, with the numbers of their lines.
    pub(super) fn read(text: &str) -> (Self, Vec<(usize, Mistake)>) {
        let (mut answers, mut elsewhere, mut mistakes) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut begun: Option<Begun> = None;
        for (index, line) in text.split('\n').enumerate() {
            // Comments and empty lines do not end what a backslash has begun.
            if line.starts_with('#') || line.chars().all(is_space) {
                continue;
            }
            if line.contains('\0') {
                mistakes.push((index + 1, Mistake::Nul));
                begun = None;
                continue;
            }
            let line = line.replace('\r', "");
            let line = line.trim_start_matches(is_space);
            if let Some(part) = line.strip_suffix('\\') {
                let begun = begun.get_or_insert_with(|| Begun { line: index + 1, ..Begun::default() });
                if !begun.text.is_empty() {
                    begun.text.push(' ');
                }
                begun.text.push_str(part.trim_end_matches(is_space));
                continue;
            }
            let (number, line) = match begun.take() {
                Some(begun) if !begun.text.is_empty() => (begun.line, format!("{} {line}", begun.text)),
                _ => (index + 1, line.to_owned()),
            };
            if line.starts_with('#') {
                mistakes.push((number, Mistake::IndentedComment));
                continue;
            }
            // Before an answer, the mark is part of the owner, which is of no importance.
            if line.strip_prefix('\u{feff}').is_some_and(|rest| rest.starts_with('#') || rest.chars().all(is_space)) {
                mistakes.push((number, Mistake::ByteOrderMark));
                continue;
            }
            let Some(Line { question, kind, value }) = Line::read(&line) else {
                mistakes.push((number, Mistake::NoAnswer));
                continue;
            };
            // `seen` says whether a question was shown, and is no answer.
            if kind == "seen" {
                continue;
            }
            // The last answer counts.
            if question.starts_with("netcfg/") {
                answers.insert(question.to_owned(), Given { value: value.trim().to_owned(), line: number });
            } else if let Some((question, what)) = ELSEWHERE.into_iter().find(|(known, _)| *known == question) {
                if value.trim().is_empty() {
                    elsewhere.remove(question);
                } else {
                    elsewhere.insert(question, (number, what));
                }
            }
        }
        if let Some(begun) = begun.filter(|begun| !begun.text.is_empty()) {
            mistakes.push((begun.line, Mistake::Unfinished));
        }
        (Self { answers, elsewhere }, mistakes)
    }
}

struct Line<'a> {
    question: &'a str,
    kind: &'a str,
    value: &'a str,
}

impl<'a> Line<'a> {
    /// Reads a line. The owner, which comes first, is of no importance to the installer.
    fn read(line: &'a str) -> Option<Self> {
        let (_owner, rest) = line.split_once(is_space)?;
        let (question, rest) = rest.trim_start_matches(is_space).split_once(is_space)?;
        let rest = rest.trim_start_matches(is_space);
        let (kind, value) = rest.split_once(is_space).unwrap_or((rest, ""));
        (!kind.is_empty()).then_some(Self { question, kind, value: value.trim_start_matches(is_space) })
    }
}

/// White space of the installer's sed and grep.
fn is_space(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\u{b}'
}

/// Whether an address is the wanted one. Without a prefix length, the netmask has its own answer.
pub(super) fn same_address(given: &str, wanted: &str) -> bool {
    if let (Ok(given), Ok(wanted)) = (given.parse::<IpNet>(), wanted.parse::<IpNet>()) {
        return given == wanted;
    }
    let wanted = wanted.split('/').next().unwrap_or_default();
    match (given.parse::<IpAddr>(), wanted.parse::<IpAddr>()) {
        (Ok(given), Ok(wanted)) => given == wanted,
        // An empty answer would make netcfg guess a router.
        _ => given == wanted,
    }
}

/// Whether a mask is the wanted one.
pub(super) fn same_mask(given: &str, wanted: &str) -> bool {
    matches!((given.parse::<IpAddr>(), wanted.parse::<IpAddr>()), (Ok(given), Ok(wanted)) if given == wanted)
}

/// Whether a list has the same addresses in the same order.
pub(super) fn same_list(given: &str, wanted: &str) -> bool {
    let addresses = |text: &str| text.split_whitespace().map(str::parse::<IpAddr>).collect::<Vec<_>>();
    addresses(given) == addresses(wanted)
}
