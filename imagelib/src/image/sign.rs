//! Signs what firmware verifies in an image.

use std::collections::BTreeMap;

use super::ImageError;
use super::talos_disk::without_meta_values;
use super::uki;
use crate::authenticode::SiteKey;
use crate::base::{Base, DiskBase, IsoBase, IsoSystem};
use crate::recipe::{AddonSignatures, Recipe, SignatureBytes};

/// Signs the addons of the image that a recipe gives over a base. Returns the recipe unchanged if it has none.
pub fn sign(recipe: Recipe, base: &Base, key: &dyn SiteKey) -> Result<Recipe, ImageError> {
    let planned = |recipe: &Recipe, live| uki::plan(recipe.arranged().as_ref(), live);
    let addons = match base {
        Base::Iso(IsoBase { system: IsoSystem::Live(live), .. }) => planned(&recipe, live),
        Base::Disk(DiskBase { system: Ok(live), talos_meta: None, .. }) => planned(&recipe, live),
        Base::Disk(DiskBase { system: Ok(live), talos_meta: Some(_), .. }) => {
            planned(&without_meta_values(&recipe), live)
        }
        _ => return Ok(recipe),
    }?;
    let mut signatures = BTreeMap::new();
    for program in addons.programs() {
        let message = program.message()?;
        let signature = key.sign(&message)?;
        key.certificate().verify(&message, &signature)?;
        signatures.insert(program.digest(), SignatureBytes(signature.into()));
    }
    if signatures.is_empty() {
        return Ok(recipe);
    }
    let certificate = key.certificate().der().clone();
    Ok(Recipe { addon_signatures: Some(AddonSignatures { certificate, signatures }), ..recipe })
}
