//! What is decided without asking a BMC: tables from what it shows or refuses to what it is sent.

use http::StatusCode;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::attempt::{self, Fault, Meaning};
use super::properties::clean;
use super::survey::Slot;
use super::vendor::{Evidence, idrac_generation};
use super::*;
use crate::{Failure, Message, RedfishError, RequestLine};

mod forms;
mod power;

const URL: &str = "http://192.0.2.1:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso";

fn slot(id: &str, media_types: &[&str], has_action: bool) -> Slot {
    let path = format!("/redfish/v1/Managers/1/VirtualMedia/{id}");
    let target = format!("{path}/Actions/VirtualMedia.InsertMedia");
    let actions = if has_action { json!({"#VirtualMedia.InsertMedia": {"target": target}}) } else { json!({}) };
    Slot::read(&path, &json!({"Id": id, "MediaTypes": media_types, "Actions": actions}))
}

fn survey(vendor: Vendor, manager_model: &str, slots: Vec<Slot>, system: &Value) -> Survey {
    Survey {
        vendor,
        product: None,
        redfish_version: None,
        system: System::read("/redfish/v1/Systems/1".to_owned(), Properties::new(system)),
        managers: vec![Manager {
            path: "/redfish/v1/Managers/1".to_owned(),
            model: Some(manager_model.to_owned()),
            firmware_version: None,
            dell_attributes: (vendor == Vendor::Dell).then(|| "/redfish/v1/Managers/1/Attributes".to_owned()),
        }],
        slots,
        unknown_managers: Vec::new(),
        refused_slots: None,
        hidden_slots: Vec::new(),
        notes: Vec::new(),
    }
}

fn refusal(status: u16, id: &str, text: &str, about: &[&str]) -> RedfishError {
    let message = Message {
        id: id.to_owned(),
        text: text.to_owned(),
        resolution: None,
        about: about.iter().map(|about| (*about).to_owned()).collect(),
    };
    RedfishError::Status(Box::new(Failure {
        request: RequestLine { method: "POST", path: "/redfish/v1/x".to_owned() },
        status: StatusCode::from_u16(status).unwrap(),
        messages: vec![message],
        retry_after: None,
    }))
}

#[test]
fn vendors_are_detected_by_their_firmware() {
    let text = |text: &str| Some(text.to_owned());
    let (ami, hpe, lenovo) = (json!({"Ami": {}}), json!({"Hpe": {}}), json!({"Lenovo": {}}));
    let cases = [
        (Evidence { root: [text("Dell"), None], ..Evidence::default() }, Vendor::Dell),
        (Evidence { root: [text("HPE"), text("ProLiant DL360 Gen10")], ..Evidence::default() }, Vendor::Hpe),
        (Evidence { oem: [Some(&hpe), None], ..Evidence::default() }, Vendor::Hpe),
        (Evidence { root: [text("Lenovo"), None], oem: [Some(&ami), None], ..Evidence::default() }, Vendor::Ami),
        (Evidence { root: [text("Lenovo"), None], oem: [Some(&lenovo), None], ..Evidence::default() }, Vendor::Lenovo),
        (
            Evidence { manager: [None, text("OpenBmc")], system: text("Cisco Systems"), ..Evidence::default() },
            Vendor::OpenBmc,
        ),
        (Evidence { system: text("Supermicro"), ..Evidence::default() }, Vendor::Supermicro),
        (Evidence { system: text("FUJITSU"), ..Evidence::default() }, Vendor::Fujitsu),
        (Evidence { system: text("Sushy Emulator"), ..Evidence::default() }, Vendor::Other),
        (Evidence::default(), Vendor::Other),
    ];
    for (evidence, vendor) in cases {
        assert_eq!(Vendor::detect(&evidence), vendor, "{evidence:?}");
    }
    for (model, generation) in [("13G DCS", 8), ("16G Monolithic", 9), ("17G Monolithic", 10)] {
        assert_eq!(idrac_generation(Some(model)), Some(generation), "{model}");
    }
    assert_eq!(idrac_generation(Some("iLO 5")), None);
}

#[test]
fn the_slot_fits_the_medium_and_the_vendor() {
    let chosen = |vendor, model: &str, slots: &[Slot], medium| {
        let survey = survey(vendor, model, slots.to_vec(), &json!({}));
        slot::suitable(&survey, medium).map(|slots| slots.into_iter().map(|slot| slot.id).collect::<Vec<_>>())
    };
    let hpe = [slot("1", &["Floppy", "USBStick"], true), slot("2", &["CD", "DVD"], true)];
    assert_eq!(chosen(Vendor::Hpe, "iLO 6", &hpe, Medium::Cd).unwrap(), ["2"]);
    assert_eq!(chosen(Vendor::Hpe, "iLO 6", &hpe, Medium::Usb).unwrap(), ["1"]);
    let dell = [slot("RemovableDisk", &["USBStick"], true), slot("CD", &["CD", "DVD"], true)];
    assert_eq!(chosen(Vendor::Dell, "15G Monolithic", &dell, Medium::Cd).unwrap(), ["CD"]);
    assert_eq!(chosen(Vendor::Dell, "15G Monolithic", &dell, Medium::Usb).unwrap(), ["RemovableDisk"]);
    let every = ["CD", "DVD", "USBStick"];
    let idrac_10 = [slot("2", &every, true), slot("1", &every, true)];
    assert_eq!(chosen(Vendor::Dell, "17G Monolithic", &idrac_10, Medium::Cd).unwrap(), ["1", "2"]);
    // An iDRAC 9 lists the System's slots in any order, too.
    for medium in [Medium::Cd, Medium::Usb] {
        assert_eq!(chosen(Vendor::Dell, "14G Monolithic", &idrac_10, medium).unwrap(), ["1", "2"]);
    }
    let lenovo = [
        slot("RDOC1", &["CD", "DVD"], true),
        slot("Remote1", &["CD"], true),
        slot("EXT1", &["CD", "DVD"], false),
        slot("EXT2", &["CD", "DVD"], false),
    ];
    assert_eq!(chosen(Vendor::Lenovo, "", &lenovo, Medium::Cd).unwrap(), ["EXT1", "EXT2"]);
    // Slots of the remote console have no action.
    let open = [slot("Slot_0", &["CD", "USBStick"], false), slot("Slot_1", &["CD", "USBStick"], true)];
    assert_eq!(chosen(Vendor::OpenBmc, "OpenBmc", &open, Medium::Cd).unwrap(), ["Slot_1"]);
    let dvd = [slot("0", &["DVD"], true), slot("1", &["Floppy"], true)];
    assert_eq!(chosen(Vendor::Cisco, "", &dvd, Medium::Cd).unwrap(), ["0"]);
    let unsaid = [slot("usb0", &[], true), slot("cd0", &[], true)];
    assert_eq!(chosen(Vendor::Other, "", &unsaid, Medium::Cd).unwrap(), ["cd0"]);
    // MediaTypes is optional. Then the name counts, and without one the slot may be the right one.
    let named = Slot { name: Some("Virtual CD".to_owned()), ..slot("2", &[], true) };
    let mute = slot("1", &[], true);
    assert_eq!(chosen(Vendor::Other, "", &[mute.clone(), named], Medium::Cd).unwrap(), ["2"]);
    let usb = slot("usb0", &[], true);
    assert_eq!(chosen(Vendor::Other, "", &[usb, mute], Medium::Cd).unwrap(), ["1"]);

    let error = chosen(Vendor::Cisco, "", &dvd, Medium::Usb).unwrap_err().to_string();
    assert!(error.contains("takes a USB stick") && error.contains("(DVD)") && error.contains("format iso"), "{error}");
    let error = chosen(Vendor::Ami, "", &[], Medium::Cd).unwrap_err().to_string();
    assert!(error.contains("CD instances") && error.contains("AMIVirtualMedia.EnableRMedia"), "{error}");
    let error = chosen(Vendor::Supermicro, "", &[], Medium::Cd).unwrap_err().to_string();
    assert!(error.contains("licence") && error.contains("IsoConfig.Mount"), "{error}");
}

#[test]
fn refusals_are_classified() {
    let cases = [
        (refusal(400, "Base.1.8.ActionParameterMissing", "Needs TransferProtocolType.", &[]), Meaning::Form),
        (refusal(400, "Base.1.8.GeneralError", "Cannot download virtual media: got error 404", &[]), Meaning::Image),
        (refusal(500, "Base.1.8.GeneralError", "[Errno 111] Connection refused", &[]), Meaning::Image),
        (refusal(400, "IDRAC.2.8.RAC0720", "Unable to locate the ISO or IMG image file.", &[]), Meaning::Image),
        (
            refusal(
                500,
                "IDRAC.2.8.VRM0021",
                "Virtual Media is detached or Virtual Media devices are already in use.",
                &[],
            ),
            Meaning::Busy,
        ),
        (refusal(503, "Base.1.8.ServiceTemporarilyUnavailable", "Retry in 30 seconds.", &[]), Meaning::Busy),
        (refusal(409, "Base.1.8.ResourceInUse", "", &[]), Meaning::Busy),
        (refusal(504, "", "", &[]), Meaning::Unknown),
        (refusal(403, "SMC.1.0.OemLicenseNotPassed", "Not licensed to perform this request.", &[]), Meaning::Licence),
        // iLO sends keys without texts.
        (refusal(400, "iLO.2.18.LicenseKeyRequired", "", &[]), Meaning::Licence),
        (refusal(403, "iLO.2.18.LicenseKeyRequired", "", &[]), Meaning::Licence),
        (refusal(400, "iLO.2.18.ResourceInUseWithDetail", "", &[]), Meaning::Busy),
        (refusal(403, "Base.1.8.InsufficientPrivilege", "", &[]), Meaning::Final),
        (refusal(403, "Base.1.13.PropertyNotWritable", "", &["BootSourceOverrideMode"]), Meaning::Form),
        (refusal(405, "Base.1.19.PropertyNotWritable", "", &["BootSourceOverrideMode"]), Meaning::Form),
        (refusal(405, "Base.1.8.OperationNotAllowed", "", &[]), Meaning::NoAction),
        (refusal(401, "Base.1.13.ResourceAtUriUnauthorized", "", &[URL, "401"]), Meaning::Image),
        (refusal(405, "", "", &[]), Meaning::NoAction),
        (refusal(404, "Base.1.8.ResourceMissingAtURI", "", &[]), Meaning::NoAction),
    ];
    for (error, meaning) in cases {
        assert_eq!(Meaning::of(&error), meaning, "{error}");
    }
}

#[test]
fn refusals_name_missing_and_unsupported_properties() {
    let names = ["Inserted", "TransferProtocolType", "UserName"];
    let cases = [
        (
            refusal(400, "Base.1.8.ActionParameterMissing", "x", &["#/TransferProtocolType"]),
            vec![("TransferProtocolType", Fault::Missing)],
        ),
        (
            refusal(400, "Base.1.8.GeneralError", "'TransferProtocolType' property which is mandatory is missing", &[]),
            vec![("TransferProtocolType", Fault::Missing)],
        ),
        (
            refusal(400, "", "The property Inserted is not in the list of valid properties for the resource.", &[]),
            vec![("Inserted", Fault::Unsupported)],
        ),
        (
            refusal(
                400,
                "Base.1.8.ActionParameterMissing",
                "The action InsertMedia requires the parameter UserName to be present.",
                &["InsertMedia", "UserName"],
            ),
            vec![("UserName", Fault::Missing)],
        ),
        (refusal(400, "Base.1.8.GeneralError", "A general error.", &["Inserted"]), vec![]),
    ];
    for (error, expected) in cases {
        assert_eq!(attempt::named_properties(&error, &names), expected, "{error}");
    }
}

#[test]
fn unreadable_properties_count_as_missing() {
    let media = json!({
        "Id": 7, "Image": "", "Inserted": "true", "ConnectedVia": "URI", "MediaTypes": ["CD", null, 3, "DVD"],
        "Actions": {"#VirtualMedia.InsertMedia": {"target": "//evil.example/x"}, "#VirtualMedia.EjectMedia": {"target": "/redfish/v1/e"}},
    });
    let slot = Slot::read("/redfish/v1/slot", &media);
    assert_eq!((slot.id.as_str(), slot.state.image, slot.state.inserted), ("slot", None, None));
    assert_eq!(slot.media_types, ["CD", "DVD"]);
    assert_eq!((slot.insert, slot.eject.as_deref()), (None, Some("/redfish/v1/e")));
    assert_eq!(clean("a\u{1b}[31mb\r\n"), "a[31mb");

    let system = json!({"PowerState": "PoweringOn", "Boot": null, "BootProgress": {"LastState": "OSRunning"}});
    let system = Properties::new(&system);
    assert_eq!(PowerState::read(system), PowerState::PoweringOn);
    assert!(BootProgress::read(system).unwrap().is_running());
}

#[test]
fn links_may_be_whole_urls_and_stay_at_the_bmc() {
    let absolute = |path: &str| format!("https://bmc.internal{path}");
    let action = |path: &str| json!({"target": absolute(path)});
    let media = json!({"Actions": {
        "#VirtualMedia.InsertMedia": action("/redfish/v1/insert"), "#VirtualMedia.EjectMedia": action("//evil.example/x"),
    }});
    let slot = Slot::read("/redfish/v1/slot", &media);
    assert_eq!(slot.insert.map(|insert| insert.target).as_deref(), Some("/redfish/v1/insert"));
    assert_eq!(slot.eject, None);

    let link = |path: &str| json!({"@odata.id": absolute(path)});
    let resource = json!({"Bios": link("/redfish/v1/Bios"), "ManagedBy": [link("/redfish/v1/M/1"), link("")]});
    let properties = Properties::new(&resource);
    assert_eq!(properties.link("Bios").as_deref(), Some("/redfish/v1/Bios"));
    assert_eq!(properties.links("ManagedBy"), ["/redfish/v1/M/1"]);
    for elsewhere in ["//evil.example/x", "https:evil", "evil.example/x", "../x", ""] {
        assert_eq!(Properties::new(&json!({"Uri": elsewhere})).path("Uri"), None, "{elsewhere}");
    }
}

#[test]
fn a_refused_url_is_distinguished_from_a_refused_form() {
    let refused = refusal(
        400,
        "Base.1.8.ActionParameterValueFormatError",
        "Another format.",
        &["http://…", "Image", "InsertMedia"],
    );
    assert!(attempt::refuses_url(&refused));
    let form =
        refusal(400, "Base.1.8.ActionParameterValueNotInList", "Not in the list.", &["HTTP", "TransferProtocolType"]);
    assert!(!attempt::refuses_url(&form));
    let missing = refusal(400, "Base.1.8.ActionParameterMissing", "Image is missing.", &["InsertMedia", "Image"]);
    assert!(!attempt::refuses_url(&missing));
}

#[test]
fn the_error_explains_how_to_attach_an_idracs_virtual_media() {
    let error = refusal(500, "IDRAC.2.8.VRM0021", "Virtual Media is detached or already in use.", &[]);
    let refused = |error| {
        let attempts = vec![Attempt::new("POST", "/x", &json!({"Image": URL}), &Err(error))];
        BmcError::InsertRefused { attempts }.to_string()
    };
    let text = refused(error);
    assert!(text.contains("AutoAttach") && text.contains("it was sent Image") && !text.contains(URL), "{text}");
    assert!(!refused(refusal(500, "Base.1.8.InternalError", "", &[])).contains("AutoAttach"));
}

/// Whatever JSON there is, with the names that are looked for.
fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "Boot",
        "Actions",
        "Links",
        "MediaTypes",
        "Image",
        "Inserted",
        "@odata.id",
        "Oem",
        "#VirtualMedia.InsertMedia",
        "target",
        "BootSourceOverrideTarget",
        "BootProgress",
        "LastState",
        "Members",
        "ManagedBy",
        "@Redfish.Settings",
        "SettingsObject",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".*".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..8).prop_map(|members| Value::Object(
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_can_be_read_and_planned_with(body in any_json()) {
        let slot = Slot::read("/redfish/v1/x", &body);
        let system = System::read("/redfish/v1/Systems/1".to_owned(), Properties::new(&body));
        let mut survey = survey(Vendor::Other, "", vec![slot], &json!({}));
        survey.system = system;
        if let Ok(plan) = Bmc::plan(&survey, Medium::Cd, None) {
            let kept = serde_json::to_string(&plan).unwrap();
            prop_assert_eq!(serde_json::from_str::<Plan>(&kept).unwrap(), plan);
        }
    }
}
