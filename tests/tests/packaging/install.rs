//! `make install`, and what shells and `man` make of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::fixtures;
use acceptance::packaging::{in_repository, make_install};
use acceptance::peers::{run, run_text};
use acceptance::server::dayone;

use super::files;

const UNIT: &str = "usr/local/lib/systemd/system/dayone.service";

fn installed() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    make_install(Path::new(dayone().get_program()), &[("DESTDIR", root.path())]);
    root
}

#[test]
fn everything_is_installed_and_all_but_settings_is_uninstalled() {
    let root = installed();
    let here = files(root.path());
    for file in [
        "usr/local/bin/dayone",
        UNIT,
        "usr/local/share/man/man1/dayone-bmc-probe.1.gz",
        "usr/local/share/doc/dayone/LICENSE",
        "usr/local/share/doc/dayone/docs/install.md",
        "etc/dayone/dayone.yaml",
    ] {
        assert!(here.contains(file), "{file} is not in {here:?}");
    }
    let said = run_text(Command::new(root.path().join("usr/local/bin/dayone")).arg("--version"));
    assert!(said.starts_with(concat!("dayone ", env!("CARGO_PKG_VERSION"), "\ncommit: ")), "{said}");
    assert!(said.contains("\nnmstate: 2."), "{said}");
    let unit = fs::read_to_string(root.path().join(UNIT)).unwrap();
    assert!(unit.contains("\nExecStart=/usr/local/bin/dayone serve --config /etc/dayone/dayone.yaml\n"), "{unit}");

    // Only root may read secrets, and an update replaces nothing that users have written.
    let secrets = root.path().join("etc/dayone/dayone.env");
    assert_eq!(fs::metadata(&secrets).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&secrets, "DAYONE_API_TOKEN=mine").unwrap();
    make_install(Path::new(dayone().get_program()), &[("DESTDIR", root.path())]);
    assert_eq!(fs::read_to_string(&secrets).unwrap(), "DAYONE_API_TOKEN=mine");

    let mut make = in_repository("make");
    make.args(["--silent", "uninstall"]).arg(format!("DESTDIR={}", root.path().display()));
    let output = make.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    // Without its unit, the service would go on.
    assert!(output.status.success() && said.contains("systemctl disable --now dayone"), "{said}");
    let left: Vec<String> = files(root.path()).into_iter().collect();
    assert_eq!(left, ["etc/dayone/dayone.env", "etc/dayone/dayone.yaml"]);
}

/// The archive has what `make install` installs (`scripts/packages.sh`).
#[test]
fn the_page_removes_all_of_the_archive_but_the_settings() {
    let root = installed();
    let page = fs::read_to_string(fixtures("../docs/install.md")).unwrap().replace("\\\n", "");
    let command = page.lines().find_map(|line| line.trim().strip_prefix("sudo rm -r /usr/local/")).unwrap();
    let command =
        format!("rm -r /usr/local/{command}").replace("/usr/local", &root.path().join("usr/local").to_string_lossy());
    run(Command::new("sh").args(["-euc", &command]));
    let left: Vec<String> = files(root.path()).into_iter().collect();
    assert_eq!(left, ["etc/dayone/dayone.env", "etc/dayone/dayone.yaml"]);
}

#[test]
fn without_a_build_the_error_says_what_to_do() {
    let output = in_repository("make").args(["install", "BINARY=/nowhere/dayone"]).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && errors.contains("run make build first"), "{errors}");
}

#[test]
fn a_prefix_that_the_unit_cannot_name_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for prefix in ["opt", "/opt/day one", "/opt/a#b", "/opt/a&b", "/opt/100%"] {
        let mut make = in_repository("make");
        make.args(["--silent", "install"]).arg(format!("BINARY={}", Path::new(dayone().get_program()).display()));
        make.arg(format!("DESTDIR={}/", root.path().display())).arg(format!("PREFIX={prefix}"));
        let output = make.output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && errors.contains(&format!("install.sh: {prefix}: write")), "{errors}");
        assert!(files(root.path()).is_empty(), "{prefix}: {:?}", files(root.path()));
    }
}

#[test]
fn shells_complete_commands_and_options() {
    let root = installed();
    let script = |path: &str| root.path().join("usr/local/share").join(path);
    let bash = script("bash-completion/completions/dayone");
    let complete = "source \"$1\"; COMP_WORDS=(dayone $2) COMP_CWORD=$3; set -- ${COMP_WORDS[COMP_CWORD]}
        _dayone dayone \"$1\" dayone; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let completed = |words: &str, at: &str| {
        let shown = run_text(Command::new("bash").args(["-c", complete, "bash"]).arg(&bash).args([words, at]));
        shown.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed("se", "1"), ["serve", "second-step"]);
    assert!(completed("serve --media-u", "2").contains(&"--media-url".to_owned()));
    let (zsh, fish) = (script("zsh/site-functions/_dayone"), script("fish/vendor_completions.d/dayone.fish"));
    assert!(fs::read_to_string(&zsh).unwrap().starts_with("#compdef dayone\n"));
    run(Command::new("zsh").arg("-n").arg(zsh));
    run(Command::new("fish").arg("--no-execute").arg(&fish));
    let complete = format!("source {}; complete --do-complete 'dayone man-'", fish.display());
    let shown = run_text(Command::new("fish").args(["--no-config", "-c", &complete]));
    assert!(shown.starts_with("man-pages\t"), "{shown}");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let root = installed();
    let directory = root.path().join("usr/local/share/man/man1");
    let help = run_text(dayone().arg("--help"));
    let commands = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let commands: Vec<&str> = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert!(commands.contains(&"serve"), "{commands:?}");
    for command in commands.iter().filter(|command| !command.is_empty() && **command != "help") {
        let page = directory.join(format!("dayone-{command}.1.gz"));
        assert!(page.exists(), "{}", page.display());
    }
    let pages: Vec<PathBuf> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    for page in pages {
        // `mandb` finds the name and what it is; groff finds no mistake in the text.
        let found = run_text(Command::new("lexgrog").arg(&page));
        let name = page.file_name().unwrap().to_str().unwrap().trim_end_matches(".1.gz");
        assert!(found.contains(&format!("\"{name} - ")), "{found}");
        let check = "zcat \"$1\" | groff -K utf8 -man -Tutf8 -ww -z 2>&1";
        assert_eq!(run_text(Command::new("sh").args(["-c", check, "sh"]).arg(&page)), "", "{name}");
    }
    let page = "zcat \"$1\" | groff -K utf8 -man -Tutf8 | col -bx";
    let text = run_text(Command::new("sh").args(["-c", page, "sh"]).arg(directory.join("dayone-serve.1.gz")));
    assert!(text.contains("--media-url") && text.contains("DAYONE_MEDIA_URL"), "{text}");
}
