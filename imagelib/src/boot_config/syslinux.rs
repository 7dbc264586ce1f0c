//! SYSLINUX and its siblings, as `com32/menu/readconfig.c` and `doc/syslinux.txt`, `doc/menu.txt` of SYSLINUX 6 have it.

use std::ops::Range;

use super::change::{Slot, Word, kernel_words};
use super::entry::{BootEntry, Boots, Inherited, InitrdList, Spans};
use super::error::NotEditable;
use super::text::{Directive, Line, first_word, line_end, lines, lossy, slice};
use super::{Include, MAX_ENTRIES, Parsed};

/// The maximum length of a line, in bytes. SYSLINUX cuts longer lines off.
const MAX_LINE_BYTES: usize = 4095;

const INITRD: &str = "initrd=";

/// Modules that load Linux or a hypervisor by their own arguments.
const LOADERS: [&str; 2] = ["linux.c32", "mboot.c32"];

/// Modules that show a menu, whose default is the first label unless the configuration says otherwise.
const MENUS: [&str; 3] = ["menu.c32", "vesamenu.c32", "gfxboot.c32"];

/// Those of them whose arguments are configurations, which they show in place of the one that starts them.
const MENUS_OF_FILES: [&str; 2] = ["menu.c32", "vesamenu.c32"];

/// What `KERNEL` takes for another kind of file, by its name.
const NOT_LINUX: [&str; 9] = [".c32", ".0", ".bin", ".bs", ".bss", ".com", ".cbt", ".img", ".efi"];

#[derive(Default)]
struct Label {
    name: String,
    title: Option<String>,
    first_line: usize,
    last_line: usize,
    kernel: Option<Directive>,
    append: Option<Directive>,
    initrd: Option<Range<usize>>,
    /// What follows `CONFIG`.
    config: Option<Range<usize>>,
    /// What follows the module of [`MENUS_OF_FILES`] that it starts.
    menu: Option<Range<usize>>,
    /// The path of what is no Linux kernel.
    program: Option<String>,
    /// The module of [`LOADERS`] that it starts.
    loader: Option<&'static str>,
}

/// Command lines outside the labels. Of each, the last one counts.
#[derive(Default)]
struct CommandLines {
    /// `DEFAULT`.
    default: Option<Directive>,
    /// `ONTIMEOUT`.
    timeout: Option<Directive>,
}

/// What a command line may do.
struct Allowed {
    /// Name a kernel in place of a label: `IMPLICIT`.
    kernels: bool,
    /// Give a kernel arguments: `ALLOWOPTIONS`.
    arguments: bool,
}

struct Reader<'a> {
    text: &'a [u8],
    in_help: bool,
    /// The value of an `APPEND` outside any label: what labels without their own have.
    default_append: Option<Range<usize>>,
    label: Option<Label>,
    command_lines: CommandLines,
    /// Whether `UI` shows a menu.
    has_menu: bool,
    allowed: Allowed,
    parsed: Parsed,
}

pub(super) fn parse(text: &[u8]) -> Parsed {
    let mut reader = Reader {
        text,
        in_help: false,
        default_append: None,
        label: None,
        command_lines: CommandLines::default(),
        has_menu: false,
        allowed: Allowed { kernels: true, arguments: true },
        parsed: Parsed::default(),
    };
    for line in lines(text) {
        reader.read(&line);
    }
    reader.end_label();
    reader.end_command_lines();
    reader.parsed
}

impl Reader<'_> {
    fn read(&mut self, line: &Line) {
        let (key, value) = first_word(self.text, line.span.clone());
        let keyword = lossy(self.text, &key).to_ascii_lowercase();
        if self.in_help {
            self.in_help = keyword != "endtext";
            return;
        }
        match keyword.as_str() {
            "text" => self.in_help = true,
            "label" => {
                self.end_label();
                let name = lossy(self.text, &value);
                self.label = Some(Label { name, first_line: line.number, ..Label::default() });
            }
            "menu" => self.read_menu(value),
            "include" => self.include(value),
            "config" if self.label.is_none() => self.config(value, None),
            "ui" => {
                self.has_menu |= one_of(&MENUS, &lossy(self.text, &first_word(self.text, value.clone()).0)).is_some();
                self.show(files_of_menu(self.text, value));
            }
            "default" => self.command_lines.default = Some(Directive { line: line.clone(), key, value }),
            "ontimeout" => self.command_lines.timeout = Some(Directive { line: line.clone(), key, value }),
            "implicit" => self.allowed.kernels = slice(self.text, &value) != b"0",
            "allowoptions" => self.allowed.arguments = slice(self.text, &value) != b"0",
            _ => self.read_setting(&keyword, Directive { line: line.clone(), key, value }),
        }
        if let Some(label) = self.label.as_mut().filter(|_| !keyword.is_empty() && !keyword.starts_with('#')) {
            label.last_line = line.number;
        }
    }

    fn read_menu(&mut self, rest: Range<usize>) {
        let (key, value) = first_word(self.text, rest);
        match lossy(self.text, &key).to_ascii_lowercase().as_str() {
            "begin" | "end" => self.end_label(),
            "include" => self.include(value),
            "default" => {
                if let Some(label) = &self.label {
                    self.parsed.default.marked = Some(label.name.clone());
                }
            }
            // The letter behind a caret is the entry's key.
            "label" => {
                let title = lossy(self.text, &value).replace('^', "");
                if let Some(label) = &mut self.label {
                    label.title = Some(title);
                }
            }
            _ => {}
        }
    }

    fn read_setting(&mut self, keyword: &str, directive: Directive) {
        let Some(label) = &mut self.label else {
            if keyword == "append" {
                self.default_append = Some(directive.value);
            }
            return;
        };
        match keyword {
            "append" => label.append = Some(directive),
            "initrd" => label.initrd = Some(directive.value),
            "linux" => label.kernel = Some(directive),
            "kernel" => {
                let name = lossy(self.text, &first_word(self.text, directive.value.clone()).0);
                label.menu = files_of_menu(self.text, directive.value.clone());
                label.kernel = Some(directive).filter(|_| is_linux(&name));
                label.loader = one_of(&LOADERS, &name);
                label.program = Some(name).filter(|_| label.kernel.is_none());
            }
            "com32" => {
                label.kernel = None;
                label.menu = files_of_menu(self.text, directive.value.clone());
                label.loader = one_of(&LOADERS, &lossy(self.text, &first_word(self.text, directive.value).0));
            }
            "boot" | "bss" | "pxe" | "fdimage" | "comboot" | "localboot" => label.kernel = None,
            "efi" => {
                label.program = Some(lossy(self.text, &first_word(self.text, directive.value).0));
                label.kernel = None;
            }
            "config" => {
                label.kernel = None;
                label.config = Some(directive.value);
            }
            _ => {}
        }
    }

    fn include(&mut self, value: Range<usize>) {
        let path = lossy(self.text, &first_word(self.text, value).0);
        self.parsed.includes.push(Include { path, ..Include::default() });
    }

    /// The command line of `CONFIG` is the working directory that SYSLINUX changes to.
    fn config(&mut self, value: Range<usize>, append: Option<Range<usize>>) {
        let (path, rest) = first_word(self.text, value);
        let word = |range| lossy(self.text, &first_word(self.text, range).0);
        let mut words = std::iter::once(rest).chain(append).map(word);
        let directory = words.find(|word| !word.is_empty() && word != "-");
        let path = lossy(self.text, &path);
        let menu = Some(self.parsed.includes.len());
        self.parsed.includes.push(Include { path, directory, menu, ..Include::default() });
    }

    /// Adds the configurations that a menu module shows in one menu, from what follows it. `~` is the one that SYSLINUX reads first, which is
    /// known.
    fn show(&mut self, files: impl IntoIterator<Item = Range<usize>>) {
        let menu = Some(self.parsed.includes.len());
        for mut rest in files {
            loop {
                let (word, behind) = first_word(self.text, rest);
                let path = lossy(self.text, &word);
                match path.as_str() {
                    "" => break,
                    "~" | "-" => {}
                    _ => self.parsed.includes.push(Include { path, menu, ..Include::default() }),
                }
                rest = behind;
            }
        }
    }

    fn end_label(&mut self) {
        let Some(label) = self.label.take() else { return };
        if let Some(files) = label.menu.clone() {
            self.show([Some(files), label.append.as_ref().map(|own| own.value.clone())].into_iter().flatten());
        }
        if let Some(config) = label.config.clone() {
            self.config(config, label.append.as_ref().map(|own| own.value.clone()));
        }
        if self.parsed.entries.len() < MAX_ENTRIES {
            let boots = match &label.kernel {
                Some(kernel) if !kernel.value.is_empty() => self.linux(&label, kernel),
                _ => Boots::Other(label.loader.map_or(NotEditable::NoKernel, NotEditable::Command)),
            };
            let title = label.title.filter(|title| !title.is_empty()).unwrap_or_else(|| label.name.clone());
            let lines = label.first_line..=label.last_line;
            let kernel = label.kernel.map(|kernel| lossy(self.text, &first_word(self.text, kernel.value).0));
            let program = kernel.or(label.program).filter(|_| matches!(boots, Boots::Other(_)));
            self.parsed.entries.push(BootEntry::new(title, Some(label.name), lines, boots, program));
        }
    }

    /// A command line whose first word is no label names a kernel.
    ///
    /// An `APPEND` outside any label belongs to it in SYSLINUX 4 and before, and does not in 5 and 6: these begin with
    /// the arguments of the command line alone. What is added to the command line holds in all of them.
    fn end_command_lines(&mut self) {
        let CommandLines { default, timeout } = std::mem::take(&mut self.command_lines);
        let named = |line: &Directive| lossy(self.text, &first_word(self.text, line.value.clone()).0);
        let written = default.as_ref().map(named);
        self.parsed.default.shows_menu =
            self.has_menu || written.as_ref().is_some_and(|written| one_of(&MENUS, written).is_some());
        self.parsed.default.written = written;
        self.parsed.default.after_timeout = timeout.as_ref().map(named);
        for command_line in [default, timeout].into_iter().flatten() {
            let (path, mut rest) = first_word(self.text, command_line.value.clone());
            let kernel = lossy(self.text, &path);
            self.show(files_of_menu(self.text, command_line.value.clone()));
            let mut labels = self.parsed.entries.iter().filter(|entry| !entry.implicit);
            let is_label = labels.any(|entry| entry.id.as_ref() == Some(&kernel));
            if path.is_empty() || !self.allowed.kernels || is_label || !is_linux(&kernel) {
                continue;
            }
            if !self.allowed.arguments {
                rest = path.end..path.end;
            }
            let boots = self.implicit(kernel.clone(), path, rest);
            let program = Some(kernel.clone()).filter(|_| matches!(boots, Boots::Other(_)));
            let lines = command_line.line.number..=command_line.line.number;
            let entry = BootEntry::new(kernel.clone(), Some(kernel), lines, boots, program);
            self.parsed.entries.push(BootEntry { implicit: true, ..entry });
        }
    }

    fn implicit(&self, kernel: String, path: Range<usize>, rest: Range<usize>) -> Boots {
        let mut words = kernel_words(self.text, rest);
        if let Some(first) = words.first_mut() {
            first.cut = path.end..first.span.end;
        }
        let end = words.last().map_or(path.end, |last| last.span.end);
        let argument_slot = Slot::among(&words).unwrap_or_else(|| Slot::behind(path.end, " "));
        let own = words.iter().rfind(|word| word.text.starts_with(INITRD)).map(initrd_of);
        let shared = || {
            let appended = kernel_words(self.text, self.default_append.clone()?);
            appended.iter().rfind(|word| word.text.starts_with(INITRD)).map(initrd_of)
        };
        let (list, initrd_slot) = if let Some(own) = own {
            (lossy(self.text, &own), Slot::behind(own.end, ","))
        } else {
            let list = shared().map(|shared| lossy(self.text, &shared)).unwrap_or_default();
            let before = format!(" {INITRD}{list},");
            (list, Slot { at: end..end, before, between: ",".to_owned(), after: "" })
        };
        words.retain(|word| !word.text.starts_with(INITRD));
        let initrds = paths(&list);
        let initrd_lists = vec![InitrdList { count: initrds.len(), slot: initrd_slot }];
        Boots::linux(kernel, initrds, Spans { words, argument_slot, initrd_lists, inherited: None })
    }

    /// SYSLINUX's command line is what stands behind the kernel, and then what is appended; the last `initrd=` in it
    /// counts more than the directive `INITRD`.
    fn linux(&self, label: &Label, kernel: &Directive) -> Boots {
        let text = self.text;
        let (path, rest) = first_word(text, kernel.value.clone());
        let mut words = kernel_words(text, rest);
        if let Some(first) = words.first_mut() {
            first.cut = path.end..first.span.end;
        }
        let default = self.default_append.as_ref().filter(|value| value.len() <= MAX_LINE_BYTES);
        let append = label.append.as_ref().map_or(default, |own| Some(&own.value));
        let appended: Vec<Word> = match append {
            Some(value) if slice(text, value) != b"-" => kernel_words(text, value.clone()),
            _ => Vec::new(),
        };
        let inherits = label.append.is_none() && !appended.is_empty();
        let new_line = self.new_append(kernel);
        let first_slot = match &label.append {
            None => Slot::line(kernel.line.span.end, new_line.clone()),
            Some(own) if own.value.is_empty() => Slot::behind(own.key.end, " "),
            Some(own) => Slot { at: own.value.clone(), ..Slot::line(own.value.end, String::new()) },
        };
        let separated = words.iter().any(Word::is_separator);
        let use_first = appended.is_empty() && !separated;
        words.extend(appended);
        let argument_slot = Slot::among(&words).filter(|_| !use_first).unwrap_or(first_slot);

        let initrd = words.iter().rfind(|word| word.text.starts_with(INITRD));
        let initrd = initrd.map(initrd_of).or_else(|| label.initrd.clone()).unwrap_or_default();
        let initrds = paths(&lossy(text, &initrd));
        words.retain(|word| !word.text.starts_with(INITRD));

        let inherited = append.filter(|_| inherits).map(|from| Inherited {
            from: from.clone(),
            to: kernel.line.span.end,
            before: new_line,
        });
        let initrd_lists = vec![InitrdList { count: initrds.len(), slot: Slot::behind(initrd.end, ",") }];
        Boots::linux(lossy(text, &path), initrds, Spans { words, argument_slot, initrd_lists, inherited })
    }

    /// What begins a line `APPEND` behind the line `KERNEL`, in its style.
    fn new_append(&self, kernel: &Directive) -> String {
        let line_end = line_end(self.text, kernel.line.span.end);
        let indent = lossy(self.text, &(kernel.line.span.start..kernel.key.start));
        let upper = slice(self.text, &kernel.key).iter().all(u8::is_ascii_uppercase);
        format!("{line_end}{indent}{} ", if upper { "APPEND" } else { "append" })
    }
}

/// Whether a file of this name is taken for a kernel.
fn is_linux(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !NOT_LINUX.iter().any(|suffix| name.ends_with(suffix))
}

/// The module of these that a path names.
fn one_of(modules: &[&'static str], path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or_default();
    modules.iter().copied().find(|module| module.eq_ignore_ascii_case(name))
}

/// What follows the module, if this is one of [`MENUS_OF_FILES`].
fn files_of_menu(text: &[u8], value: Range<usize>) -> Option<Range<usize>> {
    let (module, files) = first_word(text, value);
    one_of(&MENUS_OF_FILES, &lossy(text, &module)).map(|_| files)
}

/// What follows `initrd=`.
fn initrd_of(word: &Word) -> Range<usize> {
    word.span.start + INITRD.len()..word.span.end
}

fn paths(list: &str) -> Vec<String> {
    list.split(',').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}
