//! Where boxes stand: as near to the height of their neighbours as the order in their column allows.

use super::card::Card;
use super::graph::Graph;
use super::order::parts;

/// What is left free around everything, in pixels.
pub(super) const MARGIN: i64 = 28;
/// What is left free between columns, for lines.
pub(super) const BETWEEN_COLUMNS: i64 = 72;
/// What is left free between boxes.
pub(super) const BETWEEN_CARDS: i64 = 14;
/// From the top to where boxes begin.
pub(super) const HEADING: i64 = 84;

/// A box in its place, which is that of its upper left corner.
pub(super) struct Placed {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) card: Card,
}

/// A line between two points, from left to right.
pub(super) struct Line {
    pub(super) from: (i64, i64),
    pub(super) to: (i64, i64),
}

/// How often the columns are gone through, there and back.
const ROUNDS: usize = 8;

/// The places of all nodes.
pub(super) struct Places {
    /// The upper edge of each node.
    tops: Vec<i64>,
    /// Where each column begins, and how wide it is.
    columns: Vec<(i64, i64)>,
    /// The column of each node.
    column_of: Vec<usize>,
}

impl Places {
    /// A node's box in its place.
    pub(super) fn of(&self, node: usize, card: &Card) -> Option<Placed> {
        let (x, _) = *self.columns.get(*self.column_of.get(node)?)?;
        Some(Placed { x, y: *self.tops.get(node)?, card: card.clone() })
    }

    /// A line between two nodes. Where nothing but the line is, it goes on to the other side of the column.
    pub(super) fn line(&self, graph: &Graph, from: usize, to: usize) -> Option<Line> {
        let (start, end) = (graph.nodes.get(from)?, graph.nodes.get(to)?);
        let (left, width) = *self.columns.get(start.column)?;
        let (right, _) = *self.columns.get(end.column)?;
        let passes = start.card.is_none();
        let from_x = left + if passes { width } else { start.size().0 };
        let middle = |node: usize, height: i64| Some(*self.tops.get(node)? + height / 2);
        let from = (from_x, middle(from, start.size().1)?);
        Some(Line { from, to: (right, middle(to, end.size().1)?) })
    }

    /// The places that lines pass in columns, as lines from side to side.
    pub(super) fn passages(&self, graph: &Graph) -> Vec<Line> {
        let passing = graph.nodes.iter().enumerate().filter(|(_, node)| node.card.is_none());
        let line = |(index, node): (usize, &super::graph::Node)| {
            let (left, width) = *self.columns.get(node.column)?;
            let y = *self.tops.get(index)? + node.size().1 / 2;
            Some(Line { from: (left, y), to: (left + width, y) })
        };
        passing.filter_map(line).collect()
    }
}

/// Places all nodes of a graph whose columns are in their order.
pub(super) fn place(graph: &Graph) -> Places {
    let parts = parts(graph);
    let mut tops = vec![0_i64; graph.nodes.len()];
    for column in &graph.columns {
        settle(graph, column, &parts, &mut tops, |_| None);
    }
    for _ in 0..ROUNDS {
        for column in graph.columns.iter().skip(1) {
            settle(graph, column, &parts, &mut tops, |node| graph.nodes.get(node).map(|node| node.inputs.as_slice()));
        }
        for column in graph.columns.iter().rev().skip(1) {
            settle(graph, column, &parts, &mut tops, |node| graph.nodes.get(node).map(|node| node.outputs.as_slice()));
        }
    }
    let highest = tops.iter().min().copied().unwrap_or_default();
    for top in &mut tops {
        *top += HEADING - highest;
    }
    let mut x = MARGIN;
    let columns = graph.columns.iter().map(|column| {
        let width =
            column.iter().filter_map(|node| graph.nodes.get(*node)).map(|node| node.size().0).max().unwrap_or(0);
        let place = (x, width);
        x += width + BETWEEN_COLUMNS;
        place
    });
    let columns = columns.collect();
    Places { tops, columns, column_of: graph.nodes.iter().map(|node| node.column).collect() }
}

/// Moves the nodes of a column to the middles of their neighbours, as near as their order and their sizes allow: of all
/// such columns the one with the least sum of squared distances (isotonic regression, by pooling adjacent violators).
fn settle<'g>(
    graph: &'g Graph,
    column: &[usize],
    parts: &[usize],
    tops: &mut [i64],
    neighbours: impl Fn(usize) -> Option<&'g [usize]>,
) {
    let height = |node: usize| graph.nodes.get(node).map_or(0, |node| node.size().1);
    let top = |tops: &[i64], node: usize| tops.get(node).copied().unwrap_or_default();
    // From the column's first node to each, if all stand as close as they may.
    let mut offsets = Vec::with_capacity(column.len());
    let mut offset = 0;
    let mut last: Option<usize> = None;
    for node in column {
        if let Some(last) = last {
            let apart = if parts.get(last) == parts.get(*node) { BETWEEN_CARDS } else { 2 * BETWEEN_CARDS };
            offset += height(last) + apart;
        }
        offsets.push(offset);
        last = Some(*node);
    }
    // Pools of nodes that stand as close as they may: how many, and the sum of where they should begin.
    let mut pools: Vec<(i64, i64)> = Vec::new();
    for (node, offset) in column.iter().zip(&offsets) {
        let others = neighbours(*node).unwrap_or_default();
        let wanted = match i64::try_from(others.len()) {
            Ok(count) if count > 0 => {
                let middles = others.iter().map(|other| top(tops, *other) + height(*other) / 2).sum::<i64>();
                middles / count - height(*node) / 2
            }
            _ => top(tops, *node),
        };
        let mut pool = (1, wanted - offset);
        while let Some((count, sum)) = pools.last().copied() {
            if sum.div_euclid(count) <= pool.1.div_euclid(pool.0) {
                break;
            }
            pool = (pool.0 + count, pool.1 + sum);
            pools.pop();
        }
        pools.push(pool);
    }
    let starts = pools.iter().flat_map(|(count, sum)| {
        let start = sum.div_euclid(*count);
        (0..*count).map(move |_| start)
    });
    for ((node, offset), start) in column.iter().zip(&offsets).zip(starts) {
        if let Some(there) = tops.get_mut(*node) {
            *there = start + offset;
        }
    }
}
