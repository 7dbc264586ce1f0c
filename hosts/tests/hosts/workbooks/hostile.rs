//! Workbooks that want too much, that are wrong about themselves, or that are spoiled.

use std::fs;
use std::path::Path;
use std::time::Instant;

use proptest::prelude::*;

use super::*;

/// A few KiB must not become gigabytes, nor hours.
#[test]
fn workbooks_that_want_too_much_are_refused_in_seconds() {
    let names = |content: String| sheets("", &[("a", "", &content)], &[]);
    let long = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(1 << 20));
    let repeated = format!(
        "<sheetData>{NAMES}{}</sheetData>",
        "<row><c t='s'><v>0</v></c><c t='s'><v>0</v></c></row>".repeat(10_000)
    );
    let top = format!(
        "<Relationships><Relationship Type='{RELATIONSHIP}/officeDocument' Target='xl/workbook.xml'/></Relationships>"
    );
    let bombs: Vec<(&str, Vec<u8>)> = vec![
        ("MiB of XML", sheet(&" ".repeat(200 << 20))),
        ("more than dayone can read", sheets("", &[("a", "", &repeated)], &[("sharedStrings", &long)])),
        (
            "more than dayone can read",
            sheets("", &[("a", "", "")], &[("sharedStrings", &format!("<sst>{}</sst>", "<si/>".repeat(1_000_000)))]),
        ),
        (
            "more than dayone can read",
            names(format!(
                "<sheetData>{NAMES}</sheetData><mergeCells>{}</mergeCells>",
                "<mergeCell/>".repeat(1_000_000)
            )),
        ),
        ("is empty", names(format!("<sheetData{}/>", (0..500_000).map(|n| format!(" a{n}=''")).collect::<String>()))),
        ("is empty", names("<a>".repeat(500_000) + &"</a>".repeat(500_000))),
        ("cannot read", names("<a>".repeat(1_000_000))),
        (
            "more than 100000 styles",
            sheets(
                "",
                &[("a", "", "")],
                &[("styles", &format!("<s><cellXfs>{}</cellXfs></s>", "<xf/>".repeat(200_000)))],
            ),
        ),
        ("more than 1000 sheets", sheets("", &vec![("a", "", ""); 1001], &[])),
        (
            "more than dayone can read",
            package(&[(
                "_rels/.rels",
                format!("<Relationships>{}</Relationships>", "<Relationship/>".repeat(600_000)).as_bytes(),
            )]),
        ),
        ("a document type", package(&[("_rels/.rels", b"<!DOCTYPE a [<!ENTITY b 'bb'>]><a/>")])),
        ("an unknown entity", sheet("<row><c t='str'><v>&b;</v></c></row>")),
        ("not an Excel workbook", package(&[("a", b"b")])),
        ("no sheet", package(&[("_rels/.rels", top.as_bytes())])),
        ("with a password", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0".to_vec()),
        ("not an Excel workbook", b"PK\x03\x04".to_vec()),
        ("not an Excel workbook", Vec::new()),
    ];
    for (expected, bomb) in bombs {
        assert!(bomb.len() < 4 << 20, "{expected}: {}", bomb.len());
        let start = Instant::now();
        let found = input(&bomb);
        let (code, message) = error(&found);
        assert!(
            ["fleet-workbook", "fleet-table-empty"].contains(&code) && message.contains(expected),
            "{expected}: {message}"
        );
        assert!(start.elapsed().as_secs() < 60, "{:?} for {expected}", start.elapsed());
    }
    // A value in the last cell that Excel has, and many hosts.
    let far = sheet(&format!("{NAMES}<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>"));
    assert!(error(&input(&far)).1.contains("right of the first 1000 columns"), "{}", error(&input(&far)).1);
    let many = |count: usize| {
        let rows: String =
            (0..count).map(|n| format!("<row><c t='str'><v>h{n}</v></c><c><v>1</v></c></row>")).collect();
        let workbook = sheet(&format!("{NAMES}{rows}"));
        let texts =
            [Text { name: Some("fleet.yaml"), text: FLEET.as_bytes() }, Text { name: Some("t.xlsx"), text: &workbook }];
        read_within(Limits::FILES, texts)
    };
    assert_eq!(many(10_000).hosts.len(), 10_000);
    assert_eq!(error(&many(10_001)).0, "fleet-too-large");
}

/// The archive's directory may be wrong about what is in it.
#[test]
fn archives_that_are_wrong_about_their_parts_are_refused() {
    let good = sheet(&cell("<c r='B2'><v>7</v></c>"));
    assert_eq!(roles(&input(&good)), [("a", "7")]);
    let directory = good.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    // The method, the checksum, a size and the place of the last part, in the directory (APPNOTE 4.3.12).
    for (at, value) in [(10, 99), (16, 7), (24, 200), (42, 200)] {
        let mut wrong = good.clone();
        wrong[directory + at] ^= value;
        let found = input(&wrong);
        assert!(found.hosts.is_empty() && found.report.has_errors(), "{at}: {:?}", found.hosts.len());
    }
    let mut truncated = good.clone();
    truncated.truncate(good.len() - 30);
    assert!(error(&input(&truncated)).1.contains("is not an Excel workbook"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, failure_persistence: None, ..ProptestConfig::default() })]

    /// A spoiled workbook is read or refused.
    #[test]
    fn any_bytes_are_read_or_refused(at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 1..20)) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/inputs/fleet/xlsx/hosts.xlsx");
        let mut workbook = fs::read(path).unwrap();
        let at = at.index(workbook.len() - bytes.len());
        workbook[at..at + bytes.len()].copy_from_slice(&bytes);
        let input = input(&workbook);
        prop_assert!(!input.hosts.is_empty() || input.report.has_errors());
    }

    /// Any XML in place of a sheet is read or refused, and no value comes from elsewhere.
    #[test]
    fn any_sheet_is_read_or_refused(parts in prop::collection::vec(
        "<(row|c|v|f|is|t|mergeCell)( (r|ref)='[A-C]?[0-9](:B9)?')?( t='(s|b|str|e|n|inlineStr)')?/?>|</(row|c|v|is|t)>|[a-z0-9.&;_]{0,4}", 0..30,
    )) {
        let input = input(&sheet(&format!("{NAMES}{}", parts.concat())));
        prop_assert!(!input.hosts.is_empty() || input.report.has_errors());
    }

    /// What is in a cell is the value, or there is an error.
    #[test]
    fn a_cell_is_a_value(text in "[ -~äß]{1,20}") {
        prop_assume!(!text.contains("_x"));
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let input = input(&sheet(&cell(&format!("<c r='B2' t='inlineStr'><is><t>{escaped}</t></is></c>"))));
        if text.trim().is_empty() {
            prop_assert!(input.report.has_errors());
        } else {
            prop_assert_eq!(roles(&input), [("a", text.trim())]);
        }
    }
}
