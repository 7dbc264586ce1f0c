//! What holds for every loader, and for every text.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::kernel_arguments::KernelArgumentEdits;

const LOADERS: [Loader; 3] = [Loader::Syslinux, Loader::Grub, Loader::SystemdBoot];

fn config(loader: Loader, text: &str) -> BootConfig {
    BootConfig::parse(loader, text.as_bytes().to_vec())
}

fn arguments(json: serde_json::Value) -> KernelArgumentEdits {
    serde_json::from_value(json).unwrap()
}

fn appending(argument: &str) -> Edits {
    Edits { arguments: arguments(serde_json::json!({"append": [argument]})), ..Edits::default() }
}

fn titled(title: &str, edits: Edits) -> Edits {
    Edits { selection: Selection::Titles(BTreeSet::from([title.to_owned()])), ..edits }
}

fn edited(edits: &Edits, config: &BootConfig) -> String {
    let text = edits.apply_to(&[config]).unwrap().texts.pop().unwrap().unwrap();
    String::from_utf8(text).unwrap()
}

fn linux(entry: &BootEntry) -> &LinuxBoot {
    match &entry.boots {
        Boots::Linux(linux) => linux,
        Boots::Other(reason) => panic!("{reason}"),
    }
}

const MENU: &str = "menuentry 'one' --id first {\n linux /a x=1 quiet\n initrd /i\n}\n\
                    menuentry 'two' {\n linux /b quiet\n initrd /i\n}\nmenuentry 'disk' { exit }\n\
                    menuentry 'memtest' { linux16 /memtest }\n";

#[test]
fn only_the_entries_that_are_named_change() {
    let menu = config(Loader::Grub, MENU);
    for name in ["one", "first"] {
        let expected = MENU.replace("x=1 quiet", "x=1 quiet a=b");
        assert_eq!(edited(&titled(name, appending("a=b")), &menu), expected);
    }
    let all = appending("a=b").apply_to(&[&menu]).unwrap();
    let skipped: Vec<&str> = all.skipped.iter().map(|skipped| skipped.title.as_str()).collect();
    assert_eq!(skipped, ["disk", "memtest"]);
    let nothing = Edits::default().apply_to(&[&menu]).unwrap();
    assert_eq!(nothing.texts, [None]);
}

#[test]
fn scripts_of_grub_hold_commands_in_variables() {
    for (linux_command, initrd_command) in [
        ("$linux", "$initrd"),
        ("${linux_cmd}", "${initrd_cmd}"),
        ("$LINUX_CMD", "$INITRD_CMD"),
        ("linux$suffix", "initrd${suffix}"),
    ] {
        let text = format!("menuentry a {{\n {linux_command} /k quiet\n {initrd_command} /i\n}}\n");
        let menu = config(Loader::Grub, &text);
        assert_eq!(linux(&menu.entries()[0]).initrds, ["/i"], "{text}");
        assert_eq!(edited(&appending("a=b"), &menu), text.replace("quiet", "quiet a=b"));
    }
    let other = config(Loader::Grub, "menuentry a {\n $gfx_cmd /k\n linuxrc$x /k\n $1 /k\n}\n");
    assert_eq!(other.entries()[0].boots, Boots::Other(NotEditable::NoKernel));
}

/// The device of an initrd is written again for another one, and with it the quote that begins a text here.
#[test]
fn an_edit_swallows_no_other_entry() {
    let menu = config(Loader::Grub, "linux t\ninitrd t\ninitrd (\")\"\nmenuentry \"\"{");
    let edits = Edits { initrds: vec!["/dayone.img".parse().unwrap()], ..appending("a=b") };
    let error = edits.apply_to(&[&menu]).unwrap_err();
    assert!(matches!(error, BootConfigError::NotPassedOn { .. }), "{error}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let menu = config(Loader::Grub, MENU);
    let disk = config(Loader::Syslinux, "label disk\n localboot 0\n");
    let error = |edits: Edits| edits.apply_to(&[&menu, &disk]).unwrap_err().to_string();
    assert_eq!(
        error(titled("three", appending("a"))),
        "no boot menu has the entry \"three\"; available entries: \"disk\", \"memtest\", \"one\", \"two\""
    );
    assert_eq!(
        error(titled("memtest", appending("a"))),
        "the boot entry \"memtest\" cannot be changed: it boots a kernel without an initrd"
    );
    let none = appending("a").apply_to(&[&disk]).unwrap_err();
    assert!(matches!(none, BootConfigError::NothingToEdit { .. }), "{none}");
    let missing = |json| error(Edits { arguments: arguments(json), ..Edits::default() });
    assert!(missing(serde_json::json!({"delete": ["hunter"]})).contains("no kernel argument \"hunter\""));
    assert!(missing(serde_json::json!({"replace": ["x=2=3"]})).contains("no kernel argument \"x\""));
    assert!(error(appending(&format!("a={}", "b".repeat(2040)))).contains("would have 20"));
    // GRUB takes these quotes off, and the kernel would see another argument.
    let quotes = error(appending("a=x\"hunter2\"y"));
    assert!(quotes.contains("\"a\"") && quotes.contains("GRUB") && !quotes.contains("hunter2"), "{quotes}");
}

#[test]
fn the_longest_command_line_counts_what_the_loader_adds() {
    let syslinux = "label a\n kernel /k\n append initrd=/i,/j q\n";
    let grub = "set v=/vv\nmenuentry a {\n linux ";
    let unknown = format!("BOOT_IMAGE=/k{} ", "u".repeat(64));
    for (loader, text, added) in [
        (Loader::Syslinux, syslinux.to_owned(), "BOOT_IMAGE=/k initrd=/i,/j "),
        (Loader::Grub, format!("{grub}/k q\n initrd /i\n}}"), "BOOT_IMAGE=/k "),
        (Loader::Grub, format!("{grub}$v/k q\n initrd /i\n}}"), "BOOT_IMAGE=/vv/k "),
        // A variable whose value is not known counts 64 bytes.
        (Loader::Grub, format!("{grub}/k$u q\n initrd /i\n}}"), unknown.as_str()),
        (Loader::SystemdBoot, "linux /k\ninitrd /i\ninitrd /j\noptions q\n".to_owned(), "initrd=/i initrd=/j "),
    ] {
        let menu = config(loader, &text);
        let length = 2046 - added.len() - "q a=".len();
        edited(&appending(&format!("a={}", "b".repeat(length))), &menu);
        let error = appending(&format!("a={}", "b".repeat(length + 1))).apply_to(&[&menu]).unwrap_err();
        let BootConfigError::TooLong { reason, .. } = error else { panic!("{loader}: {error}") };
        let expected = CommandLineTooLong {
            length: 2047,
            added: added.len(),
            limit: 2046,
            longest: "a".to_owned(),
            longest_length: length + 3,
        };
        assert_eq!(reason, expected, "{text}");
    }
}

#[test]
fn what_only_some_entries_have_is_deleted_and_replaced_there() {
    let menu = config(Loader::Grub, MENU);
    let edits = Edits { arguments: arguments(serde_json::json!({"replace": ["x=1=2"]})), ..Edits::default() };
    assert_eq!(edited(&edits, &menu), MENU.replace("x=1", "x=2"));
    let edits = Edits { arguments: arguments(serde_json::json!({"delete": ["x=1"]})), ..Edits::default() };
    assert_eq!(edited(&edits, &menu), MENU.replace(" x=1", ""));
}

#[test]
fn what_is_missing_goes_to_the_entries_that_have_no_argument_of_its_key() {
    let menu = config(Loader::Grub, MENU);
    let missing = || vec!["x=2".parse().unwrap()];
    let edits = Edits { missing: missing(), ..Edits::default() };
    assert_eq!(edited(&edits, &menu), MENU.replace("/b quiet", "/b quiet x=2"));
    let other = Edits { arguments: arguments(serde_json::json!({"replace": ["x=1=3"]})), ..edits };
    assert_eq!(edited(&other, &menu), MENU.replace("x=1", "x=3").replace("/b quiet", "/b quiet x=2"));
    let own = Edits { missing: missing(), ..appending("x") };
    assert_eq!(edited(&own, &menu), edited(&appending("x"), &menu));
    for (edits, expected) in [(other, ["x=3 quiet", "quiet x=2"]), (own, ["x=1 quiet x", "quiet x"])] {
        let entries = menu.entries().iter().take(2);
        let changed: Vec<String> = entries.map(|entry| edits.changed(&linux(entry).arguments).to_string()).collect();
        assert_eq!(changed, expected);
    }
    let disk = config(Loader::Syslinux, "label disk\n localboot 0\n");
    let edits = Edits { missing: missing(), ..Edits::default() };
    assert!(matches!(edits.apply_to(&[&disk]), Err(BootConfigError::NothingToEdit(_))));
}

#[test]
fn an_argument_that_the_loader_takes_for_itself_is_refused() {
    let error = appending("initrd=/other").apply_to(&[&config(Loader::Syslinux, SYSLINUX)]).unwrap_err();
    assert!(matches!(error, BootConfigError::NotPassedOn { loader: Loader::Syslinux, .. }), "{error}");
}

const SYSLINUX: &str = "label one\r\n  kernel k\r\n  append initrd=i quiet --- q\r\n";

#[test]
fn initrds_are_added_once() {
    let initrd = Edits { initrds: vec!["/n.img".parse().unwrap()], ..Edits::default() };
    let systemd = "title t\nlinux /k\ninitrd  /i";
    for (loader, text, expected) in [
        (Loader::Syslinux, SYSLINUX, SYSLINUX.replace("=i", "=i,/n.img")),
        (Loader::Syslinux, "label a\n linux k\n INITRD i\n", "label a\n linux k\n INITRD i,/n.img\n".to_owned()),
        (Loader::SystemdBoot, systemd, "title t\nlinux /k\ninitrd  /i\ninitrd  /n.img".to_owned()),
        (
            Loader::Grub,
            "menuentry a {\n linux (cd)/k\n initrd '/i' ($dev)/j # c\n}",
            "menuentry a {\n linux (cd)/k\n initrd '/i' ($dev)/j ($dev)/n.img # c\n}".to_owned(),
        ),
    ] {
        let once = edited(&initrd, &config(loader, text));
        assert_eq!(once, expected);
        assert_eq!(initrd.apply_to(&[&config(loader, &once)]).unwrap().texts, [None]);
    }
    for bad in ["", "/", "n.img", "/a b", "/a,b", "/a/../b", "/a//b", "/a\"", "/ä", "/a/"] {
        assert!(bad.parse::<BootPath>().is_err(), "{bad}");
    }
}

#[test]
fn a_default_that_is_shared_is_changed_in_a_copy() {
    let text = "APPEND initrd=i  quiet\nLABEL a\n\tKERNEL k\nLABEL b\n\tKERNEL k\n";
    let menu = config(Loader::Syslinux, text);
    let expected = text.replacen("KERNEL k\n", "KERNEL k\n\tAPPEND initrd=i,/n  quiet x\n", 1);
    let edits = Edits { initrds: vec!["/n".parse().unwrap()], ..titled("a", appending("x")) };
    assert_eq!(edited(&edits, &menu), expected);
}

#[test]
fn paths_are_resolved_as_far_as_the_text_says() {
    let resolve = |loader, text: &str, written: &str| config(loader, text).resolve(written, "/boot/x");
    for (written, expected) in [
        ("/a//b/./c", Some("/a/b/c")),
        ("../a", Some("/boot/a")),
        ("::/a", Some("/a")),
        ("::a", Some("/a")),
        ("192.0.2.1::a", None),
        ("http://192.0.2.1/a", None),
        ("../../../a", None),
    ] {
        assert_eq!(resolve(Loader::Syslinux, "", written).as_deref(), expected, "{written}");
    }
    let script = "set a=/x; b=${a}/y; set c=($root)/z; set t=1; set t=2; set u=/u; set u=/u; search --set=s -l X\n\
                  if true; then set d=/d; fi; set loop=$loop/; regexp --set 1:r '(.*)' /";
    for (written, expected) in [
        ("($root)/k", Some("/k")),
        ("(cd0,msdos1)$b/k", Some("/x/y/k")),
        ("${c}/k", Some("/z/k")),
        ("$prefix/k", Some("/boot/x/k")),
        ("$t/k", None),
        ("$u/k", Some("/u/k")),
        ("/$s", None),
        ("$d/k", None),
        ("$r/k", None),
        ("$loop", None),
        ("${iso_path}/k", None),
        ("k", None),
    ] {
        assert_eq!(resolve(Loader::Grub, script, written).as_deref(), expected, "{written}");
    }
    assert_eq!(resolve(Loader::SystemdBoot, "", "\\EFI\\k").as_deref(), Some("/EFI/k"));
}

/// Texts that come near to what the readers look for.
fn near_config() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &str = "menuentry submenu linux initrd LABEL MENU\u{20}LABEL KERNEL append INITRD initrd= include options \
        title efi set source text endtext if fi begin end { } ' \" \\ $ ${ $x ( ) , = -- --- - # ; /a b x=1 \u{e9}";
    const SPACES: [&str; 7] = [" ", " ", "\t", "\n", "\n", "\r\n", "\\\n"];
    let pieces: Vec<&str> = PIECES.split(' ').chain(SPACES).chain(SPACES).chain(SPACES).collect();
    vec(
        prop_oneof![9 => select(pieces).prop_map(|piece| piece.as_bytes().to_vec()), 1 => vec(any::<u8>(), 1..3)],
        0..80,
    )
    .prop_map(|pieces| pieces.concat())
}

/// Arguments with all that is allowed, written in the ways that every loader passes on.
fn argument() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-zA-Z0-9.=,:/@%^~*?!#`()\\[\\]+-]{0,12}",
        "[a-z.]{1,6}=\"[a-z0-9 =,#*()]{0,12}\"",
        Just("ip=[fd00::1]::[fd00::2]:64:h:eth0:none".to_owned()),
    ]
    .prop_filter("the loader's own", |argument| !argument.starts_with("initrd="))
}

/// A configuration, and the kernel arguments of its entries.
fn good_config() -> impl Strategy<Value = (Loader, String, Vec<Vec<String>>)> {
    let entry = (vec(argument(), 0..5), prop_oneof![Just(None), Just(Some("---")), Just(Some("--"))]);
    let style = (select(&["\n", "\r\n"][..]), select(&[" ", "\t", "  "][..]), any::<bool>());
    (select(&LOADERS[..]), vec(entry, 1..4), style).prop_map(|(loader, mut entries, (end, gap, apart))| {
        if loader == Loader::SystemdBoot {
            entries.truncate(1);
        }
        let mut text = String::new();
        let mut all = Vec::new();
        for (index, (mut words, separator)) in entries.into_iter().enumerate() {
            words.extend(separator.into_iter().flat_map(|separator| [separator.to_owned(), "last".to_owned()]));
            let written: Vec<_> = words.iter().map(|word| loader.written(word)).collect();
            let line = written.join(gap);
            let lines: Vec<String> = match loader {
                Loader::Syslinux if apart => {
                    vec![
                        format!("label l{index}"),
                        format!("{gap}linux k"),
                        "initrd i".to_owned(),
                        format!("append {line}"),
                    ]
                }
                Loader::Syslinux => {
                    vec![format!("LABEL l{index}"), format!("KERNEL{gap}k"), format!("{gap}APPEND initrd=i,j {line}")]
                }
                Loader::Grub if apart => vec![format!("menuentry l{index} {{ linux /k {line}; initrd /i }}")],
                Loader::Grub => {
                    let line = written.join(&format!("{gap}\\{end}"));
                    vec![
                        format!("menuentry 'l{index}' --class os {{"),
                        format!("linux /k {line}"),
                        "initrd /i".to_owned(),
                        "}".to_owned(),
                    ]
                }
                Loader::SystemdBoot => {
                    let options = if apart { written.into_iter().map(Into::into).collect() } else { vec![line] };
                    let options = options.into_iter().map(|line| format!("options{gap}{line}"));
                    ["title l0", "linux /k", "initrd /i"].map(str::to_owned).into_iter().chain(options).collect()
                }
            };
            text.extend(lines.into_iter().flat_map(|line| [line, end.to_owned()]));
            all.push(words);
        }
        (loader, text, all)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    #[test]
    fn any_text_is_read_and_an_edit_says_what_it_should(text in near_config(), titles in btree_set("[a-z=1/]{1,3}", 0..2)) {
        for loader in LOADERS {
            let config = BootConfig::parse(loader, text.clone());
            let lines = text.split(|byte| *byte == b'\n').count();
            prop_assert!(config.entries().iter().all(|entry| *entry.lines.start() >= 1 && *entry.lines.end() <= lines));
            let selection = if titles.is_empty() { Selection::All } else { Selection::Titles(titles.clone()) };
            let edits = Edits { selection, initrds: vec!["/n".parse().unwrap()], ..appending("a=\"b c\"") };
            if let Ok(edited) = edits.apply_to(&[&config])
                && let [Some(text)] = edited.texts.as_slice()
            {
                prop_assert!(text.len() > config.text().len());
            }
        }
    }

    #[test]
    fn edits_give_exactly_the_arguments_expected(
        (loader, text, entries) in good_config(),
        appended in vec(argument(), 0..4),
        deleted in any::<proptest::sample::Index>(),
        chosen in btree_set(0_usize..3, 1..3),
    ) {
        let config = config(loader, &text);
        let read: Vec<Vec<String>> =
            config.entries().iter().map(|entry| linux(entry).arguments.iter().map(str::to_owned).collect()).collect();
        let read_back = |words: &[String]| words.iter().map(|word| loader.read_back(word)).collect::<Vec<_>>();
        prop_assert_eq!(&read, &entries.iter().map(|words| read_back(words)).collect::<Vec<_>>(), "{}", text);

        let chosen: BTreeSet<String> = chosen.into_iter().filter(|n| *n < entries.len()).map(|n| format!("l{n}")).collect();
        let is_chosen = |index: usize| chosen.contains(&format!("l{index}"));
        let chosen_words: Vec<&String> = (0..).zip(&read).filter(|(index, _)| is_chosen(*index)).flat_map(|(_, words)| words).collect();
        let deleted: Vec<String> = if chosen_words.is_empty() { Vec::new() } else { vec![(*deleted.get(&chosen_words)).clone()] };
        let edits = Edits {
            selection: Selection::Titles(chosen.clone()),
            arguments: arguments(serde_json::json!({"append": appended, "delete": deleted})),
            ..Edits::default()
        };
        let result = edits.apply_to(&[&config]);
        if chosen.is_empty() {
            prop_assert!(result.is_err() || (appended.is_empty() && deleted.is_empty()));
            return Ok(());
        }
        let Some(new) = result.unwrap().texts.pop().unwrap() else {
            prop_assert!(appended.is_empty() && deleted.is_empty());
            return Ok(());
        };
        let new = BootConfig::parse(loader, new);
        prop_assert_eq!(new.entries().len(), entries.len());
        for (index, (entry, old)) in new.entries().iter().zip(&read).enumerate() {
            let found: Vec<&str> = linux(entry).arguments.iter().collect();
            let mut wanted = old.clone();
            if is_chosen(index) {
                let at = old.iter().position(|word| word.starts_with("--")).unwrap_or(old.len());
                wanted.splice(at..at, read_back(&appended));
                let from = at + appended.len();
                let mut position = 0..;
                wanted.retain(|word| {
                    let place = position.next().unwrap_or(0);
                    (at..from).contains(&place) || !deleted.contains(word)
                });
            }
            prop_assert_eq!(found, wanted, "{}", String::from_utf8_lossy(new.text()));
            let lines = |config: &BootConfig, entry: &BootEntry| {
                let lines = config.text().split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
                lines.skip(entry.lines.start() - 1).take(entry.lines.end() + 1 - entry.lines.start()).collect::<Vec<_>>()
            };
            if !is_chosen(index) {
                prop_assert_eq!(lines(&new, entry), lines(&config, &config.entries()[index]));
            }
        }
    }
}
