use http_range_header::parse_range_header;
use proptest::prelude::*;

use super::*;
use Requested::{One, Several, Unsatisfiable, Whole};

#[test]
fn ranges_are_read_as_the_rfc_says() {
    for (header, expected) in [
        ("bytes=0-0", One(0..1)),
        ("bytes=0-99", One(0..100)),
        ("bytes=10-", One(10..100)),
        ("bytes=10-1000", One(10..100)),
        ("bytes=-1", One(99..100)),
        ("bytes=-1000", One(0..100)),
        ("BYTES=5-6", One(5..7)),
        ("bytes=007-8", One(7..9)),
        ("bytes= 5-6 , ,", One(5..7)),
        ("bytes=99-99999999999999999999999999", One(99..100)),
        ("bytes=-99999999999999999999999999", One(0..100)),
        // Not in the file.
        ("bytes=100-", Unsatisfiable),
        ("bytes=100-200", Unsatisfiable),
        ("bytes=-0", Unsatisfiable),
        ("bytes=100-,-0", Unsatisfiable),
        ("bytes=99999999999999999999999999-", Unsatisfiable),
        // Several.
        ("bytes=0-1,4-5", Several(vec![0..2, 4..6])),
        ("bytes=4-5\t,\t0-1", Several(vec![0..2, 4..6])),
        ("bytes=0-1,100-", One(0..2)),
        ("bytes=0-1,2-3", One(0..4)),
        ("bytes=0-,0-,-1", One(0..100)),
        // Ignored.
        ("", Whole),
        ("bytes", Whole),
        ("bytes=", Whole),
        ("bytes=,", Whole),
        ("bytes=-", Whole),
        ("bytes=5", Whole),
        ("bytes=6-5", Whole),
        ("bytes=0-1,6-5", Whole),
        ("bytes=a-b", Whole),
        ("bytes=+1-2", Whole),
        ("bytes=1--2", Whole),
        ("bytes=--2", Whole),
        ("bytes=1 - 2", Whole),
        ("bytes =1-2", Whole),
        ("bytes=0x1-0x2", Whole),
        ("bytes=٣-٤", Whole),
        ("bits=0-1", Whole),
        ("0-1", Whole),
    ] {
        assert_eq!(requested(header, 100), expected, "{header}");
    }
}

#[test]
fn more_ranges_than_a_client_needs_are_ignored() {
    let specs = |count: usize| (0..count).map(|i| format!("{0}-{0}", i * 2)).collect::<Vec<_>>();
    let header = |count| format!("bytes={}", specs(count).join(","));
    assert!(matches!(requested(&header(MAX_RANGES), 1000), Several(ranges) if ranges.len() == MAX_RANGES));
    assert_eq!(requested(&header(MAX_RANGES + 1), 1000), Whole);
}

#[test]
fn an_empty_file_has_no_ranges() {
    for header in ["bytes=0-", "bytes=0-0", "bytes=-1"] {
        assert_eq!(requested(header, 0), Unsatisfiable);
    }
}

/// The bytes that a list of ranges stands for, whatever their order and overlaps.
fn set(ranges: impl IntoIterator<Item = Range<u64>>) -> std::collections::BTreeSet<u64> {
    ranges.into_iter().flatten().collect()
}

fn list(requested: Requested) -> Vec<Range<u64>> {
    match requested {
        One(range) => vec![range],
        Several(ranges) => ranges,
        Whole | Unsatisfiable => vec![],
    }
}

fn spec() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_u64..70, 0_u64..70).prop_map(|(first, last)| format!("{first}-{last}")),
        (0_u64..70).prop_map(|first| format!("{first}-")),
        (0_u64..70).prop_map(|length| format!("-{length}")),
        "[0-9]{0,22}-[0-9]{0,22}",
    ]
}

proptest! {
    #[test]
    fn ranges_are_parsed_like_another_parser_does(specs in prop::collection::vec(spec(), 1..5), size in 0_u64..60) {
        let header = format!("bytes={}", specs.join(", "));
        let oracle = parse_range_header(&header).and_then(|ranges| ranges.validate(size));
        // The oracle does not look whether a range that is open to the end begins within an empty file.
        if let Ok(ranges) = oracle && size > 0 {
            let ranges = ranges.into_iter().map(|range| *range.start()..range.end() + 1);
            prop_assert_eq!(set(list(requested(&header, size))), set(ranges), "{}", header);
        }
    }

    #[test]
    fn any_header_gives_ascending_ranges_within_the_file(
        header in prop_oneof![".{0,60}", "bytes=[-0-9, ]{0,60}", prop::collection::vec(spec(), 0..20).prop_map(|specs| format!("bytes={}", specs.join(",")))],
        size in prop_oneof![0_u64..60, any::<u64>()],
    ) {
        let requested = requested(&header, size);
        let several = matches!(requested, Several(_));
        let ranges = list(requested);
        prop_assert!(!several || ranges.len() > 1);
        prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= size));
        prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
    }
}
