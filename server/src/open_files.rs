//! The process's limit on open files, and the listeners' shares of it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

/// Open files that dayone reserves for its own use: records, connections to the API server and to the BMCs of 32 boots, the log.
const OWN: u64 = 192;

/// The boots whose connections to BMCs are reserved in [`OWN`].
const BOOTS: usize = 32;

/// The maximum number of connections of the media plane: as many as boots that have not ended, and some more.
const MEDIA: u32 = 10_240;

/// The minimum number of connections of the media plane, however low the limit on open files is.
const FEWEST: u32 = 64;

/// The limit that the unit of the packages sets (`LimitNOFILE=`).
pub(crate) const SERVICE_LIMIT: u64 = 16_384;

/// Raises the soft limit on open files to the hard limit. Each connection needs an open file. The usual soft limit, 1024, exists for
/// programs that call `select(2)`.
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    let (from, to) = (shown(current), shown(maximum));
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => info!(from, to, "raised the soft limit on open files to the hard limit"),
        Err(error) => warn!(from, to, %error, "cannot raise the soft limit on open files to the hard limit"),
    }
}

/// The maximum number of connections of the media plane, in total and from one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MediaConnections {
    pub(crate) all: u32,
    pub(crate) per_address: u32,
}

impl MediaConnections {
    /// Computes the media plane's share of the limit on open files, beside `others` connections of other listeners, `bases` files
    /// of bases, and the connections to the BMCs of `boots`. `per_address` is the operator's setting; the default is half of all
    /// connections.
    pub(crate) fn within_limit(others: u32, bases: usize, boots: usize, per_address: Option<u32>) -> Self {
        let limit = getrlimit(Resource::Nofile).current;
        let connections = Self::share(limit, others, files(bases, boots), per_address);
        let Self { all, per_address } = connections;
        let open_files = shown(limit);
        info!(open_files, connections = all, per_address, "connections that BMCs may have open at once");
        if let Some(warning) = too_many_boots(limit, others, bases, boots) {
            warn!(open_files, "{warning}");
        } else if all == FEWEST {
            warn!(open_files, "the limit on open files is low; raise it (LimitNOFILE= of systemd, ulimit -Hn)");
        }
        connections
    }

    fn share(limit: Option<u64>, others: u32, files: usize, per_address: Option<u32>) -> Self {
        let left = limit.map_or(u64::MAX, |limit| limit.saturating_sub(reserved(others, files)));
        let all = u32::try_from(left).unwrap_or(u32::MAX).clamp(FEWEST, MEDIA);
        Self { all, per_address: Self::per_address(all, per_address) }
    }

    /// The maximum from one address, of `all` connections. `wanted` is the operator's setting.
    pub(crate) fn per_address(all: u32, wanted: Option<u32>) -> u32 {
        wanted.unwrap_or(all / 2).clamp(1, all.max(1))
    }
}

/// The limit on open files with which the media plane has all of its connections, beside those of
/// [`within_limit`](MediaConnections::within_limit).
pub(crate) fn for_all_connections(others: u32, bases: usize, boots: usize) -> u64 {
    reserved(others, files(bases, boots)).saturating_add(MEDIA.into())
}

/// The open files that are not for connections of the media plane.
fn reserved(others: u32, files: usize) -> u64 {
    OWN.saturating_add(others.into()).saturating_add(files as u64)
}

/// The open files for bases, and for boots beyond those in [`OWN`].
fn files(bases: usize, boots: usize) -> usize {
    bases.saturating_add(boots.saturating_sub(BOOTS))
}

/// A warning if BMCs get the minimum of connections, and only because dayone reserves so many open files for boots. `limit` is that
/// on open files.
pub(crate) fn too_many_boots(limit: Option<u64>, others: u32, bases: usize, boots: usize) -> Option<String> {
    let connections = |boots| MediaConnections::share(limit, others, files(bases, boots), None).all;
    (connections(boots) == FEWEST && connections(BOOTS) > FEWEST).then(|| {
        format!(
            "boots-at-once is {boots}, and each boot reserves an open file: with a limit of {} open files, BMCs get only {FEWEST} \
             connections; lower boots-at-once, or raise the limit (LimitNOFILE= of systemd, ulimit -Hn)",
            shown(limit)
        )
    })
}

/// The limit on open files that a server of this user would have.
pub(crate) fn hard_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}

fn shown(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_media_plane_gets_what_the_others_leave() {
        let share = |limit, bases, wanted| {
            let MediaConnections { all, per_address } = MediaConnections::share(limit, 256, bases, wanted);
            (all, per_address)
        };
        assert_eq!(share(Some(1024), 0, None), (576, 288));
        assert_eq!(share(Some(1024), 76, None), (500, 250));
        assert_eq!(share(Some(20_000), 0, None), (10_240, 5120));
        assert_eq!(share(None, 0, Some(4000)), (10_240, 4000));
        assert_eq!(share(Some(1024), 0, Some(10_000)), (576, 576));
        assert_eq!(share(Some(100), 0, None), (64, 32));
    }

    #[test]
    fn all_connections_need_what_is_reserved_besides() {
        for (bases, boots) in [(0, 32), (3, 32), (1, 4500)] {
            let needed = for_all_connections(256, bases, boots);
            let all = |limit| MediaConnections::share(Some(limit), 256, files(bases, boots), None).all;
            assert_eq!((all(needed), all(needed - 1)), (MEDIA, MEDIA - 1), "{bases} {boots}");
        }
        assert!(for_all_connections(256, 8, 32) < SERVICE_LIMIT);
    }

    #[test]
    fn boots_are_blamed_only_for_what_they_take() {
        let warning = |limit, boots| too_many_boots(Some(limit), 256, 0, boots);
        assert!(warning(SERVICE_LIMIT, 16_384).is_some_and(|text| text.contains("boots-at-once is 16384")));
        assert!(warning(SERVICE_LIMIT, usize::MAX).is_some());
        assert_eq!(warning(SERVICE_LIMIT, 32), None);
        assert_eq!(warning(SERVICE_LIMIT, 8000), None);
        // Fewer boots would not help.
        assert_eq!(warning(100, 16_384), None);
    }
}
