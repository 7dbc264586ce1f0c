//! Larger areas for kernel arguments: configurations of boot loaders with more room in the middle.

use std::collections::BTreeMap;

use super::{Described, GrowthError, NotGrowable, editable};
use crate::iso::Extent;
use crate::iso::coreos::KernelArgumentAreas;
use crate::iso::coreos::kargs::{KARGS, MAX_AREA_BYTES, MAX_LINE_BYTES};
use crate::iso::edit::{Edit, Editor};
use crate::kernel_arguments::KernelArguments;
use crate::overlay::Segment;
use crate::source::Role;

/// The files that hold areas, and the one that describes these.
#[derive(Debug, Clone)]
pub(super) struct ArgumentFiles {
    description: Described,
    files: Vec<ArgumentFile>,
}

#[derive(Debug, Clone)]
struct ArgumentFile {
    path: String,
    extent: Extent,
    /// Its areas, by their places in `kargs.json`, in the order in which they stand in the file.
    areas: Vec<usize>,
}

impl ArgumentFiles {
    pub(super) fn find(areas: Option<&KernelArgumentAreas>, editor: &Editor) -> Result<Self, NotGrowable> {
        let described = areas.and_then(|areas| Some((areas, areas.description()?)));
        let (areas, json) = described.ok_or(NotGrowable::NoDescription)?;
        let mut files = BTreeMap::new();
        for (index, (area, file)) in areas.areas().iter().zip(&json.files).enumerate() {
            if !area.is_text() {
                return Err(NotGrowable::BootImage(file.path.clone()));
            }
            let (path, extent) = editable(editor, &file.path)?;
            let file = ArgumentFile { path, extent, areas: Vec::new() };
            files.entry(extent.offset).or_insert(file).areas.push(index);
        }
        let mut files: Vec<ArgumentFile> = files.into_values().collect();
        for file in &mut files {
            file.areas.sort_by_key(|index| json.files.get(*index).map(|file| file.offset));
        }
        Ok(Self { description: editable(editor, KARGS)?, files })
    }

    pub(super) fn edits(
        &self,
        there: &KernelArgumentAreas,
        arguments: &KernelArguments,
    ) -> Result<Vec<Edit>, GrowthError> {
        let line = arguments.to_string();
        let (size, limit) = (line.len() as u64, MAX_LINE_BYTES);
        if size > limit {
            return Err(GrowthError::KernelArgumentsTooLong { size, limit });
        }
        let mut edits = Vec::new();
        let Some(mut json) = there.description().cloned() else { return Ok(edits) };
        json.size = MAX_AREA_BYTES;
        for file in &self.files {
            let mut content = Vec::new();
            let start = file.extent.offset;
            let base = |from: u64, to: u64| Segment::base(Role::Iso, start + from..start + to);
            let (mut position, mut shift) = (0, 0);
            for index in &file.areas {
                let (Some(area), Some(described)) = (there.areas().get(*index), json.files.get_mut(*index)) else {
                    continue;
                };
                content.push(base(position, described.offset));
                content.push(Segment::bytes(area.encode(&line, MAX_AREA_BYTES)));
                position = described.offset + there.size();
                described.offset += shift;
                shift += MAX_AREA_BYTES - there.size();
            }
            content.push(base(position, file.extent.length));
            edits.push(Edit::Replace { path: file.path.clone(), content });
        }
        edits.push(super::describe(&self.description, KARGS, &json)?);
        Ok(edits)
    }
}
