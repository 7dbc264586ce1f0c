//! Entries of boot menus, with the byte ranges that they were read from.

use std::ops::{Range, RangeInclusive};

use super::change::{Slot, Word};
use super::error::NotEditable;
use crate::kernel_arguments::KernelArguments;

/// An entry of a boot menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootEntry {
    /// What the menu shows; empty for GRUB's commands outside any menu entry.
    pub title: String,
    /// What the configuration calls it: SYSLINUX's label, GRUB's `--id`.
    pub id: Option<String>,
    /// Whether it is not in the menu, but a command line that SYSLINUX boots by default: `DEFAULT` or `ONTIMEOUT` with a
    /// kernel instead of a label.
    pub implicit: bool,
    /// Its lines, counted from 1.
    pub lines: RangeInclusive<usize>,
    /// What it boots.
    pub boots: Boots,
    /// The path, as written, of the EFI program or of the kernel without an initrd, if it starts one.
    pub program: Option<String>,
    /// The options of an entry of systemd-boot for an EFI program, as written; empty for all others.
    pub options: String,
    /// The device that it loads kernel and initrds from, such as GRUB's `(loop)`, if that is certainly not the medium.
    pub device: Option<String>,
}

impl BootEntry {
    /// An entry of the menu, which loads its files from the medium.
    pub(super) fn new(
        title: String,
        id: Option<String>,
        lines: RangeInclusive<usize>,
        boots: Boots,
        program: Option<String>,
    ) -> Self {
        Self { title, id, implicit: false, lines, boots, program, options: String::new(), device: None }
    }
}

/// What an entry boots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Boots {
    /// A kernel with an initrd.
    Linux(LinuxBoot),
    /// Something that dayone cannot change, with the reason.
    Other(NotEditable),
}

/// A Linux kernel with its initrds and arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinuxBoot {
    /// The kernel's path, as written; see [`super::BootConfig::resolve`].
    pub kernel: String,
    /// The initrds' paths, as written; see [`Self::alternatives`].
    pub initrds: Vec<String>,
    /// The kernel's arguments, without the loader's own `initrd=`. GRUB's quotes are removed, its variables are kept.
    pub arguments: KernelArguments,
    pub(super) spans: Spans,
}

/// The places of the parts of a [`LinuxBoot`] in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spans {
    /// The arguments, in the order of [`LinuxBoot::arguments`].
    pub(super) words: Vec<Word>,
    pub(super) argument_slot: Slot,
    /// One for each of [`LinuxBoot::alternatives`].
    pub(super) initrd_lists: Vec<InitrdList>,
    pub(super) inherited: Option<Inherited>,
}

/// Where one of [`LinuxBoot::alternatives`] stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InitrdList {
    /// How many initrds it has.
    pub(super) count: usize,
    /// The place for another one.
    pub(super) slot: Slot,
}

/// Arguments that an entry shares with others. dayone changes them in a copy for this entry alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inherited {
    /// The shared text.
    pub(super) from: Range<usize>,
    /// Where to insert the copy.
    pub(super) to: usize,
    /// The text before the copy.
    pub(super) before: String,
}

impl LinuxBoot {
    /// The initrds that the kernel gets: one list, unless a script of GRUB decides which of several it loads. GRUB's command
    /// `initrd` replaces what an earlier one has loaded.
    pub fn alternatives(&self) -> impl Iterator<Item = &[String]> {
        let mut rest = self.initrds.as_slice();
        self.spans.initrd_lists.iter().map_while(move |InitrdList { count, .. }| {
            let (list, behind) = rest.split_at_checked(*count)?;
            rest = behind;
            Some(list)
        })
    }
}

impl Boots {
    pub(super) fn linux(kernel: String, initrds: Vec<String>, spans: Spans) -> Self {
        if initrds.is_empty() {
            return Self::Other(NotEditable::NoInitrd);
        }
        let texts: Vec<&str> = spans.words.iter().map(|word| word.text.as_str()).collect();
        match texts.join(" ").parse::<KernelArguments>() {
            Ok(arguments) if arguments.iter().eq(texts) => Self::Linux(LinuxBoot { kernel, initrds, arguments, spans }),
            Ok(_) => Self::Other(NotEditable::Quotes),
            Err(error) => Self::Other(NotEditable::Arguments(error)),
        }
    }
}
