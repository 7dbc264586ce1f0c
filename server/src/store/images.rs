//! The published images in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use imagelib::recipe::RecipeId;

use super::served::Lookup;
use super::stored_image::StoredImage;
use super::token::MediaToken;
use super::url_form::MediaUuid;

/// Images by identity and by token.
#[derive(Debug, Default)]
pub(super) struct Images {
    maps: RwLock<Maps>,
}

#[derive(Debug, Default)]
struct Maps {
    by_id: BTreeMap<RecipeId, Arc<StoredImage>>,
    by_token: HashMap<MediaToken, Entry>,
    /// Images and their files by what stands in their URLs, in the form that has UUIDs.
    by_uuid: HashMap<MediaUuid, (Arc<StoredImage>, String)>,
    /// Images whose records another version of dayone wrote.
    unreadable: BTreeMap<RecipeId, MediaToken>,
}

#[derive(Debug)]
enum Entry {
    Image(Arc<StoredImage>),
    Unreadable(String),
}

impl Images {
    /// `uuids`: those of its files, by their names.
    pub(super) fn insert(&self, image: Arc<StoredImage>, uuids: Vec<(MediaUuid, String)>) {
        let mut maps = self.write();
        maps.by_uuid.extend(uuids.into_iter().map(|(uuid, file)| (uuid, (Arc::clone(&image), file))));
        maps.by_token.insert(image.token(), Entry::Image(Arc::clone(&image)));
        maps.by_id.insert(image.id(), image);
    }

    /// An image that is there and cannot be served, which the media plane should not take for one that never was.
    pub(super) fn insert_unreadable(&self, id: RecipeId, token: MediaToken, reason: String) {
        let mut maps = self.write();
        maps.by_token.insert(token, Entry::Unreadable(reason));
        maps.unreadable.insert(id, token);
    }

    /// `uuids`: as they were when it was inserted.
    pub(super) fn remove(&self, id: &RecipeId, uuids: Vec<(MediaUuid, String)>) {
        let mut maps = self.write();
        for (uuid, _) in uuids {
            maps.by_uuid.remove(&uuid);
        }
        let token = maps.by_id.remove(id).map(|image| image.token());
        for token in token.into_iter().chain(maps.unreadable.remove(id)) {
            maps.by_token.remove(&token);
        }
    }

    pub(super) fn get(&self, id: &RecipeId) -> Option<Arc<StoredImage>> {
        self.read().by_id.get(id).cloned()
    }

    pub(super) fn is_unreadable(&self, id: &RecipeId) -> bool {
        self.read().unreadable.contains_key(id)
    }

    pub(super) fn all(&self) -> Vec<Arc<StoredImage>> {
        self.read().by_id.values().cloned().collect()
    }

    /// What a file of a token is; none where the token is not known.
    pub(super) fn find(&self, token: &MediaToken, file: &str) -> Option<Lookup> {
        Some(match self.read().by_token.get(token)? {
            Entry::Image(image) => image.find(file),
            Entry::Unreadable(reason) => Lookup::Unavailable(reason.clone()),
        })
    }

    /// What a UUID is; none where it is not known.
    pub(super) fn find_uuid(&self, uuid: &MediaUuid) -> Option<Lookup> {
        let maps = self.read();
        let (image, file) = maps.by_uuid.get(uuid)?;
        Some(image.find(file))
    }

    fn read(&self) -> RwLockReadGuard<'_, Maps> {
        self.maps.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Maps> {
        self.maps.write().unwrap_or_else(PoisonError::into_inner)
    }
}
