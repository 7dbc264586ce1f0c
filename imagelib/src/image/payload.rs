//! What is added to a system, as the archive that goes behind, or into, its initramfs.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::{DeliveredBy, EmbeddedFile, ImageError};
use crate::cpio::{Archive, MemberPath};
use crate::ignition;
use crate::initramfs::Tree;
use crate::recipe::Recipe;

/// The Ignition config of a CoreOS initramfs.
const IGNITION_CONFIG: &str = "config.ign";
/// From here a CoreOS live system takes keyfiles before anything else configures the network. No directory may be in
/// it, nor anything else that `cp` without `-r` refuses: the boot would end in the emergency shell.
const COREOS_KEYFILES: &str = "etc/coreos-firstboot-network";

/// The files to add to an initramfs, by path.
pub(super) struct Payload {
    members: BTreeMap<MemberPath, Member>,
    delivered_later: Vec<EmbeddedFile>,
}

struct Member {
    mode: u32,
    content: Bytes,
}

impl Payload {
    /// For a CoreOS system: keyfiles for the initramfs, and an Ignition config that brings them, and all else, to the
    /// booted system.
    pub(super) fn coreos(recipe: &Recipe) -> Result<Self, ImageError> {
        let mut payload = Self::coreos_ignition_only(recipe)?;
        for keyfile in &recipe.additions.keyfiles {
            payload.add(&format!("{COREOS_KEYFILES}/{}", keyfile.name), 0o600, keyfile.content.clone())?;
        }
        Ok(payload)
    }

    /// For a CoreOS system whose initramfs takes no keyfiles.
    pub(super) fn coreos_ignition_only(recipe: &Recipe) -> Result<Self, ImageError> {
        let config = ignition::config(&recipe.additions, recipe.ignition.as_ref())?;
        let mut payload = Self { members: BTreeMap::new(), delivered_later: Vec::new() };
        payload.add(IGNITION_CONFIG, 0o600, config)?;
        for file in ignition::files(&recipe.additions)? {
            payload.delivered_later.push(EmbeddedFile::new(
                file.path.as_str(),
                DeliveredBy::Ignition,
                file.mode,
                &file.contents,
            ));
        }
        Ok(payload)
    }

    /// For a system whose root is the initramfs: every file in its final place.
    pub(super) fn root_in_initramfs(recipe: &Recipe) -> Result<Self, ImageError> {
        let additions = &recipe.additions;
        for (present, what) in [
            (recipe.ignition.is_some(), "an Ignition config"),
            (!additions.ssh_authorized_keys.is_empty(), "SSH keys"),
            (!additions.units.is_empty(), "systemd units"),
        ] {
            if present {
                return Err(ImageError::NeedsIgnition { what });
            }
        }
        let mut payload = Self { members: BTreeMap::new(), delivered_later: Vec::new() };
        for file in ignition::files(additions)? {
            payload.add(file.path.as_str().trim_start_matches('/'), file.mode, file.contents)?;
        }
        Ok(payload)
    }

    fn add(&mut self, path: &str, mode: u32, content: impl Into<Bytes>) -> Result<(), ImageError> {
        self.members.insert(path.parse()?, Member { mode, content: content.into() });
        Ok(())
    }

    /// What is embedded, for showing.
    pub(super) fn embedded(&self) -> Vec<EmbeddedFile> {
        let members = self.members.iter().map(|(path, member)| {
            EmbeddedFile::new(path.as_str(), DeliveredBy::Initramfs, member.mode, &member.content)
        });
        members.chain(self.delivered_later.iter().cloned()).collect()
    }

    /// The archive for an initramfs whose tree is not known: it brings every directory above its files. Only for paths
    /// of CoreOS, whose `etc` is a directory.
    pub(super) fn archive(self) -> Result<Archive, ImageError> {
        let mut archive = Archive::new();
        for (path, Member { mode, content }) in self.members {
            archive.file(path, mode, content)?;
        }
        archive.add_parents(0o755)?;
        Ok(archive)
    }

    /// The archive for an initramfs with this tree: it brings the directories that are missing there, and no others,
    /// since a directory in the place of a symbolic link would hide what lies behind the link.
    pub(super) fn archive_for(self, tree: &Tree) -> Result<Archive, ImageError> {
        let mut archive = Archive::new();
        let mut directories = BTreeSet::new();
        for (path, Member { mode, content }) in self.members {
            let placement = tree.place(&path)?;
            archive.file(placement.path, mode, content)?;
            directories.extend(placement.missing);
        }
        for directory in directories {
            archive.directory(directory, 0o755)?;
        }
        Ok(archive)
    }
}
