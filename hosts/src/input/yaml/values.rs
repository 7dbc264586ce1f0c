//! Makes values from the parser's events, within a budget.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_yaml::{Mapping, Value};
use vocabulary::report::LineColumn;

use super::Limits;
use super::ambiguous::{Ambiguous, Step};
use super::invalid::{InvalidValue, UNSAFE};
use super::{Budget, Document, Problem, mapping, octals, options, scalar};

/// Reads the documents of a YAML stream, without the empty ones.
pub(super) fn documents(text: &str, budget: &mut Budget) -> Result<Vec<Document>, Problem> {
    let mut reader = Reader {
        text,
        parser: Parser::new_from_str_with_options(text, options()),
        budget,
        anchors: BTreeMap::new(),
        ambiguous: Vec::new(),
    };
    let mut documents = Vec::new();
    while let Some((event, _)) = reader.next()? {
        if matches!(event, Event::DocumentStart(..)) {
            reader.anchors.clear();
            reader.ambiguous.clear();
            let Some((event, span)) = reader.next()? else { break };
            let Read { value, .. } = reader.value(event, &span, false, 0)?;
            if !value.is_null() {
                documents.push(Document { value, ambiguous: std::mem::take(&mut reader.ambiguous) });
            }
        }
    }
    Ok(documents)
}

struct Reader<'t, 'b> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    budget: &'b mut Budget,
    anchors: BTreeMap<usize, Anchored>,
    /// What is ambiguous in the current document, or in the collection that is being read.
    ambiguous: Vec<Ambiguous>,
}

/// A value, and how many levels of collections it has.
struct Read {
    value: Value,
    height: usize,
}

/// The value that an alias repeats.
struct Anchored {
    value: Value,
    height: usize,
    /// How many values and bytes of the budget it takes.
    size: (usize, usize),
    ambiguous: Vec<Ambiguous>,
}

impl<'t> Reader<'t, '_> {
    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, Problem> {
        self.parser.next().transpose().map_err(|error| Problem::syntax(&error, self.text))
    }

    /// Returns the next event, where the stream must not end.
    fn following(&mut self) -> Result<(Event<'t>, Span), Problem> {
        self.next()?.ok_or_else(|| Problem::new("invalid-yaml", "is not YAML: it ends too early"))
    }

    /// Reads the value that begins with `event`, `depth` levels below the top.
    fn value(&mut self, event: Event<'t>, span: &Span, is_key: bool, depth: usize) -> Result<Read, Problem> {
        let here = |problem: Problem| if problem.position.is_none() { problem.at(position(span)) } else { problem };
        let (before, noted) = (self.budget.clone(), self.ambiguous.len());
        let (read, anchor) = match event {
            Event::Alias(anchor) => return self.alias(anchor, depth).map_err(here),
            Event::Scalar(text, style, anchor, tag) => {
                let text = self.without_added_line_end(&text, style, span);
                let value = self.scalar(text, style, tag.as_deref(), is_key).map_err(here)?;
                (Read { value, height: 0 }, anchor)
            }
            Event::SequenceStart(_, anchor, ref tag) | Event::MappingStart(_, anchor, ref tag) => {
                self.open(depth).map_err(here)?;
                let is_mapping = matches!(event, Event::MappingStart(..));
                let read = if is_mapping { self.mapping(depth + 1)? } else { self.sequence(depth + 1)? };
                let invalid = tag.as_deref().and_then(scalar::local);
                (invalid.map_or(read, |invalid| Read { value: invalid.mark(), height: 0 }), anchor)
            }
            _ => return Err(here(Problem::new("invalid-yaml", "is not YAML: a value is missing"))),
        };
        if anchor != 0 {
            let size = self.budget.used_since(&before);
            let ambiguous = self.ambiguous.iter().skip(noted).cloned().collect();
            // The copy for the aliases takes memory, too.
            self.budget.take(size).map_err(here)?;
            let Read { value, height } = &read;
            self.anchors.insert(anchor, Anchored { value: value.clone(), height: *height, size, ambiguous });
        }
        Ok(read)
    }

    fn open(&mut self, depth: usize) -> Result<(), Problem> {
        self.budget.take((1, 0))?;
        if depth < Limits::DEPTH { Ok(()) } else { Err(Problem::too_deep()) }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, is_key: bool) -> Result<Value, Problem> {
        self.budget.take((1, text.len()))?;
        let is_plain = !is_key && tag.is_none() && style == ScalarStyle::Plain;
        if is_plain && (octals::is_octal(text) || scalar::old_boolean(text).is_some()) {
            self.ambiguous.push(Ambiguous::Scalar(text.to_owned()));
        }
        if !is_key && tag.and_then(scalar::local) == Some(InvalidValue::UnknownTag(UNSAFE.to_owned())) {
            // A number is written as Ansible understands it without the tag.
            return Ok(match scalar::value(text, style, None) {
                Value::Null => InvalidValue::mark_unsafe(""),
                Value::Bool(value) => InvalidValue::mark_unsafe(&value.to_string()),
                Value::Number(number) if !number.is_f64() => InvalidValue::mark_unsafe(&number.to_string()),
                _ => InvalidValue::mark_unsafe(text),
            });
        }
        Ok(scalar::value(text, style, tag))
    }

    /// Removes the line end that the parser adds to a block scalar if the text ends without one.
    fn without_added_line_end<'s>(&self, content: &'s str, style: ScalarStyle, span: &Span) -> &'s str {
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let is_last = is_block && span.byte_range().is_some_and(|range| range.end >= self.text.len());
        let (true, Some(without)) = (is_last, content.strip_suffix('\n')) else { return content };
        let (line, kept) = (last_line(self.text), last_line(without));
        let is_blank = |line: &str| line.bytes().all(|byte| byte == b' ');
        // In a line of spaces, those behind the block's indentation are content.
        let is_within =
            if is_blank(line) { !kept.is_empty() && is_blank(kept) && line.len() > kept.len() } else { true };
        if is_within { without } else { content }
    }

    fn alias(&mut self, anchor: usize, depth: usize) -> Result<Read, Problem> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(Problem::new("invalid-yaml", "is not YAML: an alias is inside the value that it refers to"));
        };
        self.budget.take(anchored.size)?;
        if depth + anchored.height > Limits::DEPTH {
            return Err(Problem::too_deep());
        }
        self.ambiguous.extend_from_slice(&anchored.ambiguous);
        Ok(Read { value: anchored.value.clone(), height: anchored.height })
    }

    fn sequence(&mut self, depth: usize) -> Result<Read, Problem> {
        let (mut items, mut height) = (Vec::new(), 0);
        loop {
            let (event, span) = self.following()?;
            if event == Event::SequenceEnd {
                return Ok(Read { value: Value::Sequence(items), height: height + 1 });
            }
            let noted = self.ambiguous.len();
            let read = self.value(event, &span, false, depth)?;
            self.add_step(noted, || Step::Index(items.len()));
            height = height.max(read.height);
            items.push(read.value);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Read, Problem> {
        let (mut members, mut height) = (Mapping::new(), 0);
        loop {
            let (event, span) = self.following()?;
            if event == Event::MappingEnd {
                for key in mapping::before_merge(&members) {
                    self.ambiguous.push(Ambiguous::Inside(Step::Key(key), vec![Ambiguous::BeforeMerge]));
                }
                return Ok(Read { value: mapping::merged(members), height: height + 1 });
            }
            let key = self.value(event, &span, true, depth)?;
            let (event, span) = self.following()?;
            let noted = self.ambiguous.len();
            let read = self.value(event, &span, false, depth)?;
            match &key.value {
                Value::String(key) => self.add_step(noted, || Step::Key(key.clone())),
                _ => self.ambiguous.truncate(noted),
            }
            height = height.max(read.height).max(key.height);
            mapping::insert(&mut members, key.value, read.value);
        }
    }

    /// Adds a step to the paths of what was found since there was `noted`.
    fn add_step(&mut self, noted: usize, step: impl FnOnce() -> Step) {
        if self.ambiguous.len() > noted {
            let inside = self.ambiguous.split_off(noted);
            Ambiguous::add_inside(step(), inside, &mut self.ambiguous);
        }
    }
}

fn position(span: &Span) -> LineColumn {
    LineColumn { line: span.start.line(), column: span.start.col() + 1 }
}

/// Returns the text behind the last line end.
fn last_line(text: &str) -> &str {
    text.rsplit(['\n', '\r']).next().unwrap_or_default()
}
