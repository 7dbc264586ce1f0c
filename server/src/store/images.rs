//! The published images in memory.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use imagelib::recipe::{PartOrder, RecipeId, SealedRecipe};
use media::served::Lookup;
use media::{MediaToken, MediaUuid};
use parking_lot::RwLock;

use super::stored_image::StoredImage;

/// Images by identity and by token.
#[derive(Debug, Default)]
pub(super) struct Images {
    maps: RwLock<Maps>,
}

#[derive(Debug, Default)]
struct Maps {
    by_id: BTreeMap<RecipeId, Arc<StoredImage>>,
    /// The same images at their addresses under another installation key, which is also valid.
    elsewhere: BTreeMap<RecipeId, Arc<StoredImage>>,
    by_token: HashMap<MediaToken, Known>,
    /// Images and the names of their files, by the UUIDs in their URLs ([`UrlForm::Uuid`](media::UrlForm::Uuid)).
    by_uuid: HashMap<MediaUuid, (Arc<StoredImage>, String)>,
    /// Images that an earlier version published with their parts in the given order, by the id that the same content has in
    /// canonical order.
    by_content: BTreeMap<RecipeId, BTreeSet<RecipeId>>,
    /// Images whose records this version of dayone cannot read.
    unreadable: BTreeMap<RecipeId, Vec<MediaToken>>,
}

#[derive(Debug)]
enum Known {
    Image(Arc<StoredImage>),
    Unreadable(String),
}

impl Images {
    /// Adds an image.
    pub(super) fn insert(&self, image: Arc<StoredImage>) {
        let mut maps = self.maps.write();
        if let Some(content) = content_of(&image) {
            maps.by_content.entry(content).or_default().insert(image.id());
        }
        maps.give_address(&image);
        maps.by_id.insert(image.id(), image);
    }

    /// Replaces the addresses of an image. `elsewhere` is the same image at its other address, if it has one.
    pub(super) fn readdress(&self, image: Arc<StoredImage>, elsewhere: Option<Arc<StoredImage>>) {
        let mut maps = self.maps.write();
        let id = image.id();
        maps.take_addresses(&id);
        maps.give_address(&image);
        maps.by_id.insert(id, image);
        if let Some(elsewhere) = elsewhere {
            maps.give_address(&elsewhere);
            maps.elsewhere.insert(id, elsewhere);
        }
    }

    /// The id under which the content of a recipe is published, or will be.
    pub(super) fn identity_of(&self, recipe: &SealedRecipe) -> RecipeId {
        let id = recipe.id();
        let maps = self.maps.read();
        let earlier = maps.by_content.get(&id).filter(|_| !maps.by_id.contains_key(&id));
        // If there are several, always return the same one.
        earlier.and_then(BTreeSet::first).copied().unwrap_or(id)
    }

    /// Adds an image that cannot be served. The media plane answers 503 for it, not 404.
    pub(super) fn insert_unreadable(&self, id: RecipeId, tokens: Vec<MediaToken>, reason: &str) {
        let mut maps = self.maps.write();
        for token in &tokens {
            maps.by_token.insert(*token, Known::Unreadable(reason.to_owned()));
        }
        maps.unreadable.insert(id, tokens);
    }

    /// Replaces the tokens of all images that cannot be served by those that `tokens` returns.
    pub(super) fn readdress_unreadable(&self, tokens: impl Fn(&RecipeId) -> Vec<MediaToken>) {
        let mut maps = self.maps.write();
        let Maps { unreadable, by_token, .. } = &mut *maps;
        for (id, former) in unreadable {
            let mut reason = None;
            for token in former.iter() {
                reason = by_token.remove(token).or(reason);
            }
            let Some(Known::Unreadable(reason)) = reason else { continue };
            *former = tokens(id);
            for token in former.iter() {
                by_token.insert(*token, Known::Unreadable(reason.clone()));
            }
        }
    }

    /// Removes an image.
    pub(super) fn remove(&self, id: &RecipeId) {
        let mut maps = self.maps.write();
        maps.take_addresses(id);
        let image = maps.by_id.remove(id);
        if let Some(content) = image.as_deref().and_then(content_of)
            && let Entry::Occupied(mut earlier) = maps.by_content.entry(content)
        {
            earlier.get_mut().remove(id);
            if earlier.get().is_empty() {
                earlier.remove();
            }
        }
        for token in maps.unreadable.remove(id).into_iter().flatten() {
            maps.by_token.remove(&token);
        }
    }

    pub(super) fn get(&self, id: &RecipeId) -> Option<Arc<StoredImage>> {
        self.maps.read().by_id.get(id).cloned()
    }

    pub(super) fn is_unreadable(&self, id: &RecipeId) -> bool {
        self.maps.read().unreadable.contains_key(id)
    }

    /// The images whose records this version of dayone cannot read.
    pub(super) fn unreadable(&self) -> Vec<RecipeId> {
        self.maps.read().unreadable.keys().copied().collect()
    }

    pub(super) fn all(&self) -> Vec<Arc<StoredImage>> {
        self.maps.read().by_id.values().cloned().collect()
    }

    /// The image at its address under the other installation key.
    pub(super) fn elsewhere(&self, id: &RecipeId) -> Option<Arc<StoredImage>> {
        self.maps.read().elsewhere.get(id).cloned()
    }

    /// All images at all their addresses.
    pub(super) fn at_all_addresses(&self) -> Vec<Arc<StoredImage>> {
        let maps = self.maps.read();
        maps.by_id.values().chain(maps.elsewhere.values()).cloned().collect()
    }

    /// Finds a file of the image with this token; `None` if there is no such token.
    pub(super) fn find(&self, token: &MediaToken, file: &str) -> Option<Lookup> {
        let image = match self.maps.read().by_token.get(token)? {
            Known::Image(image) => Arc::clone(image),
            Known::Unreadable(reason) => return Some(Lookup::Unavailable(reason.clone())),
        };
        // `find` may have to plan the image, so the maps are no longer locked.
        Some(image.find(file))
    }

    /// Finds the file with this UUID; `None` if there is no such UUID.
    pub(super) fn find_uuid(&self, uuid: &MediaUuid) -> Option<Lookup> {
        let (image, file) = self.maps.read().by_uuid.get(uuid).cloned()?;
        Some(image.find(&file))
    }
}

impl Maps {
    fn give_address(&mut self, image: &Arc<StoredImage>) {
        let uuids = image.address().uuids.iter();
        self.by_uuid.extend(uuids.map(|(uuid, file)| (*uuid, (Arc::clone(image), file.clone()))));
        self.by_token.insert(image.token(), Known::Image(Arc::clone(image)));
    }

    /// Takes all addresses of an image.
    fn take_addresses(&mut self, id: &RecipeId) {
        let images = [self.by_id.get(id).cloned(), self.elsewhere.remove(id)];
        for image in images.into_iter().flatten() {
            for (uuid, _) in &image.address().uuids {
                self.by_uuid.remove(uuid);
            }
            self.by_token.remove(&image.token());
        }
    }
}

/// The id of the image's content in canonical order, if the image has another order.
fn content_of(image: &StoredImage) -> Option<RecipeId> {
    if image.order() != PartOrder::AsGiven {
        return None;
    }
    Some(image.recipe().ok()?.recipe().in_canonical_order().id())
}
