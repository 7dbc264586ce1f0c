//! The address of an image: the secrets in its URLs, which follow from an installation key.

use imagelib::recipe::RecipeId;
use media::{MediaToken, MediaUuid, UrlForm};

use super::key::InstallationKey;

/// The secrets in an image's URLs.
#[derive(Debug, Clone)]
pub(super) struct Address {
    /// The token.
    pub(super) token: MediaToken,
    /// The UUIDs of its files with their names, if URLs have the form with UUIDs.
    pub(super) uuids: Vec<(MediaUuid, String)>,
}

impl Address {
    /// The address of the image `id` with these files.
    pub(super) fn new<'a>(
        key: &InstallationKey,
        urls: UrlForm,
        id: &RecipeId,
        files: impl Iterator<Item = &'a str>,
    ) -> Self {
        let files = files.filter(|_| urls == UrlForm::Uuid);
        Self { token: key.token(id), uuids: files.map(|file| (key.uuid(id, file), file.to_owned())).collect() }
    }
}
