//! XML as a sequence of events, in memory that does not grow with the text.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape;
use quick_xml::events::{BytesEnd, BytesStart, Event as Raw};

use super::problem::Problem;

/// The events of an XML text. An empty element opens and closes.
pub(super) struct Events<'t> {
    reader: Reader<&'t [u8]>,
    /// The name of the part, for messages.
    part: &'t str,
    /// How many elements are open.
    depth: usize,
}

/// An event. Names of elements and attributes are compared without their namespaces, of which workbooks have two (transitional and
/// strict).
pub(super) enum Event<'t> {
    Open(Element<'t>),
    Close(BytesEnd<'t>),
    /// A piece of text.
    Text(Cow<'t, str>),
}

pub(super) struct Element<'t>(BytesStart<'t>);

impl<'t> Events<'t> {
    pub(super) fn of(text: &'t str, part: &'t str) -> Self {
        let mut reader = Reader::from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
        reader.config_mut().expand_empty_elements = true;
        Self { reader, part, depth: 0 }
    }

    /// Returns the next event, or nothing at the end of the text. DTDs are refused, and with them entities that expand.
    pub(super) fn next(&mut self) -> Result<Option<Event<'t>>, Problem> {
        loop {
            return Ok(Some(match self.reader.read_event().map_err(|error| self.broken(&error.to_string()))? {
                Raw::Start(element) => {
                    self.depth += 1;
                    Event::Open(Element(element))
                }
                Raw::End(element) => {
                    self.depth = self.depth.saturating_sub(1);
                    Event::Close(element)
                }
                Raw::Text(text) => Event::Text(text.into_inner()),
                Raw::CData(text) => Event::Text(text.into_inner()),
                Raw::GeneralRef(reference) => {
                    let letter = reference.resolve_char_ref().map_err(|error| self.broken(&error.to_string()))?;
                    match (letter, escape::resolve_xml_entity(&reference)) {
                        (Some(letter), _) => Event::Text(letter.to_string().into()),
                        (None, Some(text)) => Event::Text(text.into()),
                        (None, None) => return Err(self.broken("an unknown entity")),
                    }
                }
                Raw::DocType(_) => return Err(self.broken("a document type")),
                Raw::Eof if self.depth > 0 => return Err(self.broken("the end is missing")),
                Raw::Eof => return Ok(None),
                Raw::Empty(_) | Raw::Comment(_) | Raw::Decl(_) | Raw::PI(_) => continue,
            }));
        }
    }

    fn broken(&self, why: &str) -> Problem {
        format!("has XML that dayone cannot read, in its part {}: {why}", self.part)
    }
}

impl Event<'_> {
    /// Returns the element that opens, if it has this name.
    pub(super) fn opens(&self, name: &str) -> Option<&Element<'_>> {
        if let Self::Open(element) = self { element.is(name).then_some(element) } else { None }
    }

    /// Whether an element of this name closes.
    pub(super) fn closes(&self, name: &str) -> bool {
        matches!(self, Self::Close(element) if element.local_name().as_ref() == name)
    }
}

impl Element<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.0.local_name().as_ref() == name
    }

    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        // Comparing each attribute with all others takes quadratic time.
        let attribute = attributes.with_checks(false).flatten().find(|a| a.key.local_name().as_ref() == name)?;
        escape::unescape(&attribute.value).ok().map(Cow::into_owned)
    }
}
