//! `docs/commands.md` and `docs/second-step.md`: their examples are run. The former names every option.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::images::Place;
use super::{fixture, run};

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)).unwrap()
}

/// Commands with what they print, in the order of the page.
fn examples(page: &str) -> Vec<(String, Vec<String>)> {
    let mut examples: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match (line, inside) {
            ("```console", false) => inside = true,
            ("```", true) => inside = false,
            (_, true) => match line.strip_prefix("$ ") {
                Some(command) => examples.push((command.to_owned(), Vec::new())),
                None => examples.last_mut().unwrap().1.push(line.to_owned()),
            },
            _ => {}
        }
    }
    examples
}

/// `…` stands for any part of a line, and on a line of its own for any lines. How wide a column is depends on the directory of the
/// test, so spaces beyond the second do not count.
fn matches(expected: &[String], actual: &[&str]) -> bool {
    let Some((first, rest)) = expected.split_first() else { return actual.is_empty() };
    if first == "…" {
        return (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..]));
    }
    actual.split_first().is_some_and(|(line, others)| line_matches(first, line) && matches(rest, others))
}

/// The line with its indentation, and no more than two spaces in a row after it.
fn with_narrow_columns(line: &str) -> String {
    let (indentation, rest) = line.split_at(line.len() - line.trim_start_matches(' ').len());
    let mut narrow = rest.to_owned();
    while narrow.contains("   ") {
        narrow = narrow.replace("   ", "  ");
    }
    format!("{indentation}{narrow}")
}

fn line_matches(expected: &str, actual: &str) -> bool {
    match expected.split_once('…') {
        None => expected == actual,
        Some((before, "")) => actual.starts_with(before),
        Some((before, after)) => actual
            .strip_prefix(before)
            .is_some_and(|actual| actual.char_indices().any(|(at, _)| line_matches(after, &actual[at..]))),
    }
}

#[test]
fn the_examples_do_what_the_page_says() {
    let place = Place::new();
    place.unpack("coreos.iso");
    let read = |name: &str| fs::read_to_string(fixture(name)).unwrap();
    let host = read("inputs/bare-metal-host/same-data.yaml");
    let (secret_or_host, other) = host.split_once("\n---\n").unwrap();
    let host_first = secret_or_host.contains("kind: BareMetalHost");
    place.write("host.yaml", if host_first { secret_or_host } else { other });
    place.write("secret.yaml", if host_first { other } else { secret_or_host });
    place.write("worker-0.yaml", &host);
    place.write("two-hosts.yaml", read("inputs/bare-metal-host/two-hosts.yaml"));
    place.write("bond.yaml", read("nmstate/bond-vlans/nmstate.yaml"));
    place.write("broken.yaml", read("inputs/invalid/several-errors-in-one-host.yaml"));

    place.write("hosts.yaml", read("scenarios/static-ipv4-baremetalhost.yaml"));
    place.write("ostest-master-0.yml", read("scenarios/br-ex-second-step.yaml"));
    run_all("commands.md", &place, 10);
}

#[test]
fn the_second_step_is_as_its_page_says() {
    let place = Place::new();
    let read = |name: &str| fs::read_to_string(fixture(name)).unwrap();
    place.write("hosts.yaml", read("scenarios/static-ipv4-baremetalhost.yaml"));
    place.write("ostest-master-0.yml", read("scenarios/br-ex-second-step.yaml"));
    run_all("second-step.md", &place, 5);
}

#[test]
fn the_fleet_is_as_its_page_says() {
    let place = Place::new();
    place.unpack("coreos.iso");
    fs::rename(place.file("coreos.iso"), place.file("live.iso")).unwrap();
    let page = page("fleet.md");
    for (language, name) in [("yaml", "fleet.yaml"), ("csv", "hosts.csv")] {
        let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
        place.write(name, rest.split("```").next().unwrap());
    }
    fs::copy(fixture("inputs/fleet/xlsx-own-document/fleet.xlsx"), place.file("rack.xlsx")).unwrap();
    run_all("fleet.md", &place, 2);
}

/// Runs the examples of a page, of which there are more than `least`, where the place is.
fn run_all(name: &str, place: &Place, least: usize) {
    let binaries = Path::new(env!("CARGO_BIN_EXE_dayone")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let examples = examples(&page(name));
    assert!(examples.len() > least);
    for (command, expected) in examples {
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .env("PATH", &path)
            .current_dir(place.path())
            .output()
            .unwrap();
        let actual = String::from_utf8(output.stdout).unwrap();
        let narrow: Vec<String> = actual.lines().map(with_narrow_columns).collect();
        let lines: Vec<&str> = narrow.iter().map(String::as_str).collect();
        let wanted: Vec<String> = expected.iter().map(|line| with_narrow_columns(line)).collect();
        assert!(matches(&wanted, &lines), "$ {command}\n{actual}\nbut the page says\n{}", expected.join("\n"));
    }
}

#[test]
fn the_page_names_every_option() {
    let page = page("commands.md");
    let commands = [
        "audit show",
        "audit verify",
        "bmc probe",
        "boot",
        "boots list",
        "boots rm",
        "boots show",
        "boots watch",
        "build",
        "check",
        "config check",
        "convert",
        "doctor",
        "eject",
        "explain",
        "images",
        "init",
        "inspect",
        "manifests",
        "second-step",
        "serve",
    ];
    for command in commands {
        assert!(page.contains(&format!("\n## {command}\n")));
        let help = run(&command.split(' ').chain(["--help"]).collect::<Vec<_>>()).out;
        let options = help.lines().filter(|line| line.trim_start().starts_with('-'));
        let options = options.filter_map(|line| line.split([' ', ',']).find(|word| word.starts_with("--")));
        let options: Vec<&str> = options.filter(|option| *option != "--help").collect();
        assert!(!options.is_empty(), "{help}");
        for option in options {
            let named =
                page.split(option).skip(1).any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'));
            assert!(named, "{command} {option}");
        }
    }
}

/// The options of `dayone build --help` under each of its headings.
#[test]
fn the_help_of_build_groups_its_options() {
    let help = run(&["build", "--help"]).out;
    let section = |heading: &str| {
        let (_, behind) = help.split_once(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("no {heading}: {help}"));
        let lines = behind.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
        let option = |line: &str| Some(line.trim_start().split_once("--")?.1.split([' ', '=']).next()?.to_owned());
        lines.filter(|line| line.trim_start().starts_with('-')).filter_map(option).collect::<Vec<_>>()
    };
    let data = ["data", "file-system", "network-data", "meta-data", "user-data", "vendor-data", "publisher"];
    assert_eq!(section("Data images"), data);
    let customisation = section("Customisation");
    assert_eq!(customisation.first().map(String::as_str), Some("karg-append"));
    let options = section("Options");
    for option in ["host", "base", "format", "output", "force", "quiet", "help"] {
        assert!(options.iter().any(|each| each == option), "{option} is not among {options:?}");
    }
    assert!(options.iter().all(|option| !customisation.contains(option)));
}
