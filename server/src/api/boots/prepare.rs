//! Prepares boots from an order: their hosts, BMCs and images, and the signs that a host has booted.

use std::net::IpAddr;

use hosts::every_host::ConvertedHost;
use hosts::model::Topology;
use hosts::network::Target;
use imagelib::base::{Base, Format};
use imagelib::ram_disk::{RamDisk, RamDiskVerdict};
use imagelib::recipe::RecipeId;
use vocabulary::host::{BmcSpec, HostSpec};
use vocabulary::report::Report;

use super::clients;
use super::order::{BootOrder, BootSettings, Source};
use crate::api::images::{Draft, Order, OrderedBase, Sealed};
use crate::api::problem::{Problem, ProblemKind};
use crate::api::user_documents::UserDocuments;
use crate::api::{Api, documents};
use crate::boots::{
    BootMethod, BootOnlyFrom, BootOptions, CredentialsName, Evidence, GivenCredentials, NewBoot, call_home,
    firmware_network, static_addresses,
};
use redfish::bmc::{FirmwareNetwork, Medium};
use redfish::{BmcAddress, Credentials, Password};

/// How long a host may take to boot by default, in seconds: servers take long to test their memory.
const DEFAULT_BOOTED_WITHIN: u64 = 30 * 60;

/// The maximum of both time limits, in seconds: a day.
const MAX_SECONDS: u64 = 24 * 60 * 60;

/// Boots that can begin, and whose images are not published yet.
pub(super) struct Prepared {
    pub boots: Vec<NewBoot>,
    /// The images to publish.
    pub images: Vec<Sealed>,
    /// Warnings about the documents.
    pub report: Report,
}

/// Prepares the boots of an order. Changes nothing.
pub(super) fn prepare(api: &Api, order: &BootOrder) -> Result<Prepared, Problem> {
    check(&order.settings)?;
    match &order.source {
        Source::Order(image) => with_new_images(api, &order.settings, image),
        Source::Image { id, documents, host } => {
            with_existing_image(api, &order.settings, *id, documents.as_ref(), host.as_deref())
        }
    }
}

fn check(settings: &BootSettings) -> Result<(), Problem> {
    for (name, seconds) in [("booted_within", settings.booted_within), ("shutdown_within", settings.shutdown_within)] {
        if seconds.is_some_and(|seconds| seconds > MAX_SECONDS) {
            return Err(Problem::new(
                ProblemKind::WrongParameter,
                format!("{name}: at most {MAX_SECONDS} seconds, a day"),
            ));
        }
    }
    if settings.booted_within == Some(0) {
        return Err(Problem::new(ProblemKind::WrongParameter, "booted_within: at least 1 second"));
    }
    if let Some(interface) = &settings.firmware_interface {
        check_interface(settings, interface)?;
    }
    if settings.wait_for.as_ref().is_some_and(Vec::is_empty) {
        return Err(Problem::new(ProblemKind::WrongParameter, "wait_for: leave it out, or list at least one sign"));
    }
    Ok(())
}

fn check_interface(settings: &BootSettings, interface: &str) -> Result<(), Problem> {
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte));
    if interface.is_empty() || interface.len() > 64 || !is_word(interface) {
        let detail = "firmware_interface: give the firmware's name of a NIC, such as NIC.Integrated.1-1-1";
        return Err(Problem::new(ProblemKind::WrongParameter, detail));
    }
    if settings.method == Some(BootMethod::VirtualMedia) { Err(only_for_http()) } else { Ok(()) }
}

fn only_for_http() -> Problem {
    let detail = "firmware_interface: only for the method http, in which the firmware has a network";
    Problem::new(ProblemKind::WrongParameter, detail)
}

/// The text of the BMC's address: that of the request, or else that of the host's document.
fn address<'a>(settings: &'a BootSettings, host: Option<&'a HostSpec>) -> Option<&'a str> {
    let given = settings.bmc.as_ref().and_then(|given| given.address.as_deref());
    given.or_else(|| Some(host?.bmc.as_ref()?.address.as_str()))
}

/// How the host gets its image. If the request does not say, the scheme of the BMC's address does.
fn method(settings: &BootSettings, host: Option<&HostSpec>) -> BootMethod {
    settings.method.unwrap_or_else(|| match address(settings, host).map(str::parse::<BmcAddress>) {
        Some(Ok(address)) if address.is_for_uefi_http() => BootMethod::Http,
        _ => BootMethod::default(),
    })
}

/// Prepares boots with a new image for each host of the documents.
fn with_new_images(api: &Api, settings: &BootSettings, image: &Order) -> Result<Prepared, Problem> {
    let medium = medium(image.format)?;
    let base = OrderedBase::find(&api.store, &image.request)?;
    let Some(text) = &image.documents else {
        return Err(Problem::new(ProblemKind::NoHost, "give the host's documents or its NMState"));
    };
    let (hosts, report) = documents::good_hosts(text, image.request.host.as_deref(), base.target(&image.request))?;
    check_address(settings, hosts.len())?;
    image.check_copies(hosts.len())?;
    // Each host gets a copy of the order, and needs no documents any more.
    let order = Order { documents: None, ..image.clone() };
    let is_open = image.limits.only_from.is_none();
    let mut prepared = Prepared { boots: Vec::new(), images: Vec::new(), report };
    let mut clients_of_hosts = Vec::new();
    for (host, network) in hosts {
        let addresses = static_addresses(&network.topology);
        clients_of_hosts.push(clients::of_host(&api.media_url, &network.topology));
        let method = method(settings, Some(&host));
        let firmware = firmware(api, settings, method, Some(&network.topology), host.name.as_deref())?;
        let of_host = Some((&host, network));
        let mut draft = base.compose(&api.media_url, order.clone(), of_host, Report::new())?;
        check_method(method, &draft.open.base, image.format)?;
        prepared.report.append(std::mem::take(&mut draft.report));
        let calls = add_call_home(api, settings, &mut draft)?;
        let wait_for = wait_for(settings, calls, !addresses.is_empty());
        let sealed = draft.seal(&api.store)?;
        let (image, label) = (api.store.identity_of(&sealed.recipe), sealed.label.as_deref());
        let mut boot = new_boot(api, settings, Some((&host, addresses)), label, image, medium, wait_for)?;
        boot.firmware_network = firmware;
        prepared.boots.push(boot);
        prepared.images.push(sealed);
    }
    if api.boots.only_from() == BootOnlyFrom::Bmc && is_open {
        clients::restrict(api, &prepared.boots, clients_of_hosts, &mut prepared.images)?;
    }
    Ok(prepared)
}

/// Prepares boots with an existing image, for the hosts of documents or for the BMC of the order.
fn with_existing_image(
    api: &Api,
    settings: &BootSettings,
    id: RecipeId,
    documents: Option<&UserDocuments>,
    host: Option<&str>,
) -> Result<Prepared, Problem> {
    let image = api.store.image(&id).ok_or_else(|| {
        Problem::new(ProblemKind::ImageRefused, format!("no image has the id {id}; /v1/images lists the images"))
    })?;
    let medium = medium(image.format())?;
    let (hosts, report) = match documents {
        Some(documents) => {
            let (hosts, mut report) = documents::hosts(documents, host, Target::default())?;
            documents::locate(documents, &mut report);
            (hosts, report)
        }
        None => (Vec::new(), Report::new()),
    };
    if let Some(planned) = image.available() {
        let methods = hosts.iter().map(|host| method(settings, Some(&host.host)));
        for method in methods.chain(documents.is_none().then(|| method(settings, None))) {
            check_method(method, &planned.base.base, image.format())?;
        }
    }
    // Hosts that boot from one image call home with the same token, so nothing could tell them apart.
    let calls = hosts.len() < 2 && call_home::token(image.recipe().map_err(Problem::internal)?.recipe()).is_some();
    if !calls && settings.wait_for.as_ref().is_some_and(|wait_for| wait_for.contains(&Evidence::CallHome)) {
        let why = if hosts.len() < 2 {
            "this image has no script that calls home"
        } else {
            "several hosts boot from this image, and their calls look alike"
        };
        return Err(no_call_home(why));
    }
    let label = image.label();
    let mut prepared = Prepared { boots: Vec::new(), images: Vec::new(), report };
    if documents.is_none() {
        let wait_for = wait_for(settings, calls, false);
        firmware(api, settings, method(settings, None), None, label)?;
        prepared.boots.push(new_boot(api, settings, None, label, id, medium, wait_for)?);
        return Ok(prepared);
    }
    check_address(settings, hosts.len())?;
    for ConvertedHost { host, network, .. } in &hosts {
        let addresses = network.as_ref().map(|network| static_addresses(&network.topology)).unwrap_or_default();
        let wait_for = wait_for(settings, calls, !addresses.is_empty());
        let label = host.name.as_deref().or(label);
        let topology = network.as_ref().map(|network| &network.topology);
        let firmware = firmware(api, settings, method(settings, Some(host)), topology, label)?;
        let mut boot = new_boot(api, settings, Some((host, addresses)), label, id, medium, wait_for)?;
        boot.firmware_network = firmware;
        prepared.boots.push(boot);
    }
    Ok(prepared)
}

/// Returns the static network for a host's firmware, if the documents have one. Fails if the request names a NIC for it and the documents
/// have none.
fn firmware(
    api: &Api,
    settings: &BootSettings,
    method: BootMethod,
    topology: Option<&Topology>,
    label: Option<&str>,
) -> Result<Option<FirmwareNetwork>, Problem> {
    if method != BootMethod::Http {
        return if settings.firmware_interface.is_some() { Err(only_for_http()) } else { Ok(None) };
    }
    let interface = settings.firmware_interface.clone();
    let found = topology.map_or_else(
        || Err("there are no documents".to_owned()),
        |topology| firmware_network::of(&api.media_url, topology, interface),
    );
    match found {
        Ok(network) => Ok(Some(network)),
        Err(why) if settings.firmware_interface.is_some() => {
            let name = label.unwrap_or("the host");
            let detail =
                format!("{name}: firmware_interface: the firmware cannot have an address of the documents: {why}");
            Err(Problem::new(ProblemKind::WrongParameter, detail))
        }
        Err(_) => Ok(None),
    }
}

/// Refuses HTTP boot for an image whose system does not find its medium in memory.
fn check_method(method: BootMethod, base: &Base, format: Format) -> Result<(), Problem> {
    match RamDisk::of(base, format).filter(|_| method == BootMethod::Http) {
        Some(RamDisk { verdict: RamDiskVerdict::Impossible, reason }) => {
            let detail = format!("method: the image does not boot by HTTP: {reason}; or boot it from virtual media");
            Err(Problem::new(ProblemKind::ImageRefused, detail))
        }
        _ => Ok(()),
    }
}

/// Returns how a BMC shows an image of this format to its host.
fn medium(format: Format) -> Result<Medium, Problem> {
    match format {
        Format::Iso | Format::MinimalIso => Ok(Medium::Cd),
        Format::Usb => Ok(Medium::Usb),
        Format::Initrd | Format::Data => {
            let detail = "hosts boot from virtual media: choose the format iso, minimal-iso or usb";
            Err(Problem::new(ProblemKind::ImageRefused, detail))
        }
    }
}

/// Refuses an address in the request if there are several hosts, because it is the address of one BMC.
fn check_address(settings: &BootSettings, hosts: usize) -> Result<(), Problem> {
    if hosts > 1 && settings.bmc.as_ref().is_some_and(|bmc| bmc.address.is_some()) {
        let detail = "the documents describe several hosts, and the request has the address of one BMC; name the host \
                      (host), or put the addresses into the documents (spec.bmc.address)";
        return Err(Problem::new(ProblemKind::SeveralHosts, detail));
    }
    Ok(())
}

/// Makes the host call home, if the request allows that and the system supports it. Returns whether it will.
fn add_call_home(api: &Api, settings: &BootSettings, draft: &mut Draft) -> Result<bool, Problem> {
    let requested = settings.wait_for.as_ref().map(|wait_for| wait_for.contains(&Evidence::CallHome));
    if requested == Some(false) {
        return Ok(false);
    }
    let added = call_home::add(&mut draft.recipe, &draft.open.base, &api.store, &api.media_url);
    match (added, requested) {
        (Ok(Some(_)), _) => Ok(true),
        (Ok(None), Some(true)) => Err(no_call_home("the system of this base has no NetworkManager")),
        (Err(error), Some(true)) => Err(no_call_home(&error.to_string())),
        (Ok(None) | Err(_), _) => Ok(false),
    }
}

fn no_call_home(why: &str) -> Problem {
    let detail = format!("wait_for: the host cannot call home: {why}; wait for boot-progress, reachable or reading");
    Problem::new(ProblemKind::ImageRefused, detail)
}

fn wait_for(settings: &BootSettings, calls: bool, has_addresses: bool) -> Vec<Evidence> {
    match &settings.wait_for {
        Some(wait_for) => wait_for.clone(),
        None if calls => vec![Evidence::CallHome],
        None if has_addresses => vec![Evidence::BootProgress, Evidence::Reachable],
        None => vec![Evidence::BootProgress],
    }
}

fn new_boot(
    api: &Api,
    settings: &BootSettings,
    host: Option<(&HostSpec, Vec<IpAddr>)>,
    label: Option<&str>,
    image: RecipeId,
    medium: Medium,
    wait_for: Vec<Evidence>,
) -> Result<NewBoot, Problem> {
    let name = label.unwrap_or("the host");
    let refused = |detail: String| Problem::new(ProblemKind::BmcRefused, format!("{name}: {detail}"));
    let (host, addresses) = host.map_or((None, Vec::new()), |(host, addresses)| (Some(host), addresses));
    let bmc = host.and_then(|host| host.bmc.as_ref());
    let given = settings.bmc.as_ref();
    let address = address(settings, host).ok_or_else(|| {
        refused("the address of its BMC is missing: give spec.bmc.address in the documents, or bmc.address".to_owned())
    })?;
    let address: BmcAddress = address.parse().map_err(|error| refused(format!("{error}")))?;
    let in_documents = bmc.is_some_and(|bmc| bmc.disable_certificate_verification);
    Ok(NewBoot {
        host: label.map(ToOwned::to_owned),
        image,
        method: method(settings, host),
        medium,
        boot_mode: host.and_then(|host| host.boot_mode),
        address,
        disable_certificate_verification: given
            .and_then(|given| given.disable_certificate_verification)
            .unwrap_or(in_documents),
        credentials: credentials(api, settings, bmc).map_err(refused)?,
        options: BootOptions {
            wait_for,
            booted_within: settings.booted_within.unwrap_or(DEFAULT_BOOTED_WITHIN),
            shutdown_within: settings.shutdown_within.unwrap_or_default(),
            eject: settings.eject.unwrap_or_default(),
            power_off: settings.power_off,
            ignore_secure_boot: settings.ignore_secure_boot,
        },
        addresses,
        firmware_network: None,
    })
}

/// Returns the first of these credentials: the name in the request, the Secret in the documents, the server's own credentials
/// with the name of that Secret, and the server's default credentials.
fn credentials(api: &Api, settings: &BootSettings, bmc: Option<&BmcSpec>) -> Result<GivenCredentials, String> {
    if let Some(name) = settings.bmc.as_ref().and_then(|bmc| bmc.credentials.as_ref()) {
        api.boots.check_credentials(name).map_err(|error| error.to_string())?;
        return Ok(GivenCredentials::Named(name.clone()));
    }
    let Some(bmc) = bmc else { return Ok(GivenCredentials::Default) };
    let reason = match &bmc.credentials {
        Ok(read) => {
            let password = Password::from(read.password.clone());
            let credentials = Credentials::new(read.username.clone(), password).map_err(|error| error.to_string())?;
            return Ok(GivenCredentials::Inline(credentials));
        }
        Err(reason) => reason,
    };
    let Some(name) = &bmc.credentials_name else { return Ok(GivenCredentials::Default) };
    match name.parse::<CredentialsName>() {
        Ok(name) if api.boots.has_credentials(&name) => {
            api.boots.check_credentials(&name).map_err(|error| error.to_string())?;
            Ok(GivenCredentials::Named(name))
        }
        _ if api.boots.has_default_credentials() => Ok(GivenCredentials::Default),
        _ => Err(format!(
            "{reason}; send the Secret with the host, or keep it on the server (dayone serve --bmc-credentials DIR with \
             DIR/{name}/username and DIR/{name}/password); for dayone boot without a server, give --bmc-username and \
             --bmc-password-file"
        )),
    }
}
