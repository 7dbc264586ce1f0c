//! The programs that serve, and their command lines.

use std::ffi::OsString;

use clap::ValueEnum;

/// A program with settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Program {
    /// `dayone serve`
    #[default]
    Serve,
    /// `dayone controller`
    Controller,
    /// `dayone static-server`
    StaticServer,
}

impl Program {
    /// All programs.
    pub const ALL: [Self; 3] = [Self::Serve, Self::Controller, Self::StaticServer];

    /// The name of the command.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Controller => "controller",
            Self::StaticServer => "static-server",
        }
    }
}

/// The command line of a program, to be read again.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// The program.
    pub program: Program,
    /// The words, of which the first is the program's name.
    pub words: Vec<OsString>,
    /// Whether an option may be repeated, and the last one counts, as with Go's package `flag`.
    pub overrides_itself: bool,
}

impl CommandLine {
    /// The command line of a program with these options.
    pub fn new(program: Program, options: impl IntoIterator<Item = OsString>) -> Self {
        let words = [OsString::from(program.name())].into_iter().chain(options).collect();
        Self { program, words, overrides_itself: false }
    }
}
