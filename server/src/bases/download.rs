//! Downloads a file over HTTP. Continues where an earlier attempt ended, also one of an earlier process.

mod small;

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;
use std::{io, mem};

use redfish::{Verification, client_config};
use reqwest::header::{ACCEPT_ENCODING, IF_RANGE, RANGE};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode};
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _, BufWriter};
use tracing::{info, warn};
use url::Url;

use super::allowed::AllowedSources;
use super::answer::{self, Part};
use super::beginning::Beginning;
use super::error::FetchError;
use super::final_error::{REACHED, final_error, redirect, shown};
use super::partial_file::PartialFile;
use super::progress::FileProgress;
use super::space;
use super::space::Readers;
use crate::error_chain::chain;
use crate::forward_proxy::{self, Refusal};
use crate::store::Location;

/// How long connecting may take.
const MAX_CONNECT: Duration = Duration::from_secs(20);
/// How long the other server may send nothing.
const MAX_SILENCE: Duration = Duration::from_mins(1);
/// How many bytes dayone collects before it writes them.
const BUFFER: usize = 1 << 20;
/// How many bytes arrive between two looks at the room that is left.
const LOOK: u64 = 16 << 20;
/// The maximum size of a web page that comes in place of a file, in bytes. What is larger may be a new version of the file.
const MAX_PAGE_BYTES: u64 = 1 << 20;

/// How long to try again after failures.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How many attempts without progress to make.
    pub attempts: u32,
    /// The longest wait between two attempts. The first is a second, and each is twice as long as the one before.
    pub longest_wait: Duration,
}

impl Default for Patience {
    /// About four minutes if each attempt fails at once, and a quarter of an hour if the other server stays silent.
    fn default() -> Self {
        Self { attempts: 12, longest_wait: Duration::from_secs(32) }
    }
}

impl Patience {
    fn wait(self, attempt: u32) -> Duration {
        let doubled = Duration::from_secs(1).saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
        doubled.min(self.longest_wait)
    }
}

/// Downloads files over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Downloader {
    http: reqwest::Client,
    allowed: AllowedSources,
    patience: Patience,
    limit: u64,
    readers: Readers,
}

/// How a file was downloaded.
#[derive(Debug, Default)]
pub(super) struct Downloaded {
    /// Whether some of it was there before, from an earlier call, or what had arrived was another file than the rest. If the bytes are
    /// wrong, the next download may bring others.
    pub(super) resumed: bool,
    /// The encoding that the server named, if it named one.
    pub(super) encoding: Option<String>,
    /// The media type that the server named in its last answer, if it named one.
    pub(super) media_type: Option<String>,
}

/// What an attempt has brought.
struct Received {
    /// The encoding that the server named, if it named one.
    encoding: Option<String>,
    /// The media type that the server named, if it named one.
    media_type: Option<String>,
    /// Whether the file is complete.
    is_complete: bool,
}

/// Why an attempt failed.
enum Failed {
    /// Another attempt may succeed.
    Again(String),
    /// It would fail again.
    Finally(FetchError),
}

impl From<FetchError> for Failed {
    fn from(error: FetchError) -> Self {
        Self::Finally(error)
    }
}

/// Whether a request that has failed would fail again.
async fn failed(error: reqwest::Error, reached: Option<&Url>) -> Failed {
    let (refusal, finally) = (forward_proxy::refusal(&error, reached).await, final_error(&error));
    match (refusal, finally) {
        (Some(Refusal { why, is_final: true }), _) | (Some(Refusal { why, .. }), Some(_)) => {
            Failed::Finally(FetchError::Unreachable(why))
        }
        (Some(Refusal { why, .. }), None) => Failed::Again(why),
        (None, Some(refused)) => Failed::Finally(refused),
        (None, None) => Failed::Again(chain(&error.without_url())),
    }
}

fn storage(error: io::Error) -> Failed {
    Failed::Finally(FetchError::storage(error))
}

impl Downloader {
    /// Makes a downloader. It fetches files of at most `limit` bytes from the allowed sources.
    pub(crate) fn new(
        allowed: AllowedSources,
        verification: &Verification,
        patience: Patience,
        limit: u64,
    ) -> Result<Self, String> {
        let tls = client_config(verification).map_err(|error| chain(&error))?;
        let redirects = allowed.clone();
        let http = forward_proxy::client_builder()
            .tls_backend_preconfigured(tls)
            .redirect(Policy::custom(move |attempt| redirect(&redirects, attempt)))
            // The server that a redirect leads to would learn the query, which may be a credential.
            .referer(false)
            .user_agent(concat!("dayone/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(MAX_CONNECT)
            .read_timeout(MAX_SILENCE)
            .build()
            .map_err(|error| chain(&error))?;
        Ok(Self { http, allowed, patience, limit, readers: Readers::Owner })
    }

    /// Has these readers of the files.
    pub(crate) fn with_readers(self, readers: Readers) -> Self {
        Self { readers, ..self }
    }

    /// How many bytes a file may have.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn allowed(&self) -> &AllowedSources {
        &self.allowed
    }

    /// Checks that dayone may, and can, fetch from a URL.
    fn check(&self, url: &Url) -> Result<(), FetchError> {
        self.allowed.check_url(url)?;
        forward_proxy::of(url).map_err(FetchError::Unreachable)?;
        Ok(())
    }

    /// Downloads the whole file to the partial file of `target`. Calls `trouble` with what goes wrong while it tries again, and with
    /// `None` when it goes on.
    pub(super) async fn download(
        &self,
        url: &Url,
        target: &Path,
        progress: &FileProgress,
        trouble: &(dyn Fn(Option<String>) + Send + Sync),
    ) -> Result<Downloaded, FetchError> {
        self.check(url)?;
        let mut arrived = PartialFile::open(target, url, self.readers).map_err(FetchError::storage)?.length;
        let mut resumed = arrived > 0;
        let (mut failures, mut restarts) = (0, 0);
        loop {
            let received = self.attempt(url, target, progress, trouble, &mut resumed).await;
            let before = mem::replace(&mut arrived, progress.done());
            // Each restart counts until the end of the download. Otherwise, if a server cannot continue and breaks off each time, dayone
            // would ask it without end. A file that a smaller file has replaced restarts, too, and the server can then continue it.
            restarts += u32::from(arrived < before);
            if arrived > before {
                failures = restarts;
            }
            match received {
                Ok(Received { encoding, media_type, is_complete }) => {
                    trouble(None);
                    if is_complete {
                        return Ok(Downloaded { resumed, encoding, media_type });
                    }
                    // The server has sent fewer bytes than dayone asked for.
                }
                Err(Failed::Finally(error)) => return Err(error),
                Err(Failed::Again(why)) => {
                    failures += 1;
                    if failures >= self.patience.attempts {
                        return Err(FetchError::Unreachable(why));
                    }
                    let wait = self.patience.wait(failures);
                    warn!(url = %Location::Url(url.clone()), bytes = progress.done(), error = why, ?wait, "a download stopped; dayone continues it");
                    trouble(Some(why));
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    async fn attempt(
        &self,
        url: &Url,
        target: &Path,
        progress: &FileProgress,
        trouble: &(dyn Fn(Option<String>) + Send + Sync),
        resumed: &mut bool,
    ) -> Result<Received, Failed> {
        let mut partial = PartialFile::open(target, url, self.readers).map_err(storage)?;
        progress.set_done(partial.length);
        progress.set_total(partial.total());
        if partial.is_complete() {
            let encoding = partial.encoding().map(str::to_owned);
            return Ok(Received { encoding, media_type: None, is_complete: true });
        }
        let mut request = self.http.get(url.clone()).header(ACCEPT_ENCODING, "identity");
        if let Some(validator) = partial.validator() {
            request = request.header(RANGE, format!("bytes={}-", partial.length)).header(IF_RANGE, validator);
        }
        let answer = self.send(request).await?;
        let headers = answer.headers();
        let (encoding, media_type) = (answer::encoding(headers), answer::media_type(headers));
        let continued = match answer.status() {
            StatusCode::PARTIAL_CONTENT => Part::continuing(headers, partial.length, partial.total()),
            _ => None,
        };
        let continued = continued.filter(|part| match partial.length {
            // Nobody asked for a part.
            0 => part.is_last(),
            // A server need not repeat the encoding (RFC 9110 §15.3.7).
            _ => encoding.is_none() || encoding.as_deref() == partial.encoding(),
        });
        let part = match (answer.status(), continued) {
            (StatusCode::OK, _) => {
                if partial.length > 0 {
                    let is_same = answer::validator(headers).as_deref() == partial.validator();
                    let lengths = partial.total().zip(answer.content_length());
                    let is_other = lengths.map_or(!is_same, |(known, told)| known != told);
                    // The page of a proxy, or of a network where one has to log in: what has arrived is still a part of the file.
                    let is_short = answer.content_length().is_none_or(|length| length <= MAX_PAGE_BYTES);
                    if is_other && is_short && media_type.as_deref() == Some("text/html") {
                        let why = "something answers with a web page (text/html) in place of the file";
                        return Err(Failed::Again(why.to_owned()));
                    }
                    *resumed |= is_other || !is_same;
                }
                partial.restart().map_err(storage)?;
                Part::whole(answer.content_length())
            }
            (_, Some(part)) => part,
            (StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE, None) if partial.length > 0 => {
                partial.restart().map_err(storage)?;
                progress.set_done(0);
                return Err(Failed::Again("the file has changed since the download began".to_owned()));
            }
            (status, None) => {
                let url = shown(url) + &forward_proxy::through(answer.url());
                return Err(FetchError::Status { url, status }.into());
            }
        };
        trouble(None);
        let total = part.total.or(part.end);
        let encoding = if partial.length > 0 {
            info!(url = %shown(url), from = partial.length, ?total, "continuing a download");
            partial.encoding().map(str::to_owned)
        } else {
            partial.begin(answer::validator(headers), encoding.clone(), part.total).map_err(storage)?;
            encoding
        };
        progress.set_done(partial.length);
        progress.set_total(total);
        if total.is_some_and(|total| total > self.limit) {
            return Err(FetchError::TooLarge { limit: self.limit }.into());
        }
        space::check(&partial.file, total.map_or(0, |total| total.saturating_sub(partial.length)))?;
        self.receive(answer, partial, part, progress).await?;
        Ok(Received { encoding, media_type, is_complete: part.is_last() })
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Response, Failed> {
        let sent = async { (request.send().await, REACHED.with(RefCell::take)) };
        let (answer, reached) = REACHED.scope(RefCell::default(), sent).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Err(failed(error, reached.as_ref()).await),
        };
        match answer.status() {
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                if let Ok(Some(proxy)) = forward_proxy::of(answer.url()) {
                    return Err(FetchError::Unreachable(proxy.unauthorized().why).into());
                }
                return Ok(answer);
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {}
            status if status.is_server_error() => {}
            _ => return Ok(answer),
        }
        Err(Failed::Again(format!("the server{} answers {}", forward_proxy::through(answer.url()), answer.status())))
    }

    /// Writes the body to the end of the partial file. What has arrived stays there, also if the connection breaks.
    async fn receive(
        &self,
        mut answer: Response,
        partial: PartialFile,
        part: Part,
        progress: &FileProgress,
    ) -> Result<(), Failed> {
        let limit = self.limit;
        let room = partial.file.try_clone().map_err(storage)?;
        let mut file = tokio::fs::File::from_std(partial.file);
        file.seek(io::SeekFrom::Start(partial.length)).await.map_err(storage)?;
        let mut file = BufWriter::with_capacity(BUFFER, file);
        let mut next_look = partial.length + LOOK;
        let mut beginning = Beginning::after(partial.length);
        let received = loop {
            let chunk = match answer.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break Ok(()),
                Err(error) => break Err(Failed::Again(chain(&error.without_url()))),
            };
            if let Err(refused) = beginning.take(&chunk) {
                break Err(refused.into());
            }
            file.write_all(&chunk).await.map_err(storage)?;
            progress.add(chunk.len() as u64);
            if progress.done() > limit {
                break Err(FetchError::TooLarge { limit }.into());
            }
            if progress.done() >= next_look {
                next_look = progress.done() + LOOK;
                let rest = part.total.map_or(0, |total| total.saturating_sub(progress.done()));
                if let Err(full) = space::check(&room, rest) {
                    break Err(full.into());
                }
            }
        };
        file.flush().await.map_err(storage)?;
        received?;
        if part.end.is_some_and(|end| progress.done() < end) {
            return Err(Failed::Again("the server has closed the connection before the end".to_owned()));
        }
        if part.is_last() {
            progress.set_total(Some(progress.done()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
