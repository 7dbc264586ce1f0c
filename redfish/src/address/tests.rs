use proptest::prelude::*;

use super::*;

#[test]
fn the_forms_of_metal3_are_read() {
    for (written, origin, system, hint) in [
        (
            "redfish-virtualmedia+http://192.0.2.1:8000/redfish/v1/Systems/abc-1",
            "http://192.0.2.1:8000/",
            Some("/redfish/v1/Systems/abc-1"),
            None,
        ),
        (
            "redfish-virtualmedia://bmc.example/redfish/v1/Systems/1/",
            "https://bmc.example/",
            Some("/redfish/v1/Systems/1"),
            None,
        ),
        ("redfish-virtualmedia+https://bmc.example:8443", "https://bmc.example:8443/", None, None),
        (
            "idrac-virtualmedia://192.0.2.2/redfish/v1/Systems/System.Embedded.1",
            "https://192.0.2.2/",
            Some("/redfish/v1/Systems/System.Embedded.1"),
            Some(Dialect::Idrac),
        ),
        ("ilo5-virtualmedia://192.0.2.3", "https://192.0.2.3/", None, Some(Dialect::Ilo)),
        ("ilo5-redfish+http://192.0.2.3/redfish/v1", "http://192.0.2.3/", None, Some(Dialect::Ilo)),
        ("idrac-redfish://192.0.2.2/redfish/v1/Systems/", "https://192.0.2.2/", None, Some(Dialect::Idrac)),
        (
            "redfish://[2001:db8::10]/redfish/v1/Systems/1",
            "https://[2001:db8::10]/",
            Some("/redfish/v1/Systems/1"),
            None,
        ),
        ("redfish-uefihttp+http://[::1]:8000", "http://[::1]:8000/", None, None),
        ("REDFISH://BMC.example:443", "https://bmc.example/", None, None),
        ("http://bmc.example", "http://bmc.example/", None, None),
        ("https://bmc.example/redfish/v1/", "https://bmc.example/", None, None),
        ("bmc.example", "https://bmc.example/", None, None),
        ("bmc.example/redfish/v1/Systems/1", "https://bmc.example/", Some("/redfish/v1/Systems/1"), None),
        (" bmc.example:8443\n", "https://bmc.example:8443/", None, None),
        ("redfish:8443", "https://redfish:8443/", None, None),
        ("redfish:192.0.2.4", "https://192.0.2.4/", None, None),
        ("[2001:db8::10]:8443", "https://[2001:db8::10]:8443/", None, None),
        ("bmc_1-a.example.", "https://bmc_1-a.example./", None, None),
    ] {
        let address: BmcAddress = written.parse().unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(address.origin().as_str(), origin, "{written}");
        assert_eq!((address.system(), address.hint()), (system, hint), "{written}");
        assert_eq!(address.to_string(), written.trim());
        let stored = serde_json::to_string(&address).unwrap();
        assert_eq!(serde_json::from_str::<BmcAddress>(&stored).unwrap(), address);
    }
}

#[test]
fn one_scheme_is_for_uefi_http_boot() {
    for (written, expected) in [
        ("redfish-uefihttp://192.0.2.1/redfish/v1/Systems/1", true),
        ("Redfish-UefiHttp+http://192.0.2.1", true),
        ("redfish-virtualmedia://192.0.2.1", false),
        ("http://192.0.2.1", false),
        ("redfish-uefihttp.example", false),
    ] {
        assert_eq!(written.parse::<BmcAddress>().unwrap().is_for_uefi_http(), expected, "{written}");
    }
}

#[test]
fn invalid_addresses_say_what_to_write() {
    for (written, says) in [
        ("", "empty"),
        ("ipmi://192.0.2.1:623", "write redfish-virtualmedia://192.0.2.1"),
        ("ipmi:192.0.2.1:6230", "write redfish-virtualmedia://192.0.2.1:6230"),
        ("192.0.2.1:623", "IPMI"),
        ("idrac://192.0.2.1/wsman", "write idrac-virtualmedia://192.0.2.1"),
        ("ilo4-virtualmedia://192.0.2.1", "not Redfish"),
        ("libvirt://192.0.2.1", "not Redfish"),
        ("gopher://192.0.2.1", "redfish-virtualmedia, redfish"),
        ("redfish+ftp://192.0.2.1", "redfish+ftp"),
        ("http+https://192.0.2.1", "http+https"),
        ("redfish://", "no valid host"),
        ("redfish:///redfish/v1/Systems/1", "no valid host"),
        ("redfish://2001:db8::10", "brackets"),
        ("redfish://[fe80::1%25eth0]", "zone"),
        ("redfish://192.0.2.1:99999", "port"),
        ("redfish://192.0.2.300", "no valid host"),
        ("redfish://1.2.3.4.5", "no valid host"),
        ("redfish://10,5", "neither an address nor a name"),
        ("redfish+http://127.0.0.010:18799/redfish/v1/Systems/1", "\"127.0.0.010\", which URLs read as 127.0.0.8;"),
        ("192.0.2.01", "four decimal numbers without leading zeros"),
        ("redfish://0xc0000201", "read as 192.0.2.1"),
        ("https://3221225985", "read as 192.0.2.1"),
        ("https://10.5:443/redfish/v1", "read as 10.0.0.5"),
        ("https://192.0.2.%31", "read as 192.0.2.1"),
        ("redfish://192.0.2.1/redfish/v1/Systems/1?x=y", "'?'"),
        ("redfish://192.0.2.1/Systems/1", "leave it out"),
        ("redfish://192.0.2.1/redfish/v1//Systems/1", "leave it out"),
        ("redfish://192.0.2.1/redfish/v1/../../admin", "leave it out"),
    ] {
        let error = written.parse::<BmcAddress>().expect_err(written).to_string();
        assert!(error.contains(says), "{written}: {error}");
    }
}

#[test]
fn a_password_is_refused_and_not_repeated() {
    for written in [
        "redfish://root:calvin@192.0.2.1",
        "root:calvin@192.0.2.1",
        "ipmi://root:calvin@192.0.2.1",
        "calvin://root:calvin@192.0.2.1",
        "redfish://x/redfish/v1/Systems/1?calvin@",
        "redfish://ca/lvin:calvin@192.0.2.1",
        "root:calvin@https://192.0.2.1",
    ] {
        let error = written.parse::<BmcAddress>().expect_err(written);
        assert_eq!(error, AddressError::Userinfo, "{written}");
        assert!(!error.to_string().contains("calvin"));
    }
}

proptest! {
    #[test]
    fn no_text_panics_and_displayed_addresses_parse_again(text in "\\PC{0,80}|(redfish|idrac|ilo5|ipmi|http)(-virtualmedia)?(\\+https?)?:(//)?[a-z0-9.:\\[\\]@/%?#\\\\-]{0,40}") {
        if let Ok(address) = text.parse::<BmcAddress>() {
            prop_assert!(matches!(address.origin().scheme(), "http" | "https"));
            prop_assert!(address.origin().has_host());
            prop_assert_eq!(address.origin().username(), "");
            prop_assert_eq!(address.origin().path(), "/");
            prop_assert!(address.system().is_none_or(|path| path.starts_with("/redfish/") && !path.contains("..")));
            prop_assert_eq!(address.to_string().parse::<BmcAddress>().unwrap(), address);
        }
    }
}
