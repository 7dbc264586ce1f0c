//! Reads boot loader configurations, and changes the arguments and initrds of the entries that boot Linux.
//!
//! Each entry knows which bytes it was read from, so everything that does not change stays the same byte by byte: line ends,
//! tabs, comments, quotes. The readers skip what they do not understand.
//!
//! [`discover`] finds the configurations of a medium, and [`Edits::apply_to`] changes them.

mod change;
mod discover;
mod edit;
mod entry;
mod error;
mod grub;
mod length;
mod path;
mod syslinux;
mod systemd_boot;
#[cfg(test)]
mod tests;
mod text;

pub use discover::{FileSystem, Found, MAX_CONFIG_SIZE, MAX_CONFIGS, discover};
pub use edit::{Edited, Edits, Selection, Skipped};
pub use entry::{BootEntry, Boots, LinuxBoot};
pub use error::{BootConfigError, NotEditable};
pub use length::CommandLineTooLong;
pub(crate) use length::{MAX_COMMAND_LINE, check_length};
pub use path::BootPath;
use std::borrow::Cow;
use std::collections::BTreeSet;

use grub::Variables;

/// The largest number of entries that dayone reads from a configuration.
const MAX_ENTRIES: usize = 1024;

/// The largest number of configurations that dayone looks for because one configuration names them. A menu module of SYSLINUX takes every
/// word behind it for a name, and looking for a name takes as long as the directory is large.
const MAX_INCLUDES: usize = 1024;

/// The boot loader that reads a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Loader {
    /// ISOLINUX, SYSLINUX, PXELINUX and EXTLINUX: `isolinux.cfg`, `pxelinux.cfg/default`.
    Syslinux,
    /// GRUB 2: `grub.cfg`.
    Grub,
    /// systemd-boot and other readers of type 1 entries of the Boot Loader Specification: `loader/entries/*.conf`.
    SystemdBoot,
}

named_variants!(Loader {
    Syslinux => "SYSLINUX",
    Grub => "GRUB",
    SystemdBoot => "systemd-boot",
});

impl Loader {
    /// An argument as the configuration must write it.
    fn written(self, argument: &str) -> Cow<'_, str> {
        match self {
            Self::Grub => grub::written(argument),
            Self::Syslinux | Self::SystemdBoot => argument.into(),
        }
    }

    /// A written argument as the reader must return it.
    fn read_back(self, argument: &str) -> String {
        match self {
            Self::Grub => grub::understood(argument),
            Self::Syslinux | Self::SystemdBoot => argument.to_owned(),
        }
    }
}

/// What a reader finds in a text.
#[derive(Default)]
struct Parsed {
    entries: Vec<BootEntry>,
    includes: Vec<Include>,
    variables: Variables,
    default: DefaultEntry,
}

/// A configuration that another one includes or continues with.
#[derive(Debug, Clone, Default)]
struct Include {
    /// Its path, as written.
    path: String,
    /// The working directory that SYSLINUX changes to, as written.
    directory: Option<String>,
    /// The number of the menu for which the loader leaves the configuration, which has labels and a default of its own: SYSLINUX's `CONFIG`
    /// and menu modules. What a module shows together has one number.
    menu: Option<usize>,
    /// Whether GRUB reads it before it shows the menu, whatever conditions decide.
    certain: bool,
}

/// What a configuration says about its default entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefaultEntry {
    /// The value as written: SYSLINUX's `DEFAULT`, GRUB's variable `default`.
    pub written: Option<String>,
    /// The SYSLINUX label that has `MENU DEFAULT`.
    pub marked: Option<String>,
    /// What SYSLINUX boots at the end of its time limit: `ONTIMEOUT`, a label or a kernel.
    pub after_timeout: Option<String>,
    /// Whether SYSLINUX shows a menu, whose default is the first label if no other is.
    pub shows_menu: bool,
    /// Whether all entries of GRUB's menu are known, so that they can be counted: none of them is in a submenu or depends on a
    /// condition.
    pub is_countable: bool,
    /// The key by which systemd-boot sorts the entry.
    pub sort_key: Option<String>,
}

/// A configuration file: its text and its entries.
#[derive(Clone)]
pub struct BootConfig {
    loader: Loader,
    text: Vec<u8>,
    entries: Vec<BootEntry>,
    includes: Vec<Include>,
    variables: Variables,
    default: DefaultEntry,
    /// The labels of the other configurations that it is read with.
    labels: BTreeSet<String>,
}

impl BootConfig {
    /// Reads a configuration. It skips what it does not understand, so it accepts any bytes.
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
        let Parsed { mut entries, mut includes, variables, default } = parsed;
        includes.truncate(MAX_INCLUDES);
        let is_label = |entry: &BootEntry| entry.id.as_ref().is_some_and(|id| labels.contains(id));
        entries.retain(|entry| !(entry.implicit && is_label(entry)));
        Self { loader, text, entries, includes, variables, default, labels }
    }

    /// The boot loader that reads it.
    pub fn loader(&self) -> Loader {
        self.loader
    }

    /// The text, unchanged.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The menu's entries, in order. A GRUB entry with several kernels occurs once for each of them.
    pub fn entries(&self) -> &[BootEntry] {
        &self.entries
    }

    /// SYSLINUX's labels.
    fn labels(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|entry| !entry.implicit).filter_map(|entry| entry.id.as_deref())
    }

    /// Reads the configuration again, now together with others that have these labels.
    fn set_labels(&mut self, labels: &BTreeSet<String>) {
        if self.entries.iter().any(|entry| entry.implicit) {
            *self = Self::parse_with(self.loader, std::mem::take(&mut self.text), labels.clone());
        }
    }

    /// What it says about the default entry.
    pub fn default_entry(&self) -> &DefaultEntry {
        &self.default
    }

    /// The paths of the configurations that this one includes or continues with, as written.
    pub fn includes(&self) -> impl Iterator<Item = &str> {
        self.includes.iter().map(|include| include.path.as_str())
    }

    /// Turns the path of an included configuration into an absolute path, in whose last part `*` is for what only the running
    /// loader knows. None if other parts depend on that, too.
    fn resolve_pattern(&self, written: &str, directory: &str) -> Option<String> {
        match self.loader {
            Loader::Grub => self.variables.resolve_pattern(written, directory),
            Loader::Syslinux | Loader::SystemdBoot => self.resolve(written, directory),
        }
    }

    /// Turns a path in this configuration into an absolute path on its file system.
    ///
    /// `directory` is the loader's working directory: that of the first configuration that it reads. The result is `None` if
    /// the path depends on something that only the running loader knows. It has no device, such as GRUB's `($root)`. The
    /// caller must know whether the file system ignores case.
    pub fn resolve(&self, written: &str, directory: &str) -> Option<String> {
        match self.loader {
            Loader::Syslinux => path::resolve_syslinux(written, directory),
            Loader::Grub => self.variables.resolve(written, directory),
            Loader::SystemdBoot => path::absolute(&written.replace('\\', "/")),
        }
    }
}

debug_only!(BootConfig { loader, entries, includes });
