//! Boot loaders' configurations: which entries boot Linux, and their arguments and initrds changed.
//!
//! A configuration is read into entries that know which bytes they were read from, so that what is not changed stays as
//! it is, byte by byte: line ends, tabs, comments, quotes. What is not understood is left alone.
//!
//! [`discover`] finds the configurations of a medium, [`Edits::apply_to`] changes them.

mod change;
mod discover;
mod edit;
mod entry;
mod error;
mod grub;
mod path;
mod syslinux;
mod systemd_boot;
#[cfg(test)]
mod tests;
mod text;

pub use discover::{Found, MAX_CONFIG_SIZE, MAX_CONFIGS, discover};
pub use edit::{Edited, Edits, Selection, Skipped};
pub use entry::{BootEntry, Boots, LinuxBoot};
pub use error::{BootConfigError, NotEditable};
pub use path::BootPath;
use std::borrow::Cow;
use std::collections::BTreeSet;

use grub::Variables;

/// No menu that people choose from has more entries; the rest of such a configuration is not read.
const MAX_ENTRIES: usize = 1024;

/// Who reads a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Loader {
    /// ISOLINUX, SYSLINUX, PXELINUX and EXTLINUX: `isolinux.cfg`, `pxelinux.cfg/default`.
    Syslinux,
    /// GRUB 2: `grub.cfg`.
    Grub,
    /// systemd-boot and all that reads Boot Loader Specification type 1 entries: `loader/entries/*.conf`.
    SystemdBoot,
}

named_variants!(Loader {
    Syslinux => "SYSLINUX",
    Grub => "GRUB",
    SystemdBoot => "systemd-boot",
});

impl Loader {
    /// An argument as it is written into a configuration.
    fn written(self, argument: &str) -> Cow<'_, str> {
        match self {
            Self::Grub => grub::written(argument),
            Self::Syslinux | Self::SystemdBoot => argument.into(),
        }
    }

    /// An argument as it must be read back, once it is written.
    fn read_back(self, argument: &str) -> String {
        match self {
            Self::Grub => grub::understood(argument),
            Self::Syslinux | Self::SystemdBoot => argument.to_owned(),
        }
    }
}

/// What a loader's reader makes of a text.
#[derive(Default)]
struct Parsed {
    entries: Vec<BootEntry>,
    includes: Vec<String>,
    variables: Variables,
    default: DefaultEntry,
}

/// What a configuration says of the entry that is booted when nobody chooses one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefaultEntry {
    /// As it is written: SYSLINUX's `DEFAULT`, GRUB's variable `default`.
    pub written: Option<String>,
    /// The label of SYSLINUX's that has `MENU DEFAULT`.
    pub marked: Option<String>,
    /// What systemd-boot sorts the entry by.
    pub sort_key: Option<String>,
}

/// One configuration file: its text, and what was understood of it.
#[derive(Clone)]
pub struct BootConfig {
    loader: Loader,
    text: Vec<u8>,
    entries: Vec<BootEntry>,
    includes: Vec<String>,
    variables: Variables,
    default: DefaultEntry,
    /// The labels of the other configurations that it is read with.
    labels: BTreeSet<String>,
}

impl BootConfig {
    /// Reads a configuration. Every text is one: what is not understood is skipped, and need not be UTF-8.
    pub fn parse(loader: Loader, text: Vec<u8>) -> Self {
        Self::parse_with(loader, text, BTreeSet::new())
    }

    /// Reads a configuration that is read together with others, which have these labels.
    fn parse_with(loader: Loader, text: Vec<u8>, labels: BTreeSet<String>) -> Self {
        let parsed = match loader {
            Loader::Syslinux => syslinux::parse(&text),
            Loader::Grub => grub::parse(&text),
            Loader::SystemdBoot => systemd_boot::parse(&text),
        };
        let Parsed { mut entries, includes, variables, default } = parsed;
        let is_label = |entry: &BootEntry| entry.id.as_ref().is_some_and(|id| labels.contains(id));
        entries.retain(|entry| !(entry.implicit && is_label(entry)));
        Self { loader, text, entries, includes, variables, default, labels }
    }

    /// Who reads it.
    pub fn loader(&self) -> Loader {
        self.loader
    }

    /// The text, as it was given.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The menu's entries, in order. A GRUB entry that loads one kernel or another stands here once for each.
    pub fn entries(&self) -> &[BootEntry] {
        &self.entries
    }

    /// SYSLINUX's labels.
    fn labels(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|entry| !entry.implicit).filter_map(|entry| entry.id.as_deref())
    }

    /// Reads it again as one that is read together with others, which have these labels.
    fn know_labels(&mut self, labels: &BTreeSet<String>) {
        if self.entries.iter().any(|entry| entry.implicit) {
            *self = Self::parse_with(self.loader, std::mem::take(&mut self.text), labels.clone());
        }
    }

    /// What it says of the entry that is booted when nobody chooses one.
    pub fn default_entry(&self) -> &DefaultEntry {
        &self.default
    }

    /// The configurations that this one includes or goes on to, as it writes them.
    pub fn includes(&self) -> &[String] {
        &self.includes
    }

    /// A path that this configuration writes, as a path from the root of the file system that it means.
    ///
    /// `directory` is the one that the loader works in: that of the first configuration it reads. `None` where the path
    /// depends on what only the loader will know. A device, such as GRUB's `($root)`, is left out, and the file system's
    /// own rules about upper and lower case are the caller's.
    pub fn resolve(&self, written: &str, directory: &str) -> Option<String> {
        match self.loader {
            Loader::Syslinux => path::resolve_syslinux(written, directory),
            Loader::Grub => self.variables.resolve(written, directory),
            Loader::SystemdBoot => path::absolute(&written.replace('\\', "/")),
        }
    }
}

debug_only!(BootConfig { loader, entries, includes });
