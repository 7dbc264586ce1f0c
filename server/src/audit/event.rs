//! What the audit log records. Never a secret: no token, no password, and no URL of an image.

use std::net::IpAddr;
use std::num::NonZeroU64;
use std::ops::Range;
use std::time::SystemTime;

use media::reading::Time;
use serde::{Serialize, Serializer};

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Who {
    who: Kind,
    /// From which address.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// The server itself.
    Server,
    /// A program on this machine, at a server without tokens.
    Local,
    /// A client that has not shown who it is.
    Stranger,
    /// A client of the media plane: a BMC or a host. It has shown the URL of an image, and nothing else.
    Reader,
    /// A client of the API with the token of this name.
    Token(String),
    /// A client of the API with the certificate of this name.
    Certificate(String),
    /// Whoever made this object in Kubernetes. The audit log of the API server says who that is.
    Object(String),
}

impl Who {
    /// The server itself.
    pub const SERVER: Self = Self { who: Kind::Server, address: None };

    /// A program on this machine.
    pub fn local(address: Option<IpAddr>) -> Self {
        Self { who: Kind::Local, address }
    }

    /// A client that has not shown who it is.
    pub fn stranger(address: Option<IpAddr>) -> Self {
        Self { who: Kind::Stranger, address }
    }

    /// A client of the media plane.
    pub fn reader(address: IpAddr) -> Self {
        Self { who: Kind::Reader, address: Some(address) }
    }

    /// A client with the token of this name.
    pub fn token(name: &str, address: Option<IpAddr>) -> Self {
        Self { who: Kind::Token(name.to_owned()), address }
    }

    /// Whoever made an object in Kubernetes: its kind, its namespace and its name.
    pub fn object(kind: &str, namespace: &str, name: &str) -> Self {
        Self { who: Kind::Object(format!("{kind} {namespace}/{name}")), address: None }
    }

    /// A client with the certificate of this name.
    pub fn certificate(name: &str, address: Option<IpAddr>) -> Self {
        Self { who: Kind::Certificate(name.to_owned()), address }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Event {
    /// A file begins.
    LogBegun {
        /// The file with the entries before, if the server knows it.
        #[serde(skip_serializing_if = "Option::is_none")]
        earlier: Option<String>,
    },
    /// The end of a file was not an entry, because the machine failed while the server wrote it, or because somebody changed it.
    LogRecovered {
        /// How many bytes after the last entry that is intact were no entry.
        bytes: u64,
        /// Their SHA-256.
        sha256: String,
        /// The earlier file that ends with them. `None`: the file of this entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    /// The server could not keep entries, because it could not write them for a long time or there were too many at once.
    EntriesLost {
        /// How many.
        entries: u64,
    },
    /// The server has started.
    ServerStarted {
        /// Its version.
        version: String,
    },
    /// The server has stopped.
    ServerStopped,
    /// The server has read its settings again, and the clients of its API.
    SettingsReloaded {
        /// How many clients the API has.
        clients: usize,
    },
    /// The server has taken another installation key over, from which the URLs of all images follow.
    KeyRotated {
        /// Until when the server serves the URLs of the previous key, too. Without it, they have ended.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_time")]
        previous_until: Option<SystemTime>,
    },
    /// The URLs of the previous installation key have ended, and the server has removed that key.
    PreviousKeyRemoved,
    /// A client has logged in with a browser.
    LoggedIn,
    /// A client showed no valid token, no session and no certificate of a client.
    AuthenticationFailed {
        /// Whether it tried to log in with a browser. Otherwise, it sent a request to the API.
        login: bool,
        /// How many more there were since the last such entry, which the server did not record because there were too many.
        #[serde(skip_serializing_if = "Option::is_none")]
        unrecorded: Option<NonZeroU64>,
    },
    /// A client asked for something that its role does not allow.
    RequestRefused {
        /// The method.
        method: String,
        /// The route.
        route: String,
        /// The role that it needs.
        needed_role: &'static str,
        /// How many more there were since the last such entry, which the server did not record because there were too many.
        #[serde(skip_serializing_if = "Option::is_none")]
        unrecorded: Option<NonZeroU64>,
    },
    /// A client ordered an image.
    ImageOrdered {
        /// The image.
        image: String,
        /// The host in the order.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// Its base; a data image has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        base: Option<String>,
        /// Whether the server made it now. Otherwise, it existed.
        new: bool,
    },
    /// A client received an image that the server does not store.
    ImageStreamed {
        /// The image.
        image: String,
        /// The host in the order.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// A client deleted an image.
    ImageDeleted {
        /// The image.
        image: String,
        /// The host.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// The time to live of an image was over, and the server removed it.
    ImageEnded {
        /// The image.
        image: String,
        /// The host.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// A client of the media plane read a file of an image, until it paused.
    ImageRead {
        /// The image.
        image: String,
        /// The host.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The file.
        file: &'static str,
        /// When the server sent the first of these bytes.
        #[serde(serialize_with = "time")]
        first: SystemTime,
        /// When the server sent the last of them.
        #[serde(serialize_with = "time")]
        last: SystemTime,
        /// How many bytes the server has sent; bytes that it sent twice count twice.
        sent: u64,
        /// The bytes, as pairs of the first offset and the offset after the last byte.
        #[serde(serialize_with = "pairs")]
        ranges: Vec<Range<u64>>,
        /// Whether close ranges were merged because there were too many.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        approximate: bool,
    },
    /// Too many clients read an image at once, so that the server did not record all of them.
    ReadsLost {
        /// The image.
        image: String,
        /// The host.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// How many pieces were not recorded.
        pieces: u64,
    },
    /// A client began a boot.
    BootBegun {
        /// The boot.
        boot: String,
        /// The image.
        image: String,
        /// The host.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The address of the BMC.
        bmc: String,
    },
    /// A boot has ended: its BMC is free for another boot.
    BootEnded {
        /// The boot.
        boot: String,
        /// The image.
        image: String,
        /// The host.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The address of the BMC.
        bmc: String,
        /// The state of the boot.
        state: String,
    },
    /// A client deleted a boot.
    BootDeleted {
        /// The boot.
        boot: String,
        /// The image.
        image: String,
        /// The host.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The address of the BMC.
        bmc: String,
    },
    /// A client ordered a base, or replaced one.
    BaseAdded {
        /// Its name.
        base: String,
    },
    /// A client removed a base.
    BaseRemoved {
        /// Its name.
        base: String,
    },
    /// A client stopped the server from fetching a base.
    BaseFetchStopped {
        /// Its name.
        base: String,
    },
}

fn time<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    Time(*time).serialize(serializer)
}

#[allow(clippy::ref_option, reason = "serde calls it so")]
fn optional_time<S: Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(Time).serialize(serializer)
}

fn pairs<S: Serializer>(ranges: &[Range<u64>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ranges.iter().map(|range| [range.start, range.end]))
}
