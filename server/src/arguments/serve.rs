//! `dayone serve`: its settings, from the command line, the environment and a file.

use std::path::PathBuf;

use clap::Args;

use super::settings::{Settings, SettingsError};

/// The arguments of `dayone serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// File with settings (YAML, with the options' names as keys); the command line and the environment override it
    #[arg(long, env = "DAYONE_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// All other settings.
    #[command(flatten)]
    pub settings: Settings,
}

impl ServeArguments {
    /// Returns the effective settings: the file's, overridden by the command line and the environment.
    pub fn settings(self) -> Result<Settings, SettingsError> {
        match self.config {
            None => Ok(self.settings),
            Some(path) => Ok(self.settings.or(Settings::read(&path)?)),
        }
    }
}
