//! Tells what the slot with the image of a boot shows.

use redfish::bmc::{Found, MediaState, ShownImage};

/// What a slot has into which the image was inserted. A medium without a URL counts as the image, unless it is one of the remote console.
pub(super) fn found(state: &MediaState, url: &str, shown_as: Option<&ShownImage>) -> Found {
    if !state.is_connected() {
        return Found::Nothing;
    }
    let shows_no_url = state.image.is_none() && !state.is_of_remote_console();
    if shows_no_url || is_named(state, url, shown_as) { Found::Image } else { Found::Other }
}

/// Whether a slot names the image, by its URL or as it did after the insert. Some BMCs never show it as connected, and others do not
/// while the host is off.
pub(super) fn is_named(state: &MediaState, url: &str, shown_as: Option<&ShownImage>) -> bool {
    state.names(url) || shown_as.is_some_and(|shown_as| shown_as.is_in(state))
}

/// What a planned slot has after an insert that may not have ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing new, or an image with another URL.
    Nothing,
    /// A medium with the name of the image's file.
    Image,
    /// A medium that the slot does not name, or in another way. Described for users.
    Perhaps(String),
}

/// What a slot has, which was in the state `before` when dayone began to insert the image, and which does not show the image's URL now.
pub(super) fn left(before: &MediaState, now: &MediaState, url: &str, file: &str) -> Left {
    let is_new = now.is_connected() && (!before.is_connected() || before.image != now.image);
    if !is_new || now.is_of_remote_console() {
        return Left::Nothing;
    }
    match now.image.as_deref().or(now.image_name.as_deref()) {
        None => Left::Perhaps("it shows no name".to_owned()),
        Some(name) if name == file => Left::Image,
        // Some BMCs cut a URL off.
        Some(other) if other.contains("://") && !url.starts_with(other.trim_end_matches(['.', '…'])) => Left::Nothing,
        Some(other) => Left::Perhaps(format!("it shows {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://192.0.2.1:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso";

    fn state(image: Option<&str>, connected_via: &str) -> MediaState {
        MediaState {
            image: image.map(str::to_owned),
            image_name: None,
            inserted: Some(connected_via != "NotConnected"),
            connected_via: Some(connected_via.to_owned()),
        }
    }

    #[test]
    fn a_slot_has_the_image_only_while_it_is_connected() {
        assert_eq!(found(&state(Some(URL), "URI"), URL, None), Found::Image);
        assert_eq!(found(&state(None, "URI"), URL, None), Found::Image);
        let by_name = state(Some("boot.iso"), "URI");
        assert_eq!(found(&by_name, URL, None), Found::Other);
        assert_eq!(found(&by_name, URL, ShownImage::of(&by_name, URL).as_ref()), Found::Image);
        assert_eq!(found(&state(None, "Applet"), URL, None), Found::Other);
        let while_off = state(Some(URL), "NotConnected");
        assert_eq!(found(&while_off, URL, None), Found::Nothing);
        assert!(is_named(&while_off, URL, None) && !is_named(&state(None, "NotConnected"), URL, None));
    }

    #[test]
    fn a_medium_counts_as_the_image_only_if_it_is_new_and_has_the_name_of_its_file() {
        let empty = state(None, "NotConnected");
        let left = |before: &MediaState, now: &MediaState| left(before, now, URL, "boot.iso");
        let by_name = state(Some("boot.iso"), "URI");
        assert_eq!(left(&empty, &by_name), Left::Image);
        assert_eq!(left(&state(Some("rescue.iso"), "URI"), &by_name), Left::Image);
        assert_eq!(left(&by_name, &by_name), Left::Nothing);
        assert_eq!(left(&empty, &empty), Left::Nothing);
        assert_eq!(left(&empty, &state(Some("http://192.0.2.9/boot.iso"), "URI")), Left::Nothing);
        assert_eq!(left(&empty, &state(None, "Applet")), Left::Nothing);
        for unclear in [None, Some("virtual CD"), Some("http://192.0.2.1:8081/i/abcd...")] {
            assert!(matches!(left(&empty, &state(unclear, "URI")), Left::Perhaps(_)), "{unclear:?}");
        }
    }
}
