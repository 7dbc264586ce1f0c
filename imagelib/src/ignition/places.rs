//! The places at which Ignition writes.

use super::files::added;
use super::user::NodeKind;
use super::{Additions, IgnitionError, UserConfig};

/// Returns the first file or link of the additions and the user's config that Ignition would write at a place that is refused. A directory may
/// be there already. Beneath the mount points of the user's config, nothing is refused: another file system is there.
pub(crate) fn written_at(
    additions: &Additions,
    user: Option<&UserConfig>,
    is_refused: impl Fn(&str) -> bool,
) -> Result<Option<String>, IgnitionError> {
    let mut paths: Vec<String> = added(additions).into_iter().map(|file| file.path.to_string()).collect();
    let mut mount_points: Vec<String> = Vec::new();
    let merged = user.map(UserConfig::merged).unwrap_or_default();
    for config in user.into_iter().chain(&merged) {
        let nodes = config.paths()?.into_iter().filter(|(kind, _)| *kind != NodeKind::Directory);
        paths.extend(nodes.map(|(_, path)| path.to_owned()));
        mount_points.extend(config.mount_points().into_iter().map(str::to_owned));
    }
    let is_mounted = |path: &str| {
        let mut beneath =
            mount_points.iter().filter_map(|mount_point| path.strip_prefix(mount_point.trim_end_matches('/')));
        beneath.any(|rest| rest.starts_with('/'))
    };
    Ok(paths.into_iter().find(|path| is_refused(path) && !is_mounted(path)))
}
