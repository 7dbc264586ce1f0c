//! Elements of SVG (<https://www.w3.org/TR/SVG11/>), with presentation attributes alone.

use std::fmt::Write as _;

use super::card::{PADDING, Shape};
use super::place::{Line, Placed};
use super::text::{Font, escaped};

const GROUND: &str = "#f4f6f8";
const PAPER: &str = "#ffffff";
const TINT: &str = "#eaf3ec";
const EDGE: &str = "#cbd2d9";
const LINE: &str = "#829ab1";
const SANS: &str = "Helvetica, Arial, 'DejaVu Sans', sans-serif";
const FIXED: &str = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace";

/// A picture that is being written.
pub(super) struct Canvas(String);

impl Canvas {
    pub(super) fn new(width: i64, height: i64, title: &str, description: &str) -> Self {
        let (title, description) = (escaped(title), escaped(description));
        Self(format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title description\">\n\
             <title id=\"title\">{title}</title>\n<desc id=\"description\">{description}</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"12\" fill=\"{GROUND}\"/>\n"
        ))
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = writeln!(self.0, "{element}");
    }

    pub(super) fn text(&mut self, x: i64, y: i64, font: Font, colour: &str, text: &str) {
        let family = if font.fixed { FIXED } else { SANS };
        let weight = if font.bold { " font-weight=\"bold\"" } else { "" };
        let (size, text) = (font.size, escaped(text));
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-family=\"{family}\" font-size=\"{size}\"{weight} fill=\"{colour}\" \
             xml:space=\"preserve\">{text}</text>"
        ));
    }

    /// A curve that leaves and arrives level.
    pub(super) fn line(&mut self, Line { from, to }: &Line) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let middle = x1 + (x2 - x1) / 2;
        let way = if y1 == y2 { format!("H{x2}") } else { format!("C{middle} {y1} {middle} {y2} {x2} {y2}") };
        self.push(format_args!("<path d=\"M{x1} {y1}{way}\" fill=\"none\" stroke=\"{LINE}\" stroke-width=\"1.5\"/>"));
    }

    pub(super) fn card(&mut self, Placed { x, y, card }: &Placed) {
        let (width, height, accent) = (card.width, card.height, card.accent);
        let (fill, edge, dashes) = match card.shape {
            Shape::Solid => (PAPER, EDGE, ""),
            Shape::Dashed => (PAPER, accent, " stroke-dasharray=\"4 3\""),
            Shape::Tinted => (TINT, accent, ""),
        };
        self.push(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{fill}\" \
             stroke=\"{edge}\"{dashes}/>"
        ));
        if card.shape == Shape::Solid {
            let (top, height) = (y + 8, height - 16);
            self.push(format_args!("<rect x=\"{x}\" y=\"{top}\" width=\"4\" height=\"{height}\" fill=\"{accent}\"/>"));
        }
        let mut below = y + PADDING - 4;
        for line in &card.lines {
            below += line.height();
            self.text(x + PADDING, below - 4, line.font, line.colour, &line.text);
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}
