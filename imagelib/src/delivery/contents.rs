//! The files to add to an initramfs, before they have their places in it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::competing::named;
use super::{DeliveredBy, DeliveryError, EmbeddedFile};
use crate::cpio::{Archive, MemberPath, Owner};
use crate::ignition::{self, AddedFile, Additions, UserConfig};
use crate::initramfs::Tree;
use vocabulary::report::{DocumentPath, Report};

/// Where systems mount file systems that are empty, or the kernel's, when they start.
const MOUNT_POINTS: [&str; 5] = ["dev", "proc", "run", "sys", "tmp"];

/// The files to add to an initramfs, by path.
#[derive(Default)]
pub(super) struct Contents {
    members: BTreeMap<MemberPath, Member>,
    delivered_later: Vec<EmbeddedFile>,
}

enum Member {
    File {
        mode: u32,
        owner: Owner,
        content: Bytes,
        /// Whether it is there only to be copied elsewhere.
        source: bool,
    },
    Symlink {
        target: &'static str,
    },
}

impl Contents {
    /// An Ignition config at `path`, which brings the additions and the user's own config to the booted system.
    pub(super) fn with_ignition(
        path: &str,
        additions: &Additions,
        config: Option<&UserConfig>,
    ) -> Result<Self, DeliveryError> {
        let mut contents = Self::default();
        contents.file(path, 0o600, ignition::config(additions, config)?)?;
        for file in ignition::files(additions)? {
            contents.delivered_later(file.path.as_str(), DeliveredBy::Ignition, file.mode, &file.contents);
        }
        Ok(contents)
    }

    /// Adds a file of root's.
    pub(super) fn file(&mut self, path: &str, mode: u32, content: impl Into<Bytes>) -> Result<(), DeliveryError> {
        let (owner, content) = (Owner::default(), content.into());
        self.members.insert(path.parse()?, Member::File { mode, owner, content, source: false });
        Ok(())
    }

    /// Adds a file in its final place.
    pub(super) fn added(&mut self, file: AddedFile) -> Result<(), DeliveryError> {
        let AddedFile { path, mode, owner, contents: content } = file;
        let path = path.as_str().trim_start_matches('/').parse()?;
        self.members.insert(path, Member::File { mode, owner, content, source: false });
        Ok(())
    }

    /// Adds, beneath `directory`, a file that a script copies to its final place.
    pub(super) fn handed_over(&mut self, directory: &str, file: AddedFile) -> Result<(), DeliveryError> {
        let AddedFile { path, mode, owner, contents: content } = file;
        self.delivered_later(path.as_str(), DeliveredBy::Handover, mode, &content);
        let path = format!("{directory}{path}").parse()?;
        self.members.insert(path, Member::File { mode, owner, content, source: true });
        Ok(())
    }

    /// Adds a symbolic link, unless there is something in its place already.
    pub(super) fn symlink(&mut self, path: &str, target: &'static str) -> Result<(), DeliveryError> {
        self.members.entry(path.parse()?).or_insert(Member::Symlink { target });
        Ok(())
    }

    /// Notes what comes to its place after the initramfs was unpacked.
    pub(super) fn delivered_later(&mut self, path: &str, by: DeliveredBy, mode: u32, content: &[u8]) {
        self.delivered_later.push(EmbeddedFile::new(path, by, mode, content));
    }

    /// What is embedded, for showing.
    pub(super) fn embedded(&self) -> Vec<EmbeddedFile> {
        let members = self.members.iter().filter_map(|(path, member)| match member {
            Member::File { source: true, .. } => None,
            Member::File { mode, content, .. } => {
                Some(EmbeddedFile::new(path.as_str(), DeliveredBy::Initramfs, *mode, content))
            }
            Member::Symlink { target } => {
                Some(EmbeddedFile::new(path.as_str(), DeliveredBy::Initramfs, 0o777, target.as_bytes()))
            }
        });
        members.chain(self.delivered_later.iter().cloned()).collect()
    }

    /// Warns about files that the system of an initramfs with this tree hides when it mounts its file systems.
    pub(super) fn warn_of_hidden(&self, tree: &Tree, path: &DocumentPath, report: &mut Report) {
        let hidden = self.members.keys().filter_map(|wanted| {
            let real = tree.place(wanted).ok()?.path;
            let is_hidden = MOUNT_POINTS.contains(&real.as_str().split('/').next()?);
            let shown = if real == *wanted { format!("/{wanted}") } else { format!("/{wanted} (in /{real})") };
            is_hidden.then_some(shown)
        });
        let later = self.delivered_later.iter().map(|file| file.path.as_str());
        let later = later.filter(|path| path.split('/').nth(1).is_some_and(|first| MOUNT_POINTS.contains(&first)));
        if let Some(files) = named(hidden.chain(later.map(str::to_owned)).collect()) {
            let message =
                format!("may lose files of dayone when its system mounts other file systems over them: {files}");
            report.warning("files-behind-mounts", path, message);
        }
    }

    /// The archive for an initramfs whose tree is not known: it brings every directory above its files. Only for paths
    /// of CoreOS, whose `etc` is a directory.
    pub(super) fn archive(self) -> Result<Archive, DeliveryError> {
        let mut archive = Archive::new();
        for (path, member) in self.members {
            add(&mut archive, path, member)?;
        }
        archive.add_parents(0o755)?;
        Ok(archive)
    }

    /// The archive for an initramfs with this tree: it brings the directories that are missing there, and no others,
    /// since a directory in the place of a symbolic link would hide what lies behind the link.
    pub(super) fn archive_for(self, tree: &Tree) -> Result<Archive, DeliveryError> {
        let mut archive = Archive::new();
        if tree.is_open() {
            archive.put_behind_zeros();
        }
        let mut directories = BTreeSet::new();
        for (path, member) in self.members {
            let placement = tree.place(&path)?;
            add(&mut archive, placement.path.clone(), member)?;
            if tree.is_linked(&placement.path) {
                archive.unlink_first(&placement.path);
            }
            directories.extend(placement.missing);
        }
        for directory in directories {
            archive.directory(directory, 0o755)?;
        }
        Ok(archive)
    }
}

fn add(archive: &mut Archive, path: MemberPath, member: Member) -> Result<(), DeliveryError> {
    match member {
        Member::File { mode, owner, content, .. } => archive.owned_file(path, mode, owner, content)?,
        Member::Symlink { target } => archive.symlink(path, target)?,
    }
    Ok(())
}
