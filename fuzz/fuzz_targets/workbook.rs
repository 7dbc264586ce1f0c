//! Excel workbooks: any bytes as the archive, and any XML as the parts of a good one.

#![no_main]

use std::io::Write as _;

use hosts::input::{Text, read_all};
use libfuzzer_sys::fuzz_target;
use rawzip::ZipArchiveWriter;

const FLEET: &[u8] =
    b"{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {name: f}, spec: {hosts: {xlsxFile: t.xlsx}, \
    template: {role: '${v}', network: {interfaces: []}}}}";
const TYPE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

fuzz_target!(|data: &[u8]| {
    read(data);
    // Compressed bytes seldom become other XML: here the parts are plain, with a zero byte between them.
    let mut parts = data.split(|byte| *byte == 0);
    let mut next = || parts.next().unwrap_or_default();
    let relation = |kind: &str| format!("<Relationship Id='{kind}' Type='{TYPE}/{kind}' Target='/{kind}.xml'/>");
    let kinds = ["worksheet", "sharedStrings", "styles"].map(relation).concat();
    let top = format!("<Relationships>{}</Relationships>", relation("officeDocument"));
    let document = "<workbook><sheets><sheet name='HostFleets' id='worksheet'/></sheets></workbook>";
    let mut zip = ZipArchiveWriter::new(Vec::new());
    for (name, content) in [
        ("_rels/.rels", top.as_bytes()),
        ("_rels/officeDocument.xml.rels", format!("<Relationships>{kinds}</Relationships>").as_bytes()),
        ("officeDocument.xml", document.as_bytes()),
        ("worksheet.xml", next()),
        ("sharedStrings.xml", next()),
        ("styles.xml", next()),
    ] {
        let (mut entry, config) = zip.new_file(name).start().expect("a part in memory");
        let mut writer = config.wrap(&mut entry);
        writer.write_all(content).expect("a part in memory");
        let (_, descriptor) = writer.finish().expect("a part in memory");
        entry.finish(descriptor).expect("a part in memory");
    }
    read(&zip.finish().expect("an archive in memory"));
});

fn read(workbook: &[u8]) {
    let table = Text { name: Some("t.xlsx"), text: workbook };
    let input = read_all([Text { name: Some("fleet.yaml"), text: FLEET }, table]);
    assert!(!input.hosts.is_empty() || input.report.has_errors());
    for host in &input.hosts {
        // A workbook that has the document of a fleet may give its hosts no role.
        let Some(role) = &host.role else { continue };
        assert!(!role.is_empty() && !role.contains(char::is_control), "{role:?}");
    }
    // Alone, it may have the document of its fleet.
    drop(read_all([table]));
}
