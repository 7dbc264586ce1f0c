//! Changed boot configurations, shown to the loaders' own programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use acceptance::peers::run;
use imagelib::boot_config::{BootConfig, Boots, Edits, Loader};
use proptest::prelude::*;

/// GRUB's configurations in a tree of fixtures.
fn grub_configs(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let text = path.to_string_lossy().to_lowercase();
        if path.is_dir() {
            grub_configs(&path, found);
        } else if text.contains("/grub") && text.ends_with(".cfg") || text.ends_with("/efi/boot/boot.conf") {
            found.push(path);
        }
    }
}

fn fixtures(part: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    grub_configs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/boot-config").join(part), &mut found);
    assert!(found.len() > 8, "{found:?}");
    found
}

fn check(script: &Path) {
    run(Command::new("grub-script-check").arg(script));
}

#[test]
fn grub_accepts_what_is_expected_of_changes() {
    let directory = tempfile::tempdir().unwrap();
    let broken = directory.path().join("broken.cfg");
    fs::write(&broken, "menuentry 'a' {\n linux /k 'x\n}\n").unwrap();
    assert!(!Command::new("grub-script-check").arg(&broken).output().unwrap().status.success());
    fixtures("media").iter().chain(&fixtures("expected")).for_each(|script| check(script));
}

/// Commands that load nothing, but show what they are given.
const SHOW: &str = "function show {\n  for word in \"$@\"; do\n    echo \"<$word>\"\n  done\n}\n\
                    set linux=show\nset initrd=true\n";

/// What GRUB gives to a kernel, for each `$linux` in a script that begins with [`SHOW`].
fn read_by_grub(script: &[u8]) -> Vec<Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("grub.cfg"), [script, b"\nexit\n"].concat()).unwrap();
    // A script that GRUB does not read would end in its shell, which nobody leaves.
    let mut grub = Command::new("timeout");
    grub.args(["5", "grub-emu", "--root=host", "-d"]).arg(directory.path());
    let shown = run(grub.env("TERM", "dumb").stdin(Stdio::null()));
    let shown = String::from_utf8_lossy(&shown);
    let mut kernels: Vec<Vec<String>> = Vec::new();
    for line in shown.split(['\n', '\r']) {
        let word = line.split_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
        match word {
            Some("/kernel") => kernels.push(Vec::new()),
            // GRUB gives an empty word to the kernel as a space.
            Some(word) if !word.is_empty() => kernels.last_mut().unwrap().push(word.to_owned()),
            _ => {}
        }
    }
    kernels
}

/// A word in all of GRUB's ways of quoting, without what GRUB escapes for the kernel and replaces by file names.
fn script_word() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z0-9.,=/:@%^~+!-]{1,4}",
        1 => "#",
        1 => "\r",
        1 => "\\\\\r?\n[a-z]",
        2 => "'[a-z;{}|&<>$#*\r]{0,4}'",
        2 => "\"([a-z;{}|&<>#*\r]|\\\\\\$){0,4}\"",
        1 => "\\\\[a-z;{}|&<>$#*]",
    ];
    prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn grub_reads_the_words_that_we_read(
        kernels in prop::collection::vec(prop::collection::vec((script_word(), "( |\t|  | \\\\\r?\n )"), 0..6), 1..12),
    ) {
        let lines: String = kernels.iter().fold(SHOW.to_owned(), |text, words| {
            let words: String = words.iter().flat_map(|(word, gap)| [gap.as_str(), word]).collect();
            text + "$linux /kernel" + &words + "\n$initrd /initrd\n"
        });
        let config = BootConfig::parse(Loader::Grub, lines.clone().into_bytes());
        let read: Vec<Vec<&str>> = config.entries().iter().map(|entry| match &entry.boots {
            Boots::Linux(linux) => linux.arguments.iter().collect(),
            Boots::Other(reason) => panic!("{reason}: {lines}"),
        }).collect();
        prop_assert_eq!(read, read_by_grub(lines.as_bytes()), "{}", lines);
    }

    #[test]
    fn grub_reads_the_arguments_that_we_append(
        plain in prop::collection::vec("[!-!$-=?-~][!-~]{0,24}", 1..8),
        quoted in prop::collection::vec("[a-z]{1,5}=\"[ -!#-;=?-~]{1,20}\"", 1..8),
    ) {
        let mut edits = Edits::default();
        edits.arguments.append =
            plain.into_iter().filter(|text| !text.contains('"')).chain(quoted).filter_map(|text| text.parse().ok()).collect();
        let meant = edits.arguments.append.iter().map(|argument| argument.as_str().replace('"', ""));
        let meant: Vec<String> = std::iter::once("quiet".to_owned()).chain(meant).collect();
        let text = format!("{SHOW}$linux /kernel quiet\n$initrd /initrd\n");
        let config = BootConfig::parse(Loader::Grub, text.clone().into_bytes());
        let edited = edits.apply_to(&[&config]).unwrap().texts.pop().unwrap().unwrap_or(text.into_bytes());
        prop_assert_eq!(read_by_grub(&edited), [meant], "{}", String::from_utf8_lossy(&edited));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn grub_accepts_any_argument_that_can_be_appended(
        plain in "[!-~äß]{1,24}",
        quoted in "[a-z]{1,5}=\"[ -!#-~]{1,20}\"",
        which in any::<prop::sample::Index>(),
    ) {
        let append: Vec<_> = [plain, quoted].into_iter().filter_map(|argument| argument.parse().ok()).collect();
        let fixtures = fixtures("media");
        let config = BootConfig::parse(Loader::Grub, fs::read(which.get(&fixtures)).unwrap());
        let mut edits = Edits::default();
        edits.arguments.append = append;
        edits.initrds.push("/dayone.img".parse().unwrap());
        // Some cannot be passed on by GRUB, and some files have no entries.
        if let Ok(edited) = edits.apply_to(&[&config])
            && let Some(text) = edited.texts.into_iter().flatten().next()
        {
            let directory = tempfile::tempdir().unwrap();
            let script = directory.path().join("grub.cfg");
            fs::write(&script, text).unwrap();
            check(&script);
        }
    }
}
