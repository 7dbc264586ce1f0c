//! Drives for Combustion (<https://github.com/openSUSE/combustion>, README). It copies the directory `combustion` of the drive
//! into the initramfs and runs its `script` in the new system. If the script has the flag `prepare`, Combustion also runs it
//! with `--prepare` in the initramfs, before networking starts.
//!
//! NetworkManager accepts only keyfiles that belong to root and that only root can read. The script installs them so in both
//! places.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{DataImage, DataImageError};
use vocabulary::host::HostName;
use vocabulary::network_files::Keyfile;

/// A configuration for Combustion.
#[derive(Clone, Default)]
pub struct Combustion {
    /// The profiles.
    pub keyfiles: Vec<Keyfile>,
    /// The host name.
    pub hostname: Option<HostName>,
    /// The user's script, which runs after dayone's part. Its line `# combustion: …` takes effect.
    pub script: Option<Bytes>,
    /// More files, relative to the script's directory.
    pub files: BTreeMap<String, Bytes>,
}

const DIRECTORY: &str = "combustion";
const KEYFILES: &str = "system-connections";
const USER_SCRIPT: &str = "user-script";

impl Combustion {
    pub(super) fn image(&self) -> Result<DataImage, DataImageError> {
        if self.keyfiles.is_empty() && self.hostname.is_none() && self.script.is_none() {
            return Err(DataImageError::Empty("give profiles, a host name or a script"));
        }
        let mut image = DataImage::new("combustion");
        image.add_with(&format!("{DIRECTORY}/script"), 0o700, self.combined_script())?;
        for keyfile in &self.keyfiles {
            image.add(&format!("{DIRECTORY}/{KEYFILES}/{}", keyfile.name), keyfile.content.clone())?;
        }
        if let Some(script) = &self.script {
            image.add_with(&format!("{DIRECTORY}/{USER_SCRIPT}"), 0o700, script.clone())?;
        }
        for (path, content) in &self.files {
            image.add_with(&format!("{DIRECTORY}/{path}"), 0o700, content.clone())?;
        }
        Ok(image)
    }

    fn combined_script(&self) -> String {
        let prepare = self.user_asks_for("prepare");
        let flags = [("prepare", prepare || !self.keyfiles.is_empty()), ("network", self.user_asks_for("network"))];
        let flags: Vec<&str> = flags.iter().filter(|(_, wanted)| *wanted).map(|(flag, _)| *flag).collect();
        let run = format!("chmod +x ./{USER_SCRIPT}\nexec ./{USER_SCRIPT}");
        let mut parts = vec!["#!/bin/bash".to_owned()];
        if !flags.is_empty() {
            parts.push(format!("# combustion: {}", flags.join(" ")));
        }
        parts.push("set -euo pipefail".to_owned());
        if !self.keyfiles.is_empty() {
            parts.push(format!(
                "(\n\
                 \x20   umask 077\n\
                 \x20   mkdir -p /etc/NetworkManager/system-connections\n\
                 \x20   cp {KEYFILES}/*.nmconnection /etc/NetworkManager/system-connections/\n\
                 )"
            ));
        }
        let then = if prepare { format!("{run} --prepare") } else { "exit 0".to_owned() };
        parts.push(format!("if [ \"${{1-}}\" = --prepare ]; then\n{then}\nfi"));
        // A host name has no characters that are special to a shell.
        parts.extend(self.hostname.as_ref().map(|hostname| format!("echo {hostname} > /etc/hostname")));
        parts.extend(self.script.as_ref().map(|_| run));
        parts.join("\n") + "\n"
    }

    /// Whether the user's script has a flag, as Combustion looks for it.
    fn user_asks_for(&self, flag: &str) -> bool {
        let script = self.script.as_deref().unwrap_or_default();
        let lines = script.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"# combustion:"));
        let words = lines.flat_map(|flags| flags.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_'));
        words.into_iter().any(|word| word == flag.as_bytes())
    }
}

debug_only!(Combustion { keyfiles, hostname });
