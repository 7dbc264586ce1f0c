//! From commands to what the menu entries boot.

use std::ops::RangeInclusive;

use super::argument::passed_on;
use super::device::Loopbacks;
use super::lexer::ScriptWord;
use super::script::{Event, events};
use crate::boot_config::change::{Slot, Word};
use crate::boot_config::entry::{BootEntry, Boots, InitrdList, Spans};
use crate::boot_config::error::NotEditable;
use crate::boot_config::text::lossy;
use crate::boot_config::{DefaultEntry, Include, MAX_ENTRIES, Parsed};

/// More initrds than anyone loads; those behind are not seen.
const MAX_INITRDS: usize = 64;

/// Commands that read a configuration of GRUB. Without an argument, `normal` reads the one that GRUB reads first anyway.
const INCLUDES: [&str; 6] =
    ["source", ".", "configfile", "normal", "extract_entries_source", "extract_entries_configfile"];

/// Commands that load a kernel, and initrds.
const LINUX: [&str; 3] = ["linux", "linuxefi", "linux16"];
const INITRD: [&str; 3] = ["initrd", "initrdefi", "initrd16"];

/// Commands that load other systems, Linux by way of a hypervisor, or the entries of another loader's configuration.
const OTHER_COMMANDS: [&str; 14] = [
    "multiboot",
    "multiboot2",
    "xen_hypervisor",
    "knetbsd",
    "kopenbsd",
    "kfreebsd",
    "xnu_kernel",
    "xnu_kernel64",
    "plan9",
    "ntldr",
    "syslinux_source",
    "syslinux_configfile",
    "legacy_source",
    "legacy_configfile",
];

/// What the commands of one menu entry do, or those outside any entry, before it is clear how many kernels they load.
struct EntryDraft {
    place: Place,
    title: String,
    id: Option<String>,
    lines: RangeInclusive<usize>,
    steps: Vec<Step>,
    /// What it hands over to.
    program: Option<String>,
    /// Its command among [`OTHER_COMMANDS`].
    command: Option<&'static str>,
    /// The device that it has chosen, where that is certainly not the medium.
    device: Option<String>,
}

impl EntryDraft {
    fn new(place: Place, title: String, id: Option<String>, lines: RangeInclusive<usize>) -> Self {
        Self { place, title, id, lines, steps: Vec::new(), program: None, command: None, device: None }
    }

    /// Notes what a command of it does besides loading a kernel.
    fn note(&mut self, words: &[ScriptWord], loopbacks: &Loopbacks) {
        let [command, rest @ ..] = words else { return };
        let assignment = if command.value == "set" { rest.first().unwrap_or(command) } else { command };
        if let Some(device) = assignment.value.strip_prefix("root=") {
            let name = device.trim_start_matches('(').trim_end_matches(')');
            self.device = loopbacks.foreign(&format!("({name})"));
        } else if command.value == "chainloader" {
            let path = rest.iter().map(|word| word.value.as_str()).find(|word| !word.starts_with('-'));
            // `+1` and the like are the first sectors of a disk.
            self.program = path.filter(|path| path.contains('/') && !path.contains('+')).map(str::to_owned);
        } else if let Some(known) = OTHER_COMMANDS.iter().find(|known| **known == command.value) {
            self.command = Some(known);
        }
    }
}

/// Where commands stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    MenuEntry,
    OutsideEntries,
}

/// A command that loads something.
enum Step {
    Kernel { path: String, words: Vec<Word>, slot: Slot, line: usize, device: Option<String> },
    Initrd { paths: Vec<String>, slot: Slot, device: Option<String> },
}

impl Step {
    /// Sets the device that it loads from, where that is certainly not the medium: its own, or the one chosen before.
    fn with_device(mut self, chosen: Option<&String>, loopbacks: &Loopbacks) -> Self {
        let of = |path: &str| if path.starts_with('(') { loopbacks.foreign(path) } else { chosen.cloned() };
        match &mut self {
            Self::Kernel { path, device, .. } => *device = of(path),
            Self::Initrd { paths, device, .. } => *device = paths.iter().find_map(|path| of(path)),
        }
        self
    }
}

pub(in super::super) fn parse(text: &[u8]) -> Parsed {
    let line_ends: Vec<usize> = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    let line_of = |at: usize| line_ends.partition_point(|end| *end < at) + 1;
    let mut parsed =
        Parsed { default: DefaultEntry { is_countable: true, ..DefaultEntry::default() }, ..Parsed::default() };
    // Commands outside any menu entry come first.
    let mut loopbacks = Loopbacks::default();
    let mut drafts = vec![EntryDraft::new(Place::OutsideEntries, String::new(), None, 1..=1)];
    for event in events(text) {
        match event {
            Event::Submenu => parsed.default.is_countable = false,
            Event::Menu { header, end, certain } => {
                parsed.default.is_countable &= certain;
                let (title, id) = title_and_id(&header);
                let first = header.first().map_or(0, |word| word.span.start);
                drafts.push(EntryDraft::new(Place::MenuEntry, title, id, line_of(first)..=line_of(end)));
            }
            Event::Command { words, menu, certain } => {
                parsed.variables.note(&words, certain);
                loopbacks.note(words.iter().map(|word| word.value.as_str()));
                match words.as_slice() {
                    [command, path, ..] if INCLUDES.contains(&command.value.as_str()) => {
                        let certain = certain && menu.is_none();
                        parsed.includes.push(Include { path: path.value.clone(), certain, ..Include::default() });
                    }
                    // What a loop goes through may be configurations that it includes.
                    [command, _, _, list @ ..] if command.value == "for" => {
                        let paths = list.iter().filter(|word| word.value.to_ascii_lowercase().ends_with(".cfg"));
                        let paths = paths.map(|word| word.value.clone());
                        parsed.includes.extend(paths.map(|path| Include { path, ..Include::default() }));
                    }
                    [command, rest @ ..] => {
                        let step = step(text, command, rest, line_of(command.span.start));
                        let draft = drafts.get_mut(menu.map_or(0, |index| index + 1));
                        if let Some(draft) = draft {
                            draft.note(&words, &loopbacks);
                            draft.steps.extend(step.map(|step| step.with_device(draft.device.as_ref(), &loopbacks)));
                        }
                    }
                    [] => {}
                }
            }
        }
    }
    for draft in drafts {
        push_entries(draft, &mut parsed.entries);
    }
    parsed.entries.truncate(MAX_ENTRIES);
    parsed.default.written = parsed.variables.assigned("default").map(str::to_owned);
    parsed
}

fn title_and_id(header: &[ScriptWord]) -> (String, Option<String>) {
    let (mut title, mut id) = (None, None);
    let mut words = header.iter().skip(1).map(|word| word.value.as_str());
    while let Some(word) = words.next() {
        match word {
            // The variable is how scripts name the option where old GRUB does not know it.
            "--id" | "$menuentry_id_option" | "${menuentry_id_option}" => id = words.next(),
            "--class" | "--users" | "--hotkey" | "--source" => drop(words.next()),
            _ if word.starts_with("--id=") => id = word.strip_prefix("--id="),
            _ if word.starts_with("--") => {}
            _ if title.is_none() => title = Some(word),
            _ => {}
        }
    }
    (title.unwrap_or_default().to_owned(), id.map(str::to_owned))
}

fn step(text: &[u8], command: &ScriptWord, rest: &[ScriptWord], line: usize) -> Option<Step> {
    if is_command(&command.value, &LINUX) {
        let options = rest.iter().take_while(|word| word.value.starts_with("--")).count();
        let (path, arguments) = rest.get(options..)?.split_first()?;
        let mut end = path.span.end;
        let mut words = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let cut = end..argument.span.end;
            end = argument.span.end;
            // GRUB gives an empty word to the kernel as a space.
            if !argument.value.is_empty() {
                let text = passed_on(&argument.value);
                words.push(Word { span: argument.span.clone(), cut, text });
            }
        }
        let slot = Slot::among(&words).unwrap_or_else(|| Slot::behind(end, " "));
        Some(Step::Kernel { path: path.value.clone(), words, slot, line, device: None })
    } else if is_command(&command.value, &INITRD) {
        let last = rest.last()?;
        let paths = rest.iter().take(MAX_INITRDS).map(|word| word.value.clone()).collect();
        // What is loaded besides comes from the same device.
        let written = lossy(text, &last.span);
        let device = match written.split_once(')') {
            Some((device, _)) if written.starts_with('(') => format!("{device})"),
            _ => String::new(),
        };
        let slot = Slot::behind(last.span.end, format!(" {device}"));
        Some(Step::Initrd { paths, slot, device: None })
    } else {
        None
    }
}

/// Whether a command is one of these. Scripts hold the command for the firmware in a variable: `$linux` of kiwi, `$linux_cmd` of Clonezilla,
/// or a part of it: `linux$efi`.
fn is_command(written: &str, commands: &[&str; 3]) -> bool {
    let [name, ..] = *commands;
    let variable = written.strip_prefix('$').map(|rest| rest.trim_start_matches('{').to_ascii_lowercase());
    let has_variable = written.strip_prefix(name).is_some_and(|rest| rest.starts_with('$'));
    commands.contains(&written) || has_variable || variable.is_some_and(|variable| variable.starts_with(name))
}

/// Adds the entries of one menu entry: one for each kernel.
///
/// A kernel's initrds are those loaded behind it and before the next kernel. If there are none, both kernels stand in the
/// branches of a condition, and the initrds behind it are for both.
fn push_entries(draft: EntryDraft, entries: &mut Vec<BootEntry>) {
    let EntryDraft { place, title, id, lines, steps, program, command, .. } = draft;
    if place == Place::MenuEntry && !steps.iter().any(|step| matches!(step, Step::Kernel { .. })) {
        let boots = Boots::Other(command.map_or(NotEditable::NoKernel, NotEditable::Command));
        entries.push(BootEntry::new(title, id, lines, boots, program));
        return;
    }
    // From the last command to the first, so that the initrds are known when their kernel comes.
    let (mut initrds, mut initrd_lists): (Vec<String>, Vec<InitrdList>) = Default::default();
    let mut initrd_device: Option<String> = None;
    let mut after_kernel = false;
    let first = entries.len();
    for step in steps.into_iter().rev() {
        match step {
            Step::Initrd { paths, slot, device } => {
                if std::mem::take(&mut after_kernel) {
                    initrds.clear();
                    initrd_lists.clear();
                    initrd_device = None;
                }
                initrd_device = device.or(initrd_device);
                if initrd_lists.len() < MAX_INITRDS {
                    initrd_lists.insert(0, InitrdList { count: paths.len(), slot });
                    initrds.splice(0..0, paths);
                }
            }
            Step::Kernel { path, words, slot, line, device } => {
                after_kernel = true;
                let initrd_lists = initrd_lists.clone();
                let spans = Spans { words, argument_slot: slot, initrd_lists, inherited: None };
                let lines = match place {
                    Place::MenuEntry => lines.clone(),
                    Place::OutsideEntries => line..=line,
                };
                let boots = Boots::linux(path.clone(), initrds.clone(), spans);
                let device = device.or_else(|| initrd_device.clone());
                let program = Some(path).filter(|_| matches!(boots, Boots::Other(_)));
                let entry = BootEntry::new(title.clone(), id.clone(), lines, boots, program);
                entries.push(BootEntry { device, ..entry });
            }
        }
    }
    if let Some(found) = entries.get_mut(first..) {
        found.reverse();
    }
}
