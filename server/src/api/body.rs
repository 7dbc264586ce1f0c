//! Reading a request's body: so much, in so long.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::problem::{Problem, ProblemKind};

/// The most bytes of a body. Documents of a hundred hosts are well below.
pub(super) const LARGEST_BODY: usize = 4 << 20;

/// How long a body may take to arrive. Clients are on the operators' network, not BMCs.
const SLOWEST_BODY: Duration = Duration::from_secs(30);

/// The whole body.
pub(super) async fn read(body: Body) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("the body is larger than {LARGEST_BODY} bytes; send fewer hosts at once");
        Problem::new(ProblemKind::TooLarge, detail)
    };
    // Said at once where the length is known beforehand, so that nothing is read in vain.
    if http_body::Body::size_hint(&body).lower() > LARGEST_BODY as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(SLOWEST_BODY, Limited::new(body, LARGEST_BODY).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::new(ProblemKind::IncompleteRequest, "the body broke off").with_cause(error)),
        Err(_) => {
            let detail = format!("the body did not arrive within {} seconds", SLOWEST_BODY.as_secs());
            Err(Problem::new(ProblemKind::IncompleteRequest, detail))
        }
    }
}
