use anstream::adapter::strip_str;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn boot(name: &str, counted: &str, reason: &str) -> Value {
    let steps = ["done", "running", "waiting"].map(|state| json!({"step": "insert", "state": state}));
    json!({"id": name, "host": name, "bmc": "https://bmc/", "state": counted, "counted_as": counted, "steps": steps,
        "reason": reason})
}

fn reading(name: &str, more: &Value) -> Value {
    let file = |label: &str, percent: u8| json!({"label": label, "read": 1, "size": 1, "percent": percent});
    let mut boot = boot(name, "running", "kernel read, initrd 43 %");
    boot["reading"] = json!({"rate": 206_400, "last_read": "2026-02-28T23:59:59Z", "seconds_left": 200,
        "files": [file("kernel", 100), file("initrd", 43), file("rootfs", 0)]});
    for (name, value) in more.as_object().unwrap() {
        boot["reading"][name] = value.clone();
    }
    boot
}

fn board(boots: &[Value]) -> Board {
    let mut board = Board::default();
    for boot in boots {
        board.update(serde_json::from_value(boot.clone()).unwrap());
    }
    board
}

fn lines(boots: &[Value], width: usize, height: usize) -> Vec<String> {
    super::lines(&board(boots), false, width, height).iter().map(|line| strip_str(line).to_string()).collect()
}

#[test]
fn each_host_has_its_steps_and_a_bar_for_each_file() {
    let boots = [
        boot("w10", "booted", "called home from 192.0.2.30"),
        reading("w9", &json!({})),
        boot("w3", "failed", "insert: the BMC says no"),
        boot("w4", "queued", "waits for other boots to end"),
    ];
    let expected = [
        "✕ w3   ✓▸·  insert: the BMC says no",
        "· w4   ✓▸·  waits for other boots to end",
        "▸ w9   ✓▸·  kernel ██████████ 100 %  initrd ████░░░░░░  43 %  rootfs ░░░░░░░░░░   0 %  206 kB/s, 3 min left",
        "✓ w10  ✓▸·  called home from 192.0.2.30",
        "1 of 4 booted, 1 failed, 1 running, 1 queued",
    ];
    assert_eq!(lines(&boots, 108, 24), expected);
}

#[test]
fn the_bars_of_all_hosts_are_in_line() {
    let lines = lines(&[reading("w8", &json!({"seconds_left": null})), reading("w9", &json!({}))], 108, 24);
    let begins = |line: &str, what: &str| line.find(what).map(|at| line[..at].chars().count());
    for what in ["initrd", "rootfs", "206 kB/s"] {
        assert_eq!(begins(&lines[0], what), begins(&lines[1], what), "{lines:#?}");
    }
}

#[test]
fn bars_shrink_and_go_where_the_terminal_is_narrow() {
    let boots = [reading("w9", &json!({}))];
    let row = |width| lines(&boots, width, 24).remove(0);
    assert_eq!(row(88), "▸ w9  ✓▸·  kernel ████ 100 %  initrd █░░░  43 %  rootfs ░░░░   0 %  206 kB/s, 3 min left");
    assert_eq!(row(80), "▸ w9  ✓▸·  kernel 100 %  initrd 43 %  rootfs 0 %  206 kB/s, 3 min left");
    assert_eq!(row(50), "▸ w9  kernel 100 %  initrd 43 %  rootfs 0 %");
    assert_eq!(row(30), "▸ w9  kernel 100 %  initrd 43…");
}

#[test]
fn a_read_that_has_stalled_or_ended_says_since_when() {
    let pace = |more: &Value| lines(&[reading("w", more)], 200, 9)[0].rsplit("  ").next().unwrap().to_owned();
    assert_eq!(pace(&json!({"stalled_seconds": 45})), "stalled for 45 s");
    assert_eq!(pace(&json!({"rate": 0})), "last read 23:59:59");
    assert_eq!(pace(&json!({"seconds_left": null})), "206 kB/s");
}

#[test]
fn names_and_reasons_of_foreign_systems_cannot_drive_the_terminal() {
    let lines = lines(&[boot("a\u{1b}[2Jb", "failed", "no\u{9b}2J\r\n")], 80, 24);
    assert!(lines[0].contains("a\\u{1b}[2Jb") && lines[0].contains("no\\u{9b}2J\\r\\n"), "{lines:?}");
    let told = super::lines(&board(&[]), true, 80, 24);
    assert_eq!(told, ["No boots; the server does not answer"]);
}

proptest! {
    /// However many hosts there are, whatever they are called, and however small the terminal is.
    #[test]
    fn it_fits_and_counts_every_host(
        hosts in proptest::collection::vec(("[a-z漢\u{1b}]{0,40}[0-9]{0,4}", 0..5_usize, any::<bool>()), 0..60),
        width in 20..200_usize,
        height in 1..80_usize,
    ) {
        let boots = hosts.iter().enumerate().map(|(number, (name, kind, is_read))| {
            let mut boot = match kind {
                1 if *is_read => reading(name, &json!({})),
                kind => boot(name, ["failed", "running", "queued", "booted", "unknown"][*kind], "because"),
            };
            boot["id"] = number.to_string().into();
            boot
        });
        let lines = lines(&boots.collect::<Vec<_>>(), width, height);
        prop_assert!(lines.len() <= height, "{} lines in {height}", lines.len());
        for line in &lines {
            prop_assert!(measure_text_width(line) <= width, "{line:?} in {width}");
            prop_assert!(!line.contains('\u{1b}'), "{line:?}");
        }
        let hidden = lines.iter().find_map(|line| line.strip_prefix("… ")?.split(' ').next()?.parse::<usize>().ok());
        if height > 1 {
            let shown = lines.len() - 1 - usize::from(hidden.is_some());
            prop_assert_eq!(shown + hidden.unwrap_or(0), hosts.len());
        }
    }
}
