//! How much work documents are, as far as a look at their texts tells.

use memchr::memmem;

use super::shapes::fleet;
use super::text::Text;
use super::yaml::{Budget, Limits};

/// The size of texts that are worth a closer look, in bytes. Larger ones are much work anyway.
const SMALL: usize = 512 << 10;
/// The least that a host of a fleet counts, in bytes.
const HOST: usize = 512;
/// How many hosts count.
const MAX_HOSTS: usize = 10_000;

/// Returns how many bytes dayone has to convert, as far as that can be told without reading the documents. If there is a fleet, each of
/// its hosts counts: a template and a range of a kilobyte stand for thousands.
pub fn amount<'a>(texts: impl IntoIterator<Item = Text<'a>>) -> usize {
    let texts: Vec<Text<'a>> = texts.into_iter().collect();
    let size = texts.iter().map(Text::unpacked_size).fold(0_usize, usize::saturating_add);
    if size > SMALL {
        return size;
    }
    let limits = Limits { text: SMALL, ..Limits::REQUEST };
    let contents = texts.iter().filter_map(|text| text.content(&mut Budget::within(limits)).ok());
    let contents: Vec<_> = contents.collect();
    if !contents.iter().any(|content| memmem::find(content, fleet::KIND.as_bytes()).is_some()) {
        return size;
    }
    let hosts = contents.iter().map(|content| hosts_in(content)).fold(0_usize, usize::saturating_add);
    size.max(hosts.min(MAX_HOSTS).saturating_mul(HOST.max(size / 8)))
}

/// Returns how many hosts a text may have at most: one in each line, also of a text in quotes, in each mapping, or between commas. Rows
/// and templates have several commas.
fn hosts_in(text: &[u8]) -> usize {
    let count = |separators: &[u8]| text.iter().filter(|byte| separators.contains(byte)).count();
    let written = count(b"\n\r\\").max(count(b"{")).max(count(b",") / 4);
    text.split(|byte| matches!(byte, b'\n' | b'\r')).map(in_ranges).fold(written, usize::saturating_add)
}

/// Returns how many hosts the ranges in a line stand for, without the first: `w[1:20]` stands for 19 more, as `w[:19]` and `w[a:t]` do.
fn in_ranges(line: &[u8]) -> usize {
    let end = |text: &[u8]| match text {
        [] => Some(0),
        [letter] if letter.is_ascii_alphabetic() => Some(usize::from(*letter)),
        digits => str::from_utf8(digits).ok()?.parse().ok(),
    };
    let ranges = line.split(|byte| *byte == b'[').skip(1).filter_map(|range| {
        let mut ends = range.split(|byte| matches!(byte, b':' | b']'));
        let (first, last) = (end(ends.next()?)?, end(ends.next()?)?);
        Some(last.saturating_sub(first).saturating_add(1))
    });
    ranges.fold(1_usize, usize::saturating_mul).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn of(files: &[(&str, &[u8])]) -> usize {
        amount(files.iter().map(|(name, text)| Text { name: Some(name), text }))
    }

    fn fleet(hosts: &str) -> String {
        format!(
            "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {{name: f}}\nspec:\n  hosts: {{{hosts}}}\n  \
             template: {{network: {{interfaces: [{{name: eth0, type: ethernet}}]}}}}\n"
        )
    }

    #[test]
    fn each_host_of_a_fleet_counts() {
        let packed = |text: &str| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let range = fleet("inventory: {all: {hosts: {'w[1:9999]': {}}}}");
        let product = fleet("inventory: {all: {hosts: {'w[1:100]-[01:50]': {}}}}");
        let open = fleet("inventory: {all: {hosts: {'w[:9999]': {}}}}");
        let letters = fleet("inventory: {all: {hosts: {'w[a:z][a:z][A:J]': {}}}}");
        let list = fleet(&format!("values: [{}]", "{name: a}, ".repeat(2000)));
        for text in [&range, &product, &open, &letters, &list] {
            assert!(text.len() < 64 << 10 && of(&[("f.yaml", text.as_bytes())]) > SMALL, "{text}");
            assert!(of(&[("f.yaml.gz", packed(text).as_slice())]) > SMALL, "{text}");
        }
        let (named, table) = (fleet("csvFile: t.csv"), format!("name\n{}", "a\n".repeat(5000)));
        assert!(of(&[("f.yaml", named.as_bytes()), ("t.csv", table.as_bytes())]) > SMALL);
    }

    #[test]
    fn tens_of_hosts_are_small_and_other_documents_count_with_their_size() {
        let row = "worker-1,52:54:00:00:00:01,192.0.2.1,24,192.0.2.254,20,bmc-1.example\n";
        let table = format!("name,mac,address,prefix,gateway,vlan,bmc\n{}", row.repeat(40));
        let files = [("f.yaml", fleet("csvFile: t.csv")), ("t.csv", table)];
        assert!(of(&files.each_ref().map(|(name, text)| (*name, text.as_bytes()))) <= 64 << 10);
        let host = "kind: BareMetalHost\nmetadata: {name: 'w[1:9999]'}\n";
        assert_eq!(of(&[("a.yaml", host.as_bytes()), ("b.yaml", &b"# b\n"[..])]), host.len() + 4);
        assert_eq!(of(&[]), 0);
    }
}
