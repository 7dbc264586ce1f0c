//! One document as a tree of nodes that know where they stand.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::prelude::*;
use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::super::yaml::{self, Budget};
use super::super::{Limits, gzip};
use super::documents;
use vocabulary::report::{LineColumn, Step};

/// How many merge keys are looked into for one key.
const MAX_MERGES: usize = 1000;
/// How deep texts may be held in texts.
const MAX_EMBEDDED: usize = 4;

/// Where something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: LineColumn,
    /// Where in the text that begins there, if its lines are not the file's.
    pub(super) within: Option<LineColumn>,
}

impl Place {
    pub(super) fn plain(at: LineColumn) -> Self {
        Self { at, within: None }
    }

    /// The same place, in a text with `lines` more lines before it.
    pub(super) fn moved(mut self, lines: usize) -> Self {
        self.at.line += lines;
        self
    }
}

/// A document, with its text.
pub(super) struct Tree<'t> {
    text: Cow<'t, str>,
    /// Where each line of the text begins.
    lines: Vec<usize>,
    nodes: Vec<Node>,
    /// Documents that scalars hold, by the scalar, once they have been read; none where there is none.
    embedded: BTreeMap<usize, Option<Box<Embedded>>>,
    depth: usize,
}

struct Node {
    at: LineColumn,
    content: Content,
}

enum Content {
    Scalar { value: String, is_literal: bool },
    Sequence(Vec<usize>),
    Mapping(BTreeMap<String, Member>),
    Alias(usize),
}

#[derive(Clone, Copy)]
struct Member {
    key: usize,
    value: usize,
}

/// A document that is held as text.
struct Embedded {
    tree: Option<Tree<'static>>,
    /// Where its lines are those of the text around it: how many lines are before them, and columns.
    offset: Option<(usize, usize)>,
}

/// A collection that is being read.
struct Open {
    node: usize,
    /// The key that waits for its value.
    key: Option<usize>,
}

impl<'t> Tree<'t> {
    /// Reads the document `index` (from 0, empty ones counted) of `text`, if it has at most so many `nodes`.
    pub(super) fn read(text: &'t str, index: usize, nodes: usize) -> Option<Self> {
        Self::new(Cow::Borrowed(text), |_| Some(index), nodes, 0)
    }

    fn new(text: Cow<'t, str>, choose: impl FnOnce(&str) -> Option<usize>, most: usize, depth: usize) -> Option<Self> {
        let index = choose(&text)?;
        let mut builder = Builder { most, ..Builder::default() };
        let mut documents = 0;
        for event in Parser::new_from_str_with_options(&text, yaml::options()) {
            let (event, span) = event.ok()?;
            match event {
                Event::DocumentStart(..) => documents += 1,
                Event::DocumentEnd if documents == index + 1 => break,
                event if documents == index + 1 => builder.add(event, &span)?,
                _ => {}
            }
        }
        let lines = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let nodes = builder.nodes;
        (!nodes.is_empty()).then(|| Self { text, lines, nodes, embedded: BTreeMap::new(), depth })
    }

    /// Where what `way` leads to stands: for a member, its value if that begins on the key's line, else its key. What is
    /// missing stands where it is missing. With `in_text`, that place in the text at the end of the way.
    pub(super) fn find(&mut self, way: &[Step], in_text: Option<LineColumn>) -> Option<Place> {
        let (mut node, mut at, mut way) = (0, self.node(0)?.at, way);
        loop {
            let here = self.resolved(node)?;
            let Some((step, rest)) = way.split_first() else { break };
            match (&self.node(here)?.content, step.as_key(), step.as_index()) {
                (Content::Mapping(_), Some(key), _) => {
                    let Some(Member { key, value }) = self.member(here, key, &mut MAX_MERGES.clone()) else { break };
                    let (key_at, value_at) = (self.node(key)?.at, self.node(value)?.at);
                    at = if key_at.line == value_at.line { value_at } else { key_at };
                    node = value;
                }
                (Content::Sequence(items), _, Some(index)) => {
                    let Some(item) = items.get(index) else { break };
                    node = *item;
                    at = self.node(node)?.at;
                }
                (Content::Scalar { .. }, ..) => return Some(self.embedded_place(here, at, Ok(way), in_text)),
                _ => break,
            }
            way = rest;
        }
        match in_text {
            Some(in_text) => Some(self.embedded_place(self.resolved(node)?, at, Err(in_text), None)),
            None => Some(Place::plain(at)),
        }
    }

    fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    /// The node, or what it is an alias of.
    fn resolved(&self, node: usize) -> Option<usize> {
        match self.node(node)?.content {
            Content::Alias(target) => Some(target),
            _ => Some(node),
        }
    }

    /// The member of a mapping, or of what is merged into it: keys of its own win, then the earlier merge.
    fn member(&self, mapping: usize, key: &str, budget: &mut usize) -> Option<Member> {
        *budget = budget.checked_sub(1)?;
        let Content::Mapping(members) = &self.node(mapping)?.content else { return None };
        if let Some(member) = members.get(key) {
            return Some(*member);
        }
        let merged = self.resolved(members.get("<<")?.value)?;
        match &self.node(merged)?.content {
            Content::Mapping(_) => self.member(merged, key, budget),
            Content::Sequence(all) => all.iter().find_map(|one| self.member(self.resolved(*one)?, key, budget)),
            _ => None,
        }
    }

    /// The place of what is inside the text that the scalar `node` holds, which itself stands `at`: at the end of a way, or
    /// at a line and column.
    fn embedded_place(
        &mut self,
        node: usize,
        at: LineColumn,
        inside: Result<&[Step], LineColumn>,
        in_text: Option<LineColumn>,
    ) -> Place {
        if !self.embedded.contains_key(&node) {
            let embedded = self.read_embedded(node).map(Box::new);
            self.embedded.insert(node, embedded);
        }
        let Some(Some(embedded)) = self.embedded.get_mut(&node) else { return Place::plain(at) };
        let place = match inside {
            Ok(way) => embedded.tree.as_mut().and_then(|tree| tree.find(way, in_text)),
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
        let Node { at, content: Content::Scalar { value, is_literal } } = self.node(node)? else { return None };
        let offset = is_literal.then(|| self.offset(at.line, value)).flatten();
        let text = if offset.is_some() { value.clone() } else { plain(value) };
        let first = |text: &str| Some(documents::parts(text, 1).first()?.index);
        let tree = (self.depth < MAX_EMBEDDED)
            .then(|| Tree::new(Cow::Owned(text), first, Limits::REQUEST.values, self.depth + 1))
            .flatten();
        Some(Embedded { tree, offset })
    }

    /// For a literal block whose first line that is not empty is the line `line`: the lines before its content, and the
    /// columns before each line of it.
    fn offset(&self, line: usize, value: &str) -> Option<(usize, usize)> {
        let empty = value.bytes().take_while(|byte| *byte == b'\n').count();
        let inner = value.get(empty..)?.split('\n').next()?;
        let outer = self.text.get(*self.lines.get(line.checked_sub(1)?)?..)?.split('\n').next()?;
        let before = outer.strip_suffix('\r').unwrap_or(outer).strip_suffix(inner)?;
        let lines = line.checked_sub(1 + empty)?;
        before.bytes().all(|byte| byte == b' ').then_some((lines, before.len()))
    }
}

/// The text that a scalar holds in a Secret's `data`; else the scalar itself.
fn plain(value: &str) -> String {
    let compact: Vec<u8> = value.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let decoded = BASE64_STANDARD.decode(compact).ok();
    let unpacked = decoded
        .and_then(|bytes| gzip::unpacked(Cow::Owned(bytes), Limits::HELD, &mut Budget::within(Limits::REQUEST)).ok());
    unpacked.and_then(|bytes| String::from_utf8(bytes.into_owned()).ok()).unwrap_or_else(|| value.to_owned())
}

/// Nodes from events.
#[derive(Default)]
struct Builder {
    /// How many nodes there may be.
    most: usize,
    nodes: Vec<Node>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, usize>,
}

impl Builder {
    /// None where there is more than can be.
    fn add(&mut self, event: Event<'_>, span: &Span) -> Option<()> {
        let (content, anchor, opens) = match event {
            Event::Scalar(value, style, anchor, _) => {
                let is_literal = style == ScalarStyle::Literal;
                (Content::Scalar { value: value.into_owned(), is_literal }, anchor, false)
            }
            Event::SequenceStart(_, anchor, _) => (Content::Sequence(Vec::new()), anchor, true),
            Event::MappingStart(_, anchor, _) => (Content::Mapping(BTreeMap::new()), anchor, true),
            Event::Alias(anchor) => (Content::Alias(*self.anchors.get(&anchor)?), 0, false),
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                return Some(());
            }
            _ => return Some(()),
        };
        let node = self.nodes.len();
        if node >= self.most {
            return None;
        }
        let at = LineColumn { line: span.start.line(), column: span.start.col() + 1 };
        self.nodes.push(Node { at, content });
        if anchor != 0 {
            self.anchors.insert(anchor, node);
        }
        self.attach(node);
        if opens {
            self.open.push(Open { node, key: None });
        }
        Some(())
    }

    /// Puts a node into the collection that is being read.
    fn attach(&mut self, node: usize) {
        let Some(open) = self.open.last_mut() else { return };
        let (waiting, collection) = (open.key, open.node);
        if let Some(Node { content: Content::Sequence(items), .. }) = self.nodes.get_mut(collection) {
            items.push(node);
            return;
        }
        let Some(key) = waiting else {
            open.key = Some(node);
            return;
        };
        open.key = None;
        let name = match self.nodes.get(key) {
            Some(Node { content: Content::Scalar { value, .. }, .. }) => value.clone(),
            _ => return,
        };
        if let Some(Node { content: Content::Mapping(members), .. }) = self.nodes.get_mut(collection) {
            members.insert(name, Member { key, value: node });
        }
    }
}
