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
    /// The device that it loads kernel and initrds from, such as GRUB's `(loop)`, if that is certainly not the medium.
    pub device: Option<String>,
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
    /// The initrds' paths, as written.
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
    /// Several if a script decides which initrds to load.
    pub(super) initrd_slots: Vec<Slot>,
    pub(super) inherited: Option<Inherited>,
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
