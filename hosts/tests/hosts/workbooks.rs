//! Tables in Excel workbooks. Those of `fixtures/inputs/fleet` are from openpyxl; here are odd ones.

mod hostile;

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use hosts::input::{Input, Limits, Text, locate, read, read_all, read_within};
use rawzip::{CompressionMethod, ZipArchiveWriter};

const FLEET: &str = "{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {name: f}, spec: {hosts: {xlsxFile: t.xlsx}, \
                     template: {role: '${v}', network: {interfaces: []}}}}";
const RELATIONSHIP: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

fn input(workbook: &[u8]) -> Input {
    input_of(FLEET, workbook)
}

fn input_of(fleet: &str, workbook: &[u8]) -> Input {
    read_all([Text { name: Some("fleet.yaml"), text: fleet.as_bytes() }, Text { name: Some("t.xlsx"), text: workbook }])
}

fn package(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipArchiveWriter::new(Vec::new());
    for (name, content) in parts {
        let (mut entry, config) = zip.new_file(name).compression_method(CompressionMethod::DEFLATE).start().unwrap();
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
        writer.write_all(content).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    zip.finish().unwrap()
}

/// A workbook with these sheets: the name, an attribute, and the content of `worksheet`.
fn sheets(workbook: &str, sheets: &[(&str, &str, &str)], more: &[(&str, &str)]) -> Vec<u8> {
    let mut entries = String::new();
    let mut relations = more.iter().fold(String::new(), |mut all, (kind, _)| {
        write!(all, "<Relationship Id='{kind}' Type='{RELATIONSHIP}/{kind}' Target='{kind}.xml'/>").unwrap();
        all
    });
    let mut parts: Vec<(String, String)> =
        more.iter().map(|(kind, content)| (format!("xl/{kind}.xml"), (*content).to_owned())).collect();
    for (index, (name, state, content)) in sheets.iter().enumerate() {
        write!(entries, "<sheet name=\"{name}\" {state} r:id='r{index}'/>").unwrap();
        write!(relations, "<Relationship Id='r{index}' Type='{RELATIONSHIP}/worksheet' Target='/xl/s{index}.xml'/>")
            .unwrap();
        parts.push((format!("xl/s{index}.xml"), format!("<worksheet>{content}</worksheet>")));
    }
    let top = format!(
        "<Relationships><Relationship Type='{RELATIONSHIP}/officeDocument' Target='xl/workbook.xml'/></Relationships>"
    );
    parts.push(("_rels/.rels".to_owned(), top));
    parts.push((
        "xl/workbook.xml".to_owned(),
        format!("<workbook xmlns:r='{RELATIONSHIP}'>{workbook}<sheets>{entries}</sheets></workbook>"),
    ));
    parts.push(("xl/_rels/workbook.xml.rels".to_owned(), format!("<Relationships>{relations}</Relationships>")));
    let parts: Vec<(&str, &[u8])> = parts.iter().map(|(name, content)| (name.as_str(), content.as_bytes())).collect();
    package(&parts)
}

/// A workbook with one sheet.
fn sheet(rows: &str) -> Vec<u8> {
    sheets("", &[("Sheet1", "", &format!("<sheetData>{rows}</sheetData>"))], &[])
}

fn roles(input: &Input) -> Vec<(&str, &str)> {
    let hosts = input.hosts.iter();
    hosts.map(|host| (host.name.as_deref().unwrap_or_default(), host.role.as_deref().unwrap_or_default())).collect()
}

fn error(input: &Input) -> (&'static str, String) {
    let [finding] = input.report.findings() else { panic!("{:?}", input.report.findings()) };
    (finding.code, finding.to_string())
}

const NAMES: &str = "<row r='1'><c r='A1' t='str'><v>name</v></c><c r='B1' t='str'><v>v</v></c></row>";

/// A row with the host `a` and this cell, which is B2.
fn cell(cell: &str) -> String {
    format!("{NAMES}<row r='2'><c r='A2' t='str'><v>a</v></c>{cell}</row>")
}

#[test]
fn cells_are_read_wherever_they_are() {
    let row = "<row r='9'><c r='B9'><v>7</v></c><c r='A9' t='str'><f>1</f><v> a </v></c></row><row r='10'><c r='C10' t='str'><v># a note</v></c></row>\
               <row r='11'><c r='A11' s='4'/></row><row><c t='str'><v>b</v></c><c t='b'><v>1</v></c></row>";
    let input = input(&sheet(&format!("{NAMES}{row}")));
    assert_eq!(roles(&input), [("a", "7"), ("b", "true")], "{:?}", input.report.findings());
    assert_eq!(input.hosts[1].paths.host.to_string(), "HostFleet/f (b, t.xlsx Sheet1!A12): spec.template");
}

#[test]
fn values_are_as_the_user_sees_them() {
    let styles = "<styleSheet><numFmts><numFmt numFmtId='164' formatCode='GENERAL'/><numFmt numFmtId='165' formatCode='yyyy\\-mm\\-dd'/>\
                  <numFmt numFmtId='166' formatCode='0000'/><numFmt numFmtId='167' formatCode='#'/>\
                  <numFmt numFmtId='168' formatCode='[$-407]General;General'/><numFmt numFmtId='169' formatCode='\"rack-\"@'/>\
                  <numFmt numFmtId='170' formatCode='0;-0;0;_-@_-'/></numFmts><cellStyleXfs><xf numFmtId='14'/></cellStyleXfs>\
                  <cellXfs><xf numFmtId='0'/><xf numFmtId='164'/><xf numFmtId='165'/><xf numFmtId='166'/><xf numFmtId='14'/><xf numFmtId='167'/><xf numFmtId='168'/><xf numFmtId='169'/><xf numFmtId='170'/></cellXfs></styleSheet>";
    let texts = "<sst><si><t>zero</t></si><si><r><t xml:space='preserve'>a </t></r><r><t>&amp;&#x42;&lt;</t></r><rPh><t>spoken</t></rPh></si><si/></sst>";
    for (b2, expected) in [
        ("<c r='B2'><v>10</v></c>", Ok("10")),
        ("<c r='B2'><v>1E1</v></c>", Ok("10")),
        ("<c r='B2' s='1'><v>10.0</v></c>", Ok("10")),
        ("<c r='B2' s='5'><v>9000</v></c>", Ok("9000")),
        ("<c r='B2' s='6'><v>9000</v></c>", Ok("9000")),
        ("<c r='B2' s='6'><v>0</v></c>", Ok("0")),
        ("<c r='B2' t='n'><f>SUM(1)</f><v>4094</v></c>", Ok("4094")),
        ("<c r='B2' t='str'><f>A1</f><v>x</v></c>", Ok("x")),
        ("<c r='B2' t='b'><v>0</v></c>", Ok("false")),
        ("<c r='B2' t='s'><v>0</v></c>", Ok("zero")),
        ("<c r='B2' t='s'><v>1</v></c>", Ok("a &B<")),
        ("<c r='B2' t='inlineStr'><is><t>0x1F_x0041_<![CDATA[<]]></t></is></c>", Ok("0x1FA<")),
        ("<c r='B2' t='str'><v>0123</v></c>", Ok("0123")),
        ("<c r='B2' s='8' t='str'><v>0123</v></c>", Ok("0123")),
        ("<c r='B2' t='s'><v>3</v></c>", Err("is a text that the workbook does not have")),
        ("<c r='B2'><v>4.1</v></c>", Err("is a number with a fraction")),
        ("<c r='B2'><v>1234567890123456</v></c>", Err("is a number with more than 15 digits")),
        ("<c r='B2' s='2'><v>46024</v></c>", Err("is a date or a time")),
        ("<c r='B2' s='4'><v>46024</v></c>", Err("is a date or a time")),
        ("<c r='B2' t='d'><v>2026-01-02</v></c>", Err("is a date or a time")),
        ("<c r='B2' s='3'><v>7</v></c>", Err("is a number that the cell shows in another form")),
        ("<c r='B2' s='6'><v>-1</v></c>", Err("is a number that the cell shows in another form")),
        ("<c r='B2' s='7' t='str'><v>7</v></c>", Err("is a text that the cell shows in another form")),
        ("<c r='B2' s='7' t='s'><v>0</v></c>", Err("is a text that the cell shows in another form")),
        ("<c r='B2' s='7' t='inlineStr'><is><t>7</t></is></c>", Err("is a text that the cell shows in another form")),
        ("<c r='B2' s='9'><v>7</v></c>", Err("is a number that the cell shows in another form")),
        ("<c r='B2' t='e'><f>1/0</f><v>#DIV/0!</v></c>", Err("is the error #DIV/0!")),
        ("<c r='B2'><f>1</f></c>", Err("is a formula without a result")),
        ("<c r='B2'><v>x</v></c>", Err("is a number that dayone cannot read")),
        ("<c r='B2' t='z'><v>x</v></c>", Err("is of a type that dayone does not read")),
        ("<c r='B2' t='str'><v>a&#10;b</v></c>", Err("contains the control character U+000A")),
    ] {
        let content = format!("<sheetData>{}</sheetData>", cell(b2));
        let input = input(&sheets("", &[("Rack 1", "", &content)], &[("styles", styles), ("sharedStrings", texts)]));
        match expected {
            Ok(value) => assert_eq!(roles(&input), [("a", value)], "{b2}: {:?}", input.report.findings()),
            Err(why) => {
                let message = error(&input).1;
                let expected = format!(
                    "HostFleet/f (a, t.xlsx 'Rack 1'!A2): spec.template.role uses ${{v}}, whose value in 'Rack 1'!B2 {why}"
                );
                assert!(message.starts_with(&expected), "{b2}: {message}");
            }
        }
    }
    for empty in [
        "",
        "<c r='B2'/>",
        "<c r='B2' t='s'><v>2</v></c>",
        "<c r='B2' s='7' t='str'><v> </v></c>",
        "<c r='B2'><v></v></c>",
        "<c r='B2' s='5'><v>0</v></c>",
    ] {
        let content = format!("<sheetData>{}</sheetData>", cell(empty));
        let input = input(&sheets("", &[("a", "", &content)], &[("styles", styles), ("sharedStrings", texts)]));
        assert!(error(&input).1.contains("for which this host has no value"), "{empty}: {}", error(&input).1);
    }
}

/// Some programs write the names of parts into the archive in another case than into the relationships, or with backslashes.
#[test]
fn parts_are_found_in_any_case() {
    let content = format!("<sheetData>{}</sheetData>", cell("<c r='B2' t='s'><v>0</v></c>"));
    let texts = [("sharedStrings", "<sst><si><t>x</t></si></sst>")];
    let workbook = sheets("", &[("a", "", &content)], &texts);
    for (name, written) in
        [("xl/sharedStrings.xml", "xl/SharedStrings.xml"), ("xl/s0.xml", "XL\\S0.xml"), ("xl/_rels/", "xl\\_rels\\")]
    {
        let mut renamed = workbook.clone();
        // In the header of the part, and in the directory of the archive.
        for _ in 0..2 {
            let at = renamed.windows(name.len()).position(|bytes| bytes == name.as_bytes()).unwrap();
            renamed[at..at + name.len()].copy_from_slice(written.as_bytes());
        }
        let input = input(&renamed);
        assert_eq!(roles(&input), [("a", "x")], "{written}: {:?}", input.report.findings());
    }
}

/// openpyxl and `XlsxWriter` compute nothing: they leave out results, or write zeros, and ask Excel to compute everything.
#[test]
fn results_that_no_program_has_computed_are_not_used() {
    let content = format!("<sheetData>{}</sheetData>", cell("<c r='B2'><f>A1</f><v>0</v></c>"));
    for (calculation, is_used) in [("<calcPr calcId='1'/>", true), ("<calcPr calcId='1' fullCalcOnLoad='1'/>", false)] {
        // The element may be before the sheets or behind them.
        let input = input(&sheets(calculation, &[("a", "", &content)], &[]));
        assert_eq!(input.hosts.len(), usize::from(is_used), "{:?}", input.report.findings());
    }
}

/// People merge the cells of a heading. It is no host, and no value of the rows below it.
#[test]
fn a_comment_may_be_in_merged_cells() {
    let row = |number: usize, name: &str, value: &str| {
        let cell = |column: &str, text: &str| match text {
            "" => format!("<c r='{column}{number}' s='1'/>"),
            text => format!("<c r='{column}{number}' t='str'><v>{text}</v></c>"),
        };
        format!("<row r='{number}'>{}{}</row>", cell("A", name), cell("B", value))
    };
    let rows =
        [row(1, "# all racks", ""), row(2, "name", "v"), row(3, "a", "1"), row(4, "# rack 2", ""), row(5, "b", "2")];
    let merged = "<mergeCell ref='A1:B1'/><mergeCell ref='A4:E4'/>";
    let cells = format!("<sheetData>{}</sheetData><mergeCells>{merged}</mergeCells>", rows.concat());
    let input = input(&sheets("", &[("Sheet1", "", &cells)], &[]));
    assert_eq!(roles(&input), [("a", "1"), ("b", "2")], "{:?}", input.report.findings());
    assert!(input.report.is_empty(), "{:?}", input.report.findings());
}

#[test]
fn merged_cells_have_one_value() {
    let rows = format!(
        "{NAMES}<row r='2'><c r='A2' t='str'><v>a</v></c><c r='B2'><v>7</v></c></row>\
         <row r='3'><c r='A3' t='str'><v>b</v></c><c r='B3'><v>9</v></c></row><row r='5'><c r='A5' t='str'><v>c</v></c><c r='B5'><v>8</v></c></row>"
    );
    let merged = |ranges: &str| {
        let cells = format!("<sheetData>{rows}</sheetData><mergeCells>{ranges}</mergeCells>");
        input(&sheets("", &[("S", "", &cells)], &[]))
    };
    // What was in B3 before is not to be seen.
    assert_eq!(roles(&merged("<mergeCell ref='B2:B4'/>")), [("a", "7"), ("b", "7"), ("c", "8")]);
    // Spreadsheets show these areas as empty, and hide the value of B5.
    let empty = merged("<mergeCell ref='B4:B9'/><mergeCell ref='D1:XFD1048576'/>");
    assert_eq!(roles(&empty), [("a", "7"), ("b", "9")]);
    assert_eq!(error(&empty).0, "fleet-value-missing");
    // The first row looks empty, so it does not have the names of the columns.
    let names = "<row r='2'><c r='A2' t='str'><v>name</v></c><c r='B2' t='str'><v>v</v></c></row>";
    let cells = format!(
        "<sheetData><row r='1'><c r='B1'><v>5</v></c></row>{names}<row r='3'><c r='A3' t='str'><v>a</v></c><c r='B3'><v>7</v></c>\
         </row></sheetData><mergeCells><mergeCell ref='A1:B1'/></mergeCells>"
    );
    assert_eq!(roles(&input(&sheets("", &[("S", "", &cells)], &[]))), [("a", "7")]);
    let twice = merged("<mergeCell ref='A1:B1'/>");
    let message = "t.xlsx: has the column name twice, in S!A1 and S!B1; write a # before a title";
    assert_eq!(error(&twice), ("fleet-workbook", message.to_owned()));
    let overlapping = "<mergeCell ref='A2:ALL9'/>".repeat(2);
    assert_eq!(error(&merged(&overlapping)).1, "t.xlsx: has merged cells that overlap");
}

#[test]
fn the_first_sheet_that_shows_is_the_table_unless_another_one_is_named() {
    let table =
        |value: &str| format!("<sheetData>{}</sheetData>", cell(&format!("<c r='B2' t='str'><v>{value}</v></c>")));
    let (first, second, third) = (table("1"), table("2"), table("3"));
    let workbook = sheets(
        "",
        &[
            ("Old", "state='hidden'", &first),
            ("Rack &quot;1&quot;", "", &second),
            ("Gerät", "state='veryHidden'", &third),
        ],
        &[],
    );
    let named = |sheet: &str| input_of(&FLEET.replace("t.xlsx", &format!("t.xlsx, sheet: '{sheet}'")), &workbook);
    assert_eq!(roles(&input(&workbook)), [("a", "2")]);
    assert_eq!(roles(&named("old")), [("a", "1")]);
    assert_eq!(roles(&named("Rack \"1\"")), [("a", "2")]);
    assert_eq!(roles(&named("GERÄT")), [("a", "3")]);
    let message = error(&named("x")).1;
    assert_eq!(message, "t.xlsx: has no sheet x; there are: Old, \"Rack \\\"1\\\"\", Gerät");
    let hidden = sheets("", &[("Old", "state='hidden'", &first)], &[]);
    assert!(error(&input(&hidden)).1.contains("has no sheet that shows"));
    let csv = FLEET.replace("xlsxFile: t.xlsx", "csv: 'name,v', sheet: x");
    assert!(error(&read(csv.as_bytes())).1.contains("sheet is for xlsxFile, and the hosts are in csv"));
}

#[test]
fn mistakes_in_a_table_name_the_cell() {
    for (rows, expected) in [
        ("", "t.xlsx: is empty: its sheet Sheet1 has no values"),
        (
            "<row r='3'><c r='D3' t='str'><v>name</v></c><c r='F3' t='str'><v>name</v></c></row>",
            "t.xlsx: has the column name twice, in Sheet1!D3 and Sheet1!F3",
        ),
        ("<row><c t='e'><v>#REF!</v></c></row>", "t.xlsx: has a column whose name in Sheet1!A1 is the error #REF!"),
        (
            &format!("{NAMES}<row r='7'><c r='A7' t='str'><v>a</v></c><c r='D7'><v>1</v></c></row>"),
            "t.xlsx: has a value in a column without a name, in Sheet1!D7",
        ),
        (
            &format!(
                "{NAMES}<row r='2'><c r='A2' t='str'><v>a</v></c><c r='D2'><v>1</v></c></row><row r='5'><c r='D5'><v>1</v></c></row>"
            ),
            "t.xlsx: has a value in a column without a name, in Sheet1!D2, and in one more row",
        ),
        (
            "<row r='1'><c r='A1' t='str'><v>Rack 1</v></c></row><row r='3'><c r='A3' t='str'><v>name</v></c><c r='B3' t='str'><v>v</v></c>\
             </row><row r='4'><c r='A4' t='str'><v>a</v></c><c r='B4'><v>1</v></c></row>",
            "t.xlsx: has one column name only, \"Rack 1\", and a value in another column, in Sheet1!B3",
        ),
        (
            &format!("{NAMES}<row r='7'><c r='ALM7'><v>1</v></c></row>"),
            "t.xlsx: has a value right of the first 1000 columns, in Sheet1!ALM7",
        ),
        ("<row r='2'/><row r='2'/>", "t.xlsx: has rows in disorder, in its part xl/s0.xml"),
        ("<row r='x'/>", "t.xlsx: has rows in disorder, in its part xl/s0.xml"),
        ("<row><c r='1'/></row>", "t.xlsx: has a cell without a place, in its part xl/s0.xml"),
        (NAMES, "t.xlsx: has no hosts (in the sheet Sheet1; hosts.sheet selects another one)"),
        (
            "<row><c t='str'><v>Racks</v></c></row><row><c t='str'><v>of 2026</v></c></row>",
            "HostFleet/f: spec.template.role uses ${v}, which no row has; the variables are: Racks (in the sheet Sheet1; hosts.sheet",
        ),
    ] {
        let message = error(&input(&sheet(rows))).1;
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_workbook_can_have_the_document_of_its_fleet() {
    let document = FLEET.replace("hosts: {xlsxFile: t.xlsx}, ", "").replace(", kind", ",\nkind");
    let rows: String = document.lines().enumerate().fold(String::new(), |mut rows, (index, line)| {
        write!(rows, "<row r='{}'><c t='str'><v>{line}</v></c></row>", index * 2 + 3).unwrap();
        rows
    });
    let table = format!("<sheetData>{}</sheetData>", cell("<c r='B2'><v>7</v></c>"));
    let workbook = |rows: &str| {
        let document = format!("<sheetData>{rows}</sheetData>");
        sheets("", &[("hostfleet", "", &document), ("Rack", "", &table)], &[])
    };
    let whole = workbook(&rows);
    for name in [None, Some("rack.xlsx"), Some("dir/RACK.XLSX")] {
        let found = read_all([Text { name, text: &whole }]);
        assert_eq!(roles(&found), [("a", "7")], "{:?}", found.report.findings());
        assert!(found.report.is_empty(), "{:?}", found.report.findings());
    }
    // A line of the document is a row of the sheet.
    let wrong = workbook(&rows.replace("'${v}'", "'${w}'"));
    let mut found = read_all([Text { name: Some("rack.xlsx"), text: &wrong }]);
    locate([Text { name: Some("rack.xlsx"), text: &wrong }], &mut found.report);
    let position = found.report.findings()[0].position.clone().unwrap();
    assert_eq!(
        (position.file.as_deref(), position.line),
        (Some("rack.xlsx!HostFleet"), 5),
        "{:?}",
        found.report.findings()
    );
    let other = error(&read(&workbook("<row><c r='B1' t='str'><v>x</v></c></row>"))).1;
    assert!(other.contains("has a value in hostfleet!B1; the document of the fleet belongs into column A"), "{other}");
    let date = error(&read(&workbook("<row><c t='d'><v>x</v></c></row>"))).1;
    assert!(date.contains("in hostfleet!A1, that is a date"), "{date}");
    let alone = error(&read(&sheet(NAMES))).1;
    assert!(alone.contains("is an Excel workbook without a sheet HostFleet, which no HostFleet names"), "{alone}");
}

#[test]
fn a_workbook_with_macros_is_read_as_one_without() {
    let fleet = FLEET.replace("t.xlsx", "t.xlsm");
    let workbook = sheet(&cell("<c r='B2'><v>7</v></c>"));
    let fleet = Text { name: Some("fleet.yaml"), text: fleet.as_bytes() };
    let whole = read_all([fleet, Text { name: Some("t.xlsm"), text: &workbook }]);
    assert_eq!(roles(&whole), [("a", "7")], "{:?}", whole.report.findings());
}

/// A spreadsheet of another kind is no text, whatever its encoding is.
#[test]
fn a_spreadsheet_of_another_kind_is_named() {
    let old: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0";
    let packed = &package(&[("mimetype", b"application/vnd.oasis.opendocument.spreadsheet")]);
    let packed = packed.as_slice();
    for (name, content) in [("t.ods", packed), ("t.xlsb", packed), ("t.xls", old), ("T.XLS", old)] {
        let fleet = FLEET.replace("t.xlsx", name);
        let fleet = Text { name: Some("fleet.yaml"), text: fleet.as_bytes() };
        let (code, message) = error(&read_all([fleet, Text { name: Some(name), text: content }]));
        assert_eq!(code, "fleet-workbook", "{name}: {message}");
        assert!(message.contains("save a table as .xlsx or .csv"), "{name}: {message}");
    }
    let (code, message) = error(&read(old));
    assert_eq!(code, "fleet-workbook", "{message}");
    assert!(message.contains("of an old kind (.xls)"), "{message}");
    let fleet = FLEET.replace("xlsxFile: t.xlsx", "csvFile: t.csv");
    let fleet = Text { name: Some("fleet.yaml"), text: fleet.as_bytes() };
    let message = error(&read_all([fleet, Text { name: Some("t.csv"), text: old }])).1;
    assert!(message.contains("names an Excel workbook; write xlsxFile"), "{message}");
}
