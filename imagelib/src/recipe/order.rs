//! The canonical order of parts whose order has no meaning, so that the same content has the same id.

use std::borrow::Cow;

use super::Recipe;
use crate::ignition::{SshPublicKey, UserConfig};

/// The order of the parts of a recipe whose order has no meaning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PartOrder {
    /// Sorted:
    ///
    /// - profiles, units and files by name or path;
    /// - SSH keys by key, without duplicates. Lines with the same key keep their order, because `sshd(8)` takes the first one
    ///   that admits the client;
    /// - kernel arguments to delete by text;
    /// - parts of the user's Ignition config as in [`UserConfig::ordered`].
    ///
    /// Kernel arguments to append and to replace keep their order, because it has a meaning.
    #[default]
    Canonical,
    /// As given. For recipes that are already stored, whose id and bytes must not change, and for recipes that are always
    /// written in the same order.
    AsGiven,
}

impl Recipe {
    /// The recipe with its parts in [its order](PartOrder). Its id and its image are made from this form.
    pub fn arranged(&self) -> Cow<'_, Self> {
        if self.order == PartOrder::AsGiven {
            return Cow::Borrowed(self);
        }
        let mut recipe = self.clone();
        let additions = &mut recipe.additions;
        additions.keyfiles.sort_by(|a, b| a.name.cmp(&b.name));
        additions.networkd_units.sort_by(|a, b| a.name.cmp(&b.name));
        additions.files.sort_by(|a, b| a.path.cmp(&b.path));
        additions.units.sort_by(|a, b| a.name.cmp(&b.name));
        additions.ssh_authorized_keys = keys(std::mem::take(&mut additions.ssh_authorized_keys));
        for argument in &mut recipe.kernel_arguments.delete {
            *argument = argument.trim().to_owned();
        }
        recipe.kernel_arguments.delete.sort();
        recipe.ignition = recipe.ignition.as_ref().map(UserConfig::ordered);
        Cow::Owned(recipe)
    }
}

fn keys(mut keys: Vec<SshPublicKey>) -> Vec<SshPublicKey> {
    let mut seen = std::collections::BTreeSet::new();
    keys.retain(|key| seen.insert(key.clone()));
    keys.sort_by(|a, b| a.material().cmp(&b.material()));
    keys
}
