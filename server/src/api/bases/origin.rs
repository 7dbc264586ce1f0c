//! Where a base comes from, who uses it, and how far the server is with fetching it.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::bases::{Phase, Unfinished};
use crate::store::{BaseRecord, BaseSource, BaseUse, BaseVersion, Location, RegisteredBase, Store};

/// Where a base comes from, who uses it, and how far the server is with fetching it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BaseOrigin {
    // Without a comment for the description: utoipa would describe an object.
    #[schema(inline)]
    origin: Origin,
    /// How many published images were made from it.
    pub(crate) images: usize,
    /// How many answers with bytes of these images are under way.
    pub(crate) transfers: usize,
    /// The version of an added base. A base that replaces another has a larger one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u64>,
    /// Where the files of an added base come from, by role.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) sources: BTreeMap<String, ShownSource>,
    /// Earlier versions that images still use. The server removes each when no image uses it any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) replaced: Vec<ReplacedVersion>,
    /// The next version, which the server is fetching, or could not fetch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fetch: Option<FetchBody>,
}

/// Whether the base is in the server's configuration, or was added with this API.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum Origin {
    /// It is in the server's configuration.
    Configured,
    /// It was added with this API.
    Added,
}

/// Where a file comes from. URLs have no query, because it may hold a credential.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KnownBaseSource)]
pub(crate) struct ShownSource {
    /// The URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The path on the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// The SHA-256 that the file must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// Where the file's signature is.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// An earlier version of a base, which images still use.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReplacedBaseVersion)]
pub(crate) struct ReplacedVersion {
    /// The version.
    version: u64,
    /// The identity that the base had.
    pub(crate) identity: String,
    /// Whether its files can be used.
    available: bool,
    /// How many published images were made from it.
    pub(crate) images: usize,
    /// How many answers with bytes of these images are under way.
    pub(crate) transfers: usize,
}

/// A base that the server is fetching, or could not fetch.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BaseFetch)]
pub(crate) struct FetchBody {
    /// What the server does.
    pub(crate) state: Phase,
    /// The version that the base will have.
    version: u64,
    /// How many bytes have arrived.
    pub(crate) bytes: u64,
    /// How many bytes there will be, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<u64>,
    /// Why fetching has failed; or what went wrong last, while the server tries again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Where the files come from, by role.
    sources: BTreeMap<String, ShownSource>,
}

impl BaseOrigin {
    /// Describes a base that is there. `fetch` is the next version.
    pub(super) fn of(store: &Store, base: &RegisteredBase, fetch: Option<&Unfinished>) -> Self {
        let record = base.version().and_then(|version| store.added_base(version));
        let identity = record.as_ref().and_then(BaseRecord::identity);
        let identity = identity.or_else(|| base.available().map(|open| open.identity));
        let BaseUse { images, transfers } = identity.map(|identity| store.base_use(&identity)).unwrap_or_default();
        let replaced = store.replaced_by(base.name().as_str());
        let replaced = replaced.iter().filter_map(|base| {
            let version = base.version()?;
            let identity = store.added_base(version)?.identity()?;
            // The images and transfers are those of the later one.
            if store.is_there_again(base, &identity) {
                return None;
            }
            let BaseUse { images, transfers } = store.base_use(&identity);
            let (version, available) = (version.number(), base.available().is_some());
            Some(ReplacedVersion { version, identity: identity.to_string(), available, images, transfers })
        });
        Self {
            origin: if base.version().is_some() { Origin::Added } else { Origin::Configured },
            images,
            transfers,
            version: base.version().map(BaseVersion::number),
            sources: record.map(|record| sources(&record)).unwrap_or_default(),
            replaced: replaced.collect(),
            fetch: fetch.map(FetchBody::of),
        }
    }

    /// Describes a base that has not arrived yet.
    pub(super) fn first(fetch: &Unfinished) -> Self {
        Self {
            origin: Origin::Added,
            images: 0,
            transfers: 0,
            version: None,
            sources: BTreeMap::new(),
            replaced: Vec::new(),
            fetch: Some(FetchBody::of(fetch)),
        }
    }

    /// Why a base that has not arrived yet is not there.
    pub(super) fn why_not_here(&self) -> String {
        let failed = self.fetch.as_ref().filter(|fetch| fetch.state == Phase::Failed);
        match failed.and_then(|fetch| fetch.error.as_ref()) {
            Some(error) => format!("it could not be fetched: {error}"),
            None => "it is being fetched".to_owned(),
        }
    }
}

impl FetchBody {
    fn of(fetch: &Unfinished) -> Self {
        Self {
            state: fetch.progress.phase,
            version: fetch.version.number(),
            bytes: fetch.progress.bytes,
            total: fetch.progress.total,
            error: fetch.progress.trouble.clone(),
            sources: sources(&fetch.record),
        }
    }
}

fn sources(record: &BaseRecord) -> BTreeMap<String, ShownSource> {
    record.sources.iter().map(|(role, source)| (role.word().to_owned(), ShownSource::of(source))).collect()
}

impl ShownSource {
    fn of(source: &BaseSource) -> Self {
        let text = source.location.to_string();
        let (url, path) = match source.location {
            Location::Url(_) => (Some(text), None),
            Location::Path(_) => (None, Some(text)),
        };
        let sha256 = source.sha256.map(|digest| digest.to_string());
        Self { url, path, sha256, signature: source.signature.as_ref().map(ToString::to_string) }
    }
}
