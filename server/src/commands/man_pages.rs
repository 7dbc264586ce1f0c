//! `dayone man-pages`: the manual, made from the command line's own definition.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use super::failure::Failure;
use crate::arguments::{Arguments, ManPagesArguments};

pub(super) fn run(arguments: &ManPagesArguments) -> Result<(), Failure> {
    let directory = arguments.directory.as_path();
    // `help` repeats every page.
    let mut command = Arguments::command().disable_help_subcommand(true);
    // Names the pages of commands after all commands above them.
    command.build();
    let written = fs::create_dir_all(directory).and_then(|()| write(&command, directory));
    let what = || format!("cannot write manual pages to {}, where a set may be incomplete", directory.display());
    written.map_err(|error| Failure::system(&what(), &error))
}

fn write(command: &Command, directory: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        write(subcommand, directory)?;
    }
    // The pages have no date: the same version has the same pages.
    let source = concat!("dayone ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.clone()).date("").source(source).manual("dayone's manual");
    let mut text = Vec::new();
    page.render(&mut text)?;
    let path = directory.join(page.get_filename());
    let mut file = fs::File::create(&path)?;
    // Half a page is worse than none.
    file.write_all(&text).inspect_err(|_| drop(fs::remove_file(&path)))
}
