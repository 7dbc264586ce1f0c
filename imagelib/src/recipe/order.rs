//! One order for what has none, so that the same content is the same recipe.

use std::borrow::Cow;

use super::Recipe;
use crate::ignition::{SshPublicKey, UserConfig};

/// In which order the parts of a recipe stand that could stand in any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PartOrder {
    /// In one, whichever they were given in: profiles, units and files by name or path; SSH keys, each once, by key, where
    /// lines with the same key keep their order, since `sshd(8)` takes the first that admits; arguments to delete by text;
    /// in the user's Ignition config what Ignition takes in any order (see [`UserConfig::ordered`]).
    ///
    /// Kernel arguments to append and to replace stay in theirs, which has a meaning.
    #[default]
    Canonical,
    /// As they were given. For recipes that are stored already, whose identity and bytes must stay, and for those that
    /// are always written in the same order.
    AsGiven,
}

impl Recipe {
    /// The recipe with its parts in its order, which is what its identity and its image are made from.
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
