//! What a boot by HTTP needs of the image.

use imagelib::ram_disk::{RamDisk, RamDiskVerdict};

use super::Stop;
use crate::store::StoredImage;

/// Returns a remark for the boot's record if dayone cannot tell whether the system runs from memory. Stops if it certainly does not: the
/// request was checked, but the base may be read differently since.
pub(super) fn check(image: &StoredImage) -> Result<Option<String>, Stop> {
    let format = image.format();
    let found = image.available().and_then(|planned| RamDisk::of(&planned.base.base, format));
    let Some(RamDisk { verdict, reason }) = found else { return Ok(None) };
    match verdict {
        RamDiskVerdict::Possible => Ok(None),
        RamDiskVerdict::Unknown => Ok(Some(format!("HTTP boot may fail: {reason}"))),
        RamDiskVerdict::Impossible => Err(Stop::Failed(format!("the image does not boot by HTTP: {reason}").into())),
    }
}
