//! From an order to boots: which hosts, which BMCs, which images, and what shows that they have booted.

use std::net::IpAddr;

use hosts::every_host::ConvertedHost;
use hosts::network::Target;
use imagelib::base::Format;
use imagelib::recipe::RecipeId;
use vocabulary::host::{BmcSpec, HostSpec};
use vocabulary::report::Report;

use super::order::{BootOrder, Source};
use crate::api::images::{Order, Place, Sealed, Understood};
use crate::api::problem::{Problem, ProblemKind};
use crate::api::user_documents::UserDocuments;
use crate::api::{Api, documents};
use crate::boots::{BootOptions, CredentialsName, Evidence, GivenCredentials, NewBoot, call_home, static_addresses};
use redfish::bmc::Medium;
use redfish::{BmcAddress, Credentials, Password};

/// How long a host may take to boot, if nothing is said: servers test their memory for long.
const BOOTED_WITHIN: u64 = 30 * 60;

/// Nobody waits longer than a day.
const LONGEST: u64 = 24 * 60 * 60;

/// Boots that can be begun, and whose images are not published yet.
pub(super) struct Prepared {
    pub boots: Vec<NewBoot>,
    /// The images to publish.
    pub images: Vec<Sealed>,
    /// Warnings about the documents.
    pub report: Report,
}

/// Understands an order. Nothing is changed by it.
pub(super) fn prepare(api: &Api, order: &BootOrder) -> Result<Prepared, Problem> {
    check(order)?;
    match &order.source {
        Source::Order(image) => made(api, order, image),
        Source::Image { id, documents, host } => there(api, order, *id, documents.as_ref(), host.as_deref()),
    }
}

fn check(order: &BootOrder) -> Result<(), Problem> {
    for (name, seconds) in [("booted_within", order.booted_within), ("shutdown_within", order.shutdown_within)] {
        if seconds.is_some_and(|seconds| seconds > LONGEST) {
            return Err(Problem::new(ProblemKind::WrongParameter, format!("{name}: at most {LONGEST} seconds, a day")));
        }
    }
    if order.wait_for.as_ref().is_some_and(Vec::is_empty) {
        return Err(Problem::new(ProblemKind::WrongParameter, "wait_for: leave it out, or name what shows a boot"));
    }
    Ok(())
}

/// Images made for the hosts of the order's documents.
fn made(api: &Api, order: &BootOrder, image: &Order) -> Result<Prepared, Problem> {
    let medium = medium(image.format)?;
    let place = Place::of(&api.store, image)?;
    let Some(text) = &image.documents else {
        return Err(Problem::new(ProblemKind::NoHost, "a boot needs the host's documents, or its NMState"));
    };
    let (hosts, report) = documents::good_hosts(text, image.host.as_deref(), place.target(image))?;
    one_address(order, hosts.len())?;
    let mut prepared = Prepared { boots: Vec::new(), images: Vec::new(), report };
    for (host, network) in hosts {
        let addresses = static_addresses(&network.topology);
        let of_host = Some((&host, network));
        let mut understood = place.compose(&api.media_url, image.clone(), of_host, Report::new())?;
        let calls = add_call_home(api, order, &mut understood)?;
        let wait_for = wait_for(order, calls, !addresses.is_empty());
        let sealed = understood.seal();
        let (image, label) = (api.store.identity_of(&sealed.recipe), sealed.label.as_deref());
        let boot = new_boot(api, order, Some((&host, addresses)), label, image, medium, wait_for)?;
        prepared.boots.push(boot);
        prepared.images.push(sealed);
    }
    Ok(prepared)
}

/// An image that is there, for the hosts of some documents or for the BMC of the order.
fn there(
    api: &Api,
    order: &BootOrder,
    id: RecipeId,
    documents: Option<&UserDocuments>,
    host: Option<&str>,
) -> Result<Prepared, Problem> {
    let image = api.store.image(&id).ok_or_else(|| {
        Problem::new(
            ProblemKind::ImageRefused,
            format!("there is no image {id}; /v1/images lists those that there are"),
        )
    })?;
    let medium = medium(image.recipe().format)?;
    let (hosts, report) = match documents {
        Some(documents) => {
            let (hosts, mut report) = documents::hosts(documents, host, Target::default())?;
            documents::locate(documents, &mut report);
            (hosts, report)
        }
        None => (Vec::new(), Report::new()),
    };
    // Hosts that boot from one image call by one name: which of them it was, nobody could tell.
    let calls = hosts.len() < 2 && call_home::token(image.recipe(), &api.store).is_some();
    if !calls && order.wait_for.as_ref().is_some_and(|wait_for| wait_for.contains(&Evidence::CallHome)) {
        let why = if hosts.len() < 2 {
            "this image has no script that calls home"
        } else {
            "several hosts would call from one image, and could not be told apart"
        };
        return Err(no_call_home(why));
    }
    let label = image.label();
    let mut prepared = Prepared { boots: Vec::new(), images: Vec::new(), report };
    if documents.is_none() {
        let wait_for = wait_for(order, calls, false);
        prepared.boots.push(new_boot(api, order, None, label, id, medium, wait_for)?);
        return Ok(prepared);
    }
    one_address(order, hosts.len())?;
    for ConvertedHost { host, network, .. } in &hosts {
        let addresses = network.as_ref().map(|network| static_addresses(&network.topology)).unwrap_or_default();
        let wait_for = wait_for(order, calls, !addresses.is_empty());
        let label = host.name.as_deref().or(label);
        prepared.boots.push(new_boot(api, order, Some((host, addresses)), label, id, medium, wait_for)?);
    }
    Ok(prepared)
}

/// How a BMC shows an image of this format to its host.
fn medium(format: Format) -> Result<Medium, Problem> {
    match format {
        Format::Iso | Format::MinimalIso => Ok(Medium::Cd),
        Format::Usb => Ok(Medium::Usb),
        Format::Initrd | Format::Data => {
            let detail = "hosts are booted from virtual media: formats iso, minimal-iso and usb";
            Err(Problem::new(ProblemKind::ImageRefused, detail))
        }
    }
}

/// An address in the request is that of one BMC.
fn one_address(order: &BootOrder, hosts: usize) -> Result<(), Problem> {
    if hosts > 1 && order.bmc.address.is_some() {
        let detail = "the documents describe several hosts, and the request gives one BMC's address; say which host \
                      (host), or leave the addresses to the documents (spec.bmc.address)";
        return Err(Problem::new(ProblemKind::SeveralHosts, detail));
    }
    Ok(())
}

/// Has the host call home, where that is wanted and can be. Whether it will.
fn add_call_home(api: &Api, order: &BootOrder, understood: &mut Understood) -> Result<bool, Problem> {
    let asked = order.wait_for.as_ref().map(|wait_for| wait_for.contains(&Evidence::CallHome));
    if asked == Some(false) {
        return Ok(false);
    }
    let added = call_home::add(&mut understood.recipe, &understood.open.base, &api.store, &api.media_url);
    match (added, asked) {
        (Ok(Some(_)), _) => Ok(true),
        (Ok(None), Some(true)) => Err(no_call_home("the system of this base has no NetworkManager that would call")),
        (Err(error), Some(true)) => Err(no_call_home(&error.to_string())),
        (Ok(None) | Err(_), _) => Ok(false),
    }
}

fn no_call_home(why: &str) -> Problem {
    let detail = format!("wait_for: the host cannot call home: {why}; wait for boot-progress, reachable or reading");
    Problem::new(ProblemKind::ImageRefused, detail)
}

fn wait_for(order: &BootOrder, calls: bool, has_addresses: bool) -> Vec<Evidence> {
    match &order.wait_for {
        Some(wait_for) => wait_for.clone(),
        None if calls => vec![Evidence::CallHome],
        None if has_addresses => vec![Evidence::BootProgress, Evidence::Reachable],
        None => vec![Evidence::BootProgress],
    }
}

fn new_boot(
    api: &Api,
    order: &BootOrder,
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
    let address = order.bmc.address.as_deref().or(bmc.map(|bmc| bmc.address.as_str())).ok_or_else(|| {
        refused("nothing says where its BMC is: give spec.bmc.address in the documents, or bmc.address".to_owned())
    })?;
    let address: BmcAddress = address.parse().map_err(|error| refused(format!("{error}")))?;
    let in_documents = bmc.is_some_and(|bmc| bmc.disable_certificate_verification);
    Ok(NewBoot {
        host: label.map(ToOwned::to_owned),
        image,
        medium,
        boot_mode: host.and_then(|host| host.boot_mode),
        address,
        disable_certificate_verification: order.bmc.disable_certificate_verification.unwrap_or(in_documents),
        credentials: credentials(api, order, bmc).map_err(refused)?,
        options: BootOptions {
            wait_for,
            booted_within: order.booted_within.unwrap_or(BOOTED_WITHIN),
            shutdown_within: order.shutdown_within.unwrap_or_default(),
            eject: order.eject,
            power_off: order.power_off,
        },
        addresses,
    })
}

/// What logs in at the BMC: the request's name first, the documents' Secret, the server's own Secret of that name, and
/// then what the server uses for all.
fn credentials(api: &Api, order: &BootOrder, bmc: Option<&BmcSpec>) -> Result<GivenCredentials, String> {
    if let Some(name) = &order.bmc.credentials {
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
            "{reason}; hand the Secret over with the host, or keep it on the server (--bmc-credentials DIR with \
             DIR/{name}/username and DIR/{name}/password)"
        )),
    }
}
