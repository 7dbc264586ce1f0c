//! Reads a kickstart file as far as the host's network is concerned, in the way in which pykickstart does
//! (`pykickstart/parser.py`, 3.78).

use super::command::{Command, CommandError};
use super::words;

/// The sections of pykickstart. Inside a section, other words with a percent sign are part of it.
const SECTIONS: [&str; 9] =
    ["%addon", "%anaconda", "%certificate", "%onerror", "%packages", "%post", "%pre", "%pre-install", "%traceback"];

/// What editors write before a text to say that it is UTF-8. Python's decoder for UTF-8 keeps it.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// What a file says of the network. Other lines are not kept, because they may be secret.
#[derive(Default)]
pub(super) struct Kickstart {
    /// The commands `network`, in their order.
    pub(super) commands: Vec<Command>,
    /// The numbers of the lines, from 1, by which the installer reads other files.
    pub(super) includes: Vec<usize>,
    /// The mistakes that stop the installer, with the numbers of their lines.
    pub(super) mistakes: Vec<(usize, Mistake)>,
}

/// Why the installer refuses a line. Nothing of it is shown, except of commands about the network.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mistake {
    #[error("has a quote or a backslash without what must follow")]
    Unclosed,
    #[error("begins a section that no %end ends")]
    NoEnd,
    #[error("ends a section, and none has begun")]
    EndOnly,
    #[error("begins with a byte order mark, which the installer takes for part of a command; save the file without it")]
    ByteOrderMark,
    #[error("names no file to include")]
    NoFile,
    #[error("{0}")]
    Network(#[from] CommandError),
}

impl Kickstart {
    pub(super) fn read(text: &str) -> Self {
        let mut found = Self::default();
        // The line that has begun the section.
        let mut section: Option<usize> = None;
        let unmarked = text.strip_prefix(BYTE_ORDER_MARK);
        if unmarked.is_some() {
            found.mistakes.push((1, Mistake::ByteOrderMark));
        }
        let text = unmarked.unwrap_or(text);
        for (index, line) in lines(text).enumerate() {
            if let Err(mistake) = found.line(index + 1, line, &mut section) {
                found.mistakes.push((index + 1, mistake));
            }
        }
        if let Some(begun) = section {
            found.mistakes.push((begun, Mistake::NoEnd));
        }
        found
    }

    fn line(&mut self, number: usize, line: &str, section: &mut Option<usize>) -> Result<(), Mistake> {
        let begun = line.trim_start_matches(is_space);
        if begun.starts_with("%ksappend") {
            // Read before everything else, and in sections, too.
            self.includes.push(number);
            return Ok(());
        }
        if section.is_some() {
            let first = begun.split(is_space).next().unwrap_or_default();
            if !(first == "%end" || first == "%include" || SECTIONS.contains(&first)) {
                return Ok(());
            }
        } else if begun.is_empty() || begun.starts_with('#') {
            return Ok(());
        }
        let words = words::split(line).map_err(|words::Unclosed| Mistake::Unclosed)?;
        let Some((first, rest)) = words.split_first() else { return Ok(()) };
        match first.as_str() {
            "%include" => {
                rest.first().filter(|file| !file.is_empty()).ok_or(Mistake::NoFile)?;
                self.includes.push(number);
            }
            "%end" => {
                section.take().ok_or(Mistake::EndOnly)?;
            }
            name if name.starts_with('%') => {
                if let Some(begun) = section.replace(number) {
                    self.mistakes.push((begun, Mistake::NoEnd));
                }
            }
            "network" => {
                let mut command = Command::parse(number, rest)?;
                command.is_first = self.commands.is_empty();
                self.commands.push(command);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The lines of Python's `str.splitlines`, with their ends.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    const ENDS: [char; 10] =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    let mut parts = text.split_inclusive(ENDS);
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut length = parts.next()?.len();
        if rest.get(length - 1..=length) == Some("\r\n") {
            length += parts.next()?.len();
        }
        let (line, next) = rest.split_at_checked(length)?;
        rest = next;
        Some(line)
    })
}

/// White space of Python's `str`.
fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(text: &str) -> Vec<(usize, String)> {
        Kickstart::read(text).mistakes.into_iter().map(|(line, mistake)| (line, mistake.to_string())).collect()
    }

    #[test]
    fn lines_are_those_of_python() {
        let text = "a\r\nb\rc\n\nd\u{b}e\u{85}f\u{2028}\r";
        let expected = ["a\r\n", "b\r", "c\n", "\n", "d\u{b}", "e\u{85}", "f\u{2028}", "\r"];
        assert_eq!(lines(text).collect::<Vec<_>>(), expected);
        assert_eq!(lines("").count(), 0);
    }

    #[test]
    fn only_commands_outside_sections_count() {
        let text = "#network --device=a\n  network --device=b # x\n%pre\nnetwork --device=c\n%end\n%packages\n%include /tmp/x\n\
                    %something\n%end\n# y\u{b}network --hostname=d\n%ksappend http://192.0.2.1/x\n";
        let found = Kickstart::read(text);
        assert_eq!(found.commands.iter().map(|command| command.line).collect::<Vec<_>>(), [2, 11]);
        assert_eq!(found.includes, [7, 12]);
        assert!(found.mistakes.is_empty());
    }

    #[test]
    fn what_stops_the_installer_is_found() {
        let no_end = Mistake::NoEnd.to_string();
        assert_eq!(mistakes("text\n%post\necho\n"), [(2, no_end.clone())]);
        assert_eq!(mistakes("%pre\n%post\n%end\n"), [(1, no_end)]);
        assert_eq!(mistakes("%post\n%end\n%end"), [(3, Mistake::EndOnly.to_string())]);
        assert_eq!(mistakes("rootpw 'hunter2\n"), [(1, Mistake::Unclosed.to_string())]);
        assert_eq!(mistakes("%include\n%include ''\n").len(), 2);
        // ksvalidator calls it an unknown command, before a comment as well.
        for text in ["\u{feff}network --bootproto=dhcp\n", "\u{feff}# a comment\n", "\u{feff}"] {
            assert_eq!(mistakes(text), [(1, Mistake::ByteOrderMark.to_string())]);
        }
        assert!(mistakes("lang \\\n").is_empty(), "the end of the line is what the backslash quotes");
        // What a script has in it is its own matter.
        assert!(mistakes("%post\necho 'a\n%endless\nfor i in %include; do\n%end\n").is_empty());
    }
}
