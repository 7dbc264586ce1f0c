//! GnuPG: keys and signatures of publishers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::peers::{run, run_text};

/// GnuPG, with a home of its own.
pub struct Gpg(TempDir);

impl Gpg {
    /// Makes the home.
    pub fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).expect("a private directory");
        Self(home)
    }

    /// A command that asks nothing.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("gpg");
        command.arg("--homedir").arg(self.0.path());
        command.args(["--batch", "--yes", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]);
        command.args(arguments);
        command
    }

    /// Makes a key: `usage` is that of its primary key, such as `sign`.
    pub fn key(&self, user: &str, algorithm: &str, usage: &str, expires: &str) {
        run(&mut self.command(&["--quick-generate-key", user, algorithm, usage, expires]));
    }

    /// The fingerprint of a user's primary key.
    pub fn fingerprint(&self, user: &str) -> String {
        let listed = run_text(&mut self.command(&["--with-colons", "--list-keys", user]));
        let line = listed.lines().find(|line| line.starts_with("fpr:")).expect("a fingerprint");
        line.split(':').nth(9).expect("a fingerprint").to_owned()
    }

    /// The public keys of users, in a file; armored if `armor` is set.
    pub fn export(&self, users: &[&str], armor: bool) -> PathBuf {
        let path = self.0.path().join(format!("{}.pub", users.join("-")));
        let mut command = self.command(if armor { &["--armor", "--export"] } else { &["--export"] });
        fs::write(&path, run(command.args(users))).expect("a file");
        path
    }

    /// Signs a file with a user's key, and returns the path of the signature.
    pub fn sign(&self, user: &str, file: &Path, more: &[&str]) -> PathBuf {
        let signature = file.with_extension(format!("{user}.sig"));
        let mut command = self.command(more);
        command.args(["--local-user", user, "--output"]).arg(&signature).arg("--detach-sign").arg(file);
        run(&mut command);
        signature
    }

    /// Revokes a user's key, with the certificate that was made with the key.
    pub fn revoke(&self, user: &str) {
        let fingerprint = self.fingerprint(user);
        let made = self.0.path().join(format!("openpgp-revocs.d/{fingerprint}.rev"));
        // A colon before the block keeps people from importing it by mistake.
        let certificate =
            fs::read_to_string(made).expect("a revocation certificate").replace(":-----BEGIN", "-----BEGIN");
        let path = self.0.path().join("revocation");
        fs::write(&path, certificate).expect("a file");
        run(self.command(&["--import"]).arg(path));
    }
}

impl Default for Gpg {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Gpg {
    fn drop(&mut self) {
        // The agent of this home only.
        let mut end = Command::new("gpgconf");
        let _ = end.arg("--homedir").arg(self.0.path()).args(["--kill", "gpg-agent"]).status();
    }
}
