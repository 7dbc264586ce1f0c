//! Why a BMC does not do what a boot needs.

use std::time::Duration;

use http::StatusCode;

use super::attempt::Attempt;
use super::firmware::FirmwareError;
use super::medium::Medium;
use super::properties::some_of;
use super::state::{BootMode, MediaState, PowerState};
use super::vendor::Vendor;
use crate::RedfishError;

/// Why a BMC does not do what a boot needs. The text quotes the BMC, without secrets, and says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BmcError {
    /// The connection, the login, or a request failed for which there is no other form.
    #[error(transparent)]
    Redfish(#[from] RedfishError),
    /// The BMC lists no System.
    #[error("the BMC lists no System; put the System's path into the BMC's address (…/redfish/v1/Systems/ID)")]
    NoSystem,
    /// The BMC has several Systems, with these paths, and the address names none of them.
    #[error("the BMC has several Systems; put the path of one into the BMC's address: {}", some_of(.0))]
    SeveralSystems(Vec<String>),
    /// The address names a System that the BMC does not have.
    #[error("the BMC has no System {path}; it has: {}", some_of(systems))]
    UnknownSystem {
        /// The path in the address.
        path: String,
        /// The paths of the BMC's Systems.
        systems: Vec<String>,
    },
    /// The BMC has no slots for virtual media.
    #[error("the BMC shows no slots for virtual media: {}", .0.advice())]
    NoSlots(Vendor),
    /// The BMC refuses to show its slots for virtual media (403).
    #[error(
        "the BMC refuses to show its slots for virtual media: {refusal}. Check the privileges of the account; {}. A host can boot \
         without virtual media by HTTP (method=http)",
        vendor.advice()
    )]
    SlotsRefused {
        /// The BMC's vendor.
        vendor: Vendor,
        /// The request and the BMC's messages.
        refusal: String,
    },
    /// None of the BMC's slots accepts the medium.
    #[error(
        "the BMC has no slot that takes {medium} by URL; it has: {}{}", slots.join(", "), other_medium(*medium)
    )]
    NoSuitableSlot {
        /// The medium to insert.
        medium: Medium,
        /// The BMC's slots, each with its media types.
        slots: Vec<String>,
    },
    /// The BMC fetches images only by other protocols.
    #[error(
        "the BMC does not fetch images by {wanted}, only by {}: {}",
        offered.join(", "),
        protocol_advice(wanted, offered)
    )]
    Protocol {
        /// The protocol of the image's URL.
        wanted: &'static str,
        /// The values of `TransferProtocolType` that the BMC lists.
        offered: Vec<String>,
    },
    /// The BMC refuses the image's URL.
    #[error(
        "the BMC does not accept the image's URL: {message}. Some BMCs accept https:// only, some http:// only, and \
         some no host names or no IPv6 addresses: find out what this BMC fetches, and serve the images that way"
    )]
    Url {
        /// The BMC's messages.
        message: String,
        /// Every request that was sent.
        attempts: Vec<Attempt>,
    },
    /// The BMC accepted the request, but could not read the image.
    #[error(
        "the BMC could not fetch the image: {message}. Check that the BMC reaches the media address: its route, the \
         firewall, its DNS if the URL has a host name, and its trust in the certificate if the URL has https://"
    )]
    ImageUnreachable {
        /// The BMC's messages.
        message: String,
        /// Every request that was sent.
        attempts: Vec<Attempt>,
    },
    /// The BMC needs a licence for virtual media.
    #[error("the BMC asks for a licence: {message}; {}", vendor.advice())]
    Licence {
        /// The BMC's vendor.
        vendor: Vendor,
        /// The BMC's messages.
        message: String,
    },
    /// The BMC refused every form of the insert request.
    #[error("the BMC does not insert the image; {}{}", tried(&refused(attempts)), detached(attempts))]
    InsertRefused {
        /// Every request that was sent.
        attempts: Vec<Attempt>,
    },
    /// The BMC accepted the insert request, but the slot does not show the image.
    #[error(
        "{}, but has not inserted it within {} s; {slot} shows {}. Check what the BMC has read of the image: if it has \
         read nothing, it cannot reach the media address", accepted(attempts), after.as_secs(), shown(state)
    )]
    NotInserted {
        /// The slot's path.
        slot: String,
        /// What the slot shows.
        state: Box<MediaState>,
        /// The time limit.
        after: Duration,
        /// Every request that was sent.
        attempts: Vec<Attempt>,
    },
    /// The medium stays in its slot.
    #[error(
        "the BMC does not eject the medium in {slot}, which shows {}; {}. Some BMCs eject only while the host is off: \
         switch the host off and eject again",
        shown(state),
        tried(attempts)
    )]
    NotEjected {
        /// The slot's path.
        slot: String,
        /// What the slot shows.
        state: Box<MediaState>,
        /// Every request that was sent.
        attempts: Vec<Attempt>,
    },
    /// The BMC does not offer the boot mode.
    #[error("the BMC does not accept the boot mode {mode}{}", accepted_modes(offered.as_deref()))]
    Mode {
        /// The mode that the caller asked for.
        mode: BootMode,
        /// The modes that the BMC lists, if it does.
        offered: Option<Vec<String>>,
    },
    /// The BMC refused every form of the boot override.
    #[error("the BMC does not make the image the source of the next boot; {}{}", tried(attempts), while_off(attempts))]
    BootRefused {
        /// Every request that was sent.
        attempts: Vec<Attempt>,
    },
    /// A boot override or a boot order that does not end by itself was not restored.
    #[error("the BMC does not restore what the host boots from, which applies to every boot until it is restored: {0}")]
    NotRestored(Box<BmcError>),
    /// The BMC lists its boot targets, and HTTP boot is not on the list.
    #[error(
        "the BMC offers no UEFI HTTP boot (UefiHttp); it can boot from {}. Enable HTTP boot in the firmware's setup if it is \
         switched off there, or boot from virtual media",
        listed(offered)
    )]
    NoHttpBoot {
        /// The boot targets that the BMC lists.
        offered: Vec<String>,
    },
    /// The BMC has no property for the URL, and dayone does not know the vendor's own.
    #[error(
        "{0}'s BMC has no HttpBootUri, so it cannot be told from where the firmware is to boot; boot from virtual media"
    )]
    NoHttpBootUri(Vendor),
    /// Only UEFI boots by HTTP.
    #[error(
        "only UEFI boots by HTTP, and the host is in legacy mode or is to be: set spec.bootMode to UEFI, or boot from virtual media"
    )]
    HttpBootNeedsUefi,
    /// The BMC accepted the URL, and does not show it.
    #[error(
        "the BMC accepted the URL for HTTP boot, but does not show it as HttpBootUri: the firmware would ask DHCP for a URL instead. \
         Boot from virtual media, or update the BMC's firmware"
    )]
    HttpUriNotKept {
        /// Every request that was sent.
        attempts: Vec<Attempt>,
    },
    /// The settings of the host's firmware cannot be changed for HTTP boot.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// The System with this path has no reset action.
    #[error("the BMC offers no way to switch {0} on or off")]
    NoReset(String),
    /// The BMC does not offer the reset types that the power action needs. Nothing was sent.
    #[error("the BMC cannot {wanted}: that needs the reset type {needed}. The BMC offers {}", listed(offered))]
    PowerUnsupported {
        /// What to do, such as `switch the host off`.
        wanted: &'static str,
        /// The reset types that do it.
        needed: &'static str,
        /// The reset types that the BMC lists.
        offered: Vec<String>,
    },
    /// The BMC refused every reset type that would change the power.
    #[error("the BMC does not switch the host {wanted}; {}", tried(attempts))]
    PowerRefused {
        /// The power state to reach.
        wanted: PowerState,
        /// Every request for this that the BMC refused. The accepted ones before, such as that to switch the host off, are not among them.
        attempts: Vec<Attempt>,
    },
    /// The BMC accepted the request, but the power state did not change in time.
    #[error("the host is still {state} and not {wanted} after {} s; look at the BMC's console", after.as_secs())]
    PowerTimeout {
        /// The power state to reach.
        wanted: PowerState,
        /// The power state that the BMC reports.
        state: PowerState,
        /// The time limit.
        after: Duration,
    },
    /// The BMC has several Systems and several Managers, and says of none of them that it is this System's.
    #[error(
        "the BMC has several Systems, and does not say which of its Managers belongs to {system}: neither Links/ManagedBy of the System \
         nor Links/ManagerForServers of a Manager does. A slot of {} may be that of another machine, so dayone inserts nothing. Boot \
         this host by HTTP (method=http), or update the BMC's firmware",
        managers.join(" or ")
    )]
    UnknownManager {
        /// The System's path.
        system: String,
        /// The paths of the Managers.
        managers: Vec<String>,
    },
    /// The change of the power was interrupted ([`Bmc::interruptible`](super::Bmc::interruptible)). With the host's power state.
    #[error("the change of the host's power was interrupted; the host's power state is {0}")]
    Interrupted(PowerState),
}

impl BmcError {
    /// Every request that was sent to change something, in order.
    pub fn attempts(&self) -> &[Attempt] {
        match self {
            Self::Url { attempts, .. }
            | Self::ImageUnreachable { attempts, .. }
            | Self::InsertRefused { attempts }
            | Self::NotInserted { attempts, .. }
            | Self::NotEjected { attempts, .. }
            | Self::BootRefused { attempts }
            | Self::HttpUriNotKept { attempts }
            | Self::PowerRefused { attempts, .. } => attempts,
            Self::Firmware(error) => error.attempts(),
            Self::NotRestored(error) => error.attempts(),
            _ => &[],
        }
    }

    /// Whether the same call may succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NotRestored(error) => error.is_transient(),
            Self::NotInserted { .. } | Self::NotEjected { .. } | Self::PowerTimeout { .. } => true,
            error => error.is_unavailable(),
        }
    }

    /// Whether the answer may be that of a web server whose Redfish service starts, if the BMC has answered well before.
    pub fn may_be_starting(&self) -> bool {
        let Self::Redfish(error) = self else { return false };
        matches!(error, RedfishError::NotJson { .. }) || error.status() == Some(StatusCode::NOT_FOUND)
    }

    /// Whether the same read may succeed a little later, of a resource that is polled and was read before.
    pub(super) fn may_pass(&self) -> bool {
        self.is_transient() || self.may_be_starting()
    }

    /// Whether the reason is that the BMC did not answer, or was too busy for the request.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Redfish(error) => error.is_transient(),
            Self::NotRestored(error) => error.is_unavailable(),
            Self::InsertRefused { attempts }
            | Self::BootRefused { attempts }
            | Self::PowerRefused { attempts, .. }
            | Self::Firmware(FirmwareError::Refused { attempts }) => {
                attempts.last().is_some_and(Attempt::is_unavailable)
            }
            // The last form is often one that the BMC does not know.
            Self::NotEjected { attempts, .. } => attempts.iter().any(Attempt::is_unavailable),
            _ => false,
        }
    }
}

fn tried(attempts: &[Attempt]) -> String {
    match attempts {
        [] => "the BMC offers no way to do it".to_owned(),
        [only] => only.to_string(),
        // The answer to the plainest request, the first, often says why. Later ones may only say that they are not
        // plain.
        [first, .., last] => format!("{} requests were tried, the first: {first}; the last: {last}", attempts.len()),
    }
}

/// The requests that the BMC refused. Those that it accepted before, such as to eject another medium, do not say why it then refused.
fn refused(attempts: &[Attempt]) -> Vec<Attempt> {
    attempts.iter().filter(|attempt| !attempt.succeeded()).cloned().collect()
}

fn listed(offered: &[String]) -> String {
    if offered.is_empty() { "none".to_owned() } else { offered.join(", ") }
}

/// Dell's VRM0021 has two causes: the drive is in use, which passes, or virtual media is detached, which does not.
fn detached(attempts: &[Attempt]) -> &'static str {
    if attempts.iter().any(|attempt| attempt.error.as_ref().is_some_and(|error| error.contains("VRM0021"))) {
        ". An iDRAC also answers this if its attribute VirtualMedia.1.Attached is Detached: set it to AutoAttach"
    } else {
        ""
    }
}

fn while_off(attempts: &[Attempt]) -> &'static str {
    if attempts.iter().any(Attempt::may_need_host_off) {
        ". Some BMCs accept it only while the host is off: switch the host off and try again"
    } else {
        ""
    }
}

fn accepted(attempts: &[Attempt]) -> String {
    let Some(last) = attempts.last() else { return "the BMC accepted the image".to_owned() };
    match &last.error {
        None => format!("the BMC accepted the image{}", last.task_warning()),
        Some(error) => format!("the BMC received the image's URL and did not answer ({error})"),
    }
}

fn accepted_modes(offered: Option<&[String]>) -> String {
    offered.map(|modes| format!(" (it accepts {})", modes.join(", "))).unwrap_or_default()
}

fn other_medium(medium: Medium) -> &'static str {
    match medium {
        Medium::Cd => "; an image of format usb may fit",
        Medium::Usb => "; an image of format iso may fit",
    }
}

fn protocol_advice(wanted: &str, offered: &[String]) -> &'static str {
    let offers = |name: &str| offered.iter().any(|protocol| protocol.eq_ignore_ascii_case(name));
    match wanted {
        "HTTP" if offers("HTTPS") => "serve the images over HTTPS",
        "HTTPS" if offers("HTTP") => "serve the images over plain HTTP",
        _ => "images are served over HTTP and HTTPS only",
    }
}

fn shown(state: &MediaState) -> String {
    let inserted = state.inserted.map_or_else(|| "nothing".to_owned(), |inserted| inserted.to_string());
    format!("Inserted {inserted}, ConnectedVia {}", state.connected_via.as_deref().unwrap_or("nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_systems_the_first_are_named() {
        let systems = |count: usize| (0..count).map(|number| format!("/redfish/v1/Systems/{number}")).collect();
        let few = BmcError::SeveralSystems(systems(2)).to_string();
        assert!(few.ends_with("address: /redfish/v1/Systems/0, /redfish/v1/Systems/1"), "{few}");
        let path = "/redfish/v1/Systems/x".to_owned();
        for error in [BmcError::SeveralSystems(systems(4096)), BmcError::UnknownSystem { path, systems: systems(4096) }]
        {
            let text = error.to_string();
            assert!(text.len() < 2000 && text.ends_with("/Systems/23 and 4072 more"), "{text}");
        }
    }
}
