//! Checks that the bases of a file are unchanged, before it is served.

use std::time::Instant;

use http::Method;

use crate::served::Lookup;

/// Checks that the bases of the file that was found are unchanged. Returns the lookup as `Err` if only their file
/// systems can tell. What a GET reads is checked when it is read. `now` is the present time.
pub(super) fn bases_checked_now(lookup: Lookup, method: &Method, now: Instant) -> Result<Lookup, Lookup> {
    let Lookup::Found(served) = &lookup else { return Ok(lookup) };
    for base in served.base.values() {
        match if method == Method::GET { base.check_path_now(now) } else { base.check_now(now) } {
            Some(Ok(())) => {}
            Some(Err(error)) => return Ok(Lookup::Unavailable(error.to_string())),
            None => return Err(lookup),
        }
    }
    Ok(lookup)
}

/// Does the same and waits for the file systems. If one does not answer in time, the file is unavailable.
pub(super) async fn bases_checked(lookup: Lookup) -> Lookup {
    let Lookup::Found(served) = &lookup else { return lookup };
    for base in served.base.values() {
        if let Err(error) = base.check_in_time_async().await {
            return Lookup::Unavailable(error.to_string());
        }
    }
    lookup
}
