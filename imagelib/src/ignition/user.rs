//! The user's own config.

use ignition_config as spec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

use super::merged::{replacement, within};
use super::order::{ordered, text};
use super::values::{MAX_VALUES, values};
use super::{AbsolutePath, IgnitionError, UNITS, UnitName};

/// How many levels a config may have. `serde_json` reads 127, and recipes and records contain the config in a deeper place.
const MAX_DEPTH: usize = 125;

/// A user's Ignition config of spec 3.0.0 to 3.6.0. It follows its spec, and does not make Ignition drop what is added to it.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct UserConfig {
    root: Map<String, Value>,
    minor: u32,
    unused_keys: Vec<String>,
}

impl fmt::Debug for UserConfig {
    /// Without anything of the content, which holds passwords and pull secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserConfig").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl UserConfig {
    /// Reads and checks a config.
    pub fn parse(json: &[u8]) -> Result<Self, IgnitionError> {
        if values(json) > MAX_VALUES {
            return Err(IgnitionError::TooManyValues(MAX_VALUES));
        }
        Self::of_any_length(json)
    }

    /// The same without a limit on the number of values.
    fn of_any_length(json: &[u8]) -> Result<Self, IgnitionError> {
        let value: Value = serde_json::from_slice(json).map_err(|error| not_json(&error))?;
        if depth(&value) > MAX_DEPTH {
            return Err(IgnitionError::TooDeep(MAX_DEPTH));
        }
        let Value::Object(root) = value else { return Err(IgnitionError::Shape("the whole".into())) };
        let minor = minor_version(&root)?;
        check_types(minor, json)?;
        let (_, warnings) =
            spec::Config::parse_slice(json).map_err(|_| IgnitionError::Version(format!("3.{minor}.0")))?;
        let unused_keys = warnings.into_iter().map(|warning| match warning {
            spec::Warning::UnusedKey(key) => key,
            other => other.to_string(),
        });
        let config = Self { root, minor, unused_keys: unused_keys.collect() };
        if replacement(&config.root).is_some() {
            return Err(IgnitionError::Replace);
        }
        let mut seen = BTreeSet::new();
        for (kind, path) in config.paths()? {
            // Ignition can set the mode of the root directory.
            if (kind, path) != (NodeKind::Directory, "/") {
                path.parse::<AbsolutePath>().map_err(|_| IgnitionError::Path(path.chars().take(256).collect()))?;
            }
            if !seen.insert(path) {
                return Err(IgnitionError::Duplicate(path.to_owned()));
            }
        }
        // A name that is none could be the path of a file, which nothing here would notice.
        for name in config.unit_names()? {
            name.parse::<UnitName>().map_err(|_| IgnitionError::Unit(name.chars().take(256).collect()))?;
            if !seen.insert(name) {
                return Err(IgnitionError::Duplicate(name.to_owned()));
            }
        }
        Ok(config)
    }

    /// The version of the spec, such as `3.2.0`.
    pub fn version(&self) -> String {
        format!("3.{}.0", self.minor)
    }

    /// The paths of keys that the spec does not define, such as `$.storage.files.0.contnets`. Ignition ignores them; usually
    /// they are spelling mistakes.
    pub fn unused_keys(&self) -> &[String] {
        &self.unused_keys
    }

    /// The same config with a canonical order for everything whose order means nothing to Ignition: the keys of objects by
    /// name, files by path, units and their drop-ins by name, SSH keys by key.
    ///
    /// All other lists keep their order, because it has a meaning: users and groups get their numbers in turn, an implied
    /// parent of two directories gets the mode of the first, a hard link needs its target before it, disks, partitions and file
    /// systems depend on each other, and the last of several merged configs wins.
    #[must_use]
    pub fn ordered(&self) -> Self {
        Self { root: ordered(&self.root), minor: self.minor, unused_keys: self.unused_keys.clone() }
    }

    pub(super) fn minor(&self) -> u32 {
        self.minor
    }

    pub(super) fn root(&self) -> &Map<String, Value> {
        &self.root
    }

    /// The configs that Ignition merges into it, as far as they are in it, each before those that win over it. They have not been checked.
    pub(super) fn merged(&self) -> Vec<Self> {
        let configs = within(&self.root).into_iter();
        configs.map(|root| Self { root, minor: self.minor, unused_keys: Vec::new() }).collect()
    }

    /// What it puts into the file system, with the kind of node.
    pub(super) fn paths(&self) -> Result<Vec<(NodeKind, &str)>, IgnitionError> {
        let kinds = [("files", NodeKind::File), ("links", NodeKind::Link), ("directories", NodeKind::Directory)];
        let mut paths = Vec::new();
        for (list, kind) in kinds {
            paths.extend(self.texts("storage", list, "path")?.into_iter().map(|path| (kind, path)));
        }
        Ok(paths)
    }

    /// Where it mounts file systems.
    pub(super) fn mount_points(&self) -> Vec<&str> {
        let filesystems = self.root.get("storage").and_then(|storage| storage.get("filesystems"));
        let filesystems = filesystems.and_then(Value::as_array).into_iter().flatten();
        filesystems.filter_map(|filesystem| filesystem.get("path").and_then(Value::as_str)).collect()
    }

    /// The names of its systemd units.
    pub(super) fn unit_names(&self) -> Result<Vec<&str>, IgnitionError> {
        self.texts("systemd", "units", "name")
    }

    /// Refuses entries that are there twice, besides paths and units, and paths beneath a link: Ignition would refuse the whole config.
    pub(super) fn check_entries(&self) -> Result<(), IgnitionError> {
        for (section, list, key) in [
            ("passwd", "users", "name"),
            ("passwd", "groups", "name"),
            ("storage", "disks", "device"),
            ("storage", "filesystems", "device"),
            ("storage", "raid", "name"),
        ] {
            let mut seen = BTreeSet::new();
            if let Some(twice) = self.texts(section, list, key)?.into_iter().find(|entry| !seen.insert(*entry)) {
                return Err(IgnitionError::Duplicate(format!("{section}.{list}: {twice}")));
            }
        }
        let users = self.root.get("passwd").and_then(|passwd| passwd.get("users")).and_then(Value::as_array);
        for user in users.into_iter().flatten() {
            let mut seen = BTreeSet::new();
            let mut keys = user.get("sshAuthorizedKeys").and_then(Value::as_array).into_iter().flatten();
            if keys.any(|key| !seen.insert(key.as_str())) {
                return Err(IgnitionError::Duplicate(format!("an SSH key of {}", text(user, "name"))));
            }
        }
        let paths = self.paths()?;
        let links: BTreeSet<&str> =
            paths.iter().filter(|(kind, _)| *kind == NodeKind::Link).map(|(_, path)| *path).collect();
        for (_, path) in paths {
            let mut above = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
            if let Some(link) = above.find(|above| links.contains(above)) {
                return Err(IgnitionError::BeneathLink { path: path.to_owned(), link: link.to_owned() });
            }
        }
        Ok(())
    }

    /// The files of its systemd units and of their drop-ins, with their texts. Ignition writes none for an empty text.
    pub(super) fn unit_files(&self) -> Vec<(String, &str)> {
        let units = self.root.get("systemd").and_then(|systemd| systemd.get("units")).and_then(Value::as_array);
        let mut files = Vec::new();
        for unit in units.into_iter().flatten() {
            let path = format!("{UNITS}/{}", text(unit, "name"));
            let drop_ins = unit.get("dropins").and_then(Value::as_array);
            let drop_ins = drop_ins.into_iter().flatten();
            files.extend(drop_ins.map(|it| (format!("{path}.d/{}", text(it, "name")), text(it, "contents"))));
            files.push((path, text(unit, "contents")));
        }
        files.retain(|(_, contents)| !contents.is_empty());
        files
    }

    fn texts(&self, section: &str, list: &str, key: &str) -> Result<Vec<&str>, IgnitionError> {
        let shape = || IgnitionError::Shape(format!("{section}.{list}"));
        let list = match self.root.get(section) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(section)) => section.get(list),
            Some(_) => return Err(shape()),
        };
        match list {
            None | Some(Value::Null) => Ok(Vec::new()),
            // A list in place of an object would be a valid struct to serde, but not to Ignition.
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.get(key).and_then(Value::as_str).ok_or_else(shape)).collect()
            }
            Some(_) => Err(shape()),
        }
    }
}

/// What a path is to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    File,
    Link,
    Directory,
}

fn minor_version(root: &Map<String, Value>) -> Result<u32, IgnitionError> {
    let version = root.get("ignition").and_then(|ignition| ignition.get("version"));
    let text = version.and_then(Value::as_str).ok_or(IgnitionError::VersionMissing)?;
    let minor = text.strip_prefix("3.").and_then(|rest| rest.strip_suffix(".0"));
    match minor {
        Some("0") => Ok(0),
        Some("1") => Ok(1),
        Some("2") => Ok(2),
        Some("3") => Ok(3),
        Some("4") => Ok(4),
        Some("5") => Ok(5),
        Some("6") => Ok(6),
        _ => {
            let shown = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
            Err(IgnitionError::Version(text.chars().filter(shown).take(32).collect()))
        }
    }
}

/// Checks a config against the types of its spec. The error names the place without serde's own words, which show
/// the value that was not expected.
fn check_types(minor: u32, json: &[u8]) -> Result<(), IgnitionError> {
    fn check<T: DeserializeOwned>(json: &[u8]) -> Result<(), String> {
        let mut json = serde_json::Deserializer::from_slice(json);
        serde_path_to_error::deserialize::<_, T>(&mut json).map(drop).map_err(|error| error.path().to_string())
    }
    match minor {
        0 => check::<spec::v3_0::Config>(json),
        1 => check::<spec::v3_1::Config>(json),
        2 => check::<spec::v3_2::Config>(json),
        3 => check::<spec::v3_3::Config>(json),
        4 => check::<spec::v3_4::Config>(json),
        5 => check::<spec::v3_5::Config>(json),
        _ => check::<spec::v3_6::Config>(json),
    }
    .map_err(|place| IgnitionError::Invalid {
        place,
        problem: "a value is missing, is duplicate, or does not have the type that the spec requires",
    })
}

/// How many levels of objects and lists a value has. The parser's own limit keeps the recursion short.
fn depth(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or_default(),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fn not_json(error: &serde_json::Error) -> IgnitionError {
    if error.to_string().starts_with("recursion limit exceeded") {
        return IgnitionError::TooDeep(MAX_DEPTH);
    }
    let problem = if error.is_eof() {
        "it ends too early"
    } else {
        "it is not JSON (Butane YAML must be translated with butane first)"
    };
    IgnitionError::Invalid { place: format!("line {}, column {}", error.line(), error.column()), problem }
}

impl TryFrom<Value> for UserConfig {
    type Error = IgnitionError;

    /// Recipes of images are read so, and those of older images may have more values than [`parse`](Self::parse) takes.
    fn try_from(value: Value) -> Result<Self, IgnitionError> {
        Self::of_any_length(value.to_string().as_bytes())
    }
}

impl Serialize for UserConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.root.serialize(serializer)
    }
}
