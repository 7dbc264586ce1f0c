use serde_json::json;

use super::*;

fn boot(number: usize, remarks: &[&str]) -> Boot {
    let remarks: Vec<_> = remarks.iter().map(|text| json!({"at": "2026-01-01T00:00:00Z", "text": text})).collect();
    let address = format!("https://10.0.0.{number}/redfish/v1/Systems/1");
    let boot = json!({"id": number.to_string(), "host": format!("node-{number}"), "state": "running", "ended": false,
        "bmc": {"address": address}, "progress": null, "steps": [], "remarks": remarks});
    serde_json::from_value(boot).unwrap()
}

#[test]
fn what_is_true_of_many_hosts_is_said_once_and_at_the_end_of_whom() {
    let mut remarks = Remarks::default();
    let one = |number: usize| format!("insert: https://10.0.0.{number}/redfish/v1/Systems/1 is busy");
    assert_eq!(remarks.news(&boot(1, &[&one(1)])), format!("node-1: {}\n", one(1)));
    // What was said of this boot already comes with each of its events.
    assert_eq!(remarks.news(&boot(1, &[&one(1)])), "");
    assert_eq!(remarks.repeated(), "");
    for number in 2..=40 {
        assert_eq!(remarks.news(&boot(number, &[&one(number)])), "", "{number}");
    }
    assert_eq!(remarks.news(&boot(7, &[&one(7), "and more"])), "node-7: and more\n");
    let names = "node-2, node-3, node-4, node-5, node-6, node-7, node-8, node-9";
    assert_eq!(remarks.repeated(), format!("{names} and 31 more, too: {}\n", one(1)));
}
