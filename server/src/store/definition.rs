//! The definition of a base by the operator: its name and its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use imagelib::delivery::{DeliveryProfile, DeliveryProfileError};
use imagelib::source::Role;
use serde::{Deserialize, Serialize};
use vocabulary::{checked_text, url_credentials};

/// Why a text, or a part of the configuration, is not a valid definition of a base.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The name is not valid.
    #[error(
        "{0:?} is not a name for a base: use 1 to 63 lower-case letters, digits, '-', '.' and '_', \
         and begin with a letter or a digit"
    )]
    Name(String),
    /// The text has no `=`.
    #[error(
        "{0:?} does not define a base: write NAME=PATH, or NAME=kernel:PATH,initrd:PATH[,rootfs:PATH][,esp:PATH][,bios-loader:PATH]"
    )]
    Form(String),
    /// A part of the definition is unknown.
    #[error(
        "base '{name}': {part:?} is none of iso:PATH, kernel:PATH, initrd:PATH, rootfs:PATH, esp:PATH, bios-loader:PATH and profile:PROFILE \
         (only the configuration file can have paths with a comma)"
    )]
    Part {
        /// The base.
        name: BaseName,
        /// The unknown part.
        part: String,
    },
    /// A part is given twice.
    #[error("base '{name}': {part} is given twice")]
    PartTwice {
        /// The base.
        name: BaseName,
        /// The name of the part.
        part: &'static str,
    },
    /// The files are neither an ISO nor an initrd with the files that it needs.
    #[error(
        "base '{0}': give either an ISO, or an initrd and its kernel (and a rootfs, if the initrd fetches one); an \
         initrd that something else starts may come without a kernel, but then without boot loaders, too"
    )]
    Combination(BaseName),
    /// The delivery profile is unknown.
    #[error(transparent)]
    Profile(DeliveryProfileError),
    /// A path is empty.
    #[error("base '{0}': a path is empty")]
    EmptyPath(BaseName),
    /// A path is a URL.
    #[error(
        "base '{name}': {url:?} is a URL, and dayone reads bases from files: download it, and give the file's path"
    )]
    Url {
        /// The base.
        name: BaseName,
        /// The URL.
        url: String,
    },
    /// Two bases have the same name.
    #[error("two bases are named '{0}'; give each base its own name")]
    DuplicateName(BaseName),
}

/// The name of a base: at most 63 lower-case letters, digits, `-`, `.` and `_`, beginning with a letter or a digit. Paths of
/// the API contain it unchanged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseName(String);

checked_text!(BaseName, DefinitionError);

impl FromStr for BaseName {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, DefinitionError> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let good = text.len() <= 63
            && text.bytes().next().is_some_and(plain)
            && text.bytes().all(|b| plain(b) || matches!(b, b'-' | b'.' | b'_'));
        if good { Ok(Self(text.to_owned())) } else { Err(DefinitionError::Name(text.to_owned())) }
    }
}

impl std::borrow::Borrow<str> for BaseName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A configured base. Its files may not exist.
///
/// - As text: `NAME=PATH` for an ISO, or `NAME=kernel:PATH,initrd:PATH[,rootfs:PATH][,esp:PATH][,bios-loader:PATH]`. Another
///   part, `profile:PROFILE`, sets the delivery profile; an ISO is then `NAME=iso:PATH,profile:PROFILE`.
/// - In the configuration file: `{name, iso, profile}`, or `{name, kernel, initrd, rootfs, esp, bios-loader, profile}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Fields")]
pub struct BaseDefinition {
    /// The base's name.
    pub name: BaseName,
    /// The paths of its files.
    pub files: BasePaths,
    /// The delivery profile, to override the one that dayone detects.
    pub profile: Option<DeliveryProfile>,
}

/// The paths of the files of a base: either an ISO, or an initrd with its kernel and the files that they need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasePaths(BTreeMap<Role, PathBuf>);

impl BasePaths {
    /// A base with this ISO.
    pub fn iso(path: PathBuf) -> Self {
        Self(BTreeMap::from([(Role::Iso, path)]))
    }

    /// A base with this initramfs, and with its kernel if it is known. Without the kernel, the base has neither a medium nor an
    /// iPXE script.
    pub fn initrd(initrd: PathBuf, kernel: Option<PathBuf>) -> Self {
        let kernel = kernel.map(|kernel| (Role::Kernel, kernel));
        Self(kernel.into_iter().chain([(Role::Initrd, initrd)]).collect())
    }

    /// Whether there is a file with this role.
    pub fn has(&self, role: Role) -> bool {
        self.0.contains_key(&role)
    }

    /// The files.
    pub fn iter(&self) -> impl Iterator<Item = (Role, &Path)> {
        self.0.iter().map(|(role, path)| (*role, path.as_path()))
    }

    /// The path of the ISO, if the base is an ISO.
    pub fn as_iso(&self) -> Option<&Path> {
        self.0.get(&Role::Iso).map(PathBuf::as_path)
    }

    pub(super) fn new(name: &BaseName, files: BTreeMap<Role, PathBuf>) -> Result<Self, DefinitionError> {
        if files.values().any(|path| path.as_os_str().is_empty()) {
            return Err(DefinitionError::EmptyPath(name.clone()));
        }
        if let Some(url) = files.values().find(|path| is_url(path)) {
            return Err(DefinitionError::Url {
                name: name.clone(),
                url: url_credentials::hide_with_query(&url.display().to_string()),
            });
        }
        let has = |role| files.contains_key(&role);
        let iso = has(Role::Iso) && files.len() == 1;
        let starts = files.keys().any(|role| !matches!(role, Role::Kernel | Role::Initrd | Role::Rootfs));
        let several = !has(Role::Iso) && has(Role::Initrd) && (has(Role::Kernel) || !starts);
        if iso || several { Ok(Self(files)) } else { Err(DefinitionError::Combination(name.clone())) }
    }
}

/// Whether a path is in fact a URL, such as `https://example.com/live.iso`.
pub fn is_url(path: &Path) -> bool {
    let scheme = path.to_str().and_then(|path| path.split_once("://")).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

/// The name of the part with the delivery profile.
const PROFILE: &str = "profile";

/// The names of the fields in the configuration file.
pub const BASE_FIELDS: [&str; 10] =
    ["name", "iso", "kernel", "initrd", "rootfs", "esp", "bios-loader", "bios-loader-core", "bios-boot-code", PROFILE];

/// The form in the configuration file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Fields {
    name: BaseName,
    iso: Option<PathBuf>,
    kernel: Option<PathBuf>,
    initrd: Option<PathBuf>,
    rootfs: Option<PathBuf>,
    esp: Option<PathBuf>,
    bios_loader: Option<PathBuf>,
    bios_loader_core: Option<PathBuf>,
    bios_boot_code: Option<PathBuf>,
    profile: Option<DeliveryProfile>,
}

impl TryFrom<Fields> for BaseDefinition {
    type Error = DefinitionError;

    fn try_from(fields: Fields) -> Result<Self, DefinitionError> {
        let files = [
            (Role::Iso, fields.iso),
            (Role::Kernel, fields.kernel),
            (Role::Initrd, fields.initrd),
            (Role::Rootfs, fields.rootfs),
            (Role::Esp, fields.esp),
            (Role::BiosLoader, fields.bios_loader),
            (Role::BiosLoaderCore, fields.bios_loader_core),
            (Role::BiosBootCode, fields.bios_boot_code),
        ];
        let files = files.into_iter().filter_map(|(role, path)| Some((role, path?))).collect();
        Ok(Self { files: BasePaths::new(&fields.name, files)?, name: fields.name, profile: fields.profile })
    }
}

impl FromStr for BaseDefinition {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, DefinitionError> {
        let (name, value) = text.split_once('=').ok_or_else(|| DefinitionError::Form(text.to_owned()))?;
        let name: BaseName = name.parse()?;
        let in_parts =
            Role::ALL.iter().any(|role| value.strip_prefix(role.word()).is_some_and(|rest| rest.starts_with(':')));
        let mut files = BTreeMap::new();
        if !in_parts {
            files.insert(Role::Iso, value.into());
            return Ok(Self { files: BasePaths::new(&name, files)?, name, profile: None });
        }
        let mut profile = None;
        for part in value.split(',') {
            if let Some((PROFILE, word)) = part.split_once(':') {
                if profile.replace(word.parse().map_err(DefinitionError::Profile)?).is_some() {
                    return Err(DefinitionError::PartTwice { name, part: PROFILE });
                }
                continue;
            }
            let known = part.split_once(':').and_then(|(word, path)| Some((Role::of_word(word)?, path)));
            let Some((role, path)) = known else {
                return Err(DefinitionError::Part { name, part: part.to_owned() });
            };
            if files.insert(role, path.into()).is_some() {
                return Err(DefinitionError::PartTwice { name, part: role.word() });
            }
        }
        Ok(Self { files: BasePaths::new(&name, files)?, name, profile })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_text_are_read() {
        let iso: BaseDefinition = "fcos-42=/srv/fcos=live.iso".parse().unwrap();
        assert_eq!(iso.name.as_str(), "fcos-42");
        assert_eq!(iso.files, BasePaths::iso("/srv/fcos=live.iso".into()));

        let ipa: BaseDefinition = "ipa=initrd:i.img,kernel:/k:1,rootfs:r".parse().unwrap();
        let files: Vec<_> = ipa.files.iter().map(|(role, path)| (role, path.to_str().unwrap())).collect();
        assert_eq!(files, [(Role::Kernel, "/k:1"), (Role::Initrd, "i.img"), (Role::Rootfs, "r")]);
        assert_eq!(ipa.files.as_iso(), None);
        let live: BaseDefinition = "live=iso:/l.iso,profile:dracut".parse().unwrap();
        assert_eq!((live.files.as_iso(), live.profile), (Some(Path::new("/l.iso")), Some(DeliveryProfile::Dracut)));
        let loaders: BaseDefinition = "a=kernel:k,initrd:i,esp:e,bios-loader:b".parse().unwrap();
        assert_eq!(loaders.files.iter().count(), 4);
        let alone: BaseDefinition = "a=initrd:i".parse().unwrap();
        assert_eq!(alone.files, BasePaths::initrd("i".into(), None));
        let both: BaseDefinition = "a=kernel:k,initrd:i".parse().unwrap();
        assert_eq!(both.files, BasePaths::initrd("i".into(), Some("k".into())));
        let comma: BaseDefinition = "a=/srv/a,b.iso".parse().unwrap();
        assert_eq!(comma.files.as_iso(), Some(Path::new("/srv/a,b.iso")));
    }

    #[test]
    fn the_form_in_the_configuration_file_means_the_same() {
        let yaml = |text: &str| serde_yaml::from_str::<BaseDefinition>(text).map_err(|error| error.to_string());
        assert_eq!(yaml("{name: a, iso: /x.iso}"), Ok("a=/x.iso".parse().unwrap()));
        assert_eq!(yaml("{name: a, kernel: k, initrd: i}"), Ok("a=kernel:k,initrd:i".parse().unwrap()));
        let loader = yaml("{name: a, kernel: k, initrd: i, bios-loader: b}");
        assert_eq!(loader, Ok("a=kernel:k,initrd:i,bios-loader:b".parse().unwrap()));
        for (bad, reason) in [
            ("{name: a}", "give either"),
            ("{name: a, iso: x, kernel: k, initrd: i}", "give either"),
            ("{name: a, iso: x, rootfs: r}", "give either"),
            ("{name: a, kernel: k}", "give either"),
            ("{name: a, iso: x, esp: e}", "give either"),
            ("{name: a, iso: ''}", "empty"),
            ("{name: A, iso: x}", "not a name"),
            ("{name: a, iso: x, size: 1}", "unknown field"),
            ("{iso: x}", "missing field `name`"),
        ] {
            let error = yaml(bad).unwrap_err();
            assert!(error.contains(reason), "{bad}: {error}");
        }
    }

    #[test]
    fn errors_say_why_a_text_is_not_a_definition() {
        let long = format!("{}=/x", "a".repeat(64));
        for (bad, reason) in [
            ("/x.iso", "write NAME=PATH"),
            ("", "write NAME=PATH"),
            ("=/x.iso", "not a name"),
            ("Fcos=/x.iso", "not a name"),
            ("../x=/x.iso", "not a name"),
            ("-a=/x.iso", "not a name"),
            (long.as_str(), "not a name"),
            ("a=", "empty"),
            ("a=kernel:,initrd:i", "empty"),
            ("a=kernel:k", "an initrd and its kernel"),
            ("a=initrd:i,esp:e", "without boot loaders"),
            ("a=kernel:k,kernel:l", "twice"),
            ("a=kernel:k,initrd:i,iso:x", "give either"),
            ("a=kernel:k,initrd:i,ramdisk:x", "\"ramdisk:x\" is none of"),
            ("a=iso:x,profile:debian", "\"debian\" is not a delivery profile"),
            ("a=iso:x,profile:dracut,profile:coreos", "twice"),
            ("a=kernel:/a,b,initrd:i", "comma"),
            (
                "a=https://example.com/live.iso",
                "\"https://example.com/live.iso\" is a URL, and dayone reads bases from files",
            ),
            ("a=kernel:http://example.com/k,initrd:i", "is a URL"),
        ] {
            let error = bad.parse::<BaseDefinition>().unwrap_err().to_string();
            assert!(error.contains(reason), "{bad}: {error}");
        }
        assert!(format!("{}=/x", "a".repeat(63)).parse::<BaseDefinition>().is_ok());
    }
}
