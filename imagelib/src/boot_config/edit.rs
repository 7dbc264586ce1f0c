//! Changes to configurations, which are read again to make sure that they have the intended effect.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use super::change::{Change, apply};
use super::entry::{BootEntry, Boots, LinuxBoot};
use super::error::{BootConfigError, NotEditable};
use super::length::check_length;
use super::{BootConfig, BootPath, Loader};
use crate::kernel_arguments::{KernelArgument, KernelArgumentEdits, KernelArgumentError, KernelArguments};

/// The entries to change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Selection {
    /// All entries that boot Linux with an initrd.
    #[default]
    All,
    /// The entries with these titles or ids.
    Titles(BTreeSet<String>),
}

impl Selection {
    /// The entries with these titles or ids; all entries if there are none.
    pub fn of(titles: &BTreeSet<String>) -> Self {
        if titles.is_empty() { Self::All } else { Self::Titles(titles.clone()) }
    }

    /// Whether the selection contains an entry.
    pub fn has(&self, entry: &BootEntry) -> bool {
        match self {
            Self::All => true,
            Self::Titles(titles) => {
                titles.contains(&entry.title) || entry.id.as_ref().is_some_and(|id| titles.contains(id))
            }
        }
    }
}

/// Changes to the configurations of one medium.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits {
    /// The entries to change.
    pub selection: Selection,
    /// Changes to their kernel arguments. An argument to delete or replace must be in at least one entry.
    pub arguments: KernelArgumentEdits,
    /// Arguments to append to each of them that has none of the same key after these changes.
    pub missing: Vec<KernelArgument>,
    /// Initrds to load in addition to those that the entries already load.
    pub initrds: Vec<BootPath>,
}

/// The changed configurations.
#[derive(Clone, PartialEq, Eq)]
pub struct Edited {
    /// The new text of each configuration, in the given order; `None` if it does not change.
    pub texts: Vec<Option<Vec<u8>>>,
    /// The selected entries that dayone cannot change.
    pub skipped: Vec<Skipped>,
}

impl fmt::Debug for Edited {
    /// Without the texts: arguments may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths: Vec<Option<usize>> = self.texts.iter().map(|text| text.as_ref().map(Vec::len)).collect();
        f.debug_struct("Edited").field("lengths", &lengths).field("skipped", &self.skipped).finish()
    }
}

/// A selected entry that dayone cannot change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its title.
    pub title: String,
    /// Why.
    pub reason: NotEditable,
}

impl Edits {
    /// Changes the configurations of one medium. On an error, none of them changes.
    pub fn apply_to(&self, configs: &[&BootConfig]) -> Result<Edited, BootConfigError> {
        let skipped = self.skipped(configs)?;
        let mut found: Vec<Result<(), KernelArgumentError>> = Vec::new();
        let texts = configs.iter().map(|config| self.edited(config, &mut found)).collect::<Result<_, _>>()?;
        found.into_iter().collect::<Result<(), _>>()?;
        Ok(Edited { texts, skipped })
    }

    /// The kernel arguments of a selected entry after the changes.
    pub fn changed(&self, arguments: &KernelArguments) -> KernelArguments {
        self.edited_arguments(arguments, &mut Vec::new())
    }

    /// The selected entries that cannot be changed. An error if a selected entry does not exist, or none can be changed.
    fn skipped(&self, configs: &[&BootConfig]) -> Result<Vec<Skipped>, BootConfigError> {
        let entries = || configs.iter().flat_map(|config| config.entries());
        let available = || {
            let titles: BTreeSet<String> = entries().map(|entry| format!("{:?}", entry.title)).collect();
            if titles.is_empty() { "none".to_owned() } else { titles.into_iter().collect::<Vec<_>>().join(", ") }
        };
        let is_linux = |entry: &&BootEntry| matches!(entry.boots, Boots::Linux(_));
        let skipped: Vec<Skipped> = entries()
            .filter(|entry| self.selection.has(entry))
            .filter_map(|entry| match &entry.boots {
                Boots::Linux(_) => None,
                Boots::Other(reason) => Some(Skipped { title: entry.title.clone(), reason: reason.clone() }),
            })
            .collect();
        if let Selection::Titles(titles) = &self.selection {
            for wanted in titles {
                let one = Selection::Titles(BTreeSet::from([wanted.clone()]));
                let mut named = entries().filter(|entry| one.has(entry)).peekable();
                match named.peek().map(|entry| entry.boots.clone()) {
                    None => {
                        return Err(BootConfigError::UnknownTitle { wanted: wanted.clone(), available: available() });
                    }
                    Some(Boots::Other(reason)) if !named.any(|entry| is_linux(&entry)) => {
                        return Err(BootConfigError::NotEditable { title: wanted.clone(), reason });
                    }
                    Some(_) => {}
                }
            }
        }
        let target = entries().filter(is_linux).find(|entry| self.selection.has(entry));
        if target.is_none() && !(self.arguments.is_empty() && self.missing.is_empty() && self.initrds.is_empty()) {
            return Err(BootConfigError::NothingToEdit(available()));
        }
        Ok(skipped)
    }

    fn edited(
        &self,
        config: &BootConfig,
        found: &mut Vec<Result<(), KernelArgumentError>>,
    ) -> Result<Option<Vec<u8>>, BootConfigError> {
        let mut changes = Vec::new();
        let mut expected = Vec::with_capacity(config.entries.len());
        for entry in &config.entries {
            let Boots::Linux(linux) = &entry.boots else { continue };
            let mut wanted = Wanted { initrds: &linux.initrds, ..Wanted::default() };
            if self.selection.has(entry) {
                wanted.new_initrds = self.new_initrds(config, linux);
                let arguments = self.edited_arguments(&linux.arguments, found);
                let own = self.changes(config.loader, linux, &arguments, &mut wanted);
                if !own.is_empty() {
                    check_command_line(config, entry, linux, &wanted)?;
                }
                changes.extend(copied(&config.text, linux, own));
            } else {
                wanted.arguments = linux.arguments.iter().map(Cow::Borrowed).collect();
            }
            expected.push(wanted);
        }
        if changes.is_empty() {
            return Ok(None);
        }
        let text = apply(&config.text, 0..config.text.len(), changes);
        let edited = BootConfig::parse_with(config.loader, text, config.labels.clone());
        check_reading(&edited, &expected, config.entries.len())?;
        Ok(Some(edited.text))
    }

    /// Applies the changes. Unlike in [`KernelArgumentEdits::apply_to`], an argument that this entry lacks may be in another one.
    fn edited_arguments(
        &self,
        arguments: &KernelArguments,
        found: &mut Vec<Result<(), KernelArgumentError>>,
    ) -> KernelArguments {
        let mut edited = arguments.clone();
        let mut results: Vec<_> = self.arguments.delete.iter().map(|argument| edited.delete(argument)).collect();
        self.arguments.append.iter().for_each(|argument| edited.append(argument));
        results.extend(self.arguments.replace.iter().map(|replacement| edited.replace(replacement)));
        edited.append_missing(&self.missing);
        if found.is_empty() {
            *found = results;
        } else {
            for (found, result) in found.iter_mut().zip(results) {
                if found.is_err() {
                    *found = result;
                }
            }
        }
        edited
    }

    fn new_initrds<'a>(&'a self, config: &BootConfig, linux: &LinuxBoot) -> Vec<&'a str> {
        let known: Vec<Option<String>> = linux.initrds.iter().map(|written| config.resolve(written, "/")).collect();
        let is_new = |path: &&BootPath| !known.iter().flatten().any(|known| known == path.as_str());
        self.initrds.iter().filter(is_new).map(BootPath::as_str).collect()
    }

    fn changes<'a>(
        &self,
        loader: Loader,
        linux: &'a LinuxBoot,
        edited: &KernelArguments,
        wanted: &mut Wanted<'a>,
    ) -> Vec<Change> {
        let spans = &linux.spans;
        let mut changes = Vec::new();
        // Initrds come first, because SYSLINUX's `initrd=` may be at the same place as the new arguments.
        if !wanted.new_initrds.is_empty() {
            changes.extend(spans.initrd_lists.iter().map(|list| list.slot.filled(&wanted.new_initrds)));
        }
        let mut after = edited.iter();
        let mut separator = None;
        for word in &spans.words {
            if word.is_separator() {
                separator.get_or_insert(wanted.arguments.len());
            }
            if self.arguments.delete.iter().any(|deleted| deleted.trim() == word.text) {
                changes.push(word.deleted());
                continue;
            }
            match after.next() {
                Some(argument) if argument != word.text => {
                    changes.push(word.replaced(&loader.written(argument)));
                    wanted.arguments.push(loader.read_back(argument).into());
                }
                _ => wanted.arguments.push(Cow::Borrowed(&word.text)),
            }
        }
        let appended: Vec<&str> = after.collect();
        if !appended.is_empty() {
            let written: Vec<_> = appended.iter().map(|argument| loader.written(argument)).collect();
            changes.push(spans.argument_slot.filled(&written));
            let read_back = appended.iter().map(|argument| loader.read_back(argument).into());
            let at = separator.unwrap_or(wanted.arguments.len());
            wanted.arguments.splice(at..at, read_back);
        }
        changes
    }
}

/// What an entry should contain after the change.
#[derive(Default)]
struct Wanted<'a> {
    initrds: &'a [String],
    new_initrds: Vec<&'a str>,
    arguments: Vec<Cow<'a, str>>,
}

/// Turns changes to text that the entry shares with others into a changed copy for this entry alone.
fn copied(text: &[u8], linux: &LinuxBoot, changes: Vec<Change>) -> Vec<Change> {
    let Some(inherited) = &linux.spans.inherited else { return changes };
    let from = &inherited.from;
    let (shared, mut own): (Vec<Change>, Vec<Change>) =
        changes.into_iter().partition(|change| from.start <= change.span.start && change.span.end <= from.end);
    if !shared.is_empty() {
        let text = [inherited.before.as_bytes(), &apply(text, from.clone(), shared)].concat();
        own.push(Change { span: inherited.to..inherited.to, text });
    }
    own
}

/// Fails if the kernel would not get the command line of a changed entry as a whole.
fn check_command_line(
    config: &BootConfig,
    entry: &BootEntry,
    linux: &LinuxBoot,
    wanted: &Wanted<'_>,
) -> Result<(), BootConfigError> {
    let initrds: Vec<&str> =
        wanted.initrds.iter().map(String::as_str).chain(wanted.new_initrds.iter().copied()).collect();
    let arguments: Vec<&str> = wanted.arguments.iter().map(AsRef::as_ref).collect();
    let added = config.added_length(&linux.kernel, &initrds, &arguments);
    check_length(added, &arguments).map_err(|reason| BootConfigError::TooLong { title: entry.title.clone(), reason })
}

/// Checks that the changed configuration reads as intended. Otherwise a mistake would show up only on a host that does not
/// boot.
fn check_reading(edited: &BootConfig, expected: &[Wanted<'_>], entries: usize) -> Result<(), BootConfigError> {
    let mut found = edited.entries.iter().filter_map(|entry| match &entry.boots {
        Boots::Linux(linux) => Some(linux),
        Boots::Other(_) => None,
    });
    let differs = |key: &str| BootConfigError::NotPassedOn { key: key.to_owned(), loader: edited.loader };
    for wanted in expected {
        let Some(linux) = found.next() else { return Err(differs("initrd")) };
        let mut arguments = linux.arguments.iter();
        if let Some(lost) = wanted.arguments.iter().find(|wanted| arguments.next() != Some(wanted.as_ref())) {
            return Err(differs(&lost.split('=').next().unwrap_or_default().chars().take(64).collect::<String>()));
        }
        let is_new = |written: &String| {
            edited.resolve(written, "/").is_some_and(|path| wanted.new_initrds.contains(&path.as_str()))
        };
        let (new, old): (Vec<&String>, Vec<&String>) = linux.initrds.iter().partition(|written| is_new(written));
        if arguments.next().is_some() || !old.into_iter().eq(wanted.initrds) || new.len() < wanted.new_initrds.len() {
            return Err(differs("initrd"));
        }
    }
    // An entry that is not to change may have become a part of another one.
    if edited.entries.len() == entries { Ok(()) } else { Err(differs("initrd")) }
}
