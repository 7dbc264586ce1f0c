//! The configuration of NetworkManager in an initramfs (`NetworkManager.conf(5)`).

use std::collections::{BTreeMap, BTreeSet};

use super::settings::settings;
use super::wanted::Wanted;
use super::{directories, shown, text};
use crate::ignition::Additions;
use crate::initramfs::{FileIn, Tree};
use vocabulary::network_files::{KEYFILES, NO_AUTO_DEFAULT};

const SUFFIX: &str = ".conf";
/// The values by which a setting is off.
const OFF: [&str; 4] = ["0", "false", "no", "off"];

/// A setting, and the last file that changes it. dayone's own file has no path.
struct Setting<'t> {
    value: String,
    file: FileIn<'t>,
}

/// All settings in effect, by section and key.
type Settings<'t> = BTreeMap<(String, String), Setting<'t>>;

/// The settings of the tree with which dayone's files may have no effect, and the files that dayone did not read.
pub(super) fn of(tree: &Tree, additions: Option<&Additions>) -> Vec<String> {
    let no_auto_default = additions.is_some_and(|additions| additions.no_auto_default);
    let mut found = Vec::new();
    let mut effective = Settings::new();
    for file in files(tree, no_auto_default) {
        match text(&file) {
            Some(text) => read(&text, &file, &mut effective),
            None => found.push(shown(&file, "dayone did not read it")),
        }
    }
    let wanted = Wanted::of(additions);
    for ((section, key), Setting { value, file }) in &effective {
        let device = effective.get(&(section.clone(), "match-device".to_owned()));
        let may_be_for_device = || device.is_none_or(|setting| wanted.may_be_in(&setting.value));
        let defeats = match (section.as_str(), key.as_str()) {
            ("keyfile", "unmanaged-devices") => wanted.may_be_in(value),
            ("keyfile", "path") => !value.is_empty() && value.trim_end_matches('/') != KEYFILES,
            ("main", "plugins") => lists(value, "ifupdown") && ifupdown_names_nics(tree),
            ("main", "no-auto-default") => no_auto_default && !lists(value, "*"),
            ("main", "dns") => value == "none" && wanted.has_name_servers(),
            (section, "managed") if section.starts_with("device") => {
                OFF.contains(&value.as_str()) && may_be_for_device()
            }
            (section, "servers") => section.starts_with("global-dns-domain-") && !value.is_empty(),
            _ => false,
        };
        if defeats {
            found.push(shown(file, &format!("[{section}] {key}={value}")));
        }
    }
    found
}

/// The files in the order in which NetworkManager reads them, with dayone's own if it is delivered. Of files with the same name, it reads
/// the one in `etc`, or else the one in `run`.
fn files(tree: &Tree, with_own: bool) -> Vec<FileIn<'_>> {
    let (own_name, own_content) = NO_AUTO_DEFAULT;
    let mut known = BTreeSet::new();
    let mut groups = Vec::new();
    for directory in directories(tree, "NetworkManager/conf.d") {
        let mut files = tree.files_in(&directory);
        if with_own && directory.starts_with("etc/") {
            files.retain(|file| file.name != own_name);
            files.push(FileIn { name: own_name.to_owned(), path: &[], content: Some(own_content.as_bytes()) });
            files.sort_by(|one, other| one.name.cmp(&other.name));
        }
        files.retain(|file| file.name.ends_with(SUFFIX) && known.insert(file.name.clone()));
        groups.push(files);
    }
    // What is read later wins.
    groups.reverse();
    let in_etc = groups.pop().unwrap_or_default();
    let main = tree.files_in("etc/NetworkManager").into_iter().filter(|file| file.name == "NetworkManager.conf");
    groups.into_iter().flatten().chain(main).chain(in_etc).collect()
}

/// Adds the settings of a file to those of the files before it.
fn read<'t>(text: &str, file: &FileIn<'t>, effective: &mut Settings<'t>) {
    let is_off =
        |(section, key, value): (&str, &str, &str)| (section, key) == (".config", "enable") && OFF.contains(&value);
    if settings(text).any(is_off) {
        return;
    }
    for (section, key, value) in settings(text) {
        // A key with a minus takes values away. Leaving them in may cost a needless warning.
        if key.ends_with('-') {
            continue;
        }
        let (key, adds) = key.strip_suffix('+').map_or((key, false), |key| (key.trim_end(), true));
        let place = (section.to_owned(), key.to_owned());
        if let Some(before) = effective.get_mut(&place).filter(|_| adds) {
            before.value.push(',');
            before.value.push_str(value);
            before.file = file.clone();
        } else {
            effective.insert(place, Setting { value: value.to_owned(), file: file.clone() });
        }
    }
}

fn lists(value: &str, word: &str) -> bool {
    value.split([',', ';']).any(|part| part.trim() == word)
}

/// Whether the files of ifupdown name an interface other than the loopback interface. NetworkManager's plugin for them leaves it alone, or
/// makes a profile for it.
fn ifupdown_names_nics(tree: &Tree) -> bool {
    let main = tree.files_in("etc/network").into_iter().filter(|file| file.name == "interfaces");
    main.chain(tree.files_in("etc/network/interfaces.d")).any(|file| {
        let names_nic = |line: &str| {
            let mut words = line.split_whitespace();
            words.next() == Some("iface") && words.next().is_some_and(|name| name != "lo")
        };
        text(&file).is_none_or(|text| text.lines().any(names_nic))
    })
}
