//! What is not in a tree: the boot catalog, partition tables, the size of the volume.

use std::path::Path;
use std::process::Command;

use acceptance::peers::{run, run_text};

use super::layouts::Layout;

pub fn compare(layout: &Layout, old: &Path, new: &Path) {
    let name = layout.name;
    let [before, after] = [old, new].map(|iso| report(iso, "-report_el_torito"));
    assert_eq!(before, after, "{name}");
    let [before, after] = [old, new].map(|iso| report(iso, "-report_system_area").lines().map(without_sizes).collect());
    let (before, after): (Vec<_>, Vec<_>) = (before, after);
    assert_eq!(before, after, "{name}");

    let size = std::fs::metadata(new).unwrap().len();
    assert_eq!(size % 2048, 0, "{name}");
    let volume: u64 = run_text(Command::new("isosize").arg(new)).trim().parse().unwrap();
    let unchanged = size == std::fs::metadata(old).unwrap().len();
    assert!(unchanged || volume == size, "{name}: {volume} of {size}");
    run(Command::new("xorriso").arg("-indev").arg(new).args(["-check_media", "use=indev", "--"]));

    let [before, after] = [old, new].map(problems);
    assert_eq!(before, after, "{name}");
    let [before, after] = [old, new].map(|iso| std::fs::read(iso).unwrap()[..32768].to_vec());
    assert!(!unchanged || before == after, "{name}");
}

/// After the boot image has moved: whatever named it names it still, but for Apple's partition map, which is left
/// alone.
pub fn compare_moved(layout: &Layout, old: &Path, new: &Path) {
    for what in ["-report_el_torito", "-report_system_area"] {
        let paths = |iso| -> Vec<String> {
            report(iso, what)
                .lines()
                .filter(|line| line.contains(" path ") && !line.starts_with("APM"))
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(paths(old), paths(new), "{}", layout.name);
    }
    assert_eq!(problems(old).len(), problems(new).len(), "{}", layout.name);
}

/// After something was cut out in front of it: boot images and partitions are what they were, wherever they stand now.
pub fn compare_cut(layout: &Layout, old: &Path, new: &Path) {
    let name = layout.name;
    compare_moved(layout, old, new);
    let [before, after] = [old, new].map(|iso| (std::fs::read(iso).unwrap(), places(iso)));
    assert_eq!(before.1.len(), after.1.len(), "{name}");
    let content = |(bytes, _): &(Vec<u8>, _), (start, length): (usize, usize)| bytes[start..start + length].to_vec();
    for ((what, old), (_, new)) in before.1.iter().zip(&after.1) {
        assert!(new.0 + new.1 <= after.0.len(), "{name}: {what} ends behind the image");
        // The partition of a volume has lost what was cut out, and one of the whole disk the same.
        if old.1 == new.1 {
            assert!(content(&before, *old) == content(&after, *new), "{name}: {what}");
        } else {
            assert_eq!(old.0, new.0, "{name}: {what}");
        }
    }
    let volume: usize = run_text(Command::new("isosize").arg(new)).trim().parse().unwrap();
    assert_eq!(volume, after.0.len(), "{name}");
    run(Command::new("xorriso").arg("-indev").arg(new).args(["-check_media", "use=indev", "--"]));
}

/// The boot images and the partitions: name, and first byte and length.
pub(super) fn places(iso: &Path) -> Vec<(String, (usize, usize))> {
    let mut places = Vec::new();
    for line in (report(iso, "-report_el_torito") + &report(iso, "-report_system_area")).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<usize>().unwrap();
        let last = words.len().saturating_sub(1);
        let place = if line.starts_with("El Torito boot img") {
            (number(last) * 2048, number(last - 1) * 512)
        } else if line.starts_with("GPT start and size") || line.starts_with("MBR partition  ") && words[2] != "path" {
            (number(last - 1) * 512, number(last) * 512)
        } else {
            continue;
        };
        places.push((words[..last - 1].join(" "), place));
    }
    places
}

fn report(iso: &Path, what: &str) -> String {
    run_text(Command::new("xorriso").args(["-abort_on", "FATAL", "-indev"]).arg(iso).args([what, "plain"]))
}

/// A line of the report without what follows from the size of the image.
fn without_sizes(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let kept = match line.split(':').next().unwrap_or_default().trim() {
        "ISO image size/512" | "GPT lba range" => 3,
        "GPT start and size" => 7,
        "MBR partition" => 7,
        _ => words.len(),
    };
    words[..kept.min(words.len())].join(" ")
}

/// What sgdisk finds wrong; overlapping partitions are how hybrid images are.
fn problems(iso: &Path) -> Vec<String> {
    let text = String::from_utf8(Command::new("sgdisk").arg("-v").arg(iso).output().unwrap().stdout).unwrap();
    let problems =
        text.lines().filter(|line| line.starts_with("Problem") || line.contains("corrupt") || line.contains("damaged"));
    problems.map(str::to_owned).collect()
}
