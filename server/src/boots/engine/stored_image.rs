//! The image of a boot.

use std::sync::Arc;

use super::Stop;
use crate::boots::boot::Boot;
use crate::boots::shared::Shared;
use crate::store::StoredImage;

/// The image of a boot, and what its BMC finds it under.
pub(super) fn of(shared: &Shared, boot: &Boot) -> Result<(Arc<StoredImage>, String), Stop> {
    let id = boot.record().image;
    let gone = || Stop::Failed(format!("the image {id} was deleted; make it again, and begin the boot anew").into());
    let image = shared.store.image(&id).ok_or_else(gone)?;
    if image.available().is_none() {
        let why = format!("the image {id} cannot be served, for its base is not there; /readyz says which are");
        return Err(Stop::Failed(why.into()));
    }
    let url = shared.media_url.file(&image.token().as_str(), boot.record().file_name());
    Ok((image, url))
}
