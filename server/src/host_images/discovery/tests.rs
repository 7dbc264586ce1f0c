use std::os::unix::fs::symlink;

use super::*;

fn patterns() -> BasePatterns {
    BasePatterns {
        iso: "/config/ipa.iso".into(),
        initrd: "/config/ipa.initramfs".into(),
        kernel: Some("/config/ipa.kernel".into()),
        shared_dir: None,
    }
}

fn of(stream: &str, architecture: &str) -> Slot {
    Slot::new(Some(stream), architecture)
}

fn find(paths: &[&str]) -> FoundBases {
    find_on("x86_64", paths)
}

fn find_on(host: &'static str, paths: &[&str]) -> FoundBases {
    patterns().find(paths.iter().map(PathBuf::from), host)
}

fn nothing() -> FoundBases {
    find(&[])
}

#[test]
fn the_name_of_a_file_gives_its_slot() {
    for (path, stream, architecture) in [
        ("/config/ipa.iso", "", ""),
        ("/config//ipa.iso", "", ""),
        ("/config/ipa_aarch64.iso", "", "aarch64"),
        ("/images/ipa_x86_64.iso", "", "x86_64"),
        ("ipa_x86_64.iso", "", "x86_64"),
        ("/images/ipa.aarch64.iso", "", "aarch64"),
        ("/images/ipa_host.iso", "", ""),
        ("/images/ipa-rhel-10.iso", "rhel-10", ""),
        ("/config/ipa-rhel-10_aarch64.iso", "rhel-10", "aarch64"),
        ("/config/ipa-rhel-10.x86_64.iso", "rhel-10", "x86_64"),
        ("/config/ipa-a.b-c.iso", "a.b-c", ""),
        ("/config/ipa-ü_x.iso", "ü", "x"),
        ("/config/ipa-_.iso", "_", ""),
    ] {
        let found = find(&[path]);
        assert_eq!(found.isos, BTreeMap::from([(of(stream, architecture), path.into())]), "{path}");
        assert!(found.initrds.is_empty() && found.kernels.is_empty());
    }
    for other in [
        "/images/different-file_x86_64.iso",
        "different-file.aarch64.iso",
        "/images/ipa.iso",
        "/images/ipa-.iso",
        "/images/ipa_.iso",
        "/images/ipa_x86-64.iso",
        "/images/my-ipa_x86_64.iso",
        "/images/ipa_x86_64.iso.sha256",
        "/images/ipa_x86_64.img",
        "/images/ipa_x86_64",
        "/images/..",
    ] {
        assert_eq!(find(&[other]), nothing(), "{other}");
    }
}

#[test]
fn each_kind_has_its_own_pattern() {
    let found = find(&["/config/ipa.iso", "/config/ipa.initramfs", "/a/ipa_a.initramfs", "/a/ipa-s_a.kernel"]);
    assert_eq!(found.isos.len(), 1);
    assert_eq!(found.initrds.keys().cloned().collect::<Vec<_>>(), [of("", ""), of("", "a")]);
    assert_eq!(found.kernels.keys().cloned().collect::<Vec<_>>(), [of("s", "a")]);
    // Without a pattern there is no such file, and an empty one matches none.
    let none = BasePatterns { kernel: None, iso: "".into(), ..patterns() };
    let found = none.find(["/config/ipa.kernel", "/config/_x.iso", "_x"].map(PathBuf::from), "x86_64");
    assert_eq!(found, nothing());
    // Names without an extension are names, too.
    let plain = BasePatterns { initrd: "/pxe/initrd".into(), ..patterns() };
    let found = plain.find(["/pxe/initrd", "/pxe/initrd_aarch64", "/pxe/initrd.img"].map(PathBuf::from), "x86_64");
    assert_eq!(found.initrds.keys().cloned().collect::<Vec<_>>(), [of("", ""), of("", "aarch64"), of("", "img")]);
}

#[test]
fn the_later_of_two_files_for_one_slot_counts() {
    let both = ["/a/ipa_aarch64.iso", "/a/ipa.aarch64.iso"];
    let reversed = [both[1], both[0]];
    for paths in [both, reversed] {
        assert_eq!(find(&paths).iso(&of("", "aarch64")), Some(Path::new(both[0])));
    }
}

#[test]
fn lookups_fall_back_from_specific_to_general_files() {
    let all = ["/config/ipa.iso", "/a/ipa_x86_64.iso", "/a/ipa-s.iso", "/a/ipa-s_x86_64.iso", "/a/ipa_aarch64.iso"];
    let (host, x86_64, stream, stream_x86_64, aarch64) = (all[0], all[1], all[2], all[3], all[4]);
    let without = |missing: &[&str]| find(&all.into_iter().filter(|path| !missing.contains(path)).collect::<Vec<_>>());
    for (missing, wanted, expected) in [
        (&[][..], of("s", "x86_64"), Some(stream_x86_64)),
        (&[stream_x86_64], of("s", "x86_64"), Some(x86_64)),
        (&[stream_x86_64, x86_64], of("s", "x86_64"), Some(stream)),
        (&[stream_x86_64, x86_64, stream], of("s", "x86_64"), Some(host)),
        (&[stream_x86_64, x86_64, stream, host], of("s", "x86_64"), None),
        (&[], of("", ""), Some(host)),
        (&[], of("s", ""), Some(stream)),
        (&[host], of("", ""), None),
        (&[], of("", "x86_64"), Some(x86_64)),
        (&[x86_64], of("", "x86_64"), Some(host)),
        (&[], of("s", "aarch64"), Some(aarch64)),
        (&[], of("", "ppc64le"), None),
    ] {
        let found = without(missing);
        assert_eq!(found.iso(&wanted), expected.map(Path::new), "{wanted:?} without {missing:?}");
    }
    assert_eq!(find_on("aarch64", &[host]).iso(&of("", "x86_64")), None);
}

#[test]
fn an_architecture_needs_both_kinds_of_one_stream() {
    let found = find(&["/config/ipa.iso", "/config/ipa.initramfs", "/a/ipa_aarch64.iso", "/a/ipa-s_s390x.iso"]);
    for (architecture, supported) in [("", true), ("x86_64", true), ("aarch64", false), ("s390x", false)] {
        assert_eq!(found.supports(architecture), supported, "{architecture}");
    }
    assert!(!find_on("ppc64le", &["/config/ipa.iso", "/config/ipa.initramfs"]).supports("x86_64"));
    let found = find(&["/a/ipa-s_aarch64.iso", "/a/ipa-s_aarch64.initramfs", "/a/ipa-s_a.iso", "/a/ipa-t_a.initramfs"]);
    assert!(found.supports("aarch64") && !found.supports("a") && !found.supports(""));
}

#[test]
fn unreadable_directories_are_skipped() {
    let root = tempfile::tempdir().unwrap();
    let [own, shared, other] = ["own", "shared", "other"].map(|name| root.path().join(name));
    for directory in [&own, &shared, &other] {
        fs::create_dir(directory).unwrap();
    }
    let make = |path: PathBuf| fs::write(path, "x").unwrap();
    for name in ["ipa.iso", "ipa.initramfs", "ipa_aarch64.iso", "README"] {
        make(own.join(name));
    }
    make(shared.join("coreos-s390x.iso"));
    symlink("coreos-s390x.iso", shared.join("ipa_s390x.iso")).unwrap();
    make(other.join("ipa.kernel"));
    make(other.join("ipa_s390x.kernel"));
    let mut patterns = BasePatterns {
        iso: own.join("ipa.iso"),
        initrd: own.join("ipa.initramfs"),
        kernel: Some(other.join("ipa.kernel")),
        shared_dir: None,
    };
    let found = patterns.discover(None);
    assert_eq!(found.isos.keys().cloned().collect::<Vec<_>>(), [of("", ""), of("", "aarch64")]);
    assert_eq!(found.iso(&of("", "")), Some(patterns.iso.as_path()));
    assert_eq!((found.initrds.len(), found.kernels.len()), (1, 2));

    // With a directory for all others, the host's own are where they are said to be, and nothing beside them counts.
    patterns.shared_dir = Some(shared.clone());
    let found = patterns.discover(None);
    assert_eq!(found.isos.keys().cloned().collect::<Vec<_>>(), [of("", ""), of("", "s390x")]);
    assert_eq!(found.iso(&of("", "s390x")), Some(shared.join("ipa_s390x.iso").as_path()));
    assert_eq!((found.initrds.len(), found.kernels.len()), (1, 1));

    patterns.shared_dir = Some(root.path().join("missing"));
    let found = patterns.discover(None);
    assert_eq!(found.isos.keys().cloned().collect::<Vec<_>>(), [of("", "")]);
    assert_eq!(found.unreadable.len(), 1);
    assert_eq!(patterns.discover(Some(&found)), found);
    patterns.shared_dir = Some(own.clone());
    fs::remove_file(&patterns.iso).unwrap();
    assert_eq!(patterns.discover(None).isos.keys().cloned().collect::<Vec<_>>(), [of("", "aarch64")]);
}

#[test]
fn a_directory_that_cannot_be_read_has_the_files_that_it_had_before() {
    let root = tempfile::tempdir().unwrap();
    let [own, away, shared] = ["own", "away", "shared"].map(|name| root.path().join(name));
    fs::create_dir(&own).unwrap();
    fs::create_dir(&shared).unwrap();
    for path in [own.join("ipa.iso"), own.join("ipa.initramfs"), shared.join("ipa_aarch64.iso")] {
        fs::write(path, "x").unwrap();
    }
    let patterns =
        BasePatterns { iso: own.join("ipa.iso"), initrd: own.join("ipa.initramfs"), ..BasePatterns::default() };
    let before = patterns.discover(None);
    assert_eq!((before.supports(""), before.unreadable()), (true, None));
    fs::rename(&own, &away).unwrap();
    let during = patterns.discover(Some(&before));
    let during = patterns.discover(Some(&during));
    assert!(during.supports(""));
    assert_eq!(during.definitions(), before.definitions());
    let reason = during.unreadable().unwrap();
    assert!(reason.contains(own.to_str().unwrap()) && reason.contains("No such file"), "{reason}");
    assert!(!patterns.discover(None).supports(""), "dayone has never seen the files");

    // Only the files of that directory are kept.
    let patterns = BasePatterns { shared_dir: Some(shared.clone()), ..patterns };
    let both = patterns.discover(Some(&during));
    fs::remove_file(shared.join("ipa_aarch64.iso")).unwrap();
    let now = patterns.discover(Some(&both));
    assert_eq!((both.isos.len(), now.isos.len()), (2, 1));
    // A directory that is read has the files that are in it.
    fs::create_dir(&own).unwrap();
    let patterns = BasePatterns { shared_dir: None, ..patterns };
    assert_eq!(patterns.discover(Some(&during)), nothing_on_this_host());
    fs::remove_dir(&own).unwrap();
    fs::rename(&away, &own).unwrap();
    assert_eq!(patterns.discover(Some(&during)), before);
}

fn nothing_on_this_host() -> FoundBases {
    FoundBases { host: host_architecture(), ..FoundBases::default() }
}

#[test]
fn paths_without_a_directory_are_in_the_working_directory() {
    let here = BasePatterns { iso: "Cargo.toml".into(), initrd: "x".into(), kernel: None, shared_dir: None };
    assert_eq!(here.discover(None).isos, BTreeMap::from([(of("", ""), "Cargo.toml".into())]));
}

#[test]
fn every_slot_is_a_base_with_a_unique_name() {
    let long = format!("/a/ipa-{}.iso", "x".repeat(80));
    let found = find(&[
        "/config/ipa.iso",
        "/a/ipa_aarch64.iso",
        "/a/ipa-rhel-10.iso",
        "/a/ipa-rhel-10_aarch64.iso",
        "/a/ipa-aarch64.iso",
        "/a/ipa-RHEL.iso",
        "/a/ipa-Rhel.iso",
        &long,
        "/config/ipa.initramfs",
        "/a/ipa_aarch64.initramfs",
        "/config/ipa.kernel",
        "/a/ipa-s.kernel",
        "/a/ipa-s_x86_64.initramfs",
    ]);
    let definitions = found.definitions();
    let names: BTreeSet<&str> = definitions.iter().map(|base| base.name.as_str()).collect();
    assert_eq!(names.len(), definitions.len());
    let plain = names.iter().copied().filter(|name| name.len() < 35).collect::<Vec<_>>();
    let wanted = ["initrd-aarch64", "initrd-host", "initrd-x86_64-s", "iso-aarch64", "iso-aarch64-rhel-10", "iso-host"];
    assert_eq!(plain, [&wanted[..], &["iso-host-aarch64", "iso-host-rhel-10"]].concat());
    assert_eq!(names.len(), plain.len() + 3);
    assert_eq!(definitions, found.definitions());

    let files = |name: &str| {
        let base = definitions.iter().find(|base| base.name.as_str() == name).unwrap();
        base.files.iter().map(|(_, path)| path.to_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(files("iso-aarch64-rhel-10"), ["/a/ipa-rhel-10_aarch64.iso"]);
    assert_eq!(files("initrd-aarch64"), ["/a/ipa_aarch64.initramfs"]);
    assert_eq!(files("initrd-host"), ["/config/ipa.kernel", "/config/ipa.initramfs"]);
    assert_eq!(files("initrd-x86_64-s"), ["/a/ipa-s.kernel", "/a/ipa-s_x86_64.initramfs"]);
    assert_eq!(found.iso_base(&of("t", "aarch64")).unwrap().as_str(), "iso-aarch64");
    assert_eq!(found.initrd_base(&of("s", "x86_64")).unwrap().as_str(), "initrd-x86_64-s");
    assert_eq!(found.initrd_base(&of("", "s390x")), None);
    for (architecture, is_host) in [("", true), ("x86_64", true), ("aarch64", false)] {
        assert_eq!(found.is_host(&of("s", architecture)), is_host);
    }
}
