//! The order of boxes in their columns: what belongs together stands together, and few lines cross.

use std::collections::VecDeque;

use super::graph::Graph;

/// How often the columns are gone through, there and back.
const ROUNDS: usize = 6;

/// Puts every column into its order.
pub(super) fn order(graph: &mut Graph) {
    let parts = parts(graph);
    let part = |node: usize| parts.get(node).copied().unwrap_or_default();
    let mut columns = std::mem::take(&mut graph.columns);
    let mut places = vec![0_i64; graph.nodes.len()];
    for column in &mut columns {
        column.sort_by_key(|node| part(*node));
        note(column, &mut places);
    }
    for _ in 0..ROUNDS {
        for column in columns.iter_mut().skip(1) {
            column.sort_by_cached_key(|node| (part(*node), mean(&places, inputs(graph, *node), *node)));
            note(column, &mut places);
        }
        for column in columns.iter_mut().rev().skip(1) {
            column.sort_by_cached_key(|node| (part(*node), mean(&places, outputs(graph, *node), *node)));
            note(column, &mut places);
        }
    }
    graph.columns = columns;
}

fn inputs(graph: &Graph, node: usize) -> &[usize] {
    graph.nodes.get(node).map(|node| node.inputs.as_slice()).unwrap_or_default()
}

fn outputs(graph: &Graph, node: usize) -> &[usize] {
    graph.nodes.get(node).map(|node| node.outputs.as_slice()).unwrap_or_default()
}

/// Notes where in a column its nodes stand, in thousandths, so that means can be told apart.
fn note(column: &[usize], places: &mut [i64]) {
    for (place, node) in (0_i64..).zip(column) {
        if let Some(there) = places.get_mut(*node) {
            *there = place * 1000;
        }
    }
}

/// The mean of others' places; without others, the own place.
fn mean(places: &[i64], others: &[usize], own: usize) -> i64 {
    let place = |node: usize| places.get(node).copied().unwrap_or_default();
    match i64::try_from(others.len()) {
        Ok(count) if count > 0 => others.iter().map(|other| place(*other)).sum::<i64>() / count,
        _ => place(own),
    }
}

/// Which connected part each node is in. Parts are numbered in the order of their first nodes.
pub(super) fn parts(graph: &Graph) -> Vec<usize> {
    let mut parts = vec![usize::MAX; graph.nodes.len()];
    let mut next = 0;
    for start in 0..graph.nodes.len() {
        if parts.get(start).is_none_or(|part| *part != usize::MAX) {
            continue;
        }
        let mut waiting = VecDeque::from([start]);
        while let Some(node) = waiting.pop_front() {
            match parts.get_mut(node) {
                Some(part) if *part == usize::MAX => *part = next,
                _ => continue,
            }
            waiting.extend(inputs(graph, node).iter().chain(outputs(graph, node)));
        }
        next += 1;
    }
    parts
}
