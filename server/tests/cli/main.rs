//! The command line as its users meet it: the real binary, its output and its exit codes.
//! `UPDATE_GOLDEN=1` rewrites the golden files in `fixtures/commands`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::format_collect)]

mod audit;
mod build;
mod build_all;
mod build_data;
mod build_refusals;
mod catalogue;
mod check;
mod config;
mod convert;
mod directories;
mod documentation;
mod explain;
mod images;
mod init;
mod inspect;
mod manual;
mod proxies;
mod second_step;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn dayone() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dayone"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(path)
}

/// How a command ended: exit code, standard output, standard error.
struct Ended {
    code: i32,
    out: String,
    err: String,
}

fn ended(output: Output) -> Ended {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap_or_else(|| panic!("ended by a signal: {}", output.status));
    Ended { code, out: text(output.stdout), err: text(output.stderr) }
}

fn run(arguments: &[&str]) -> Ended {
    ended(dayone().args(arguments).output().unwrap())
}

fn run_with_input(arguments: &[&str], input: &[u8]) -> Ended {
    let mut child =
        dayone().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    ended(child.wait_with_output().unwrap())
}

fn golden(name: &str, actual: &str) {
    let path = fixture("commands").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(actual, expected, "{name}");
}

/// The cases in a folder of fixtures: documents with what is found in them.
fn cases_with_findings(folder: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    // A document with a list of NICs beside it is no case by itself.
    paths.retain(|path| {
        path.extension().is_some_and(|extension| extension == "findings") && !path.with_extension("nics").exists()
    });
    assert!(!paths.is_empty(), "{folder}");
    paths.sort();
    paths
}

#[test]
fn wrong_arguments_have_an_exit_code_of_their_own() {
    for arguments in
        [&[][..], &["frobnicate"], &["check"], &["convert", "--format", "xml", "x"], &["check", "--force", "x"]]
    {
        assert_eq!(run(arguments).code, 2, "{arguments:?}");
    }
    assert_eq!(run(&["--version"]).out.split(' ').next(), Some("dayone"));
}

#[test]
fn help_names_the_exit_codes() {
    for command in [
        "boot",
        "build",
        "check",
        "completions",
        "convert",
        "config check",
        "doctor",
        "init",
        "inspect",
        "man-pages",
        "serve",
    ] {
        let help = run(&command.split(' ').chain(["--help"]).collect::<Vec<_>>());
        assert_eq!(help.code, 0);
        assert!(help.out.contains("Exit codes: 0 "), "{}", help.out);
    }
}

/// The commands below `command`, each with the words of its name.
fn commands(command: &clap::Command, names: &[String]) -> Vec<(Vec<String>, clap::Command)> {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    let all = below.flat_map(|below| {
        let names: Vec<String> = names.iter().cloned().chain([below.get_name().to_owned()]).collect();
        if below.has_subcommands() { commands(below, &names) } else { vec![(names, below.clone())] }
    });
    all.collect()
}

#[test]
fn the_short_help_of_every_command_has_three_examples_that_it_understands() {
    let definition = <dayone::arguments::Arguments as clap::CommandFactory>::command();
    let all = commands(&definition, &[]);
    assert!(all.len() > 15);
    for (names, command) in all {
        // As it is written: on a terminal, long lines are broken.
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let (_, examples) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{names:?}: {help}"));
        let examples: Vec<&str> = examples.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        assert!(examples.len() >= 3, "{names:?}: {examples:?}");
        for example in examples {
            // Digests are cut off.
            let example = example.replace('…', &"0".repeat(58));
            let (_, words) = example.split_once("dayone ").unwrap_or_else(|| panic!("{example}"));
            let words = words.split(" > ").next().unwrap().split(' ');
            assert!(words.clone().take(names.len()).eq(names.iter().map(String::as_str)), "{names:?}: {example}");
            let parsed = definition.clone().try_get_matches_from(["dayone"].into_iter().chain(words));
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        }
    }
}
