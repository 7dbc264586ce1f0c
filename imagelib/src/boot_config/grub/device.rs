//! Devices that are certainly not the medium that GRUB was started from.

use std::collections::BTreeSet;

/// Memory, files in files, the network and volume groups, by how their names begin (`grub_disk_dev_id` and the network
/// drivers). A disk, such as `hd0`, may well be the medium.
const FOREIGN: [&str; 12] =
    ["memdisk", "loop", "http", "https", "tftp", "pxe", "nfs", "lvm/", "lvmid/", "crypto", "md/", "mduuid/"];

/// The devices that a script makes of files.
#[derive(Default)]
pub(super) struct Loopbacks(BTreeSet<String>);

impl Loopbacks {
    /// Notes a command, with its words.
    pub(super) fn note<'a>(&mut self, mut words: impl Iterator<Item = &'a str>) {
        if words.next() == Some("loopback")
            && let Some(name) = words.find(|word| !word.starts_with('-'))
        {
            self.0.insert(name.to_owned());
        }
    }

    /// The device that `text`, such as `(loop)/initrd` or `(loop)`, begins with, where it is not the medium.
    pub(super) fn foreign(&self, text: &str) -> Option<String> {
        let (device, _) = text.strip_prefix('(')?.split_once(')')?;
        let name = device.split(',').next().unwrap_or(device);
        let foreign = self.0.contains(name) || FOREIGN.iter().any(|prefix| name.starts_with(prefix));
        foreign.then(|| format!("({device})"))
    }
}
