//! A larger Ignition area: a larger file.

use bytes::Bytes;

use super::{Described, NotGrowable, editable};
use crate::iso::coreos::ignition::{IGNINFO, MAX_AREA_BYTES};
use crate::iso::coreos::{CoreosIsoError, IgnitionArea};
use crate::iso::edit::{Edit, Editor};
use crate::overlay::Segment;

/// A larger area is a multiple of what it was published with, in bytes, so that what is embedded later has room again.
const STEP: u64 = 256 << 10;

/// The file that is the Ignition area.
#[derive(Debug, Clone)]
pub(super) struct IgnitionFile {
    path: String,
    /// Where the length is described, if it is.
    description: Option<Described>,
}

impl IgnitionFile {
    pub(super) fn find(area: &IgnitionArea, editor: &Editor) -> Result<Self, NotGrowable> {
        if !area.is_whole_file() {
            return Err(NotGrowable::BootImage(area.file().to_owned()));
        }
        let (path, _) = editable(editor, area.file())?;
        let description = area.description().length.map(|_| editable(editor, IGNINFO)).transpose()?;
        Ok(Self { path, description })
    }

    pub(super) fn edits(&self, area: &IgnitionArea, archive: Bytes) -> Result<Vec<Edit>, CoreosIsoError> {
        let size = archive.len() as u64;
        let length = size.next_multiple_of(STEP);
        if length > MAX_AREA_BYTES {
            return Err(CoreosIsoError::ArchiveTooLarge { size, capacity: MAX_AREA_BYTES });
        }
        let content = vec![Segment::bytes(archive), Segment::zeros(length - size)];
        let mut edits = vec![Edit::Replace { path: self.path.clone(), content }];
        if let Some(description) = &self.description {
            let mut json = area.description().clone();
            json.length = Some(length);
            edits.push(super::describe(description, IGNINFO, &json)?);
        }
        Ok(edits)
    }
}
