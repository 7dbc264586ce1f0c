//! The boots across a rotation of the installation key. A BMC keeps the URL that it got, which is that of the previous key.

use std::io;

use super::boot::Boot;
use super::record::{BootRecord, InsertedUrl};
use super::service::Boots;
use super::shared::Shared;

impl Boots {
    /// Writes into the records of boots what depends on the previous installation key: the URL that their BMCs have, and their
    /// credentials under the present key. When this returns without an error, no boot needs the previous key, except those that are
    /// [`unreadable`](Self::unreadable). Cheap if there is none.
    pub async fn follow_key(&self) -> io::Result<()> {
        if !self.0.store.has_previous_key() {
            return Ok(());
        }
        // A boot that begins at the moment may still use the previous key.
        let _lock = self.0.beginning.lock().await;
        for boot in self.all() {
            if let Err(error) = self.0.follow_key(&boot).await
                // Somebody has deleted the boot meanwhile.
                && self.find(boot.id()).is_some()
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// The names of the boots whose records could not be read at the start: they may need the previous installation key.
    pub fn unreadable(&self) -> &[String] {
        &self.0.unreadable
    }
}

impl Shared {
    async fn follow_key(&self, boot: &Boot) -> io::Result<()> {
        let renewed = self.credentials.renewed(boot.id(), &boot.record().bmc.credentials).map_err(io::Error::other)?;
        let encrypted = boot.record().bmc.credentials.clone();
        let change = |record: &mut BootRecord| {
            // The boot may have ended meanwhile, and forgotten them.
            if let Some(renewed) = renewed
                && record.bmc.credentials == encrypted
            {
                record.bmc.credentials = renewed;
            }
            let url = InsertedUrl(self.inserted_url(record));
            if let Some(at_bmc) = record.at_bmc_mut() {
                at_bmc.url.get_or_insert(url);
            }
        };
        boot.update(&self.writer, Box::new(change)).await.map(drop)
    }

    /// The URL that the BMC of a boot got, or gets. It is known even if the image was deleted since.
    pub(super) fn inserted_url(&self, record: &BootRecord) -> String {
        match record.at_bmc.as_ref().and_then(|at_bmc| at_bmc.url.as_ref()) {
            Some(InsertedUrl(url)) => url.clone(),
            // While there is a previous key, every URL that is inserted is recorded, so this one is from before.
            None => self.derived_url(record),
        }
    }

    /// What the record of a boot says about the URL that its BMC gets. `None` if the URL follows from the only key, so that
    /// earlier versions of dayone can read the record. A boot may have got its URL before a rotation that is over by now.
    pub(super) fn recorded_url(&self, record: &BootRecord, url: &str) -> Option<InsertedUrl> {
        let follows = !self.store.has_previous_key() && self.derived_url(record) == url;
        (!follows).then(|| InsertedUrl(url.to_owned()))
    }

    fn derived_url(&self, record: &BootRecord) -> String {
        let token = self.store.earliest_media_token(&record.image);
        self.media_url.file(&token.as_str(), record.file_name())
    }
}
