//! One document as a tree of nodes with positions.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use super::super::encoding;
use super::super::yaml::{self, Budget, Limits};
use super::stream;
use vocabulary::report::{LineColumn, Step};

/// How many merge keys one search for a key follows.
const MAX_MERGES: usize = 1000;
/// How deep documents may be nested as text in texts.
const MAX_EMBEDDED: usize = 4;

/// The position of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: LineColumn,
    /// The position in the text that begins there, if its lines are not the file's.
    pub(super) within: Option<LineColumn>,
}

impl Place {
    pub(super) fn plain(at: LineColumn) -> Self {
        Self { at, within: None }
    }

    /// Returns the same place in a text with `lines` more lines before it.
    pub(super) fn moved(mut self, lines: usize) -> Self {
        self.at.line += lines;
        self
    }
}

/// A document, with its text.
pub(super) struct Tree<'t> {
    text: Cow<'t, str>,
    /// The offset of each line of the text.
    lines: Arc<[usize]>,
    nodes: Vec<Node>,
    root: Found,
    /// The documents that scalars contain, by the scalar, once they have been read.
    embedded: BTreeMap<usize, Option<Box<Embedded>>>,
    depth: usize,
}

enum Node {
    Scalar { at: LineColumn, value: String, is_literal: bool },
    Sequence(Vec<Found>),
    Mapping(BTreeMap<String, Member>),
}

/// The index of a node and the position where it, or an alias of it, is.
#[derive(Clone, Copy)]
struct Found {
    node: usize,
    at: LineColumn,
}

#[derive(Clone, Copy)]
struct Member {
    key_at: LineColumn,
    value: Found,
}

/// A document that a scalar contains as text.
struct Embedded {
    tree: Option<Tree<'static>>,
    /// If its lines are those of the text around it: how many lines and columns are before them.
    offset: Option<(usize, usize)>,
}

/// The documents of one text, each read once, in their order. Beginning anew for each of thousands of documents would take minutes.
pub(super) struct Trees<'t> {
    text: &'t str,
    lines: Arc<[usize]>,
    reader: Reader<'t>,
    most: usize,
}

impl<'t> Trees<'t> {
    /// Reads documents of `text` that have at most `most` nodes each.
    pub(super) fn of(text: &'t str, most: usize) -> Self {
        Self { text, lines: lines(text), reader: Reader::of(text), most }
    }

    /// Whether it reads this text, and not another with the same content.
    pub(super) fn is_of(&self, text: &str) -> bool {
        std::ptr::eq(self.text, text)
    }

    /// Reads document `index` (from 0, empty ones counted), which must be behind the documents that were read before.
    pub(super) fn read(&mut self, index: usize) -> Option<Tree<'t>> {
        let (root, nodes) = self.reader.document(index, self.most)?;
        let (text, lines) = (Cow::Borrowed(self.text), Arc::clone(&self.lines));
        Some(Tree { text, lines, nodes, root, embedded: BTreeMap::new(), depth: 0 })
    }
}

/// Returns the offset of each line.
fn lines(text: &str) -> Arc<[usize]> {
    [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

impl Tree<'_> {
    /// Reads the first document of a text that another text contains.
    fn of_embedded(text: String, depth: usize) -> Option<Self> {
        let index = stream::parts(&text, 1).first()?.index;
        let (root, nodes) = Reader::of(&text).document(index, Limits::REQUEST.values)?;
        let lines = lines(&text);
        Some(Self { text: Cow::Owned(text), lines, nodes, root, embedded: BTreeMap::new(), depth })
    }

    /// Finds where `steps` lead to: for a member, the value if it begins on the key's line, else the key. If something is
    /// missing, the result is where it is missing. `in_text` is a position in the text at the end of the steps.
    pub(super) fn find(&mut self, steps: &[Step], in_text: Option<LineColumn>) -> Option<Place> {
        let (mut here, mut steps) = (self.root, steps);
        while let Some((step, rest)) = steps.split_first() {
            here = match (self.nodes.get(here.node)?, step.as_key(), step.as_index()) {
                (Node::Mapping(_), Some(key), _) => {
                    let Some(Member { key_at, value }) = self.member(here.node, key, &mut MAX_MERGES.clone()) else {
                        break;
                    };
                    Found { at: if key_at.line == value.at.line { value.at } else { key_at }, ..value }
                }
                (Node::Sequence(items), _, Some(index)) => match items.get(index) {
                    Some(item) => *item,
                    None => break,
                },
                (Node::Scalar { .. }, ..) => return Some(self.embedded_place(here, Ok(steps), in_text)),
                _ => break,
            };
            steps = rest;
        }
        Some(match in_text {
            Some(in_text) => self.embedded_place(here, Err(in_text), None),
            None => Place::plain(here.at),
        })
    }

    /// Finds a member of a mapping or of a mapping that is merged into it: own keys win, then the earlier merge.
    fn member(&self, mapping: usize, key: &str, budget: &mut usize) -> Option<Member> {
        *budget = budget.checked_sub(1)?;
        let Node::Mapping(members) = self.nodes.get(mapping)? else { return None };
        if let Some(member) = members.get(key) {
            return Some(*member);
        }
        let merged = members.get("<<")?.value.node;
        match self.nodes.get(merged)? {
            Node::Mapping(_) => self.member(merged, key, budget),
            Node::Sequence(all) => all.iter().find_map(|one| self.member(one.node, key, budget)),
            Node::Scalar { .. } => None,
        }
    }

    /// Returns the place inside the text of a scalar: at the end of steps, or at a line and a column.
    fn embedded_place(
        &mut self,
        Found { node, at }: Found,
        inside: Result<&[Step], LineColumn>,
        in_text: Option<LineColumn>,
    ) -> Place {
        if !self.embedded.contains_key(&node) {
            let embedded = self.read_embedded(node).map(Box::new);
            self.embedded.insert(node, embedded);
        }
        let Some(Some(embedded)) = self.embedded.get_mut(&node) else { return Place::plain(at) };
        let place = match inside {
            Ok(steps) => embedded.tree.as_mut().and_then(|tree| tree.find(steps, in_text)),
            Err(in_text) => Some(Place::plain(in_text)),
        };
        match (place, embedded.offset) {
            (None, _) => Place::plain(at),
            (Some(Place { at: LineColumn { line, column }, within }), Some((lines, columns))) => {
                Place { at: LineColumn { line: line + lines, column: column + columns }, within }
            }
            (Some(place), None) => Place { at, within: Some(place.at) },
        }
    }

    fn read_embedded(&self, node: usize) -> Option<Embedded> {
        let Node::Scalar { at, value, is_literal } = self.nodes.get(node)? else { return None };
        let offset = is_literal.then(|| self.offset(at.line, value)).flatten();
        let text = if offset.is_some() { value.clone() } else { unpacked(value) };
        let tree = (self.depth < MAX_EMBEDDED).then(|| Tree::of_embedded(text, self.depth + 1)).flatten();
        Some(Embedded { tree, offset })
    }

    /// For a literal block whose first line with content is the line `line`: how many lines are before it, and how many columns
    /// are before each of its lines.
    fn offset(&self, line: usize, value: &str) -> Option<(usize, usize)> {
        let empty = value.bytes().take_while(|byte| *byte == b'\n').count();
        let inner = value.get(empty..)?.split('\n').next()?;
        let outer = self.text.get(*self.lines.get(line.checked_sub(1)?)?..)?.split('\n').next()?;
        let before = outer.strip_suffix('\r').unwrap_or(outer).strip_suffix(inner)?;
        let lines = line.checked_sub(1 + empty)?;
        before.bytes().all(|byte| byte == b' ').then_some((lines, before.len()))
    }
}

/// Returns the text that a scalar in a Secret's `data` contains, or else the scalar itself.
fn unpacked(value: &str) -> String {
    let decoded = encoding::base64_decoded(value).ok().and_then(|bytes| {
        let budget = &mut Budget::within(Limits::REQUEST);
        encoding::decompressed(Cow::Owned(bytes), Limits::EMBEDDED_TEXT, budget).ok()
    });
    decoded.and_then(|bytes| String::from_utf8(bytes.into_owned()).ok()).unwrap_or_else(|| value.to_owned())
}

/// Makes nodes of events.
struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// How many documents have begun, empty ones counted.
    begun: usize,
    /// How many more nodes there may be.
    left: usize,
    nodes: Vec<Node>,
    anchors: BTreeMap<usize, usize>,
}

impl<'t> Reader<'t> {
    fn of(text: &'t str) -> Self {
        let parser = Parser::new_from_str_with_options(text, yaml::options());
        Self { parser, begun: 0, left: 0, nodes: Vec::new(), anchors: BTreeMap::new() }
    }

    /// Reads a document that has at most `most` nodes, and has not begun yet.
    fn document(&mut self, index: usize, most: usize) -> Option<(Found, Vec<Node>)> {
        if self.begun > index {
            return None;
        }
        while self.begun <= index {
            self.begun += usize::from(matches!(self.next()?.0, Event::DocumentStart(..)));
        }
        (self.left, self.nodes) = (most, Vec::new());
        self.anchors.clear();
        let root = self.node(0)?;
        Some((root, std::mem::take(&mut self.nodes)))
    }

    fn next(&mut self) -> Option<(Event<'t>, Span)> {
        self.parser.next()?.ok()
    }

    fn node(&mut self, depth: usize) -> Option<Found> {
        let (event, span) = self.next()?;
        self.node_of(event, &span, depth)
    }

    /// Reads the node that begins with `event`. Returns nothing if there are too many nodes, or too many levels of them.
    fn node_of(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Option<Found> {
        self.left = self.left.checked_sub(1)?;
        let at = LineColumn { line: span.start.line(), column: span.start.col() + 1 };
        let (node, anchor) = match event {
            Event::Alias(anchor) => return Some(Found { node: *self.anchors.get(&anchor)?, at }),
            Event::Scalar(value, style, anchor, _) => {
                let is_literal = style == ScalarStyle::Literal;
                (Node::Scalar { at, value: value.into_owned(), is_literal }, anchor)
            }
            _ if depth >= Limits::DEPTH => return None,
            Event::SequenceStart(_, anchor, _) => (Node::Sequence(self.items(depth + 1)?), anchor),
            Event::MappingStart(_, anchor, _) => (Node::Mapping(self.members(depth + 1)?), anchor),
            _ => return None,
        };
        let index = self.nodes.len();
        self.nodes.push(node);
        self.anchors.insert(anchor, index);
        Some(Found { node: index, at })
    }

    fn items(&mut self, depth: usize) -> Option<Vec<Found>> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Some(items),
                (event, span) => items.push(self.node_of(event, &span, depth)?),
            }
        }
    }

    fn members(&mut self, depth: usize) -> Option<BTreeMap<String, Member>> {
        let mut members = BTreeMap::new();
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, _) => return Some(members),
                (event, span) => self.node_of(event, &span, depth)?,
            };
            let value = self.node(depth)?;
            if let Some(Node::Scalar { value: name, .. }) = self.nodes.get(key.node) {
                members.insert(name.clone(), Member { key_at: key.at, value });
            }
        }
    }
}
