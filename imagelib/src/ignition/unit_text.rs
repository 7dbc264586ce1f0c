//! What Ignition says of the text of a systemd unit or of a drop-in. It reads them with go-systemd (`unit/deserialize.go`), which refuses
//! more than systemd does, and then refuses the whole config: the host gets nothing, and stops in its initramfs.

/// How much go-systemd reads in one go, in bytes.
const BUFFER: usize = 4096;
/// The length in bytes from which Ignition refuses a line of a systemd unit, and the whole config with it. It looks only at lines of which it
/// has read as much.
pub const MAX_UNIT_LINE: usize = 2048;

/// Why Ignition refuses a unit with this text.
pub(super) fn problem(text: &str) -> Option<&'static str> {
    let mut reader = Reader { text, read: 0, buffered: 0 };
    let mut step = Step::BeforeSections;
    loop {
        if reader.is_at_long_line() {
            return Some("has a line of 2048 bytes or more");
        }
        match reader.take(step) {
            Ok(Some(next)) => step = next,
            Ok(None) => return None,
            Err(problem) => return Some(problem),
        }
    }
}

/// What is read next.
#[derive(Debug, Clone, Copy)]
enum Step {
    BeforeSections,
    SectionName,
    BehindSectionName,
    Line,
    Comment { in_section: bool },
    OptionName,
    OptionValue,
}

/// Go's `bufio.Reader` over a text.
struct Reader<'t> {
    text: &'t str,
    read: usize,
    buffered: usize,
}

impl<'t> Reader<'t> {
    fn take(&mut self, step: Step) -> Result<Option<Step>, &'static str> {
        const NO_VALUE: &str = "has a line without '='";
        Ok(Some(match step {
            Step::BeforeSections => match self.character() {
                None => return Ok(None),
                Some('[') => Step::SectionName,
                Some('#' | ';') => Step::Comment { in_section: false },
                Some(_) => Step::BeforeSections,
            },
            Step::SectionName => {
                let (_, ends) = self.until(b']');
                if ends { Step::BehindSectionName } else { return Err("has the name of a section without ']'") }
            }
            Step::BehindSectionName => {
                let is_empty = self.line().trim().is_empty();
                if is_empty { Step::Line } else { return Err("has something behind the name of a section") }
            }
            Step::Line => match self.peek() {
                None => return Ok(None),
                Some(c) if c.is_whitespace() => {
                    self.character();
                    Step::Line
                }
                Some('[') => {
                    self.character();
                    Step::SectionName
                }
                Some('#' | ';') => {
                    self.character();
                    Step::Comment { in_section: true }
                }
                Some(_) => Step::OptionName,
            },
            Step::Comment { in_section } => {
                loop {
                    let line = self.line();
                    if !line.strip_suffix(' ').unwrap_or(line).ends_with('\\') {
                        break;
                    }
                }
                if in_section { Step::Line } else { Step::BeforeSections }
            }
            Step::OptionName => loop {
                match self.character() {
                    None | Some('\n' | '\r') => return Err(NO_VALUE),
                    Some('=') => break Step::OptionValue,
                    Some(_) => {}
                }
            },
            Step::OptionValue => {
                let line = self.line();
                if line.ends_with('\\') { Step::OptionValue } else { Step::Line }
            }
        }))
    }

    /// Whether as much as the longest line is in the buffer, without an end of a line.
    fn is_at_long_line(&self) -> bool {
        let window = self.text.as_bytes().get(self.read..self.buffered).unwrap_or_default();
        window.get(..MAX_UNIT_LINE).is_some_and(|start| !start.contains(&b'\n') && !start.contains(&b'\r'))
    }

    fn fill(&mut self) {
        self.buffered = self.text.len().min(self.read + BUFFER);
    }

    /// The next character, which is then in the buffer.
    fn peek(&mut self) -> Option<char> {
        let next = self.text.get(self.read..)?.chars().next()?;
        if self.buffered - self.read < next.len_utf8() {
            self.fill();
        }
        Some(next)
    }

    fn character(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.read += next.len_utf8();
        Some(next)
    }

    /// What is left of a line, without its end.
    fn line(&mut self) -> &'t str {
        let (line, _) = self.until(b'\n');
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.strip_suffix('\n').unwrap_or(line)
    }

    /// Everything up to this byte and with it, or to the end of the text, and whether the byte is there.
    fn until(&mut self, end: u8) -> (&'t str, bool) {
        let (text, start) = (self.text, self.read);
        let taken = |read| text.get(start..read).unwrap_or_default();
        loop {
            let window = text.as_bytes().get(self.read..self.buffered).unwrap_or_default();
            if let Some(at) = window.iter().position(|byte| *byte == end) {
                self.read += at + 1;
                return (taken(self.read), true);
            }
            if window.len() >= BUFFER {
                self.read = self.buffered;
            }
            if self.buffered >= text.len() {
                self.read = self.buffered;
                return (taken(self.read), false);
            }
            self.fill();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As go-systemd 22.3 does.
    #[test]
    fn what_ignition_refuses_is_refused() {
        let long = |length: usize| format!("[Unit]\nDescription={}\nAfter=a.service\n", "x".repeat(length));
        let behind = |lines: usize| format!("[Unit]\n{}C={}\n", "A=b\n".repeat(lines), "x".repeat(2100));
        for (text, expected) in [
            ("", None),
            ("[Unit]\nA=b\n", None),
            ("[Unit]\nA=b", None),
            ("A=b\n[Unit]\n \n\t[Service]\nA=b\n", None),
            ("[Unit]\r\nA=b\r\n", None),
            ("[Unit]\n# a \\\nno value\nA=b \\\n  c\n", None),
            ("[Service]\nExecStart=/bin/true \\", None),
            ("[Unit]\nvalue\nA=b\n", Some("without '='")),
            ("[Unit]\nvalue", Some("without '='")),
            ("[Unit]\nA=b \\\n\nvalue\n", Some("without '='")),
            // The backslash is not at the end of such a line.
            ("[Service]\r\nExecStart=/bin/true \\\r\n  x\r\n", Some("without '='")),
            ("[Unit\nA=b\n", Some("without ']'")),
            ("[Unit] x\nA=b\n", Some("behind the name")),
            ("[Unit]\rA=b\r", Some("behind the name")),
            (&long(2035), None),
            (&long(2036), Some("2048 bytes")),
            (&format!("[Unit]\n# {}\n", "x".repeat(2100)), Some("2048 bytes")),
            (&format!("[Service]\nExecStart=a \\\n{}\n", "x".repeat(2100)), Some("2048 bytes")),
            (&behind(500), Some("2048 bytes")),
            // It has not read as much of this line when it comes there.
            (&behind(900), None),
        ] {
            let found = problem(text);
            assert_eq!(found.is_some(), expected.is_some(), "{text:?}: {found:?}");
            assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{text:?}: {found:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "[\\[\\]=#;ab\\\\ \r\nä]{0,80}", times in 1..200_usize) {
            let _ = problem(&text.repeat(times));
        }
    }
}
