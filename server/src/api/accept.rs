//! Selects a media type for an answer (RFC 9110 §12.5.1).

use http::HeaderMap;
use http::header::ACCEPT;

/// Returns the offered type that the client prefers, or the first one if it has no preference. A client that accepts none of
/// them gets an answer anyway (§12.5.1 allows that): it would not accept a problem either.
pub(crate) fn preferred(headers: &HeaderMap, offered: &[&'static str]) -> &'static str {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<(&str, f32)> = values
        .flat_map(|value| value.split(','))
        .map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let weight = parts.find_map(quality_value).map_or(Some(1.0), |q| q.parse().ok());
            (media, weight.filter(|weight| (0.0..=1.0).contains(weight)).unwrap_or(0.0))
        })
        .collect();
    let quality = |offer: &str| {
        let family = format!("{}/*", offer.split('/').next().unwrap_or_default());
        // The most specific range that matches a type counts.
        let matching = [offer, family.as_str(), "*/*"]
            .into_iter()
            .find_map(|pattern| ranges.iter().rev().find(|(media, _)| media.eq_ignore_ascii_case(pattern)));
        matching.map_or(0.0, |(_, weight)| *weight)
    };
    // Of several maxima, `max_by` returns the last one.
    let best = offered.iter().rev().max_by(|a, b| quality(a).total_cmp(&quality(b)));
    best.copied().unwrap_or_default()
}

/// The value of a parameter `q`. Names of parameters are case-insensitive (RFC 9110 §5.6.6).
fn quality_value(parameter: &str) -> Option<&str> {
    parameter.split_once('=').filter(|(name, _)| name.eq_ignore_ascii_case("q")).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preference_of_the_client_comes_before_ours() {
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
            (Some("application/octet-stream;Q=0"), "application/json"),
            (Some("application/json;Q=0.5, application/octet-stream; Q=0.6"), "application/octet-stream"),
            (Some("text/html"), "application/json"),
            (Some("application/octet-stream;q=nonsense"), "application/json"),
        ] {
            let mut headers = HeaderMap::new();
            accept.map(|accept| headers.insert(ACCEPT, accept.parse().unwrap()));
            assert_eq!(preferred(&headers, &offered), expected, "{accept:?}");
        }
    }
}
