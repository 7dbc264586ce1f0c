//! Changed boot configurations, shown to the loaders' own programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::peers::run;
use imagelib::boot_config::{BootConfig, Edits, Loader};
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
