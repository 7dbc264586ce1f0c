//! The sections at the end of a kickstart file that give the installed system its network.
//!
//! Anaconda itself copies its profiles to the installed system (`pyanaconda/modules/network/installation.py`), but changes them
//! before: it takes the MAC address out of a profile, binds it to the NIC's name, and adds a profile for each NIC that has none
//! (`initialization.py`). The first section therefore removes the copies, and the second one writes the documents' profiles.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::answers::InstalledSystem;
use vocabulary::network_files::{CONFIGURATION, KEYFILES, NO_AUTO_DEFAULT};

const SECTIONS: &str = include_str!("post.ks");
/// The length of a line of base64.
const LINE: usize = 76;

/// Returns the sections.
pub(super) fn sections(system: InstalledSystem<'_>) -> String {
    let mut text = String::from(SECTIONS);
    let mut file = |path: &str, mode: &str, content: &str| {
        let encoded = BASE64_STANDARD.encode(content);
        // Writing to a String does not fail.
        let _ = writeln!(text, "install_file {path} {mode} <<'END'");
        let mut rest = encoded.as_str();
        while let Some((line, next)) = rest.split_at_checked(LINE) {
            let _ = writeln!(text, "{line}");
            rest = next;
        }
        if !rest.is_empty() {
            let _ = writeln!(text, "{rest}");
        }
        text.push_str("END\n");
    };
    for keyfile in &system.network.keyfiles {
        // A name has only characters that need no quotes.
        file(&format!("{KEYFILES}/{}", keyfile.name), "0600", &keyfile.content);
    }
    if system.no_auto_default {
        let (name, content) = NO_AUTO_DEFAULT;
        file(&format!("{CONFIGURATION}/{name}"), "0644", content);
    }
    if let Some(name) = system.hostname {
        file("/etc/hostname", "0644", &format!("{name}\n"));
    }
    text.push_str("%end\n");
    text
}
