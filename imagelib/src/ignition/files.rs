//! The added files, and checks for conflicts between them and with the user's files.

use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

use super::user::NodeKind;
use super::{AbsolutePath, Additions, IgnitionError, UNITS, UserConfig, unit_text};
use crate::cpio::Owner;
use vocabulary::network_files::{CONFIGURATION, KEYFILES, NETWORKD_UNITS, NO_AUTO_DEFAULT};

/// A file in its final place.
#[derive(Clone, PartialEq, Eq)]
pub struct AddedFile {
    /// Its path.
    pub path: AbsolutePath,
    /// Its permission bits.
    pub mode: u32,
    /// Its owner.
    pub owner: Owner,
    /// Its content.
    pub contents: Bytes,
}

debug_only!(AddedFile { path, mode });

/// The files of the additions, for systems without Ignition. An error if two have the same path, or one is below another.
pub fn files(additions: &Additions) -> Result<Vec<AddedFile>, IgnitionError> {
    let files = added(additions);
    check(additions, &files, None)?;
    Ok(files)
}

pub(super) fn added(additions: &Additions) -> Vec<AddedFile> {
    let mut files = Vec::new();
    let mut add = |path, mode, contents| files.push(AddedFile { path, mode, owner: Owner::default(), contents });
    for keyfile in &additions.keyfiles {
        let path = AbsolutePath::in_directory(KEYFILES, keyfile.name.as_str());
        add(path, 0o600, Bytes::from(keyfile.content.clone()));
    }
    for unit in &additions.networkd_units {
        // networkd reads its units as a user of its own, whose number differs from system to system.
        let path = AbsolutePath::in_directory(NETWORKD_UNITS, unit.name.as_str());
        add(path, 0o644, Bytes::from(unit.content.clone()));
    }
    if additions.no_auto_default {
        let (name, content) = NO_AUTO_DEFAULT;
        add(AbsolutePath::in_directory(CONFIGURATION, name), 0o644, Bytes::from_static(content.as_bytes()));
    }
    if let Some(name) = &additions.hostname {
        add(AbsolutePath::in_directory("/etc", "hostname"), 0o644, Bytes::from(format!("{name}\n")));
    }
    files.extend(additions.files.iter().map(|file| AddedFile {
        path: file.path.clone(),
        mode: file.mode.bits(),
        owner: file.owner(),
        contents: file.contents.clone(),
    }));
    files
}

/// No two things in one place, nothing beneath a file, nothing beneath a link, and no unit that Ignition would refuse.
pub(super) fn check(
    additions: &Additions,
    files: &[AddedFile],
    user: Option<&UserConfig>,
) -> Result<(), IgnitionError> {
    const BY_USER: &str = "the Ignition config";
    const BY_MERGED: &str = "a config that the Ignition config merges";
    const BY_REQUEST: &str = "the request";
    let merged = user.map(UserConfig::merged).unwrap_or_default();
    let mut taken: BTreeMap<String, (NodeKind, &'static str)> = BTreeMap::new();
    let mut units: BTreeSet<&str> = BTreeSet::new();
    if let Some(user) = user {
        user.check_entries()?;
        taken.extend(user.paths()?.into_iter().map(|(kind, path)| (path.to_owned(), (kind, BY_USER))));
        for (path, contents) in user.unit_files() {
            check_unit(&path, contents)?;
            if taken.insert(path.clone(), (NodeKind::File, BY_USER)).is_some() {
                return Err(IgnitionError::Duplicate(path));
            }
        }
        units.extend(user.unit_names()?);
    }
    // Of what two configs write, that of the merged one is written.
    for config in &merged {
        let nodes = config.paths()?.into_iter().map(|(kind, path)| (kind, path.to_owned()));
        let files = config.unit_files().into_iter().map(|(path, _)| (NodeKind::File, path));
        taken.extend(nodes.chain(files).map(|(kind, path)| (path, (kind, BY_MERGED))));
        units.extend(config.unit_names()?);
    }
    let mut ours: Vec<String> = files.iter().map(|file| file.path.to_string()).collect();
    for unit in &additions.units {
        if !units.insert(unit.name.as_str()) {
            return Err(IgnitionError::UnitConflict(unit.name.to_string()));
        }
        if let Some(contents) = &unit.contents {
            let path = format!("{UNITS}/{}", unit.name);
            check_unit(&path, contents)?;
            ours.push(path);
        }
    }
    for path in ours {
        let blocks = |node: &(NodeKind, &'static str)| node.0 != NodeKind::Directory;
        let above = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        let above = above.filter_map(|parent| taken.get_key_value(parent)).find(|(_, node)| blocks(node));
        // There may be tens of thousands of files, so nothing here looks at all of them.
        let directory = format!("{path}/");
        let beneath = taken.range::<String, _>(&directory..).next().filter(|(other, _)| other.starts_with(&directory));
        if let Some((other, (_, by))) = taken.get_key_value(&path).or(above).or(beneath) {
            return Err(IgnitionError::Conflict { by, other: other.clone(), path });
        }
        taken.insert(path, (NodeKind::File, BY_REQUEST));
    }
    Ok(())
}

fn check_unit(path: &str, contents: &str) -> Result<(), IgnitionError> {
    match unit_text::problem(contents) {
        Some(problem) => Err(IgnitionError::UnitText { path: path.to_owned(), problem }),
        None => Ok(()),
    }
}
