//! Images over disks of Talos: META values go into the META partition, where Talos reads them, and not into the boot menus.

use std::collections::BTreeMap;

use super::changes::{self, Change};
use super::{FileName, Image, ImageError, live};
use crate::base::DiskBase;
use crate::overlay::Overlay;
use crate::recipe::Recipe;
use crate::source::Role;
use crate::talos::meta::MetaPartition;
use crate::talos::{MetaValues, meta_values, warn_untested};
use vocabulary::report::{DocumentPath, Report};

const PARTITION: &str = "META partition";

/// The recipe without its META values: what the boot menus get.
pub(super) fn without_meta_values(recipe: &Recipe) -> Recipe {
    let mut rest = recipe.clone();
    rest.kernel_arguments.append.retain(|argument| meta_values(argument).is_none());
    rest
}

/// Plans an image. A system that dayone cannot customise is no obstacle, if the META partition takes all that the recipe has.
pub(super) fn plan(recipe: &Recipe, disk: &DiskBase, meta: &MetaPartition) -> Result<Image, ImageError> {
    let mut values = MetaValues::new();
    for argument in &recipe.kernel_arguments.append {
        values.extend(meta_values(argument).transpose()?.into_iter().flatten());
    }
    if let Some(key) = meta.keys().find(|key| values.contains_key(key) && !recipe.replace_embedded) {
        return Err(ImageError::Customised(format!("the value {key:#x} in the META partition of Talos")));
    }
    let rest = without_meta_values(recipe);
    let mut image = match &disk.system {
        Ok(live) => live::plan(&rest, disk.size, Report::new(), live, None)?.image,
        Err(reason) if !rest.changes_nothing() => return Err(reason.clone().into()),
        Err(_) => unchanged(disk.size)?,
    };
    if values.is_empty() {
        return Ok(image);
    }
    let patched = Overlay::patched(Role::Iso, disk.size, meta.patches(values)?)?;
    for file in image.files.values_mut() {
        *file = patched.laid_over(file)?;
    }
    image.changes.push(Change::patched(PARTITION, changes::ADDITIONS));
    image.report.forget("talos-untested");
    warn_untested(&mut image.report, &DocumentPath::document("the META partition"));
    Ok(image)
}

fn unchanged(size: u64) -> Result<Image, ImageError> {
    let disk = Overlay::patched(Role::Iso, size, Vec::new())?;
    Ok(Image {
        files: BTreeMap::from([(FileName::BootDisk, disk)]),
        embedded: Vec::new(),
        kernel_arguments: None,
        rootfs_argument: None,
        changes: Vec::new(),
        report: Report::new(),
    })
}
