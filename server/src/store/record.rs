//! The record of a published image: the file from which a restarted server restores it.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use imagelib::recipe::{RecipeError, RecipeId, SealedRecipe};
use media::access::{AccessLimits, Clock, ImageAccess};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::definition::BaseName;
use super::identities::Identities;

/// The version of records of images without limits.
const VERSION: u32 = 1;

/// The version of records of images with limits. A dayone that knows no limits must not serve them.
const WITH_LIMITS: u32 = 2;

/// The first second of the year 10000, which HTTP's dates cannot express.
const END_OF_TIME: u64 = 253_402_300_800;

/// Why a file is not a valid record of the image that its name gives.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    /// The file is not a JSON record. The text gives the position and never the content: a record holds secrets.
    #[error("it is not a record of an image: line {line}, column {column}")]
    Json { line: usize, column: usize },
    /// Another version of dayone wrote the record.
    #[error("it has version {0}; this dayone reads the versions {VERSION} and {WITH_LIMITS}")]
    Version(u32),
    /// The record has limits although its version has none, or the reverse.
    #[error("its version does not fit its limits on the access")]
    Limits,
    /// The recipe cannot be read.
    #[error("its recipe cannot be read: {0}")]
    Recipe(#[from] RecipeError),
    /// The recipe belongs to another image.
    #[error("its recipe belongs to the image {0}")]
    OtherImage(RecipeId),
    /// The time of publication is not valid.
    #[error("its time of publication, {0} seconds after 1970, is past the year 9999")]
    Created(u64),
}

impl RecordError {
    /// Whether another version of dayone can read the record.
    pub(super) fn is_other_version(&self) -> bool {
        matches!(self, Self::Version(_) | Self::Recipe(RecipeError::Version(_)))
    }
}

/// What the record of a published image has besides the recipe.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    /// When it was first published, in whole seconds. This is its `Last-Modified`.
    pub(super) created: SystemTime,
    /// The name of the base at that time; a data image has none. Only the identity in the recipe determines the base.
    pub(super) base: Option<BaseName>,
    /// The user's name for the host.
    pub(super) label: Option<String>,
    /// The identities of the bytes of each file at that time.
    pub(super) files: Identities,
    /// The limits on the access to it.
    pub(super) access: Option<RecordedAccess>,
}

/// The limits on the access to an image, and what of them is used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedAccess {
    /// When the image got these limits, in milliseconds since 1970.
    since: u64,
    /// The limits.
    limits: AccessLimits,
    /// How many bytes of each file were passed to connections.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    delivered: BTreeMap<String, u64>,
}

impl RecordedAccess {
    pub(super) fn of(access: &ImageAccess) -> Self {
        let since = access.since().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
        Self {
            since: u64::try_from(since).unwrap_or(u64::MAX),
            limits: access.limits().clone(),
            delivered: access.delivered(),
        }
    }

    /// The access that goes on from here.
    pub(super) fn resume(self, clock: &Clock) -> ImageAccess {
        let since = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(self.since));
        ImageAccess::new(self.limits, since.unwrap_or(SystemTime::UNIX_EPOCH), self.delivered, clock.clone())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordJson<'a> {
    version: u32,
    created: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<BaseName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    files: Identities,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    access: Option<RecordedAccess>,
    /// The canonical form.
    #[serde(borrow)]
    recipe: &'a RawValue,
}

#[derive(Deserialize)]
struct VersionJson {
    version: u32,
}

impl Record {
    /// The content of the file: one line of JSON, with the canonical form of the recipe.
    pub(crate) fn to_json(&self, recipe: &SealedRecipe) -> Result<Vec<u8>, serde_json::Error> {
        let created = self.created.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut json = serde_json::to_vec(&RecordJson {
            version: if self.access.is_some() { WITH_LIMITS } else { VERSION },
            created,
            base: self.base.clone(),
            label: self.label.clone(),
            files: self.files.clone(),
            access: self.access.clone(),
            recipe: serde_json::from_slice(recipe.canonical_json())?,
        })?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads the record of the image `id`. The digest of the recipe must be `id`, so a damaged recipe is an error.
    pub(crate) fn from_json(json: &[u8], id: &RecipeId) -> Result<(SealedRecipe, Self), RecordError> {
        let place = |error: serde_json::Error| RecordError::Json { line: error.line(), column: error.column() };
        let VersionJson { version } = serde_json::from_slice(json).map_err(place)?;
        if ![VERSION, WITH_LIMITS].contains(&version) {
            return Err(RecordError::Version(version));
        }
        let RecordJson { created, base, label, files, access, recipe, .. } =
            serde_json::from_slice(json).map_err(place)?;
        if access.is_some() != (version == WITH_LIMITS) {
            return Err(RecordError::Limits);
        }
        let recipe = SealedRecipe::from_canonical_json(recipe.get().as_bytes())?;
        if recipe.id() != *id {
            return Err(RecordError::OtherImage(recipe.id()));
        }
        let created = (created < END_OF_TIME)
            .then(|| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(created)))
            .flatten()
            .ok_or(RecordError::Created(created))?;
        Ok((recipe, Self { created, base, label, files, access }))
    }
}

#[cfg(test)]
mod tests {
    use imagelib::base::{BaseIdentity, Format};
    use imagelib::digest::Digest;
    use imagelib::ignition::{Additions, ExtraFile, IgnitionError, UserConfig};
    use imagelib::recipe::Recipe;

    use super::*;

    /// A record as the first version wrote it. dayone must be able to read records as long as their images are published.
    const WRITTEN: &str = concat!(
        r#"{"version":1,"created":1700000000,"base":"coreos","label":"worker-1","files":{"initrd.img":"#,
        r#""277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9"},"recipe":{"version":1,"recipe":{"base":"#,
        r#""860a6cc40bd41710f9a46b85ada4398e2e80942ecdddc0d113f1653727a9148f","format":"initrd","additions":{"#,
        r#""keyfiles":[],"no_auto_default":false,"hostname":"worker-1","ssh_authorized_keys":[],"files":[{"path":"#,
        r#""/etc/motd","mode":"0644","contents":"R3LDvMOfZQ=="}],"units":[]},"ignition":{"ignition":{"version":"3.4.0"},"#,
        r#""x":[1.0,1000.0,-0.1,18446744073709551615,"é/\u0001"]}}}}"#,
        "\n",
    );
    const ID: &str = "cdd6321d55e2877de226a37141cebde928fa556321e8b68fba29af5e7fa11173";

    fn recipe(ignition: &str) -> SealedRecipe {
        let file = ExtraFile {
            path: "/etc/motd".parse().unwrap(),
            mode: "0644".parse().unwrap(),
            user: 0,
            group: 0,
            contents: "Grüße".into(),
        };
        let hostname = Some("worker-1".parse().unwrap());
        let additions = Additions { hostname, files: vec![file], ..Additions::default() };
        let recipe = Recipe {
            ignition: Some(UserConfig::parse(ignition.as_bytes()).unwrap()),
            ..Recipe::new(BaseIdentity::of(&BTreeMap::new()), Format::Initrd, additions)
        };
        recipe.seal()
    }

    fn record() -> Record {
        Record {
            created: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            base: Some("coreos".parse().unwrap()),
            label: Some("worker-1".to_owned()),
            files: Identities::from_iter([("initrd.img".to_owned(), Digest::of(b"bytes"))]),
            access: None,
        }
    }

    fn limited() -> Record {
        let limits = r#"{"ttl":3600,"max_reads":2,"only_from":["192.0.2.0/24","2001:db8::1/128"]}"#;
        let access = RecordedAccess {
            since: 1_700_000_000_250,
            limits: serde_json::from_str(limits).unwrap(),
            delivered: BTreeMap::from([("initrd.img".to_owned(), 123)]),
        };
        Record { access: Some(access), ..record() }
    }

    /// A record with limits as the first version that has them wrote it.
    #[test]
    fn limits_are_in_records_of_a_version_of_their_own() {
        let (recipe, _) = Record::from_json(WRITTEN.as_bytes(), &ID.parse().unwrap()).unwrap();
        let written = String::from_utf8(limited().to_json(&recipe).unwrap()).unwrap();
        let access = concat!(
            r#""access":{"since":1700000000250,"limits":{"ttl":3600,"max_reads":2,"only_from":["192.0.2.0/24","#,
            r#""2001:db8::1/128"]},"delivered":{"initrd.img":123}},"recipe""#,
        );
        let expected = WRITTEN.replacen(r#""version":1"#, r#""version":2"#, 1).replacen(r#""recipe""#, access, 1);
        assert_eq!(written, expected);
        let (_, read) = Record::from_json(written.as_bytes(), &recipe.id()).unwrap();
        assert_eq!(read, limited());
        let access = read.access.unwrap().resume(&Clock::default());
        assert_eq!(Some(RecordedAccess::of(&access)), limited().access);
        assert_eq!(access.ends(), Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_003_600_250)));
    }

    #[test]
    fn a_record_whose_limits_were_lost_is_not_read_as_one_without() {
        let (recipe, _) = Record::from_json(WRITTEN.as_bytes(), &ID.parse().unwrap()).unwrap();
        let limited = String::from_utf8(limited().to_json(&recipe).unwrap()).unwrap();
        for damaged in [
            WRITTEN.replacen(r#""version":1"#, r#""version":2"#, 1),
            limited.replacen(r#""version":2"#, r#""version":1"#, 1),
            limited.replacen(r#""access""#, r#""excess""#, 1),
            limited.replacen("max_reads", "max_leads", 1),
            limited.replacen(r#""ttl":3600"#, r#""ttl":0"#, 1),
            limited.replacen("192.0.2.0/24", "192.0.2.0/64", 1),
        ] {
            let error = Record::from_json(damaged.as_bytes(), &recipe.id()).unwrap_err();
            assert!(!error.is_other_version(), "{damaged}");
        }
    }

    #[test]
    fn the_format_of_records_has_not_changed() {
        let recipe =
            recipe(r#"{"ignition":{"version":"3.4.0"},"x":[1.0,1e3,-0.1,18446744073709551615,"\u00e9/\u0001"]}"#);
        assert_eq!(recipe.id().to_string(), ID);
        assert_eq!(String::from_utf8(record().to_json(&recipe).unwrap()).unwrap(), WRITTEN);
        assert_eq!(Record::from_json(WRITTEN.as_bytes(), &recipe.id()).unwrap(), (recipe, record()));
    }

    #[test]
    fn a_reformatted_record_is_read() {
        let value: serde_json::Value = serde_json::from_str(WRITTEN).unwrap();
        let formatted = serde_json::to_vec_pretty(&value).unwrap();
        let (recipe, found) = Record::from_json(&formatted, &ID.parse().unwrap()).unwrap();
        assert_eq!((recipe.id().to_string().as_str(), found), (ID, record()));
    }

    /// A record contains the config some levels down, and `serde_json` reads 127 levels.
    #[test]
    fn the_most_deeply_nested_config_is_read_back() {
        // The config itself is one of the levels.
        let config = |levels: usize| {
            let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
            format!(r#"{{"ignition":{{"version":"3.4.0"}},"x":{open}{close}}}"#)
        };
        let deepest = (1..200).find(|levels| UserConfig::parse(config(levels + 1).as_bytes()).is_err()).unwrap();
        assert_eq!(UserConfig::parse(config(deepest + 1).as_bytes()), Err(IgnitionError::TooDeep(deepest)));
        let recipe = recipe(&config(deepest));
        let read = Record::from_json(&record().to_json(&recipe).unwrap(), &recipe.id()).unwrap();
        assert_eq!(read, (recipe, record()));
    }
}
