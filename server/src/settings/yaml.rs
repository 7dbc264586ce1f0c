//! The text of a settings file as a tree of values, each with its position.

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput};
use vocabulary::report::LineColumn;

/// How many levels of collections a settings file has at most: `bases` has two below the top.
const DEPTH: usize = 8;

/// A value with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) at: LineColumn,
    pub(crate) content: Content,
}

/// A value of YAML. Scalars stay texts: the type of a setting decides what a text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    Null,
    Scalar(String),
    List(Vec<Node>),
    Mapping(Vec<(Key, Node)>),
}

/// The key of a member of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) at: LineColumn,
    pub(crate) name: String,
}

/// Why a text is not usable YAML, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct YamlError {
    pub(crate) at: LineColumn,
    pub(crate) message: String,
}

/// Reads the only document of a text. An empty text is null.
pub(crate) fn read(text: &str) -> Result<Node, YamlError> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut reader = Reader { parser: Parser::new_from_str_with_options(text, options) };
    let mut document = None;
    while let Some((event, span)) = reader.next()? {
        if !matches!(event, Event::DocumentStart(..)) {
            continue;
        }
        if document.is_some() {
            return Err(error(&span, "a settings file has one document; remove the line with ---"));
        }
        let (event, span) = reader.following()?;
        document = Some(reader.node(event, &span, 0)?);
    }
    Ok(document.unwrap_or(Node { at: LineColumn { line: 1, column: 1 }, content: Content::Null }))
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, YamlError> {
        self.parser.next().transpose().map_err(|error| YamlError {
            at: LineColumn { line: error.marker().line(), column: error.marker().col() + 1 },
            message: format!("this is not YAML: {}", error.kind()),
        })
    }

    fn following(&mut self) -> Result<(Event<'t>, Span), YamlError> {
        let end = LineColumn { line: 1, column: 1 };
        self.next()?.ok_or_else(|| YamlError { at: end, message: "this is not YAML: it ends too early".to_owned() })
    }

    fn node(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Result<Node, YamlError> {
        let at = position(span);
        if depth > DEPTH {
            return Err(error(span, "the value is nested too deeply for a setting"));
        }
        let content = match event {
            Event::Scalar(text, style, ..) => {
                let is_null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                if is_null { Content::Null } else { Content::Scalar(text.into_owned()) }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.following()?;
                    if event == Event::SequenceEnd {
                        break Content::List(items);
                    }
                    items.push(self.node(event, &span, depth + 1)?);
                }
            }
            Event::MappingStart(..) => {
                let mut members = Vec::new();
                loop {
                    let (event, span) = self.following()?;
                    if event == Event::MappingEnd {
                        break Content::Mapping(members);
                    }
                    let key = self.key(event, &span, depth)?;
                    let (event, span) = self.following()?;
                    members.push((key, self.node(event, &span, depth + 1)?));
                }
            }
            _ => return Err(error(span, "settings files cannot have anchors and aliases; write the value itself")),
        };
        Ok(Node { at, content })
    }

    fn key(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Result<Key, YamlError> {
        match self.node(event, span, depth + 1)? {
            Node { at, content: Content::Scalar(name) } => Ok(Key { at, name }),
            _ => Err(error(span, "the name of a setting must be a word")),
        }
    }
}

fn position(span: &Span) -> LineColumn {
    LineColumn { line: span.start.line(), column: span.start.col() + 1 }
}

fn error(span: &Span, message: &str) -> YamlError {
    YamlError { at: position(span), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_positions_and_scalars_stay_texts() {
        let node =
            read("# comment\nlog: info\nbases:\n- name: a\n  iso: /a\ndrain-seconds: 020\nlog-format:\n").unwrap();
        let Content::Mapping(members) = node.content else { panic!("not a mapping") };
        let shown: Vec<_> = members.iter().map(|(key, _)| (key.name.as_str(), key.at.line, key.at.column)).collect();
        assert_eq!(shown, [("log", 2, 1), ("bases", 3, 1), ("drain-seconds", 6, 1), ("log-format", 7, 1)]);
        assert_eq!(members[2].1.content, Content::Scalar("020".to_owned()));
        assert_eq!(members[3].1.content, Content::Null);
        let Content::List(bases) = &members[1].1.content else { panic!("not a list") };
        assert_eq!(bases[0].at, LineColumn { line: 4, column: 3 });
        assert_eq!(read("").unwrap().content, Content::Null);
    }

    #[test]
    fn what_is_not_a_settings_file_is_refused_where_it_is_wrong() {
        for (text, line, sign) in [
            ("a: [1, 2\n", 1, "not YAML"),
            ("a: 1\n---\nb: 2\n", 2, "one document"),
            ("a: &x 1\nb: *x\n", 2, "aliases"),
            ("[a]: 1\n", 1, "word"),
            ("a: [[[[[[[[[[1]]]]]]]]]]\n", 1, "nested"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.at.line == line && error.message.contains(sign), "{text:?}: {error:?}");
        }
    }
}
