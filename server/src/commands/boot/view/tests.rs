use std::time::Duration;

use anstream::adapter::strip_str;
use console::measure_text_width;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn boot(name: &str, state: &str, step: [&str; 2]) -> Boot {
    let boot = json!({"id": name, "host": name, "state": state, "ended": false, "bmc": {"address": "https://bmc/"},
        "progress": null, "steps": [{"step": step[0], "state": step[1], "error": "the BMC says no"}], "remarks": []});
    serde_json::from_value(boot).unwrap()
}

fn queued(name: &str) -> Boot {
    boot(name, "queued", ["image", "waiting"])
}

fn running(name: &str) -> Boot {
    boot(name, "running", ["reading", "running"])
}

fn failed(name: &str) -> Boot {
    boot(name, "failed", ["insert", "failed"])
}

fn view(boots: &[Boot]) -> View {
    let mut view = View::default();
    for boot in boots {
        view.show(boot, Duration::ZERO);
    }
    view
}

fn lines(view: &View, width: usize, height: usize) -> Vec<String> {
    let lines = view.lines(width, height, Duration::from_secs(75));
    lines.iter().map(|line| strip_str(line).to_string()).collect()
}

#[test]
fn hosts_stand_in_the_order_that_people_count_in_and_those_that_failed_on_top() {
    let boots = [running("node-10"), queued("node-9"), failed("node-11"), running("node-2"), failed("node-3")];
    let expected = [
        "   0:00  node-3   insert failed: the BMC says no",
        "   0:00  node-11  insert failed: the BMC says no",
        "   1:15  node-2   reading",
        "   1:15  node-9   queued",
        "   1:15  node-10  reading",
        "5 hosts: 2 failed, 2 running, 1 queued",
    ];
    assert_eq!(lines(&view(&boots), 80, 24), expected);
}

#[test]
fn where_there_is_no_room_for_all_those_stay_that_need_a_look() {
    let mut boots: Vec<Boot> =
        (0..40).map(|number| boot(&format!("n{number}"), "booted", ["booted", "done"])).collect();
    boots[17] = failed("n17");
    boots[30] = running("n30");
    boots[39] = queued("n39");
    let expected = [
        "   0:00  n17  insert failed: the BMC says no",
        "   1:15  n30  reading",
        "   1:15  n39  queued",
        "… 37 more",
        "40 hosts: 37 booted, 1 failed, 1 running, 1 queued",
    ];
    assert_eq!(lines(&view(&boots), 80, 5), expected);
    let all_failed: Vec<Boot> = (0..40).map(|number| failed(&format!("n{number}"))).collect();
    assert_eq!(lines(&view(&all_failed), 80, 4)[2..], ["… 38 more, 38 of them failed", "40 hosts: 40 failed"]);
}

#[test]
fn a_host_that_booted_and_keeps_its_medium_against_its_will_is_no_success() {
    let boots = [running("a"), boot("b", "booted", ["ejected", "failed"])];
    assert!(lines(&view(&boots), 80, 24)[0].contains("b  ejected failed"));
}

#[test]
fn names_of_foreign_systems_cannot_drive_the_terminal() {
    let line = &lines(&view(&[running("a\u{1b}[2Jb")]), 80, 24)[0];
    assert!(line.contains("a\\u{1b}[2Jb"), "{line}");
}

proptest! {
    /// However many hosts there are, whatever they are called, and however small the terminal is. No name has an "i":
    /// failed hosts are recognised by the "insert" of their step, or as much of it as fits.
    #[test]
    fn it_fits_and_counts_every_host(
        hosts in proptest::collection::vec(("[a-hj-z漢]{0,40}[0-9]{0,4}", 0..4_usize), 0..60),
        width in 20..200_usize,
        height in 1..80_usize,
    ) {
        let mut view = View::default();
        for (number, (name, kind)) in hosts.iter().enumerate() {
            let mut boot = match kind {
                0 => queued(name),
                1 => running(name),
                2 => failed(name),
                _ => boot(name, "booted", ["booted", "done"]),
            };
            boot.id = number.to_string();
            view.show(&boot, Duration::ZERO);
        }
        let lines = lines(&view, width, height);
        prop_assert!(lines.len() <= height, "{} lines in {height}", lines.len());
        for line in &lines {
            prop_assert!(measure_text_width(line) <= width, "{line:?} in {width}");
        }
        let shown = lines.iter().filter(|line| line.starts_with("   ")).count();
        let hidden = lines.iter().find_map(|line| line.strip_prefix("… ")?.split(' ').next()?.parse::<usize>().ok());
        if height > 1 {
            prop_assert_eq!(shown + hidden.unwrap_or(0), hosts.len());
        }
        let failed = hosts.iter().filter(|(_, kind)| *kind == 2).count();
        let said = lines.iter().filter(|line| line.contains("insert") || line.contains("in…")).count();
        if height > failed + 2 && width > 100 {
            prop_assert_eq!(said, failed);
        }
    }
}
