//! A menu's entry: what it boots, and where in the text that stands.

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
    /// Whether it is no entry of the menu, but a command line that SYSLINUX boots when nobody chooses one: `DEFAULT` or
    /// `ONTIMEOUT` with a kernel in place of a label.
    pub implicit: bool,
    /// The lines it takes, counted from 1.
    pub lines: RangeInclusive<usize>,
    /// What it boots.
    pub boots: Boots,
    /// The path, as written, of the program that it starts where that is not a Linux kernel with an initrd: an EFI
    /// program, or a kernel without an initrd.
    pub program: Option<String>,
    /// The device, such as GRUB's `(loop)`, that it loads kernel and initrds from, where that is certainly not the medium.
    pub device: Option<String>,
}

/// What an entry boots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Boots {
    /// A kernel with an initrd.
    Linux(LinuxBoot),
    /// Something that has no arguments or no initrd to be changed.
    Other(NotEditable),
}

/// A Linux kernel with its initrds and arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinuxBoot {
    /// The kernel's path, as written; see [`super::BootConfig::resolve`].
    pub kernel: String,
    /// The initrds' paths, as written.
    pub initrds: Vec<String>,
    /// What the kernel is given, without the loader's own `initrd=`. GRUB's quotes are taken off and its variables kept.
    pub arguments: KernelArguments,
    pub(super) places: Places,
}

/// Where the parts of a [`LinuxBoot`] stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    /// The arguments, one for one.
    pub(super) words: Vec<Word>,
    pub(super) argument_slot: Slot,
    /// More than one where a script decides which initrds are loaded.
    pub(super) initrd_slots: Vec<Slot>,
    pub(super) inherited: Option<Inherited>,
}

/// Arguments that an entry shares with others: they are changed in a copy that it alone has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inherited {
    /// What is shared.
    pub(super) from: Range<usize>,
    /// Where the copy goes.
    pub(super) to: usize,
    /// What stands before the copy.
    pub(super) before: String,
}

impl Boots {
    pub(super) fn linux(kernel: String, initrds: Vec<String>, places: Places) -> Self {
        if initrds.is_empty() {
            return Self::Other(NotEditable::NoInitrd);
        }
        let texts: Vec<&str> = places.words.iter().map(|word| word.text.as_str()).collect();
        match texts.join(" ").parse::<KernelArguments>() {
            Ok(arguments) if arguments.iter().eq(texts) => {
                Self::Linux(LinuxBoot { kernel, initrds, arguments, places })
            }
            Ok(_) => Self::Other(NotEditable::Quotes),
            Err(error) => Self::Other(NotEditable::Arguments(error)),
        }
    }
}
