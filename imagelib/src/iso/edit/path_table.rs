//! Path tables (ECMA-119 §9.4): all directories of a tree by level, each with the number of its parent.

use std::collections::VecDeque;

use super::names::compare;
use crate::iso::record::Naming;

/// The byte order of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// A directory that a table does not name yet. Blocks are where directories begin now.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) parent: u32,
    pub(super) block: u32,
    pub(super) name: Vec<u8>,
}

#[derive(Debug)]
struct Row {
    block: u32,
    attributes: u8,
    name: Vec<u8>,
    children: Vec<usize>,
}

/// A table after directories have moved, from one block to another, and others have been added, parents before what
/// they hold. None, if the table does not fit them.
pub(super) fn rewrite(
    table: &[u8],
    order: Order,
    names: Naming,
    moved: &[(u32, u32)],
    added: &[Added],
) -> Option<Vec<u8>> {
    let mut rows = parse(table, order)?;
    for row in &mut rows {
        if let Some((_, to)) = moved.iter().find(|(from, _)| *from == row.block) {
            row.block = *to;
        }
    }
    for Added { parent, block, name } in added {
        let new = rows.len();
        let parent = rows.iter().position(|row| row.block == *parent)?;
        let children = &rows.get(parent)?.children;
        let later = |child: &usize| rows.get(*child).is_some_and(|row| compare(names, &row.name, name).is_gt());
        let at = children.iter().position(later).unwrap_or(children.len());
        rows.get_mut(parent)?.children.insert(at, new);
        rows.push(Row { block: *block, attributes: 0, name: name.clone(), children: Vec::new() });
    }
    print(&rows, order)
}

fn parse(mut table: &[u8], order: Order) -> Option<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    while let [length, attributes, b0, b1, b2, b3, p0, p1, rest @ ..] = table {
        let length = usize::from(*length);
        let (block, parent) = match order {
            Order::Little => (u32::from_le_bytes([*b0, *b1, *b2, *b3]), u16::from_le_bytes([*p0, *p1])),
            Order::Big => (u32::from_be_bytes([*b0, *b1, *b2, *b3]), u16::from_be_bytes([*p0, *p1])),
        };
        let name = rest.get(..length).filter(|name| !name.is_empty())?.to_vec();
        let index = rows.len();
        // Numbers begin at one, and the root is its own parent.
        if index > 0 {
            rows.get_mut(usize::from(parent).checked_sub(1)?)?.children.push(index);
        }
        rows.push(Row { block, attributes: *attributes, name, children: Vec::new() });
        table = rest.get(length + length % 2..)?;
    }
    table.is_empty().then_some(rows)
}

fn print(rows: &[Row], order: Order) -> Option<Vec<u8>> {
    let mut table = Vec::new();
    let mut open = VecDeque::from([(0_usize, 1_u16)]);
    let mut number = 0_u16;
    while let Some((index, parent)) = open.pop_front() {
        let row = rows.get(index)?;
        number = number.checked_add(1)?;
        table.extend([u8::try_from(row.name.len()).ok()?, row.attributes]);
        match order {
            Order::Little => {
                table.extend(row.block.to_le_bytes());
                table.extend(parent.to_le_bytes());
            }
            Order::Big => {
                table.extend(row.block.to_be_bytes());
                table.extend(parent.to_be_bytes());
            }
        }
        table.extend(&row.name);
        if row.name.len() % 2 == 1 {
            table.push(0);
        }
        open.extend(row.children.iter().map(|child| (*child, number)));
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(block: u32, parent: u16, name: &[u8]) -> Vec<u8> {
        let mut row = vec![u8::try_from(name.len()).unwrap(), 0];
        row.extend(block.to_le_bytes());
        row.extend(parent.to_le_bytes());
        row.extend(name);
        row.resize(row.len().next_multiple_of(2), 0);
        row
    }

    #[test]
    fn new_directories_renumber_those_behind_them() {
        let table = [row(20, 1, &[0]), row(21, 1, b"B"), row(22, 1, b"D"), row(23, 2, b"X"), row(24, 3, b"Y")].concat();
        let same = rewrite(&table, Order::Little, Naming::Iso, &[], &[]).unwrap();
        assert_eq!(same, table);
        let added = |parent, block, name: &[u8]| Added { parent, block, name: name.to_vec() };
        let new = [added(20, 30, b"C"), added(30, 31, b"Z"), added(99, 32, b"A")];
        let rewritten = rewrite(&table, Order::Little, Naming::Iso, &[(21, 99)], &new).unwrap();
        let expected = [
            row(20, 1, &[0]),
            row(99, 1, b"B"),
            row(30, 1, b"C"),
            row(22, 1, b"D"),
            row(32, 2, b"A"),
            row(23, 2, b"X"),
            row(31, 3, b"Z"),
            row(24, 4, b"Y"),
        ];
        assert_eq!(rewritten, expected.concat());
        assert_eq!(rewrite(&table, Order::Little, Naming::Iso, &[], &[added(77, 30, b"C")]), None);
        assert_eq!(rewrite(&table[..table.len() - 3], Order::Little, Naming::Iso, &[], &[]), None);
    }
}
