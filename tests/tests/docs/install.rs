//! The commands of `docs/install.md`. Those that need nothing but the program run here; what covers the others stands beside them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use acceptance::bases::fixtures;
use acceptance::peers::run_text;
use acceptance::server::dayone;
use imagelib::recipe;

/// The beginnings of commands that need a package manager, a registry or a service manager, and what covers them.
const ELSEWHERE: [(&str, &str); 21] = [
    ("sudo apt install", "packaging/packages.rs installs the package with dpkg"),
    ("sudo dnf install", "packaging/packages.rs installs the package with rpm"),
    ("sudo tar -xzf", "scripts/release/check.sh unpacks the archive"),
    ("sudo systemctl daemon-reload", "packaging/systemd.rs runs it"),
    ("podman load", "packaging/image.rs unpacks the image and runs its program, without podman"),
    ("skopeo copy", "scripts/release/check.sh copies the image into a directory"),
    ("podman run", "packaging/image.rs runs the program of the image, without podman"),
    ("sudo systemctl enable --now dayone", "packaging/systemd.rs runs it"),
    ("curl http://127.0.0.1:8080/readyz", "packaging/systemd.rs runs it"),
    ("sudo dayone doctor --self", "packaging/systemd.rs runs it"),
    ("sudo systemd-run --pipe --wait --collect", "packaging/systemd.rs runs it"),
    ("sudo systemctl restart dayone", "packaging/systemd.rs runs it"),
    ("sudo dayone config check && sudo systemctl reload dayone", "packaging/systemd.rs runs it"),
    ("sudo chown --reference=/var/lib/private/dayone /srv/dayone-data", "packaging/systemd.rs runs it"),
    ("sudo apt purge", "packaging/packages.rs purges the package with dpkg"),
    ("sudo dnf remove", "packaging/packages.rs removes the package with rpm"),
    ("sudo systemctl disable --now dayone && sudo make uninstall", "packaging/install.rs runs make uninstall"),
    ("sudo systemctl disable --now dayone", "packaging/systemd.rs stops the service"),
    ("sudo rm -r /usr/local/bin/dayone", "packaging/install.rs runs it"),
    ("sudo rm -r /var/lib/private/dayone", "nothing: it removes the directory that it names"),
    ("sudo rm -r /var/log/private/dayone", "nothing: it removes the directory that it names"),
];

fn page() -> String {
    fs::read_to_string(fixtures("../docs/install.md")).unwrap()
}

fn shell(script: &str, directory: &Path) -> Command {
    let binaries = Path::new(dayone().get_program()).parent().unwrap().to_owned();
    let mut command = Command::new("bash");
    command.args(["-euc", script]).current_dir(directory).stdin(Stdio::null());
    command.env("PATH", format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap()));
    command
}

/// The commands of indented blocks, without comments, and with the lines that continue them.
fn commands(page: &str) -> Vec<String> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("    ")).map(str::trim);
    let text = lines.collect::<Vec<_>>().join("\n").replace("\\\n", "");
    let is_command = |line: &&str| {
        ["sudo ", "podman ", "skopeo ", "make ", "curl ", "dayone "].iter().any(|word| line.starts_with(word))
    };
    let commands = text.lines().filter(is_command).map(|line| line.split(" #").next().unwrap().trim().to_owned());
    // What `dayone --version` prints begins with the name of the program.
    commands.filter(|command| !command.starts_with("dayone 0.")).collect()
}

#[test]
fn every_command_is_covered() {
    let commands = commands(&page());
    assert!(commands.len() > 12, "{commands:?}");
    for command in commands {
        if command.starts_with("make build") {
            let target = command.replace("sudo ", "").replace("make ", "make --dry-run ");
            run_text(&mut shell(&target, &fixtures("..")));
            continue;
        }
        let elsewhere = ELSEWHERE.iter().any(|(beginning, _)| command.starts_with(beginning));
        assert!(elsewhere, "nothing covers this command of docs/install.md: {command}");
    }
}

#[test]
fn the_program_writes_its_completions_and_pages_and_says_its_version() {
    let directory = tempfile::tempdir().unwrap();
    for part in ["`eval \"$(dayone completions bash)\"`", "`dayone man-pages DIR`"] {
        assert!(page().contains(part), "{part}");
    }
    run_text(&mut shell("eval \"$(dayone completions bash)\"; complete -p dayone", directory.path()));
    run_text(&mut shell("dayone man-pages pages", directory.path()));
    assert!(directory.path().join("pages/dayone-config-check.1").is_file());
    let version = run_text(&mut shell("dayone --version", directory.path()));
    let names = |text: &str| {
        text.lines().map(|line| line.trim().split([' ', ':']).next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let shown: String = page()
        .lines()
        .skip_while(|line| !line.starts_with("    dayone 0."))
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(names(&version), names(&shown));
}

/// An older dayone serves no image whose recipe has a version that it does not know.
#[test]
fn the_page_says_what_has_each_version_of_recipes() {
    let page = page();
    let row = page.lines().find(|line| line.starts_with("| images that the newer version published |")).unwrap();
    for version in recipe::VERSIONS {
        assert!(row.contains(&format!("version {version} of recipes")), "version {version}: {row}");
    }
}
