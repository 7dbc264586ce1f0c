//! Several readers of one image at once, and one that reads it twice: all must get the same bytes.

use futures_util::future::join_all;

use crate::finding::{Finding, Reader};
use crate::http::{Ask, Trouble};
use crate::lab::Lab;
use crate::ranges::{self, Asking, Care};

const READERS: usize = 6;
const LENGTH: u64 = 16 << 10;

pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let readers = join_all((0..READERS).map(|reader| read(lab, reader))).await;
    let (read, refused): (Vec<_>, Vec<_>) = readers.into_iter().partition(Result::is_ok);
    let mut found: Vec<Finding> = read.into_iter().flatten().flatten().collect();
    // What is wrong with ranges at all, others say; here it counts whether the bytes are the same.
    found.retain(|finding| finding.code == "bytes-differ");
    found.truncate(1);
    findings.append(&mut found);
    if let Some(Err(trouble)) = refused.into_iter().next() {
        let message = format!("not all of {READERS} connections at once were served: {trouble}");
        findings.push(
            Finding::warning("concurrent-readers", &[Reader::Everyone], message)
                .advice("let the server take more connections: every BMC opens several"),
        );
    }
    Ok(())
}

async fn read(lab: &Lab, reader: usize) -> Result<Vec<Finding>, Trouble> {
    let mut findings = Vec::new();
    let asking = Asking { care: Care::Headers, affects: &[Reader::Everyone] };
    let mut session = lab.session();
    let mut spots = lab.spots(LENGTH);
    // Each begins elsewhere.
    let places = spots.len().max(1);
    spots.rotate_left(reader % places);
    for range in spots {
        ranges::read(lab, &mut session, &Ask::range(&range), &range, asking, &mut findings).await?;
    }
    Ok(findings)
}
