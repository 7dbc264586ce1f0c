//! A script that gives an installed system with NetworkManager its network.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::InstalledSystem;
use vocabulary::network_files::{CONFIGURATION, KEYFILES, NO_AUTO_DEFAULT};

const INSTALL_FILE: &str = include_str!("install-file.sh");
/// The length of a line of base64.
const LINE: usize = 76;

/// Returns the commands, for the shell of the installed system. They write the host's keyfiles and its host name.
///
/// The files are base64 in quoted here-documents, so that no line of them means anything to the shell, or to the format around it.
pub(super) fn commands(system: InstalledSystem<'_>) -> String {
    let mut text = String::from(INSTALL_FILE);
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
    text
}
