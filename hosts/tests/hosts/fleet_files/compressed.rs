//! Files of fleets that are compressed with gzip.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use hosts::input::{Text, read_all};

use super::{findings, fleet, rows};

fn compressed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The name of a compressed file is the one that it has on the disk, or the one that it had before.
#[test]
fn a_compressed_file_has_its_name_with_the_suffix_and_without_it() {
    let table = ("t.csv.gz", "name,v\na,1\n", "HostFleet/f (a, t.csv line 2): spec.template is 1");
    let inventory = ("i.yaml.gz", "all: {hosts: {a: {v: 1}}}\n", "HostFleet/f (a): spec.template is 1");
    for (hosts, (file, text, expected)) in [
        ("csvFile: t.csv", table),
        ("csvFile: ./t.csv.gz", table),
        ("inventoryFile: i.yaml", inventory),
        ("inventoryFile: i.yaml.gz", inventory),
    ] {
        let fleet = fleet(hosts);
        let found = read_all([
            Text { name: Some("f.yaml"), text: fleet.as_bytes() },
            Text { name: Some(file), text: &compressed(text) },
        ]);
        assert_eq!(rows(&found), [expected], "{hosts}: {:?}", findings(&found));
    }
}

#[test]
fn the_suffix_decides_between_an_inventory_and_its_compressed_copy() {
    for (hosts, value) in [("inventoryFile: i.yaml", 1), ("inventoryFile: i.yaml.gz", 2)] {
        let fleet = fleet(hosts);
        let found = read_all([
            Text { name: Some("f.yaml"), text: fleet.as_bytes() },
            Text { name: Some("i.yaml"), text: b"all: {hosts: {a: {v: 1}}}\n" },
            Text { name: Some("i.yaml.gz"), text: &compressed("all: {hosts: {a: {v: 2}}}\n") },
        ]);
        assert_eq!(rows(&found), [format!("HostFleet/f (a): spec.template is {value}")], "{:?}", findings(&found));
    }
}
