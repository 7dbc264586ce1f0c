//! Adds bases while the server runs, replaces and removes them.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use imagelib::base::Role;
use imagelib::digest::Digest;
use imagelib::recipe::RecipeId;
use tracing::{error, info};

use super::Store;
use super::added_bases::{file_path, sync_files};
use super::base_record::{BaseRecord, BaseRecordState, BaseVersion};
use super::definition::{BaseName, DefinitionError};
use super::open_base::{Fresh, OpenBaseError};
use super::registered_base::RegisteredBase;
use super::storage::StorageTrouble;

/// How many images an error names.
const EXAMPLES: usize = 3;

/// Why a base cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum AddBaseError {
    /// A configured base has the name.
    #[error("the base '{0}' is in the server's configuration (--base): change it there, or choose another name")]
    Configured(BaseName),
    /// The files do not make a base.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The record cannot be written.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Write(#[source] io::Error),
}

/// What became of a base whose files have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// New images are made from it.
    Added,
    /// The present base of its name has the same files, and stays.
    Unchanged,
    /// Somebody has removed it meanwhile.
    Removed,
}

/// Why files that have arrived are not a base.
#[derive(Debug, thiserror::Error)]
pub enum FinishBaseError {
    /// Since a restart, a configured base has this name.
    #[error(
        "the base '{0}' is now in the server's configuration (--base): remove it there, or forget this fetch (dayone base rm {0} \
         --fetch-only)"
    )]
    Configured(BaseName),
    /// The files were written a moment ago. Try again in a moment.
    #[error("the files were written a moment ago")]
    TooFresh,
    /// A file has another digest than the client says.
    #[error("the SHA-256 of the {role} is {found}, and should be {expected}: it is another file, or a damaged one")]
    Digest {
        /// The file.
        role: Role,
        /// What it should be.
        expected: Digest,
        /// What it is.
        found: Digest,
    },
    /// The files are not a base.
    #[error(transparent)]
    Files(OpenBaseError),
    /// The record cannot be written.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Write(#[source] io::Error),
}

/// Why a base cannot be removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveBaseError {
    /// No base has this name.
    #[error("no base has this name")]
    Unknown,
    /// The base is configured.
    #[error("the base is in the server's configuration (--base): remove it there, and restart the server")]
    Configured,
    /// Images use it.
    #[error(
        "{images} published image(s) use the base: {}. Delete them first (`DELETE /v1/images/{{id}}`), or add another base of \
         the same name: images that exist then keep this one", examples(.some, *.images)
    )]
    InUse {
        /// How many.
        images: usize,
        /// Some of them.
        some: Vec<RecipeId>,
    },
    /// Images have records that this version cannot read, so that nobody knows which base they use.
    #[error(
        "{0} published image(s) have records that this version of dayone cannot read, and may use the base: delete them first"
    )]
    Unreadable(usize),
    /// The record cannot be removed.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Write(#[source] io::Error),
}

fn examples(some: &[RecipeId], all: usize) -> String {
    let mut names: Vec<String> = some.iter().map(ToString::to_string).collect();
    if all > names.len() {
        names.push(format!("and {} more", all - names.len()));
    }
    names.join(", ")
}

impl Store {
    /// Records a base whose files are still to be fetched to [`base_file`](Self::base_file).
    pub fn begin_base(&self, record: BaseRecord) -> Result<BaseVersion, AddBaseError> {
        if self.is_configured(record.name.as_str()) {
            return Err(AddBaseError::Configured(record.name));
        }
        let data = self.persistence.directory().map_err(AddBaseError::Write)?;
        // The version does not matter to the check.
        record.definition(BaseVersion::after(None), &data.base_files())?;
        self.added.add(data, record).map_err(AddBaseError::Write)
    }

    /// The path of a file of an added base.
    pub fn base_file(&self, version: BaseVersion, role: Role) -> io::Result<PathBuf> {
        Ok(file_path(self.persistence.directory()?, version, role))
    }

    /// Records that dayone fetches the files of a base, or that it has failed. Returns whether it is still without them.
    pub fn set_base_state(&self, version: BaseVersion, state: BaseRecordState) -> io::Result<bool> {
        self.added.set_state(self.persistence.directory()?, version, state, || {})
    }

    /// Takes a base whose files have arrived into service. The present base of its name stays for the images that use it.
    pub fn finish_base(&self, version: BaseVersion) -> Result<Finished, FinishBaseError> {
        let data = self.persistence.directory().map_err(FinishBaseError::Write)?;
        let Some(record) = self.added.get(version) else { return Ok(Finished::Removed) };
        // The next start would refuse two bases of one name.
        if self.is_configured(record.name.as_str()) {
            return Err(FinishBaseError::Configured(record.name));
        }
        sync_files(data).map_err(FinishBaseError::Write)?;
        let definition = record.definition(version, &data.base_files());
        let definition = definition.map_err(|error| FinishBaseError::Write(io::Error::other(error)))?;
        let base = RegisteredBase::arriving(version, definition);
        let open = base.open(&self.digests, Fresh::Refuse).map_err(|error| match error {
            OpenBaseError::BeingWritten(_) => FinishBaseError::TooFresh,
            other => FinishBaseError::Files(other),
        })?;
        let digests: BTreeMap<Role, Digest> = open.files.iter().map(|(role, file)| (*role, file.digest)).collect();
        for (role, source) in &record.sources {
            match (source.sha256, digests.get(role)) {
                (Some(expected), Some(found)) if expected != *found => {
                    return Err(FinishBaseError::Digest { role: *role, expected, found: *found });
                }
                _ => {}
            }
        }
        let identity = open.identity;
        let base = base.arrived(open, digests.clone());

        // Nobody may remove the present base of the name, or add another, meanwhile.
        let alone = self.added.publishing.write();
        let present = self.usable_added_base(record.name.as_str());
        if present.is_some_and(|present| present.identity() == Some(identity) && present.profile == record.profile) {
            self.added.forget(data, version, Some(&base)).map_err(FinishBaseError::Write)?;
            drop(base);
            self.added.remove_left();
            return Ok(Finished::Unchanged);
        }
        let state = BaseRecordState::Ready(digests);
        // At no moment is the base neither fetched nor there, or there without the images over it.
        let added = self.added.set_state(data, version, state, || {
            self.bases.add(Arc::new(base));
            self.plan_images_later();
        });
        if !added.map_err(FinishBaseError::Write)? {
            return Ok(Finished::Removed);
        }
        info!(base = %record.name, %identity, "base was added");
        drop(alone);
        self.plan_images();
        self.release_replaced_bases();
        Ok(Finished::Added)
    }

    /// Forgets an added base that no image can use, because its files have not arrived. Returns whether it was such a base.
    pub fn forget_base(&self, version: BaseVersion) -> io::Result<bool> {
        let forgotten = self.added.forget(self.persistence.directory()?, version, None)?;
        self.added.remove_left();
        Ok(forgotten)
    }

    /// Removes an added base with all its versions, unless images use one of them. Its files are deleted after the last transfer of them.
    pub fn remove_base(&self, name: &str) -> Result<(), RemoveBaseError> {
        let _alone = self.added.publishing.write();
        let present = self.base(name).ok_or(RemoveBaseError::Unknown)?;
        if present.version().is_none() {
            return Err(RemoveBaseError::Configured);
        }
        let data = self.persistence.directory().map_err(RemoveBaseError::Write)?;
        let versions: Vec<_> = self.replaced_by(name).into_iter().chain([present]).collect();
        let identity = |base: &RegisteredBase| self.added.get(base.version()?)?.identity();
        let identities: Vec<_> = versions.iter().filter_map(|base| identity(base)).collect();
        let images = self.images.all();
        let users: Vec<RecipeId> =
            images.iter().filter(|image| identities.contains(&image.base())).map(|image| image.id()).collect();
        if !users.is_empty() {
            let some = users.iter().take(EXAMPLES).copied().collect();
            return Err(RemoveBaseError::InUse { images: users.len(), some });
        }
        match self.images.unreadable().len() {
            0 => {}
            unreadable => return Err(RemoveBaseError::Unreadable(unreadable)),
        }
        for base in versions {
            if let Some(version) = base.version() {
                self.added.forget(data, version, Some(&base)).map_err(RemoveBaseError::Write)?;
                self.bases.remove(version);
            }
        }
        info!(base = name, "base was removed");
        drop(images);
        self.added.remove_left();
        Ok(())
    }

    /// Removes replaced bases that no image needs any more, and files that nobody reads any more.
    pub(super) fn release_replaced_bases(&self) {
        let Ok(data) = self.persistence.directory() else { return };
        // Nobody knows which bases the images of unreadable records use.
        let are_users_known = self.images.unreadable().is_empty();
        let replaced = self.bases.replaced();
        let _alone = (!replaced.is_empty()).then(|| self.added.publishing.write());
        for base in replaced {
            let record = base.version().and_then(|version| Some((version, self.added.get(version)?)));
            let Some((version, record)) = record else { continue };
            let Some(identity) = record.identity() else { continue };
            // Its files are lost or damaged, and the same files are there once more; or somebody went back to them. Its images use
            // those.
            let is_restored = base.available().is_none() && self.bases.with_identity(&identity, None).is_some();
            let is_needed = || !are_users_known || self.base_use(&identity).images > 0;
            if !is_restored && !self.bases.is_there_again(&base, &identity) && is_needed() {
                continue;
            }
            match self.added.forget(data, version, Some(&base)) {
                Ok(_) => {
                    info!(base = %base.name(), %identity, "no image needs the replaced base any more; it is removed");
                    self.bases.remove(version);
                }
                Err(error) => error!(base = %base.name(), %error, "cannot remove a replaced base"),
            }
        }
        self.added.remove_left();
    }
}
