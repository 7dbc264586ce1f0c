//! Layouts in the making: who comes first has the bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{BETWEEN, BootRole, LaidFile, Layout, OTHERS};
use crate::iso::BLOCK;

/// A layout in the making.
pub(super) struct Builder {
    size: u64,
    files: Vec<LaidFile>,
    /// Ends and files of the ranges that are taken, by where they begin.
    taken: BTreeMap<u64, (u64, usize)>,
}

impl Builder {
    pub(super) fn new(size: u64) -> Self {
        Self { size, files: Vec::new(), taken: BTreeMap::new() }
    }

    /// A file that lies at these ranges. Where another one has the bytes already, they stay its own: of two names for
    /// one file the first one counts.
    pub(super) fn file(&mut self, name: &str, role: Option<BootRole>, ranges: impl IntoIterator<Item = Range<u64>>) {
        self.add(LaidFile { name: name.to_owned(), is_file: true, role, size: 0 }, ranges);
    }

    /// Bytes that are not of a file.
    pub(super) fn structure(&mut self, name: &str, ranges: impl IntoIterator<Item = Range<u64>>) {
        self.add(LaidFile { name: name.to_owned(), is_file: false, role: None, size: 0 }, ranges);
    }

    fn add(&mut self, mut file: LaidFile, ranges: impl IntoIterator<Item = Range<u64>>) {
        let index = self.files.len();
        let mut first = None;
        for range in ranges {
            first.get_or_insert(range.start);
            file.size += self.take(range, index);
        }
        if file.size > 0 {
            self.files.push(file);
        } else if let Some(owner) = first.and_then(|first| self.owner(first)) {
            owner.role = owner.role.or(file.role);
        }
    }

    /// Gives a file what is free of a range, and says how much that is.
    fn take(&mut self, range: Range<u64>, index: usize) -> u64 {
        let (mut position, end) = (range.start, range.end.min(self.size));
        let before = self.taken.range(..=position).next_back();
        position = before.map_or(position, |(_, (end, _))| position.max(*end));
        let mut free = Vec::new();
        for (start, (taken_end, _)) in self.taken.range(position..end.max(position)) {
            free.push(position..*start);
            position = *taken_end;
        }
        free.push(position..end);
        free.retain(|range| !range.is_empty());
        self.taken.extend(free.iter().map(|range| (range.start, (range.end, index))));
        free.iter().map(|range| range.end - range.start).sum()
    }

    fn owner(&mut self, offset: u64) -> Option<&mut LaidFile> {
        let (_, (end, index)) = self.taken.range(..=offset).next_back()?;
        if offset < *end { self.files.get_mut(*index) } else { None }
    }

    /// All of it. What nobody has is between files.
    pub(super) fn finish(self) -> Layout {
        let Self { size, mut files, taken } = self;
        let between = files.len();
        let (mut parts, mut position, mut gaps) = (Vec::with_capacity(taken.len()), 0, 0);
        for (start, (end, index)) in taken.into_iter().chain([(size, (size, between))]) {
            if start > position {
                push(&mut parts, position..start, between);
                gaps += start - position;
            }
            if end > start {
                push(&mut parts, start..end, index);
            }
            position = end;
        }
        if gaps > 0 {
            files.push(LaidFile { name: BETWEEN.to_owned(), is_file: false, role: None, size: gaps });
        }
        Layout { files, parts }
    }
}

fn push(parts: &mut Vec<(Range<u64>, usize)>, range: Range<u64>, index: usize) {
    match parts.last_mut().filter(|(last, known)| *known == index && last.end == range.start) {
        Some((last, _)) => last.end = range.end,
        None => parts.push((range, index)),
    }
}

/// Tells no more than `most` files apart.
pub(super) fn reduce(layout: Layout, most: usize) -> Layout {
    let Layout { files, parts } = layout;
    if files.len() <= most {
        return Layout { files, parts };
    }
    let mut order: Vec<usize> = (0..files.len()).collect();
    let rank = |index: &usize| files.get(*index).map(|file| (file.role.is_none(), file.is_file, u64::MAX - file.size));
    order.sort_by_key(rank);
    // One is for all the others.
    order.truncate(most.saturating_sub(1));
    order.sort_unstable();
    let mut kept: Vec<LaidFile> = order.iter().filter_map(|index| files.get(*index)).cloned().collect();
    let others = kept.len();
    let place = |index: usize| order.binary_search(&index).unwrap_or(others);
    let is_gap = |(range, index): &(Range<u64>, usize)| {
        range.end - range.start < BLOCK && files.get(*index).is_some_and(|file| file.name == BETWEEN)
    };
    let mut reduced = Vec::new();
    let mut rest = parts.iter().peekable();
    let mut last = None;
    while let Some(part) = rest.next() {
        // What fills up the last block of a file that is not told apart from its neighbours is not either.
        let next = rest.peek().map(|(_, index)| place(*index));
        let fills = is_gap(part) && last == Some(others) && next == Some(others);
        let index = if fills { others } else { place(part.1) };
        push(&mut reduced, part.0.clone(), index);
        last = Some(index);
    }
    kept.push(LaidFile { name: OTHERS.to_owned(), is_file: true, role: None, size: 0 });
    for file in &mut kept {
        file.size = 0;
    }
    for (range, index) in &reduced {
        if let Some(file) = kept.get_mut(*index) {
            file.size += range.end - range.start;
        }
    }
    Layout { files: kept, parts: reduced }
}
