//! From a script's text to words and what parts them. Carriage returns are not seen by GRUB.

use std::ops::Range;

/// A word with its quotes taken off; variables stay as they are written.
#[derive(Debug, Clone)]
pub(super) struct ScriptWord {
    pub(super) span: Range<usize>,
    pub(super) value: String,
    /// Nothing in it is quoted or escaped, and it has no variable: it may be a keyword.
    pub(super) plain: bool,
}

#[derive(Debug)]
pub(super) enum Token {
    Word(ScriptWord),
    /// A line's end, a semicolon, a pipe.
    End,
    Open,
    /// With its offset.
    Close(usize),
}

/// Ends at a quote that is not closed: GRUB does not read such a script.
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// How long the backslash and line end are that begin `rest`.
    fn continuation(rest: &[u8]) -> Option<usize> {
        match rest {
            [b'\\', b'\n', ..] => Some(2),
            [b'\\', b'\r', b'\n', ..] => Some(3),
            _ => None,
        }
    }

    /// The length of the variable that begins `rest`: `$name`, `${name}`, `$1`, `$?`.
    fn variable(rest: &[u8]) -> Option<usize> {
        let name_length = |rest: &[u8]| match rest {
            [b'?' | b'#' | b'*' | b'@', ..] => 1,
            [b'0'..=b'9', ..] => rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
            _ => rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count(),
        };
        let (open, close) = if rest.starts_with(b"${") { (2, 1) } else { (1, 0) };
        let name = name_length(rest.get(open..)?);
        let closed = close == 0 || rest.get(open + name) == Some(&b'}');
        (name > 0 && closed).then_some(open + name + close)
    }

    fn word(&mut self) -> Option<ScriptWord> {
        let start = self.at;
        let mut value = Vec::new();
        let mut plain = true;
        let mut in_double = false;
        loop {
            let rest = self.rest();
            self.at += match rest {
                [] if in_double => return None,
                [b'\\', ..] if let Some(length) = Self::continuation(rest) => length,
                [b'\r', ..] => 1,
                [b'"', ..] => {
                    in_double = !in_double;
                    plain = false;
                    1
                }
                [b'$', ..] => {
                    plain = false;
                    let length = Self::variable(rest);
                    // `$"…"` is a text to be translated.
                    if length.is_some() || in_double || !rest.starts_with(b"$\"") {
                        value.extend_from_slice(rest.get(..length.unwrap_or(1)).unwrap_or_default());
                    }
                    length.unwrap_or(1)
                }
                [b'\\', escaped @ (b'$' | b'"' | b'\\'), ..] if in_double => {
                    value.push(*escaped);
                    2
                }
                [b'\\', escaped, ..] if !in_double => {
                    plain = false;
                    value.push(*escaped);
                    2
                }
                [byte, ..] if in_double => {
                    value.push(*byte);
                    1
                }
                [b'\'', inner @ ..] => {
                    plain = false;
                    let length = inner.iter().position(|byte| *byte == b'\'')?;
                    value.extend(inner.iter().take(length).filter(|byte| **byte != b'\r'));
                    length + 2
                }
                [] | [b' ' | b'\t' | b'\n' | b'{' | b'}' | b';' | b'|' | b'&' | b'<' | b'>', ..] => break,
                [byte, ..] => {
                    value.push(*byte);
                    1
                }
            };
        }
        let value = String::from_utf8_lossy(&value).into_owned();
        Some(ScriptWord { span: start..self.at, value, plain })
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let rest = self.rest();
            self.at += match rest {
                [] => return None,
                [b' ' | b'\t' | b'\r', ..] => 1,
                [b'\\', ..] if let Some(length) = Self::continuation(rest) => length,
                [b'#', ..] => rest.iter().take_while(|byte| **byte != b'\n').count(),
                [b'\n' | b';' | b'|' | b'&' | b'<' | b'>', ..] => {
                    self.at += 1;
                    return Some(Token::End);
                }
                [b'{', ..] => {
                    self.at += 1;
                    return Some(Token::Open);
                }
                [b'}', ..] => {
                    self.at += 1;
                    return Some(Token::Close(self.at - 1));
                }
                _ => return self.word().map(Token::Word),
            };
        }
    }
}
