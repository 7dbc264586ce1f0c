//! What stands on what, in columns.

use std::collections::{BTreeMap, BTreeSet};

use super::card::{self, Card, Shape};
use super::colours;
use super::picture::Picture;
use crate::model::Interface;

/// The maximum number of interfaces in a picture, and of networks.
pub(super) const MAX_DRAWN: usize = 1000;

/// More columns than any host has; what goes in circles ends here.
const COLUMNS: usize = 24;

/// Boxes, and lines between them.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) by_name: BTreeMap<String, usize>,
    /// The nodes of each column, from top to bottom.
    pub(super) columns: Vec<Vec<usize>>,
}

/// A box, or a place that a line passes on its way over several columns.
#[derive(Default)]
pub(super) struct Node {
    pub(super) card: Option<Card>,
    pub(super) column: usize,
    /// Boxes to the left that lead here.
    pub(super) inputs: Vec<usize>,
    /// Boxes to the right.
    pub(super) outputs: Vec<usize>,
}

impl Node {
    pub(super) fn size(&self) -> (i64, i64) {
        self.card.as_ref().map_or((0, 2), |card| (card.width, card.height))
    }
}

impl Graph {
    /// The interfaces of a picture.
    pub(super) fn of(picture: &Picture<'_>) -> Self {
        let topology = picture.topology;
        let mut graph = Self::default();
        let drawn: Vec<&Interface> = topology.interfaces.iter().take(MAX_DRAWN).collect();
        for interface in &drawn {
            let node = graph.add(card::interface(topology, interface, picture.boot_mac));
            graph.by_name.insert(interface.name.clone(), node);
        }
        let mut edges = BTreeSet::new();
        for interface in drawn {
            let Some(own) = graph.by_name.get(&interface.name).copied() else { continue };
            if let Some(parent) = interface.kind.parent() {
                edges.insert((graph.named(parent), own));
            }
            if let Some(controller) = &interface.controller {
                edges.insert((own, graph.named(controller)));
            }
        }
        graph.arrange(&edges);
        graph
    }

    /// The node of this name; one that no profile describes is there all the same.
    fn named(&mut self, name: &str) -> usize {
        if let Some(node) = self.by_name.get(name) {
            return *node;
        }
        let mut card = Card::new(name, colours::QUIET, Shape::Dashed);
        card.fact("no profile describes it");
        let node = self.add(card);
        self.by_name.insert(name.to_owned(), node);
        node
    }

    fn add(&mut self, card: Card) -> usize {
        self.nodes.push(Node { card: Some(card), ..Node::default() });
        self.nodes.len() - 1
    }

    /// Puts every node to the right of those that lead to it.
    fn arrange(&mut self, edges: &BTreeSet<(usize, usize)>) {
        let mut columns = vec![0_usize; self.nodes.len()];
        for _ in 1..COLUMNS {
            for (from, to) in edges {
                let least = columns.get(*from).map_or(0, |column| column + 1).min(COLUMNS - 1);
                if let Some(column) = columns.get_mut(*to) {
                    *column = least.max(*column);
                }
            }
        }
        for (index, column) in columns.into_iter().enumerate() {
            self.put(index, column);
        }
        for (from, to) in edges {
            self.connect(*from, *to);
        }
    }

    fn put(&mut self, node: usize, column: usize) {
        if self.columns.len() <= column {
            self.columns.resize_with(column + 1, Vec::new);
        }
        if let (Some(of), Some(node_there)) = (self.columns.get_mut(column), self.nodes.get_mut(node)) {
            of.push(node);
            node_there.column = column;
        }
    }

    /// A line between two nodes, if it leads to the right.
    fn connect(&mut self, from: usize, to: usize) {
        if self.column(from) >= self.column(to) {
            return;
        }
        if let Some(node) = self.nodes.get_mut(from) {
            node.outputs.push(to);
        }
        if let Some(node) = self.nodes.get_mut(to) {
            node.inputs.push(from);
        }
    }

    fn column(&self, node: usize) -> usize {
        self.nodes.get(node).map_or(0, |node| node.column)
    }

    /// Adds boxes behind all others, each with the nodes that lead to it.
    pub(super) fn add_last(&mut self, cards: Vec<(Card, BTreeSet<usize>)>) {
        let column = self.columns.len();
        for (card, from) in cards {
            let node = self.add(card);
            self.put(node, column);
            for from in from {
                self.connect(from, node);
            }
        }
    }

    /// Gives lines over several columns a place in each, so that no box is in their way.
    pub(super) fn split_long_edges(&mut self) {
        for from in 0..self.nodes.len() {
            let outputs = self.nodes.get_mut(from).map(|node| std::mem::take(&mut node.outputs)).unwrap_or_default();
            for to in outputs {
                let (start, end) = (self.column(from), self.column(to));
                if let Some(node) = self.nodes.get_mut(to) {
                    node.inputs.retain(|input| *input != from);
                }
                let mut last = from;
                for column in start + 1..end {
                    self.nodes.push(Node::default());
                    let passing = self.nodes.len() - 1;
                    self.put(passing, column);
                    self.connect(last, passing);
                    last = passing;
                }
                self.connect(last, to);
            }
        }
    }

    /// The boxes.
    pub(super) fn cards(&self) -> impl Iterator<Item = (usize, &Card)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| Some((index, node.card.as_ref()?)))
    }

    /// The lines, each from left to right.
    pub(super) fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        self.nodes.iter().enumerate().flat_map(|(from, node)| node.outputs.iter().map(move |to| (from, *to)))
    }
}
