//! YAML and JSON text, read within bounds.
//!
//! `serde_yaml` bounds depth, but neither what aliases multiply (a thousand aliases of a thousand aliases of a long
//! text pass its own limit) nor what its scanner spends on nested brackets, which grows with the square of their
//! number. Nor do its messages keep a document's values to themselves.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_yaml::mapping::Entry;
use serde_yaml::{Mapping, Value};

use super::brackets;
use super::division;
use super::flaw::Flaw;
use super::limits::Limits;
use super::octals::{Octal, OctalStep};
use super::shares;
use crate::members::get;
use vocabulary::report::LineColumn;

/// How many bytes of a long stream one thread reads at a time: enough that to begin costs nothing beside it.
const STREAM: usize = 128 << 10;

/// What `serde`'s errors say of a scalar that does not fit its tag.
const MISFIT: &str = "invalid value: ";

/// How many bytes are looked at together, and none by itself.
const AT_ONCE: usize = 256;

/// How much one call may read, all documents together: those in the stream and those that they hold as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Budget {
    limits: Limits,
    nodes: usize,
    bytes: usize,
    /// Whether it was ever not enough.
    ran_out: bool,
}

impl Budget {
    pub(super) fn within(limits: Limits) -> Self {
        Self { limits, nodes: limits.values, bytes: limits.bytes, ran_out: false }
    }

    /// What bounds the parts by themselves.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Takes `count` bytes out of the budget, or says that it is used up.
    pub(super) fn take_bytes(&mut self, count: usize) -> Result<(), Problem> {
        let left = self.bytes.checked_sub(count);
        self.ran_out |= left.is_none();
        self.bytes = left.ok_or_else(Problem::too_much)?;
        Ok(())
    }

    fn take_node(&mut self) -> Result<(), Problem> {
        let left = self.nodes.checked_sub(1);
        self.ran_out |= left.is_none();
        self.nodes = left.ok_or_else(Problem::too_much)?;
        Ok(())
    }

    /// What each of `count` readers may use, so that all together use no more than there is.
    pub(super) fn share(&self, count: usize) -> Self {
        Self { nodes: self.nodes / count.max(1), bytes: self.bytes / count.max(1), ran_out: false, ..*self }
    }

    /// Takes out what a reader has used of its share, if that was enough for it.
    pub(super) fn take_used(&mut self, share: &Self, left: &Self) -> Option<()> {
        self.nodes = self.nodes.checked_sub(share.nodes.checked_sub(left.nodes)?)?;
        self.bytes = self.bytes.checked_sub(share.bytes.checked_sub(left.bytes)?)?;
        (!left.ran_out).then_some(())
    }
}

/// What is wrong with a text, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) code: &'static str,
    pub(super) position: Option<LineColumn>,
    /// A sentence without its subject, which is the document. Holds keys of the document, never its values.
    pub(super) message: String,
}

impl Problem {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, position: None, message: message.into() }
    }

    fn too_much() -> Self {
        Self::new(
            "input-too-large",
            "describes more than can be read at once (aliases count as what they stand for); hand over fewer hosts",
        )
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.position {
            Some(LineColumn { line, column }) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}

/// A document as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Document {
    pub(super) value: Value,
    /// What other readers take for other numbers.
    pub(super) octals: Vec<Octal>,
}

/// All documents of a text: the one JSON value, or the YAML documents, of which empty ones are left out.
pub(super) fn documents(text: &[u8], budget: &mut Budget) -> Result<Vec<Document>, Problem> {
    budget.take_bytes(text.len())?;
    let text = readable(text)?;
    // JSON that is no YAML exists: surrogate pairs in escapes, keys past 1024 bytes. Where it fails as JSON, what
    // looked like JSON may be YAML in braces, and YAML's reader knows best what is wrong with it.
    if text.trim_start().starts_with(['{', '[']) {
        let saved = budget.clone();
        let mut json = serde_json::Deserializer::from_str(text);
        let builder = Builder::new(budget, text);
        let value = builder.seed().deserialize(&mut json);
        match (value, builder.problem.into_inner()) {
            (Ok(value), _) if json.end().is_ok() => return Ok(vec![Document { value, octals: Vec::new() }]),
            (Err(error), Some(problem)) => {
                let position = Some(LineColumn { line: error.line(), column: error.column() });
                return Err(Problem { position, ..problem });
            }
            _ => {}
        }
        *budget = saved;
    }
    divided(text, STREAM, budget)
}

/// The documents of a YAML stream, of which threads read about `size` bytes at a time. What is wrong, and where, is said by
/// who reads the whole.
pub(super) fn divided(text: &str, size: usize, budget: &mut Budget) -> Result<Vec<Document>, Problem> {
    let streams = division::streams(text, size);
    if let Some((read, left)) = shares::each(&streams, 1, budget, |text, budget| stream(text, budget))
        && let Ok(documents) = read.into_iter().collect::<Result<Vec<_>, _>>()
    {
        *budget = left;
        return Ok(documents.into_iter().flatten().collect());
    }
    stream(text, budget)
}

/// The documents of a YAML stream.
pub(super) fn stream(text: &str, budget: &mut Budget) -> Result<Vec<Document>, Problem> {
    brackets::check(text)?;
    let mut documents = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let builder = Builder::new(budget, text);
        match builder.seed().deserialize(document) {
            Ok(Value::Null) => {}
            Ok(value) => documents.push(Document { value, octals: builder.octals.into_inner() }),
            Err(error) => return Err(problem(builder, &error, text)),
        }
    }
    Ok(documents)
}

pub(super) fn readable(text: &[u8]) -> Result<&str, Problem> {
    let text = str::from_utf8(text).map_err(|error| {
        let before = text.get(..error.valid_up_to()).unwrap_or_default();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = before.get(start..).map_or(0, |line| String::from_utf8_lossy(line).chars().count()) + 1;
        let message = format!("is not UTF-8 text: byte {}", error.valid_up_to());
        Problem { position: Some(LineColumn { line, column }), ..Problem::new("not-utf-8", message) }
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Most texts are ASCII without anything odd, which is seen at once.
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    if text.as_bytes().chunks(AT_ONCE).all(|bytes| bytes.iter().fold(true, |all, byte| all & is_plain(byte))) {
        return Ok(text);
    }
    let bad = |c: char| {
        (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')) || matches!(c, '\u{fffe}'..='\u{ffff}')
    };
    for (number, line) in text.split('\n').enumerate() {
        if let Some((column, c)) = line.chars().enumerate().find(|(_, c)| bad(*c)) {
            let message = format!("holds the control character U+{:04X}", u32::from(c));
            let position = Some(LineColumn { line: number + 1, column: column + 1 });
            return Err(Problem { position, ..Problem::new("invalid-yaml", message) });
        }
    }
    Ok(text)
}

/// `error` in words that hold no values of the document.
fn problem(builder: Builder<'_>, error: &serde_yaml::Error, text: &str) -> Problem {
    let position = error.location().map(|at| LineColumn { line: at.line(), column: at.column() });
    if let Some(problem) = builder.problem.into_inner() {
        return Problem { position, ..problem };
    }
    let at = position.and_then(|LineColumn { line, column }| {
        text.lines().nth(line.checked_sub(1)?)?.chars().nth(column.checked_sub(1)?)
    });
    let said = error.to_string();
    let message = if at == Some('\t') {
        "is not YAML: a tab where YAML wants spaces".to_owned()
    } else if said.contains("recursion limit exceeded") {
        "is nested more than 128 levels deep".to_owned()
    } else if said.contains("repetition limit exceeded") {
        return Problem { position, ..Problem::too_much() };
    } else {
        // What is left are libyaml's fixed sentences: "did not find expected key at line 3 column 1, while parsing a
        // block mapping at line 2 column 1".
        let what = said.split(" at line ").next().unwrap_or_default();
        let during = said.split_once(", while ").map_or("", |(_, during)| during);
        if during.is_empty() || what.contains(", while ") {
            format!("is not YAML: {what}")
        } else {
            format!("is not YAML: {what}, while {during}")
        }
    };
    Problem { position, ..Problem::new("invalid-yaml", message) }
}

/// Builds values, and remembers why it stopped: `serde`'s errors carry only text.
struct Builder<'a> {
    budget: RefCell<&'a mut Budget>,
    problem: RefCell<Option<Problem>>,
    text: &'a str,
    octals: RefCell<Vec<Octal>>,
    /// Whether the parser has got as far as the content of the value that was begun last.
    entered: Cell<bool>,
}

impl<'a> Builder<'a> {
    fn new(budget: &'a mut Budget, text: &'a str) -> Self {
        Self {
            budget: RefCell::new(budget),
            problem: RefCell::new(None),
            text,
            octals: RefCell::new(Vec::new()),
            entered: Cell::new(false),
        }
    }

    /// How many octals there are.
    fn noted(&self) -> usize {
        self.octals.borrow().len()
    }

    /// Says of the octals since there were `before` that they are at the end of one more step.
    fn led_to(&self, before: usize, step: impl Fn() -> OctalStep) {
        if self.noted() > before {
            self.octals.borrow_mut().iter_mut().skip(before).for_each(|octal| octal.below(step()));
        }
    }

    fn seed(&self) -> Seed<'_, 'a> {
        Seed { builder: self, is_key: false }
    }

    fn check<E: serde::de::Error>(&self, result: Result<(), Problem>) -> Result<(), E> {
        result.map_err(|problem| {
            *self.problem.borrow_mut() = Some(problem);
            E::custom("stopped")
        })
    }

    fn node<E: serde::de::Error>(&self) -> Result<(), E> {
        let result = self.budget.borrow_mut().take_node();
        self.check(result)
    }
}

/// Builds one value, or one key of a mapping.
#[derive(Clone, Copy)]
struct Seed<'b, 'a> {
    builder: &'b Builder<'a>,
    is_key: bool,
}

impl Seed<'_, '_> {
    fn finish(self, value: Value) -> Value {
        self.builder.entered.set(true);
        value
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.builder.node()?;
        self.builder.entered.set(false);
        match deserializer.deserialize_any(self) {
            // A scalar that does not fit its tag (`!!int one`) fails before its content gets here, and has been read past.
            Err(error) if !self.builder.entered.get() && error.to_string().contains(MISFIT) => Ok(Flaw::Misfit.mark()),
            result => result,
        }
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(self.finish(Value::Null))
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(self.finish(Value::Null))
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(self.finish(Value::Bool(value)))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(self.finish(Value::Number(value.into())))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(self.finish(Value::Number(value.into())))
    }

    fn visit_i128<E: serde::de::Error>(self, _: i128) -> Result<Value, E> {
        Ok(self.finish(Flaw::Number.mark()))
    }

    fn visit_u128<E: serde::de::Error>(self, _: u128) -> Result<Value, E> {
        Ok(self.finish(Flaw::Number.mark()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(self.finish(Value::Number(value.into())))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        let result = self.builder.budget.borrow_mut().take_bytes(value.len());
        self.builder.check(result)?;
        Ok(self.finish(Value::String(value.to_owned())))
    }

    /// What stands in the text as it is.
    fn visit_borrowed_str<E: serde::de::Error>(self, value: &'de str) -> Result<Value, E> {
        if !self.is_key
            && let Some(octal) = Octal::of(value, self.builder.text)
        {
            self.builder.octals.borrow_mut().push(octal);
        }
        self.visit_str(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.builder.entered.set(true);
        let mut sequence = Vec::new();
        let mut before = self.builder.noted();
        while let Some(value) = access.next_element_seed(self.builder.seed())? {
            self.builder.led_to(before, || OctalStep::Index(sequence.len()));
            before = self.builder.noted();
            sequence.push(value);
        }
        Ok(self.finish(Value::Sequence(sequence)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.builder.entered.set(true);
        let mut mapping = Mapping::new();
        while let Some(key) = access.next_key_seed(Seed { builder: self.builder, is_key: true })? {
            let before = self.builder.noted();
            let value = access.next_value_seed(self.builder.seed())?;
            if let Value::String(key) = &key {
                self.builder.led_to(before, || OctalStep::Key(key.clone()));
            }
            match mapping.entry(key) {
                Entry::Vacant(entry) => drop(entry.insert(value)),
                Entry::Occupied(mut entry) => drop(entry.insert(Flaw::Twice.mark())),
            }
        }
        Ok(self.finish(merged(mapping)))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Value, A::Error> {
        self.builder.entered.set(true);
        let (tag, content) = access.variant::<String>()?;
        // What stands there counts, and is not kept: without its tag it would be another value.
        content.newtype_variant_seed(self.builder.seed())?;
        Ok(self.finish(Flaw::Tag(tag).mark()))
    }
}

/// `mapping` with YAML 1.1's merge key `<<` resolved, as `kubectl` does: keys of its own win, then the earlier merge.
/// A merge key that holds no mappings stays, and is then an unknown key to whoever reads it. With one that is flawed,
/// nobody knows what the mapping holds.
fn merged(mut mapping: Mapping) -> Value {
    let mergeable = match get(&mapping, "<<") {
        Some(Value::Mapping(_)) => true,
        Some(Value::Sequence(all)) if all.iter().any(|one| Flaw::of(one).is_some()) => return Flaw::Merge.mark(),
        Some(Value::Sequence(all)) => all.iter().all(Value::is_mapping),
        Some(Value::Tagged(_)) => return Flaw::Merge.mark(),
        _ => false,
    };
    if !mergeable {
        return Value::Mapping(mapping);
    }
    let sources = match mapping.shift_remove("<<") {
        Some(Value::Sequence(sources)) => sources,
        Some(source) => vec![source],
        None => Vec::new(),
    };
    for source in sources {
        if let Value::Mapping(source) = source {
            for (key, value) in source {
                mapping.entry(key).or_insert(value);
            }
        }
    }
    Value::Mapping(mapping)
}

/// The boolean that a text is to YAML 1.1, and no longer to YAML 1.2.
pub(super) fn old_boolean(text: &str) -> Option<bool> {
    let is = |words: [&str; 3]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(["yes", "on", "y"]) {
        Some(true)
    } else if is(["no", "off", "n"]) {
        Some(false)
    } else {
        None
    }
}
