//! What an operator says about a base: its name and its files.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a text or a part of the configuration does not define a base.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// Not a name for a base.
    #[error(
        "{0:?} is not a name for a base: use 1 to 63 lower-case letters, digits, '-', '.' and '_', \
         and begin with a letter or a digit"
    )]
    Name(String),
    /// No `=`.
    #[error("{0:?} does not define a base: write NAME=PATH, or NAME=kernel:PATH,initrd:PATH[,rootfs:PATH]")]
    Form(String),
    /// A part of a base of several files that is none of the known ones.
    #[error(
        "base '{name}': {part:?} is none of kernel:PATH, initrd:PATH and rootfs:PATH \
         (a path that holds a comma can only be given in the configuration file)"
    )]
    Part {
        /// The base.
        name: BaseName,
        /// The text in question.
        part: String,
    },
    /// The same part twice.
    #[error("base '{name}': {part} is given twice")]
    PartTwice {
        /// The base.
        name: BaseName,
        /// What is given twice.
        part: &'static str,
    },
    /// Neither an ISO nor a kernel with its initrd.
    #[error(
        "base '{0}': give either an ISO, or both a kernel and an initrd (and a rootfs, where the initrd fetches one)"
    )]
    Combination(BaseName),
    /// An empty path.
    #[error("base '{0}': a path is empty")]
    EmptyPath(BaseName),
    /// Two bases of one name.
    #[error("two bases are named '{0}'; give each a name of its own")]
    NameTwice(BaseName),
}

/// The name of a base: lower-case letters, digits, `-`, `.` and `_`, 63 characters at most, beginning with a letter or
/// a digit. It stands in API paths as it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseName(String);

impl BaseName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

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

impl TryFrom<String> for BaseName {
    type Error = DefinitionError;

    fn try_from(text: String) -> Result<Self, DefinitionError> {
        text.parse()
    }
}

impl From<BaseName> for String {
    fn from(name: BaseName) -> Self {
        name.0
    }
}

impl std::borrow::Borrow<str> for BaseName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A base as configured. Whether its files are there is another question.
///
/// As text: `NAME=PATH` for an ISO, `NAME=kernel:PATH,initrd:PATH[,rootfs:PATH]` otherwise. In the configuration file:
/// `{name, iso}` or `{name, kernel, initrd, rootfs}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Fields")]
pub struct BaseDefinition {
    /// What users call it.
    pub name: BaseName,
    /// Where it is.
    pub files: BaseDefinitionFiles,
}

/// Where the files of a base are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseDefinitionFiles {
    /// A bootable ISO.
    Iso(PathBuf),
    /// A kernel and its initramfs.
    KernelInitrd {
        /// The kernel.
        kernel: PathBuf,
        /// The initramfs.
        initrd: PathBuf,
        /// The root file system, where the initramfs fetches one.
        rootfs: Option<PathBuf>,
    },
}

/// The configuration file's form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    name: BaseName,
    iso: Option<PathBuf>,
    kernel: Option<PathBuf>,
    initrd: Option<PathBuf>,
    rootfs: Option<PathBuf>,
}

impl TryFrom<Fields> for BaseDefinition {
    type Error = DefinitionError;

    fn try_from(fields: Fields) -> Result<Self, DefinitionError> {
        let Fields { name, iso, kernel, initrd, rootfs } = fields;
        if [&iso, &kernel, &initrd, &rootfs].into_iter().flatten().any(|path| path.as_os_str().is_empty()) {
            return Err(DefinitionError::EmptyPath(name));
        }
        let files = match (iso, kernel, initrd, rootfs) {
            (Some(iso), None, None, None) => BaseDefinitionFiles::Iso(iso),
            (None, Some(kernel), Some(initrd), rootfs) => BaseDefinitionFiles::KernelInitrd { kernel, initrd, rootfs },
            _ => return Err(DefinitionError::Combination(name)),
        };
        Ok(Self { name, files })
    }
}

impl FromStr for BaseDefinition {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, DefinitionError> {
        let (name, value) = text.split_once('=').ok_or_else(|| DefinitionError::Form(text.to_owned()))?;
        let mut fields = Fields { name: name.parse()?, iso: None, kernel: None, initrd: None, rootfs: None };
        let in_parts = ["kernel:", "initrd:", "rootfs:"].iter().any(|part| value.starts_with(part));
        if !in_parts {
            fields.iso = Some(value.into());
            return fields.try_into();
        }
        for part in value.split(',') {
            let (slot, name, path) = match part.split_once(':') {
                Some(("kernel", path)) => (&mut fields.kernel, "kernel", path),
                Some(("initrd", path)) => (&mut fields.initrd, "initrd", path),
                Some(("rootfs", path)) => (&mut fields.rootfs, "rootfs", path),
                _ => return Err(DefinitionError::Part { name: fields.name, part: part.to_owned() }),
            };
            if slot.replace(path.into()).is_some() {
                return Err(DefinitionError::PartTwice { name: fields.name, part: name });
            }
        }
        fields.try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_text_are_read() {
        let iso: BaseDefinition = "fcos-42=/srv/fcos=live.iso".parse().unwrap();
        assert_eq!(iso.name.as_str(), "fcos-42");
        assert_eq!(iso.files, BaseDefinitionFiles::Iso("/srv/fcos=live.iso".into()));

        let ipa: BaseDefinition = "ipa=initrd:i.img,kernel:/k:1,rootfs:r".parse().unwrap();
        let (kernel, initrd, rootfs) = ("/k:1".into(), "i.img".into(), Some("r".into()));
        assert_eq!(ipa.files, BaseDefinitionFiles::KernelInitrd { kernel, initrd, rootfs });
        let comma: BaseDefinition = "a=/srv/a,b.iso".parse().unwrap();
        assert_eq!(comma.files, BaseDefinitionFiles::Iso("/srv/a,b.iso".into()));
    }

    #[test]
    fn the_configuration_files_form_is_the_same_thing() {
        let yaml = |text: &str| serde_yaml::from_str::<BaseDefinition>(text).map_err(|error| error.to_string());
        assert_eq!(yaml("{name: a, iso: /x.iso}"), Ok("a=/x.iso".parse().unwrap()));
        assert_eq!(yaml("{name: a, kernel: k, initrd: i}"), Ok("a=kernel:k,initrd:i".parse().unwrap()));
        for (bad, reason) in [
            ("{name: a}", "give either"),
            ("{name: a, iso: x, kernel: k, initrd: i}", "give either"),
            ("{name: a, iso: x, rootfs: r}", "give either"),
            ("{name: a, kernel: k}", "give either"),
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
    fn what_does_not_define_a_base_says_why() {
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
            ("a=kernel:k", "both a kernel and an initrd"),
            ("a=kernel:k,kernel:l", "twice"),
            ("a=kernel:k,initrd:i,iso:x", "\"iso:x\" is none of"),
            ("a=kernel:/a,b,initrd:i", "comma"),
        ] {
            let error = bad.parse::<BaseDefinition>().unwrap_err().to_string();
            assert!(error.contains(reason), "{bad}: {error}");
        }
        assert!(format!("{}=/x", "a".repeat(63)).parse::<BaseDefinition>().is_ok());
    }
}
