//! `dayone base fetch`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use imagelib::base::Role;
use redfish::{Certificates, Verification};
use tokio_util::sync::CancellationToken;

use super::progress::Display;
use super::stream;
use crate::arguments::BaseFetchArguments;
use crate::bases::{
    AllowedSources, DEFAULT_LIMIT, Downloader, FetchError, FetchProgress, Fetcher, Keyring, Order, Patience, Phase,
    Readers, digest_of,
};
use crate::commands::failure::{Failure, block_on};
use crate::commands::terminal;
use crate::store::{BaseSource, Location};

/// How often the progress is shown.
const INTERVAL: Duration = Duration::from_millis(200);

pub(super) fn run(arguments: &BaseFetchArguments) -> Result<(), Failure> {
    let verification = match &arguments.ca {
        None => Verification::System,
        Some(path) => {
            Verification::CaFile(Certificates::from_file(path).map_err(|error| Failure::system("--ca", &error))?)
        }
    };
    let keys = keys(&arguments.keys)?;
    block_on(async {
        let source = match (&arguments.source, stream::release(&arguments.stream, &verification).await?) {
            (_, Some(release)) => release.iso,
            (Some(location), None) => {
                let (location, sha256, signature) = (location.clone(), arguments.sha256, arguments.signature.clone());
                BaseSource { location, sha256, signature }
            }
            (None, None) => return Err(Failure::System("give a URL, or --stream".to_owned())),
        };
        let shown = source.location.to_string();
        if let Location::Path(_) = source.location {
            return Err(Failure::System(format!("{shown} is not a URL")));
        }
        source.refuse_packed().map_err(|error| Failure::system("cannot fetch it", &error))?;
        let source = source.verifiable().map_err(|error| Failure::system(&shown, &error))?;
        let output = arguments.output.as_path();
        if is_there(output, &source, arguments.force)? {
            terminal::remark(&format!("{} is there already\n", output.display()));
            return Ok(());
        }
        let downloader = Downloader::new(AllowedSources::any(), &verification, Patience::default(), DEFAULT_LIMIT);
        // A base is public, and often a service of another user reads it.
        let downloader = downloader.map_err(Failure::System)?.with_readers(Readers::Everybody);
        let fetcher = Fetcher { downloader, keys };
        fetch(&fetcher, &source, output, arguments.quiet).await
    })?
}

fn keys(paths: &[PathBuf]) -> Result<Keyring, Failure> {
    if paths.is_empty() {
        return Ok(Keyring::bundled());
    }
    let mut keys = Keyring::default();
    for path in paths {
        keys.add_file(path).map_err(|error| Failure::system(&format!("--keys {}", path.display()), &error))?;
    }
    Ok(keys)
}

/// Whether the file is there. Another file in its place is an error, unless `force` is set.
fn is_there(output: &Path, source: &BaseSource, force: bool) -> Result<bool, Failure> {
    if !output.exists() {
        return Ok(false);
    }
    if let Some(expected) = source.sha256 {
        let what = || format!("cannot read {}", output.display());
        let found = digest_of(output).map_err(|error| Failure::system(&what(), &error))?;
        if found == expected {
            return Ok(true);
        }
    }
    if force {
        return Ok(false);
    }
    Err(Failure::System(format!("{} exists; --force replaces it", output.display())))
}

async fn fetch(with: &Fetcher, source: &BaseSource, output: &Path, quiet: bool) -> Result<(), Failure> {
    let progress = FetchProgress::new([Role::Iso].into_iter());
    let cancelled = CancellationToken::new();
    let file = progress.file(Role::Iso);
    let order = Order { source, target: output, file: Arc::clone(&file), progress: &progress, cancelled: &cancelled };
    let fetching = with.fetch_anew(&order);
    tokio::pin!(fetching);
    let mut display = Display::new(quiet);
    let fetched = loop {
        tokio::select! {
            fetched = &mut fetching => break fetched,
            () = tokio::time::sleep(INTERVAL) => {
                let now = progress.snapshot();
                let state = if now.phase == Phase::Verifying { "verifying" } else { "fetching" };
                display.show(state, now.bytes, now.total, now.trouble.as_deref());
            }
        }
    };
    display.finish();
    let shown = &source.location;
    fetched.map_err(|error| match error {
        FetchError::Storage(_) | FetchError::NoSpace { .. } => {
            Failure::system(&format!("cannot fetch to {}", output.display()), &error)
        }
        error => Failure::input(&format!("cannot fetch {shown}"), &error),
    })?;
    if !quiet {
        terminal::remark(&format!("wrote {}, verified by its {}\n", output.display(), proof(source)));
    }
    Ok(())
}

fn proof(source: &BaseSource) -> &'static str {
    match (source.sha256, &source.signature) {
        (Some(_), Some(_)) => "SHA-256 and its signature",
        (None, Some(_)) => "signature",
        _ => "SHA-256",
    }
}
