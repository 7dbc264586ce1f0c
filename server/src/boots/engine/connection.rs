//! A connection to the BMC of a boot.

use std::sync::Arc;

use super::Stop;
use crate::boots::boot::Boot;
use crate::boots::shared::Shared;
use redfish::bmc::Bmc;
use redfish::{Target, Verification};

/// Connects and logs in.
pub(super) async fn connect(shared: &Arc<Shared>, boot: &Boot) -> Result<Bmc, Stop> {
    let record = boot.record();
    let keeper = Arc::clone(shared);
    let (id, source) = (record.id, record.bmc.credentials.clone());
    let found = tokio::task::spawn_blocking(move || keeper.keeper.find(id, &source)).await;
    let credentials = found.map_err(std::io::Error::other)?.map_err(|error| Stop::Failed(error.to_string().into()))?;
    let verification = if record.bmc.disable_certificate_verification {
        Verification::Disabled
    } else {
        shared.settings.verification.clone()
    };
    let target = Target { address: record.bmc.address.clone(), credentials, verification };
    let bmc = Bmc::connect(&target, &shared.settings.client).await?;
    Ok(bmc.with_limits(shared.settings.limits))
}
