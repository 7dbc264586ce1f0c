//! The audit log: who ordered which image, and who read which bytes of it.
//!
//! Each entry is a line of JSON with a number and the SHA-256 over the hash of the entry before and this entry ([`chain`]), so that
//! [`verify`] finds an entry that was changed, removed, inserted or moved. Handlers hand entries to one thread ([`writer`]) and go on;
//! the answer to a change waits until its entries are on the disk. [`readings`] collects what clients of the media plane have read.

mod authentication;
pub(crate) mod chain;
mod event;
mod handle;
pub(crate) mod log_file;
mod log_text;
mod metrics;
mod readings;
mod show;
mod tail;
mod target;
mod unfinished;
mod verify;
mod writer;

pub use authentication::Authentications;
pub use event::{Event, Who};
pub use handle::{Actor, Audit, AuditSettings, AuditState};
pub use log_file::AuditError;
pub use log_text::{LogText, LogTextError};
pub use metrics::AuditMetrics;
pub use readings::{Readings, record_reads};
pub use show::{Filter, Shown, entries, sentence};
pub use target::AuditTarget;
pub use verify::{Fault, FaultKind, Note, NoteKind, Verified, verify};
