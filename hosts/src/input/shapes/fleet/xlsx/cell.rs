//! The values of cells.

use super::problem::Problem;
use super::strings::{rich_text, unescaped};
use super::styles::{Format, Shown, Styles};
use super::xml::{Element, Event, Events};

/// A value as the user sees it in the cell; or why dayone cannot use it, as a sentence whose subject is the value.
pub(super) type Value = Result<String, String>;

/// What the values of cells depend on.
pub(super) struct Context {
    pub(super) texts: Vec<String>,
    pub(super) styles: Styles,
    /// Whether the workbook asks spreadsheet programs to compute all formulas before they show anything.
    pub(super) is_stale: bool,
}

/// The type, the style and the content of a cell.
struct Stored {
    kind: String,
    style: usize,
    is_formula: bool,
    value: Option<String>,
    inline: Option<String>,
}

/// Reads a cell that has just opened. An empty cell has no value.
pub(super) fn read(cell: &Element<'_>, events: &mut Events<'_>, context: &Context) -> Result<Option<Value>, Problem> {
    let style = cell.attribute("s").and_then(|style| style.parse().ok()).unwrap_or_default();
    let kind = cell.attribute("t").unwrap_or_else(|| "n".to_owned());
    let mut stored = Stored { kind, style, is_formula: false, value: None, inline: None };
    let mut is_value = false;
    while let Some(event) = events.next()? {
        if event.closes("c") {
            break;
        }
        stored.is_formula |= event.opens("f").is_some();
        is_value = (is_value || event.opens("v").is_some()) && !event.closes("v");
        if event.opens("is").is_some() {
            stored.inline = Some(rich_text(events, "is")?);
        }
        if let Event::Text(piece) = event
            && is_value
        {
            stored.value.get_or_insert_default().push_str(&piece);
        }
    }
    Ok(stored.shown(context))
}

impl Stored {
    fn shown(self, context: &Context) -> Option<Value> {
        if self.is_formula && (context.is_stale || (self.value.is_none() && self.kind != "str")) {
            return Some(Err(
                "is a formula without a result; open the workbook in a spreadsheet program, and save it".into()
            ));
        }
        let shows_texts = context.styles.shows_texts(self.style);
        let as_shown = |text: String| {
            if shows_texts || text.trim().is_empty() {
                return Ok(text);
            }
            Err(format!("is a text that the cell shows in another form than it is stored; {AS_TEXT}"))
        };
        let text = match self.kind.as_str() {
            "inlineStr" => return self.inline.filter(|text| !text.is_empty()).map(as_shown),
            _ => self.value.filter(|value| !value.is_empty())?,
        };
        Some(match self.kind.as_str() {
            "s" => match text.trim().parse().ok().and_then(|number: usize| context.texts.get(number)) {
                Some(text) if text.is_empty() => return None,
                Some(text) => as_shown(text.clone()),
                None => Err("is a text that the workbook does not have".to_owned()),
            },
            "str" => as_shown(unescaped(text)),
            "b" => Ok(if text.trim() == "1" { "true" } else { "false" }.to_owned()),
            "e" => {
                // Programs have a dozen errors, all short: #N/A, #REF!, …
                let error: String = text.chars().filter(|c| !c.is_control()).take(20).collect();
                Err(format!("is the error {error}"))
            }
            "d" => Err(date()),
            "n" => return number(&text, context.styles.format(self.style)).transpose(),
            _ => Err("is of a type that dayone does not read".to_owned()),
        })
    }
}

fn date() -> String {
    format!("is a date or a time, which a workbook stores as a number; {AS_TEXT}")
}

const AS_TEXT: &str = "give the cell the format Text, and write the value again";

/// Returns an integer of at most 15 digits, because Excel keeps no more. The integer is what the user sees, unless the cell has a special
/// format. Returns nothing if the cell looks empty.
fn number(stored: &str, format: Format) -> Result<Option<String>, String> {
    let Ok(number) = stored.trim().parse::<f64>() else {
        return Err("is a number that dayone cannot read".to_owned());
    };
    let shown = match format {
        Format::Date => return Err(date()),
        // 4.10 is stored as 4.1.
        Format::Integer { .. } if number.fract() != 0.0 || !number.is_finite() => {
            return Err(format!(
                "is a number with a fraction, of which a workbook does not store how you wrote it; {AS_TEXT}"
            ));
        }
        Format::Integer { .. } if number.abs() >= 1e15 => {
            return Err(format!("is a number with more than 15 digits, of which a workbook stores only 15; {AS_TEXT}"));
        }
        Format::Integer { zero, .. } if number == 0.0 => zero,
        Format::Integer { negative, .. } if number < 0.0 => negative,
        Format::Integer { .. } => Shown::Stored,
        Format::Other => Shown::Otherwise,
    };
    match shown {
        Shown::Nothing => Ok(None),
        Shown::Otherwise => {
            Err(format!("is a number that the cell shows in another form than it is stored; {AS_TEXT}"))
        }
        Shown::Stored if number == 0.0 => Ok(Some("0".to_owned())),
        Shown::Stored => Ok(Some(format!("{number:.0}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_texts_without_a_fraction() {
        for (stored, expected) in [
            ("20", Some("20")),
            ("2E1", Some("20")),
            ("9000.0", Some("9000")),
            ("-1", Some("-1")),
            ("-0.0", Some("0")),
            ("999999999999999", Some("999999999999999")),
            ("1e15", None),
            ("1.5", None),
            ("1e300", None),
            ("x", None),
            ("NaN", None),
            ("inf", None),
        ] {
            assert_eq!(number(stored, Format::PLAIN).ok().flatten().as_deref(), expected, "{stored}");
            assert!(number(stored, Format::Date).is_err() && number(stored, Format::Other).is_err());
        }
        let format = Format::Integer { negative: Shown::Otherwise, zero: Shown::Nothing };
        assert_eq!(number("7", format), Ok(Some("7".to_owned())));
        assert_eq!(number("0", format), Ok(None));
        assert!(number("-7", format).is_err());
    }
}
