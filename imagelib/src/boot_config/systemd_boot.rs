//! Type 1 entries of the Boot Loader Specification, as systemd-boot reads them (`src/boot/boot.c`).

use std::ops::Range;

use super::change::{Slot, kernel_words};
use super::entry::{BootEntry, Boots, InitrdList, Spans};
use super::error::NotEditable;
use super::text::{Directive, first_word, line_end, lines, lossy, slice};
use super::{DefaultEntry, Parsed};

/// One file is one entry; its id is the file's name.
pub(super) fn parse(text: &[u8]) -> Parsed {
    let (mut title, mut linux, mut efi) = (String::new(), None, None);
    let (mut options, mut initrds) = (Vec::new(), Vec::new());
    let mut sort_key = None;
    let mut last_line = 1;
    for line in lines(text) {
        let (key, value) = first_word(text, line.span.clone());
        let value = unquoted(text, value);
        if key.is_empty() || value.is_empty() {
            continue;
        }
        last_line = line.number;
        match slice(text, &key) {
            b"title" => title = lossy(text, &value),
            b"linux" => {
                efi = None;
                linux = Some(Directive { line, key, value });
            }
            b"efi" | b"uki" | b"uki-url" => efi = Some(lossy(text, &value)),
            b"options" => options.push(Directive { line, key, value }),
            b"sort-key" => sort_key = Some(lossy(text, &value)),
            b"initrd" => initrds.push(Directive { line, key, value }),
            _ => {}
        }
    }
    let kernel = linux.as_ref().map(|linux| lossy(text, &linux.value));
    let boots = match linux {
        _ if efi.is_some() => Boots::Other(NotEditable::EfiProgram),
        Some(linux) => boots(text, &linux, &options, &initrds),
        None => return Parsed::default(),
    };
    let program = efi.or_else(|| kernel.filter(|_| matches!(boots, Boots::Other(_))));
    let written: Vec<String> = options.iter().map(|line| lossy(text, &line.value)).collect();
    let options =
        if matches!(boots, Boots::Other(NotEditable::EfiProgram)) { written.join(" ") } else { String::new() };
    let entry = BootEntry { options, ..BootEntry::new(title, None, 1..=last_line, boots, program) };
    let default = DefaultEntry { sort_key, ..DefaultEntry::default() };
    Parsed { entries: vec![entry], default, ..Parsed::default() }
}

fn boots(text: &[u8], linux: &Directive, options: &[Directive], initrds: &[Directive]) -> Boots {
    let words: Vec<_> = options.iter().flat_map(|line| kernel_words(text, line.value.clone())).collect();
    let argument_slot = Slot::among(&words).unwrap_or_else(|| {
        let end = linux.line.span.end;
        Slot::line(end, format!("{}options{}", line_end(text, end), gap(text, linux)))
    });
    let initrd_slot = initrds.last().map(|last| {
        let end = last.line.span.end;
        Slot::behind(end, format!("{}initrd{}", line_end(text, end), gap(text, last)))
    });
    let initrd_lists = initrd_slot.map(|slot| InitrdList { count: initrds.len(), slot }).into_iter().collect();
    let spans = Spans { words, argument_slot, initrd_lists, inherited: None };
    let initrds = initrds.iter().map(|line| lossy(text, &line.value)).collect();
    Boots::linux(lossy(text, &linux.value), initrds, spans)
}

/// The white space between key and value.
fn gap(text: &[u8], setting: &Directive) -> String {
    let between = slice(text, &(setting.key.end..setting.value.start));
    String::from_utf8_lossy(between).chars().filter(|c| *c == ' ' || *c == '\t').collect()
}

/// A value in double quotes is what stands between them.
fn unquoted(text: &[u8], value: Range<usize>) -> Range<usize> {
    match slice(text, &value) {
        [b'"', .., b'"'] => value.start + 1..value.end - 1,
        _ => value,
    }
}
