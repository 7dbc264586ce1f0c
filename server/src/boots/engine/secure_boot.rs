//! Compares what an image needs with what the machine verifies, before anything is inserted: a machine that refuses its boot loader
//! shows that on its console alone, and dayone would wait for a host that never comes.

use std::sync::Arc;

use imagelib::secure_boot::{SecureBoot, Verdict};
use redfish::bmc::{Bmc, Survey};

use super::Stop;
use crate::boots::shared::Shared;
use crate::store::StoredImage;

/// What a boot does about Secure Boot.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    /// Nothing is to be said.
    Silent,
    /// The boot goes on, with this remark.
    Remark(String),
    /// The machine would refuse the image, for this reason.
    Refused(String),
}

/// Returns a remark for the boot's record, if there is something to say.
pub(super) async fn check(
    shared: &Shared,
    bmc: &Bmc,
    survey: &Survey,
    image: Arc<StoredImage>,
    ignore_refusal: bool,
) -> Result<Option<String>, Stop> {
    let mut problem = None;
    let state = match bmc.secure_boot(&survey.system).await {
        Ok(state) => state,
        Err(error) => {
            problem = Some(error.to_string());
            None
        }
    };
    let found = shared.blocking.run(move || image.available().and_then(|planned| planned.secure_boot()));
    // A data image boots nothing. The task fails only if it panics; the panic hook has logged where.
    let Ok(Some(found)) = found.await else { return Ok(None) };
    match decide(state.and_then(|state| state.is_on()), problem.as_deref(), &found) {
        Decision::Silent => Ok(None),
        Decision::Remark(text) => Ok(Some(text)),
        Decision::Refused(text) if ignore_refusal => Ok(Some(format!("{text}. The boot goes on (ignore_secure_boot)"))),
        Decision::Refused(text) => Err(Stop::Failed(text.into())),
    }
}

/// Decides, by whether Secure Boot is on, if the BMC says so, and by why it does not say so, if it could not be asked.
fn decide(is_on: Option<bool>, problem: Option<&str>, found: &SecureBoot) -> Decision {
    let SecureBoot { verdict, reason, .. } = found;
    match (is_on, verdict) {
        (Some(false), _) | (None, Verdict::Kept) => Decision::Silent,
        (Some(true), Verdict::Kept) => Decision::Remark(format!("Secure Boot is on, and the image keeps it: {reason}")),
        (Some(true), Verdict::NeedsSiteKey) => Decision::Remark(format!(
            "Secure Boot is on, and the machine starts this image only if it trusts a key of your site: {reason}"
        )),
        (Some(true), Verdict::Unknown) => Decision::Remark(format!(
            "Secure Boot is on, and dayone cannot tell whether the machine starts this image: {reason}"
        )),
        (Some(true), Verdict::Impossible) => Decision::Refused(format!(
            "Secure Boot is on at this machine, which would refuse the image: {reason}. Switch Secure Boot off in the \
             machine's setup, or use a base whose boot loader and kernel are signed. If the owner of the machine has switched off the \
             verification in shim, boot with ignore_secure_boot"
        )),
        (None, _) => {
            let why = problem.map(|problem| format!(" ({problem})")).unwrap_or_default();
            Decision::Remark(format!(
                "the BMC does not say whether Secure Boot is on{why}; the verdict for this image is '{verdict}': {reason}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(verdict: Verdict) -> SecureBoot {
        SecureBoot { verdict, reason: "vmlinuz is not signed".to_owned(), programs: Vec::new(), unsigned: Vec::new() }
    }

    #[test]
    fn only_a_certain_refusal_stops_a_boot() {
        for verdict in [Verdict::Kept, Verdict::NeedsSiteKey, Verdict::Unknown, Verdict::Impossible] {
            assert_eq!(decide(Some(false), None, &found(verdict)), Decision::Silent);
            let refused = matches!(decide(Some(true), None, &found(verdict)), Decision::Refused(_));
            assert_eq!(refused, verdict == Verdict::Impossible, "{verdict}");
            assert!(!matches!(decide(None, None, &found(verdict)), Decision::Refused(_)), "{verdict}");
        }
    }

    #[test]
    fn the_operator_reads_what_the_machine_would_refuse() {
        let Decision::Refused(text) = decide(Some(true), None, &found(Verdict::Impossible)) else { panic!() };
        assert!(text.contains("vmlinuz is not signed") && text.contains("Switch Secure Boot off"), "{text}");
    }

    #[test]
    fn a_bmc_that_does_not_say_is_named_unless_it_does_not_matter() {
        assert_eq!(decide(None, None, &found(Verdict::Kept)), Decision::Silent);
        let Decision::Remark(text) = decide(None, Some("HTTP 500"), &found(Verdict::NeedsSiteKey)) else { panic!() };
        assert!(text.contains("HTTP 500") && text.contains("needs-site-key"), "{text}");
    }
}
