//! `dayone serve`: its settings, from the command line, the environment and a file.

use std::path::PathBuf;

use clap::Args;

use super::settings::{Settings, SettingsError};

/// The arguments of `dayone serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// File with settings (YAML, the options' names as keys); the command line and the environment win over it
    #[arg(long, env = "DAYONE_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// All else.
    #[command(flatten)]
    pub settings: Settings,
}

impl ServeArguments {
    /// The settings that count.
    pub fn settings(self) -> Result<Settings, SettingsError> {
        match self.config {
            None => Ok(self.settings),
            Some(path) => Ok(self.settings.or(Settings::read(&path)?)),
        }
    }
}
