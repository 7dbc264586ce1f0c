//! The published images in memory.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use imagelib::recipe::{PartOrder, RecipeId, SealedRecipe};
use media::served::Lookup;
use media::{MediaToken, MediaUuid};

use super::stored_image::StoredImage;

/// Images by identity and by token.
#[derive(Debug, Default)]
pub(super) struct Images {
    maps: RwLock<Maps>,
}

#[derive(Debug, Default)]
struct Maps {
    by_id: BTreeMap<RecipeId, Arc<StoredImage>>,
    by_token: HashMap<MediaToken, Known>,
    /// Images and their files by what stands in their URLs, in the form that has UUIDs.
    by_uuid: HashMap<MediaUuid, (Arc<StoredImage>, String)>,
    /// Images that an earlier version published with their parts in the order in which they were given, by the identity
    /// that the same content has in canonical order.
    by_content: BTreeMap<RecipeId, BTreeSet<RecipeId>>,
    /// Images whose records another version of dayone wrote.
    unreadable: BTreeMap<RecipeId, MediaToken>,
}

#[derive(Debug)]
enum Known {
    Image(Arc<StoredImage>),
    Unreadable(String),
}

impl Images {
    /// `uuids`: those of its files, by their names.
    pub(super) fn insert(&self, image: Arc<StoredImage>, uuids: Vec<(MediaUuid, String)>) {
        let mut maps = self.write();
        maps.by_uuid.extend(uuids.into_iter().map(|(uuid, file)| (uuid, (Arc::clone(&image), file))));
        maps.by_token.insert(image.token(), Known::Image(Arc::clone(&image)));
        if let Some(content) = content_of(&image) {
            maps.by_content.entry(content).or_default().insert(image.id());
        }
        maps.by_id.insert(image.id(), image);
    }

    /// The identity under which the content of a recipe is published, or will be.
    pub(super) fn identity_of(&self, recipe: &SealedRecipe) -> RecipeId {
        let id = recipe.id();
        let maps = self.read();
        let earlier = maps.by_content.get(&id).filter(|_| !maps.by_id.contains_key(&id));
        // Of several, always the same one.
        earlier.and_then(BTreeSet::first).copied().unwrap_or(id)
    }

    /// An image that is there and cannot be served, which the media plane should not take for one that never was.
    pub(super) fn insert_unreadable(&self, id: RecipeId, token: MediaToken, reason: String) {
        let mut maps = self.write();
        maps.by_token.insert(token, Known::Unreadable(reason));
        maps.unreadable.insert(id, token);
    }

    /// `uuids`: as they were when it was inserted.
    pub(super) fn remove(&self, id: &RecipeId, uuids: Vec<(MediaUuid, String)>) {
        let mut maps = self.write();
        for (uuid, _) in uuids {
            maps.by_uuid.remove(&uuid);
        }
        let image = maps.by_id.remove(id);
        if let Some(content) = image.as_deref().and_then(content_of)
            && let Entry::Occupied(mut earlier) = maps.by_content.entry(content)
        {
            earlier.get_mut().remove(id);
            if earlier.get().is_empty() {
                earlier.remove();
            }
        }
        let token = image.map(|image| image.token());
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
            Known::Image(image) => image.find(file),
            Known::Unreadable(reason) => Lookup::Unavailable(reason.clone()),
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

/// The identity of the image's content in canonical order, where its own is another.
fn content_of(image: &StoredImage) -> Option<RecipeId> {
    (image.recipe().order == PartOrder::AsGiven).then(|| image.recipe().in_canonical_order().id())
}
