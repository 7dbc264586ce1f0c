//! A topology as a picture: SVG 1.1, of text, lines and boxes alone.
//!
//! It is laid out from left to right: NICs, what stands on them, and the networks that they lead to; beneath, what is the
//! host's as a whole. The same topology gives the same bytes. All names in it are somebody else's: they are shortened,
//! made fit for XML, and escaped. There is neither script nor style sheet, and nothing is fetched.

mod card;
mod colours;
mod draw;
mod graph;
mod networks;
mod order;
mod picture;
mod place;
mod remarks;
mod text;

use std::fmt::Write as _;

use card::Card;
use draw::Canvas;
use graph::{Graph, MAX_DRAWN};
use place::{BETWEEN_CARDS, HEADING, Line, MARGIN, Placed};
use text::Font;

pub use picture::Picture;

/// The least width, in which a title has room.
const LEAST_WIDTH: i64 = 480;

impl Picture<'_> {
    /// The picture.
    pub fn to_svg(&self) -> String {
        let Laid { boxes, lines, remarks, width, height } = self.lay_out();
        let title = self.title();
        let mut canvas = Canvas::new(width, height, &title, &self.description());
        canvas.text(MARGIN, 42, Font::TITLE, colours::INK, &title);
        canvas.text(MARGIN, 64, Font::FACT, colours::QUIET, &self.subtitle());
        for line in &lines {
            canvas.line(line);
        }
        for placed in boxes.iter().chain(&remarks) {
            canvas.card(placed);
        }
        canvas.finish()
    }

    fn title(&self) -> String {
        let hostname = self.topology.hostname.as_ref();
        hostname.map_or_else(|| "Network of a host".to_owned(), |name| text::shortened(name.as_str()))
    }

    fn subtitle(&self) -> String {
        let counted = |number: usize, what: &str| match number {
            1 => format!("1 {what}"),
            _ => format!("{number} {what}s"),
        };
        let interfaces = self.topology.interfaces.len();
        let drawn = interfaces.min(MAX_DRAWN);
        let mut subtitle = counted(interfaces, "interface");
        if drawn < interfaces {
            // Writing to a String does not fail.
            let _ = write!(subtitle, ", of which the first {drawn} are drawn");
        }
        subtitle
    }

    /// The picture in words, for those who cannot see it.
    fn description(&self) -> String {
        let mut description = String::new();
        for interface in self.topology.interfaces.iter().take(MAX_DRAWN) {
            let addresses = interface.describe_addresses();
            let separator = if addresses.is_empty() { "" } else { ": " };
            let what = text::limited(&self.topology.describe(interface), 200);
            let name = text::shortened(&interface.name);
            // Writing to a String does not fail.
            let _ = write!(description, "{name}: {what}{separator}{}. ", text::limited(&addresses.join(", "), 200));
        }
        description.trim_end().to_owned()
    }

    fn lay_out(&self) -> Laid {
        let mut graph = Graph::of(self);
        networks::add(self.topology, &mut graph);
        graph.split_long_edges();
        order::order(&mut graph);
        let placed = place::place(&graph);
        let boxes: Vec<Placed> = graph.cards().filter_map(|(node, card)| placed.of(node, card)).collect();
        let lines = graph.edges().filter_map(|(from, to)| placed.line(&graph, from, to));
        let lines: Vec<Line> = lines.chain(placed.passages(&graph)).collect();
        let right = |boxes: &[Placed]| boxes.iter().map(|placed| placed.x + placed.card.width).max().unwrap_or(0);
        let bottom = |boxes: &[Placed]| boxes.iter().map(|placed| placed.y + placed.card.height).max().unwrap_or(0);
        let title = MARGIN + Font::TITLE.width(&self.title());
        let width = right(&boxes).max(LEAST_WIDTH - MARGIN).max(title);
        // A line may go around below all boxes.
        let lowest = lines.iter().map(|line| line.from.1.max(line.to.1)).fold(bottom(&boxes), i64::max);
        let below = if boxes.is_empty() { HEADING } else { lowest + 2 * BETWEEN_CARDS };
        let remarks = flow(remarks::cards(self), below, width);
        let width = right(&remarks).max(width) + MARGIN;
        let height = bottom(&remarks).max(lowest).max(HEADING) + MARGIN;
        Laid { boxes, lines, remarks, width, height }
    }
}

/// Everything in its place.
struct Laid {
    boxes: Vec<Placed>,
    lines: Vec<Line>,
    remarks: Vec<Placed>,
    width: i64,
    height: i64,
}

/// Boxes side by side, in as many rows as the width asks for.
fn flow(cards: Vec<Card>, top: i64, right: i64) -> Vec<Placed> {
    let (mut x, mut y, mut row) = (MARGIN, top, 0);
    let mut placed = Vec::new();
    for card in cards {
        if x > MARGIN && x + card.width > right {
            (x, y, row) = (MARGIN, y + row + BETWEEN_CARDS, 0);
        }
        row = row.max(card.height);
        let next = x + card.width + BETWEEN_CARDS;
        placed.push(Placed { x, y, card });
        x = next;
    }
    placed
}

#[cfg(test)]
mod tests;
