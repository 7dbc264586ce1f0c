//! Why a BMC cannot be brought to do what is wanted.

use std::time::Duration;

use super::attempt::Attempt;
use super::medium::Medium;
use super::state::{BootMode, MediaState, PowerState};
use super::vendor::Vendor;
use crate::RedfishError;

/// Why a BMC cannot be brought to do what is wanted. What the BMC said is in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BmcError {
    /// The connection, the credentials, or a request that has no other way.
    #[error(transparent)]
    Redfish(#[from] RedfishError),
    /// No System.
    #[error("the BMC lists no System; give the System's path in its address (…/redfish/v1/Systems/ID)")]
    NoSystem,
    /// More than one System, and the address does not say which.
    #[error("the BMC has several Systems; give one of them in its address: {}", systems.join(", "))]
    SeveralSystems {
        /// Their paths.
        systems: Vec<String>,
    },
    /// The address names a System that is not there.
    #[error("the BMC has no System {path}; it has: {}", systems.join(", "))]
    UnknownSystem {
        /// The address's.
        path: String,
        /// The BMC's.
        systems: Vec<String>,
    },
    /// No virtual media at all.
    #[error("the BMC shows no slots for virtual media: {}", vendor.advice())]
    NoSlots {
        /// Whose it is.
        vendor: Vendor,
    },
    /// No slot that takes a medium.
    #[error(
        "the BMC has no slot that takes {medium} by URL; it has: {}{}", slots.join(", "), other_medium(*medium)
    )]
    NoSuitableSlot {
        /// What should be inserted.
        medium: Medium,
        /// The slots that there are, each with its media types.
        slots: Vec<String>,
    },
    /// The BMC takes images by other protocols only.
    #[error(
        "the BMC does not fetch images by {wanted}; it takes {}: {}", offered.join(", "), protocol_advice(wanted, offered)
    )]
    Protocol {
        /// The URL's.
        wanted: &'static str,
        /// The BMC's.
        offered: Vec<String>,
    },
    /// The BMC does not take the URL itself.
    #[error(
        "the BMC does not accept the image's URL: {message}. Some take https:// only, some http:// only, and some no \
         names or no IPv6 addresses in it: see what this one fetches, and serve the media so"
    )]
    Url {
        /// What the BMC says.
        message: String,
        /// What was tried.
        attempts: Vec<Attempt>,
    },
    /// The BMC understood, but could not read the image.
    #[error(
        "the BMC could not fetch the image: {message}. Check that the BMC reaches the media address (its route, the \
         firewall, its name service if the URL has a name, its trust in the certificate if it is HTTPS)"
    )]
    ImageUnreachable {
        /// What the BMC says.
        message: String,
        /// What was tried.
        attempts: Vec<Attempt>,
    },
    /// A licence is missing.
    #[error("the BMC asks for a licence: {message}; {}", vendor.advice())]
    Licence {
        /// Whose it is.
        vendor: Vendor,
        /// What the BMC says.
        message: String,
    },
    /// Every form of the request was refused.
    #[error("the BMC does not insert the image; {}{}", tried(attempts), detached(attempts))]
    InsertRefused {
        /// What was tried.
        attempts: Vec<Attempt>,
    },
    /// The request was taken, but nothing was inserted.
    #[error(
        "{} the image, and has not inserted it within {} s; {} says {}. Look at what the BMC has read of the image: \
         nothing means that it cannot reach the media address", asked(attempts), after.as_secs(), slot, shown(state)
    )]
    NotInserted {
        /// The slot.
        slot: String,
        /// What it says.
        state: Box<MediaState>,
        /// The time that it had.
        after: Duration,
        /// What was tried.
        attempts: Vec<Attempt>,
    },
    /// The medium stays in its slot.
    #[error(
        "the BMC does not eject the medium in {slot}, which says {}; {}. Some BMCs eject only while the host is off: \
         switch it off and eject again",
        shown(state),
        tried(attempts)
    )]
    NotEjected {
        /// The slot.
        slot: String,
        /// What it says.
        state: Box<MediaState>,
        /// What was tried.
        attempts: Vec<Attempt>,
    },
    /// The firmware mode cannot be chosen.
    #[error("the BMC does not take {mode} as boot mode{}", offered.as_ref().map(|modes| format!(" (it takes {})", modes.join(", "))).unwrap_or_default())]
    Mode {
        /// What is wanted.
        mode: BootMode,
        /// What the BMC takes.
        offered: Option<Vec<String>>,
    },
    /// No way to boot from the medium.
    #[error("the BMC does not let the next boot be from virtual media; {}{}", tried(attempts), while_off(attempts))]
    BootRefused {
        /// What was tried.
        attempts: Vec<Attempt>,
    },
    /// The System has no reset action.
    #[error("the BMC offers no way to switch {system} on or off")]
    NoReset {
        /// The System.
        system: String,
    },
    /// The BMC does not offer what it takes.
    #[error("the BMC cannot {wanted}: that takes the reset type {needed}. It offers {}", listed(offered))]
    PowerUnsupported {
        /// What should be done.
        wanted: &'static str,
        /// The types of reset that do it.
        needed: &'static str,
        /// The types of reset that the BMC lists.
        offered: Vec<String>,
    },
    /// Every way to change the power was refused.
    #[error("the BMC does not switch the host {wanted}; {}", tried(attempts))]
    PowerRefused {
        /// What is wanted.
        wanted: PowerState,
        /// What was tried.
        attempts: Vec<Attempt>,
    },
    /// The power does not change.
    #[error("the host is {state} and not {wanted} after {} s; look at the BMC's console", after.as_secs())]
    PowerTimeout {
        /// What is wanted.
        wanted: PowerState,
        /// What the BMC says.
        state: PowerState,
        /// The time that it had.
        after: Duration,
    },
}

impl BmcError {
    /// What was tried, for the record of a boot.
    pub fn attempts(&self) -> &[Attempt] {
        match self {
            Self::Url { attempts, .. }
            | Self::ImageUnreachable { attempts, .. }
            | Self::InsertRefused { attempts }
            | Self::NotInserted { attempts, .. }
            | Self::NotEjected { attempts, .. }
            | Self::BootRefused { attempts }
            | Self::PowerRefused { attempts, .. } => attempts,
            _ => &[],
        }
    }

    /// Whether the same may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Redfish(error) => error.is_transient(),
            Self::NotInserted { .. } | Self::NotEjected { .. } | Self::PowerTimeout { .. } => true,
            _ => false,
        }
    }
}

fn tried(attempts: &[Attempt]) -> String {
    match attempts {
        [] => "there is no way that it offers".to_owned(),
        [only] => format!("{only}"),
        // The first is the plainest, and often says why; those behind it may only say that they are not plain.
        [first, .., last] => format!("{} requests were tried, the first: {first}; the last: {last}", attempts.len()),
    }
}

fn listed(offered: &[String]) -> String {
    if offered.is_empty() { "none".to_owned() } else { offered.join(", ") }
}

/// Dell's VRM0021 has two causes, and one of them lasts.
fn detached(attempts: &[Attempt]) -> &'static str {
    if attempts.iter().any(|attempt| attempt.error.as_ref().is_some_and(|error| error.contains("VRM0021"))) {
        ". An iDRAC says so, too, where its attribute VirtualMedia.1.Attached is Detached: set it to AutoAttach"
    } else {
        ""
    }
}

fn while_off(attempts: &[Attempt]) -> &'static str {
    if attempts.iter().any(|attempt| attempt.status == Some(409)) {
        ". Some BMCs take it only while the host is off: switch it off and try again"
    } else {
        ""
    }
}

fn asked(attempts: &[Attempt]) -> String {
    match attempts.last().and_then(|attempt| attempt.error.as_ref()) {
        None => "the BMC accepted".to_owned(),
        Some(error) => format!("the BMC has not answered when it was given ({error})"),
    }
}

fn other_medium(medium: Medium) -> &'static str {
    match medium {
        Medium::Cd => "; an image of format usb may fit",
        Medium::Usb => "; an image of format iso may fit",
    }
}

fn protocol_advice(wanted: &str, offered: &[String]) -> &'static str {
    let http = |name: &str| offered.iter().any(|protocol| protocol.eq_ignore_ascii_case(name));
    match wanted {
        "HTTP" if http("HTTPS") => "serve the media over HTTPS",
        "HTTPS" if http("HTTP") => "serve the media over plain HTTP",
        _ => "dayone serves HTTP and HTTPS only",
    }
}

fn shown(state: &MediaState) -> String {
    let flag = state.inserted.map_or_else(|| "nothing".to_owned(), |inserted| inserted.to_string());
    format!("Inserted {flag}, ConnectedVia {}", state.connected_via.as_deref().unwrap_or("nothing"))
}
