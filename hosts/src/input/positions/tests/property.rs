//! Random documents, written by a writer that knows where it puts what.

use proptest::prelude::*;

use super::*;

/// A value, and how it is written.
#[derive(Debug, Clone)]
enum Node {
    Scalar(Style),
    Sequence(Vec<Node>, Style),
    Mapping(Vec<Node>, Style),
    /// A document that is held as text, in a literal block.
    Held(Box<Node>),
}

/// Plain or block, in quotes, or in double quotes or brackets.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Style {
    Plain,
    Single,
    Double,
}

fn style() -> impl Strategy<Value = Style> {
    prop_oneof![Just(Style::Plain), Just(Style::Single), Just(Style::Double)]
}

fn node() -> impl Strategy<Value = Node> {
    style().prop_map(Node::Scalar).prop_recursive(6, 60, 5, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..4), style())
                .prop_map(|(items, style)| Node::Sequence(items, style)),
            (prop::collection::vec(inner.clone(), 0..4), style())
                .prop_map(|(members, style)| Node::Mapping(members, style)),
            prop::collection::vec(inner, 1..4)
                .prop_map(|members| Node::Held(Node::Mapping(members, Style::Plain).into())),
        ]
    })
}

/// Writes nodes, and down where they stand.
#[derive(Default)]
struct Writer {
    text: String,
    places: Vec<(DocumentPath, LineColumn)>,
}

impl Writer {
    fn here(&self) -> LineColumn {
        let line = self.text.matches('\n').count() + 1;
        LineColumn { line, column: self.text.chars().rev().take_while(|c| *c != '\n').count() + 1 }
    }

    fn scalar(&mut self, text: &str, style: Style) {
        match style {
            Style::Plain => self.text += text,
            Style::Single => self.text += &format!("'{text}'"),
            Style::Double => self.text += &format!("\"{text}\""),
        }
    }

    fn line(&mut self, indent: usize) {
        self.text += "\n";
        self.text += &" ".repeat(indent);
    }

    /// Writes `node` where the writer is, behind a key where that is `at`; its further lines are indented by `indent`.
    fn node(&mut self, node: &Node, path: &DocumentPath, key: Option<LineColumn>, indent: usize, flow: bool) {
        let index = self.places.len();
        self.places.push((path.clone(), self.here()));
        let set = |writer: &mut Self, at| writer.places[index].1 = at;
        match node {
            Node::Scalar(style) => self.scalar("é x", *style),
            Node::Sequence(items, style) if flow || items.is_empty() || *style == Style::Double => {
                self.text += "[";
                for (index, item) in items.iter().enumerate() {
                    self.text += if index == 0 { "" } else { ", " };
                    self.node(item, &path.index(index), None, indent, true);
                }
                self.text += "]";
            }
            Node::Mapping(members, style) if flow || members.is_empty() || *style == Style::Double => {
                self.text += "{";
                for (index, member) in members.iter().enumerate() {
                    self.text += if index == 0 { "" } else { ", " };
                    let name = format!("k {index}");
                    let key = self.here();
                    self.scalar(&name, *style);
                    self.text += ": ";
                    self.node(member, &path.key(&name), Some(key), indent, true);
                }
                self.text += "}";
            }
            Node::Sequence(items, style) => {
                if let Some(key) = key {
                    set(self, key);
                }
                for (index, item) in items.iter().enumerate() {
                    if index > 0 || key.is_some() {
                        self.line(indent);
                    }
                    self.text += "- ";
                    if *style == Style::Single {
                        self.text += " ";
                    }
                    let inside = indent + if *style == Style::Single { 3 } else { 2 };
                    self.node(item, &path.index(index), None, inside, false);
                }
            }
            Node::Mapping(members, style) => {
                if let Some(key) = key {
                    set(self, key);
                }
                for (index, member) in members.iter().enumerate() {
                    if index > 0 || key.is_some() {
                        if *style == Style::Single {
                            self.text += "  # a comment\n";
                        }
                        self.line(indent);
                    }
                    let name = format!("k{index}");
                    let key = self.here();
                    self.scalar(&name, *style);
                    self.text += ": ";
                    self.node(member, &path.key(&name), Some(key), indent + 2, false);
                }
            }
            // Text in text in brackets is another matter.
            Node::Held(_) if flow => self.scalar("x", Style::Plain),
            Node::Held(document) => {
                self.text += "|";
                self.text += "\n";
                self.line(indent);
                let at = key.unwrap_or_else(|| self.here());
                set(self, at);
                self.node(document, &path.embedded_document(), None, indent, false);
                // The top of the document itself is where its text is.
                self.places[index + 1].1 = at;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]
    #[test]
    fn everything_is_found_where_it_was_written(nodes in prop::collection::vec(node(), 1..4)) {
        let mut writer = Writer::default();
        for (index, node) in nodes.into_iter().enumerate() {
            writer.text += "---\n";
            let path = DocumentPath::root().numbered_document(index + 1);
            writer.node(&Node::Mapping(vec![node], Style::Plain), &path, None, 0, false);
            writer.text += "\n";
        }
        let Writer { text, places } = writer;
        let values: Result<Vec<serde_yaml::Value>, _> =
            serde_yaml::Deserializer::from_str(&text).map(serde::Deserialize::deserialize).collect();
        prop_assert!(values.is_ok(), "{values:?}:\n{text}");
        let mut report = Report::new();
        for (path, _) in &places {
            report.error("wrong-type", path, "");
        }
        locate([Text { name: None, text: text.as_bytes() }], &mut report);
        for ((path, LineColumn { line, column }), finding) in places.into_iter().zip(report.findings()) {
            let wanted = Position { file: None, line, column, within: None };
            prop_assert_eq!(finding.position.as_ref(), Some(&wanted), "{} in\n{}", path, text);
        }
    }

    #[test]
    fn what_stands_below_odd_keys_is_found(keys in prop::collection::vec(prop_oneof![
        "\\PC{1,8}",
        "[\n\t\u{1}\"\\\\\\]: a]{1,8}",
        "[a-z0-9/_-]{1,9}",
    ], 1..8)) {
        // A merge key has no place of its own.
        prop_assume!(keys.iter().all(|key| key != "<<"));
        let mut path = DocumentPath::root().numbered_document(1);
        let (mut text, mut wanted) = (String::new(), Vec::new());
        for (depth, key) in keys.iter().enumerate() {
            path = path.key(key);
            // JSON leaves these two as they are, and in YAML 1.1 they end a line.
            let quoted = serde_json::to_string(key).unwrap().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
            text += &format!("{}? {quoted}\n{}:\n", " ".repeat(depth), " ".repeat(depth));
            wanted.push((path.clone(), LineColumn { line: 2 * depth + 1, column: depth + 3 }));
        }
        let mut report = Report::new();
        for (path, _) in &wanted {
            report.error("wrong-type", path, "");
        }
        locate([Text { name: None, text: text.as_bytes() }], &mut report);
        for ((path, LineColumn { line, column }), finding) in wanted.into_iter().zip(report.findings()) {
            let wanted = Position { file: None, line, column, within: None };
            prop_assert_eq!(finding.position.as_ref(), Some(&wanted), "{} in\n{}", path, text);
        }
    }
}
