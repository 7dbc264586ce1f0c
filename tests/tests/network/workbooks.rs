//! Excel workbooks that openpyxl and XlsxWriter have written, as dayone reads them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use acceptance::peers::cache;
use hosts::input::{Input, Text, read_all};
use proptest::prelude::*;
use serde_json::{Value, json};

const WRITERS: [&str; 3] = ["openpyxl", "xlsxwriter", "xlsxwriter-inline"];

/// Writes a workbook. The description is that of `tests/peers/workbooks.py`.
fn write(writer: &str, path: &Path, sheets: &Value) {
    let python = cache().join("spreadsheets-openpyxl-3.1.5-xlsxwriter-3.3.1/bin/python");
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers/workbooks.py");
    let mut command = Command::new(&python);
    let process = command.arg(script).arg(writer).arg(path).stdin(Stdio::piped()).spawn();
    let mut process =
        process.unwrap_or_else(|error| panic!("{}: {error}; run scripts/setup-peers.sh", python.display()));
    process.stdin.take().unwrap().write_all(json!({"sheets": sheets}).to_string().as_bytes()).unwrap();
    assert!(process.wait().unwrap().success(), "{writer}: {sheets}");
}

/// The hosts of the workbook, each with the role `[a|b|…]`: the values of these columns.
fn read(workbook: &[u8], more: &str, columns: &[&str]) -> Input {
    let role: Vec<String> = columns.iter().map(|column| format!("${{{column}}}")).collect();
    let fleet = json!({
        "apiVersion": "dayone.metal3.io/v1alpha1", "kind": "HostFleet", "metadata": {"name": "f"},
        "spec": {"hosts": {"xlsxFile": "t.xlsx"}, "template": {"role": format!("[{}]", role.join("|")), "network": {"interfaces": []}}},
    });
    let fleet = fleet.to_string().replace("\"t.xlsx\"", &format!("\"t.xlsx\"{more}"));
    read_all([Text { name: Some("fleet.yaml"), text: fleet.as_bytes() }, Text { name: Some("t.xlsx"), text: workbook }])
}

fn roles(input: &Input) -> BTreeMap<String, String> {
    let hosts = input.hosts.iter();
    hosts.map(|host| (host.name.clone().unwrap(), host.role.clone().unwrap())).collect()
}

#[test]
fn what_writers_write_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let old = json!({"name": "Old", "hidden": true, "merged": [], "cells": [[0, 0, "text", "name"], [0, 1, "text", "v"], [1, 0, "text", "x"], [1, 1, "number", 1]]});
    let mut cells = vec![json!([2, 1, "text", "name"]), json!([2, 2, "rich", "v"]), json!([2, 4, "text", "w"])];
    let values = [
        (json!(["text", "0123"]), "0123"),
        (json!(["text", "=1+1"]), "=1+1"),
        (json!(["text", " 52:54:00:12:34:56 "]), "52:54:00:12:34:56"),
        (json!(["text", "a & <c> 'ä' \"d\""]), "a & <c> 'ä' \"d\""),
        (json!(["rich", "hello"]), "hello"),
        (json!(["number", 10]), "10"),
        (json!(["number", 4_294_967_295_u32]), "4294967295"),
        (json!(["number", -1]), "-1"),
        (json!(["formatted", [9000, "[$-407]General"]]), "9000"),
        (json!(["formatted", [9000, "General;General"]]), "9000"),
        (json!(["formatted", [-5, "0;-0"]]), "-5"),
        (json!(["formatted", [0, "##0"]]), "0"),
        (json!(["formatted", [7, "#"]]), "7"),
        (json!(["boolean", true]), "true"),
        (json!(["boolean", false]), "false"),
    ];
    let refused = [
        (json!(["number", 4.1]), "is a number with a fraction"),
        (json!(["formatted", [-5, "General;General"]]), "is a number that the cell shows in another form"),
        (json!(["formatted", [7, "0000"]]), "is a number that the cell shows in another form"),
        (json!(["date", "2026-01-02"]), "is a date or a time"),
        (json!(["error", "#N/A"]), ""),
        (json!(["formula", null]), "is a formula without a result"),
        (json!(["formula", 0]), "is a formula without a result"),
    ];
    // Every second row is empty.
    for (index, (value, _)) in values.iter().chain(&refused).enumerate() {
        let row = index * 2 + 4;
        cells.push(json!([row, 1, "text", format!("h{index}")]));
        cells.push(json!([row, 2, value[0], value[1]]));
        cells.push(json!([row, 4, "text", "w"]));
    }
    let rack = json!({"name": "Rack 1", "hidden": false, "merged": [], "cells": cells});
    for writer in WRITERS {
        let path = directory.path().join(format!("{writer}.xlsx"));
        write(writer, &path, &json!([old, rack]));
        let workbook = std::fs::read(&path).unwrap();
        let input = read(&workbook, "", &["v", "w"]);
        let expected: BTreeMap<String, String> = values
            .iter()
            .enumerate()
            .map(|(index, (_, value))| (format!("h{index}"), format!("[{value}|w]")))
            .collect();
        assert_eq!(roles(&input), expected, "{writer}: {:?}", input.report.findings());
        let errors: Vec<String> = input.report.findings().iter().map(ToString::to_string).collect();
        assert_eq!(errors.len(), refused.len(), "{writer}: {errors:#?}");
        for (index, ((_, why), error)) in refused.iter().zip(&errors).enumerate() {
            let row = (values.len() + index) * 2 + 5;
            let place = format!("whose value in 'Rack 1'!C{row} {why}");
            assert!(error.contains(&place), "{writer}: {error}");
        }
        let hidden = read(&workbook, ", \"sheet\": \"old\"", &["v"]);
        assert_eq!(
            roles(&hidden),
            [("x".to_owned(), "[1]".to_owned())].into(),
            "{writer}: {:?}",
            hidden.report.findings()
        );
    }
}

#[test]
fn merged_cells_have_the_value_that_shows() {
    let directory = tempfile::tempdir().unwrap();
    let cells = json!([
        [0, 0, "text", "name"],
        [0, 1, "text", "v"],
        [1, 0, "text", "a"],
        [1, 1, "text", "rack 7"],
        [2, 0, "text", "b"],
        [3, 0, "text", "c"],
        [3, 1, "text", "rack 8"]
    ]);
    // In constant memory, XlsxWriter merges nothing that is behind it.
    for writer in ["openpyxl", "xlsxwriter"] {
        let path = directory.path().join(format!("{writer}.xlsx"));
        write(writer, &path, &json!([{"name": "S", "hidden": false, "merged": ["B2:B3"], "cells": cells}]));
        let input = read(&std::fs::read(&path).unwrap(), "", &["v"]);
        let expected = [("a", "[rack 7]"), ("b", "[rack 7]"), ("c", "[rack 8]")];
        assert_eq!(
            roles(&input),
            expected.map(|(name, role)| (name.to_owned(), role.to_owned())).into(),
            "{writer}: {:?}",
            input.report.findings()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any texts and integers at any places come back as they were.
    #[test]
    fn any_table_is_read_as_it_was_written(
        values in prop::collection::vec(prop::collection::vec(prop_oneof![
            "[ -~äß€]{1,30}".prop_map(|text| json!(["text", text])),
            "[ -~äß€]{1,30}".prop_map(|text| json!(["rich", text])),
            (-999_999_999_999_999_i64..=999_999_999_999_999).prop_map(|number| json!(["number", number])),
            any::<bool>().prop_map(|value| json!(["boolean", value])),
        ], 3), 1..40),
        (top, left) in (0_usize..20, 0_usize..30),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let columns = ["a", "b-c", "d.e"];
        let mut cells = vec![json!([top, left, "text", "name"])];
        cells.extend(columns.iter().enumerate().map(|(index, name)| json!([top, left + index + 1, "text", name])));
        let mut expected = BTreeMap::new();
        for (index, row) in values.iter().enumerate() {
            cells.push(json!([top + index + 1, left, "text", format!("h{index}")]));
            cells.extend(row.iter().enumerate().map(|(column, value)| json!([top + index + 1, left + column + 1, value[0], value[1]])));
            let shown = row.iter().map(|value| value[1].as_str().map_or_else(|| value[1].to_string(), |text| text.trim().to_owned()));
            let shown: Vec<String> = shown.collect();
            // An empty value is none, and the host then lacks it.
            if shown.iter().all(|value| !value.is_empty()) {
                expected.insert(format!("h{index}"), format!("[{}]", shown.join("|")));
            }
        }
        for writer in WRITERS {
            let path = directory.path().join(format!("{writer}.xlsx"));
            write(writer, &path, &json!([{"name": "S", "hidden": false, "merged": [], "cells": cells}]));
            let input = read(&std::fs::read(&path).unwrap(), "", &columns);
            prop_assert_eq!(roles(&input), expected.clone(), "{}: {:?}", writer, input.report.findings());
        }
    }
}
