//! Which of the forms that an answer can have the client wants (RFC 9110 §12.5.1).

use http::HeaderMap;
use http::header::ACCEPT;

/// Chooses among `offered`, of which the first is what goes out where the client does not care. That nothing is
/// acceptable does not keep it from an answer (§12.5.1 allows both): a problem would be no more acceptable.
pub(super) fn preferred(headers: &HeaderMap, offered: &[&'static str]) -> &'static str {
    let ranges: Vec<(&str, f32)> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(1.0, |q| q.parse().unwrap_or(0.0));
            (media, weight)
        })
        .collect();
    // The most specific range counts for a type.
    let quality = |offer: &str| {
        let family = offer.split_once('/').map_or("", |(family, _)| family);
        let precision = |media: &str| {
            if media.eq_ignore_ascii_case(offer) {
                3
            } else if media.strip_suffix("/*").is_some_and(|of| of.eq_ignore_ascii_case(family)) {
                2
            } else {
                u8::from(media == "*/*")
            }
        };
        let matching = ranges.iter().map(|(media, weight)| (precision(media), *weight)).filter(|(p, _)| *p > 0);
        matching.max_by_key(|(precision, _)| *precision).map_or(0.0, |(_, weight)| weight)
    };
    let mut best = offered.first().map(|first| (*first, quality(first)));
    for offer in offered.iter().skip(1) {
        let weight = quality(offer);
        if best.is_none_or(|(_, most)| weight > most) {
            best = Some((offer, weight));
        }
    }
    best.map_or("", |(offer, _)| offer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_preference_counts_and_then_ours() {
        let offered = ["application/json", "application/octet-stream"];
        for (accept, expected) in [
            (None, "application/json"),
            (Some("*/*"), "application/json"),
            (Some("application/octet-stream"), "application/octet-stream"),
            (Some("Application/Octet-Stream"), "application/octet-stream"),
            (Some("application/*"), "application/json"),
            (Some("application/octet-stream, */*"), "application/json"),
            (Some("application/octet-stream, */*;q=0.1"), "application/octet-stream"),
            (Some("application/json;q=0.5, application/octet-stream;q=0.6"), "application/octet-stream"),
            (Some("text/html"), "application/json"),
            (Some("application/octet-stream;q=nonsense"), "application/json"),
        ] {
            let mut headers = HeaderMap::new();
            accept.map(|accept| headers.insert(ACCEPT, accept.parse().unwrap()));
            assert_eq!(preferred(&headers, &offered), expected, "{accept:?}");
        }
    }
}
