//! Small files, which are read whole.

use reqwest::StatusCode;
use url::Url;

use super::{Downloader, Failed};
use crate::bases::error::FetchError;
use crate::bases::final_error::shown;
use crate::error_chain::chain;
use crate::forward_proxy;

/// The maximum size of a signature or metadata file, in bytes.
const MAX_SMALL_BYTES: usize = 4 << 20;

impl Downloader {
    /// Reads a small file, such as a signature.
    pub(crate) async fn read_small(&self, url: &Url) -> Result<Vec<u8>, FetchError> {
        self.check(url)?;
        let mut failures = 0;
        loop {
            match self.try_small(url).await {
                Ok(bytes) => return Ok(bytes),
                Err(Failed::Finally(error)) => return Err(error),
                Err(Failed::Again(why)) => {
                    failures += 1;
                    if failures >= self.patience.attempts {
                        return Err(FetchError::Unreachable(format!("{}: {why}", shown(url))));
                    }
                    tokio::time::sleep(self.patience.wait(failures)).await;
                }
            }
        }
    }

    async fn try_small(&self, url: &Url) -> Result<Vec<u8>, Failed> {
        let mut answer = self.send(self.http.get(url.clone())).await?;
        if answer.status() != StatusCode::OK {
            let url = shown(url) + &forward_proxy::through(answer.url());
            return Err(FetchError::Status { url, status: answer.status() }.into());
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| Failed::Again(chain(&error.without_url())))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_SMALL_BYTES {
                return Err(FetchError::SmallTooLarge { url: shown(url), limit: MAX_SMALL_BYTES as u64 }.into());
            }
        }
        Ok(bytes)
    }
}
