use proptest::prelude::*;

use super::*;
use crate::Password;

fn secrets(username: &str, password: &str, token: &str) -> Secrets {
    let password = Password::from(password.to_owned());
    let mut secrets = Secrets::of(Some(&Credentials { username: username.to_owned(), password }));
    secrets.add(token);
    secrets
}

#[test]
fn a_repeated_request_shows_no_secret() {
    let secrets = secrets("root", "p\"a/ß w%rd", "0123-session-token");
    for said in [
        "Authorization: Basic cm9vdDpwImEvw58gdyVyZA==",
        "the header authorization (Basic cm9vdDpwImEvw58gdyVyZA) is wrong",
        "X-Auth-Token: 0123-session-token",
        "{\"Password\": \"p\\\"a/ß w%rd\"}",
        "{\\\"Password\\\": \\\"p\\\\\\\"a\\/\\u00df w%rd\\\"}",
        "?password=p%22a%2F%c3%9F+w%25rd&x=1",
        "?password=p%2522a%252F%25C3%259F%2520w%2525rd",
        "p&quot;a&#x2f;&#223; w%rd",
        "p&amp;quot;a/&amp;#223; w%rd",
        "b'p\"a/\\xc3\\x9f w%rd'",
        "702261 2fc39f2077257264 is not 7022612fc39f2077257264",
        "eyJQYXNzd29yZCI6InBcImEvw58gdyVyZCJ9 root:p\"a/ß w%rd",
        "/redfish/v1/Sessions/0123-session-token",
    ] {
        let blank = secrets.mask(said);
        assert_ne!(blank, said);
        for left in ["w%rd", "w%25rd", "session-token", "cm9vdDpw", "p\"a", "7022612f", "InBcImEv"] {
            assert!(!blank.contains(left), "{said}\n{blank}");
        }
    }
}

#[test]
fn values_of_headers_and_properties_are_always_masked() {
    let secrets = Secrets::default();
    for (said, blank) in [
        ("AUTHORIZATION: Basic dXNlcjpwYXNz, x", "AUTHORIZATION: Basic …, x"),
        ("got Authorization=Bearer abc.def end", "got Authorization=Bearer … end"),
        ("x-auth-token: 4711; Set-Cookie: SID=1", "x-auth-token: …; Set-Cookie: …"),
        ("{\"UserName\":\"root\",\"Password\":\"calvin\"}", "{\"UserName\":\"root\",\"Password\":\"…\"}"),
        ("{\\\"Password\\\":\\\"calvin\\\"}", "{\\\"Password\\\":\\\"…\\\"}"),
        ("user=root&passwd=calvin&x", "user=root&passwd=…&x"),
        ("Password: it must be changed", "Password: it must be changed"),
        ("The password of root has expired.", "The password of root has expired."),
        ("Basic authentication is off.", "Basic authentication is off."),
    ] {
        assert_eq!(secrets.mask(said), blank);
    }
}

#[test]
fn text_without_secrets_does_not_change() {
    let secrets = secrets("root", "hunter2", "uws2ljnfuws2ljnf");
    for text in [
        "",
        "The value Sideways for the parameter ResetType is not in the list.",
        "/redfish/v1/Systems/1",
        "100 % & more",
    ] {
        assert_eq!(secrets.mask(text), text);
        assert_eq!(secrets.mask_path(text), text);
        assert!(!secrets.are_in(text));
    }
    assert_eq!(format!("{secrets:?}"), "Secrets(…)");
}

/// One of the ways in which a BMC writes what it was sent.
fn written(secret: &str, how: usize) -> String {
    let each = |form: fn(char) -> String| secret.chars().map(form).collect::<String>();
    let bytes = |form: fn(u8) -> String| secret.bytes().map(form).collect::<String>();
    match how {
        0 => secret.to_owned(),
        1 => bytes(|byte| format!("%{byte:02x}")),
        2 => bytes(|byte| format!("%25{byte:02X}")),
        3 => each(|c| if c.is_ascii_alphanumeric() { c.to_string() } else { percent(c) }),
        4 => each(|c| {
            c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat()
        }),
        5 => serde_json::Value::from(secret).to_string(),
        6 => serde_json::Value::from(serde_json::Value::from(secret).to_string()).to_string(),
        7 => each(|c| format!("&#{};", u32::from(c))),
        8 => each(|c| format!("&#x{:X};", u32::from(c))),
        9 => bytes(|byte| format!("\\x{byte:02x}")),
        10 => HEXLOWER.encode(secret.as_bytes()),
        _ => HEXUPPER.encode(secret.as_bytes()),
    }
}

fn percent(character: char) -> String {
    character.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

/// `%25aA` is `%aA`, or what `%aA` stands for.
#[test]
fn a_percent_sign_before_hexadecimal_digits_is_found_however_it_is_encoded() {
    for password in ["%aA!", "%25%", "%2541%"] {
        let secrets = secrets("root", password, "a-token-of-a-session");
        for how in 0..12 {
            let written = written(password, how);
            assert!(!secrets.mask(&written).contains(&written), "{written}");
        }
    }
}

proptest! {
    #[test]
    fn a_secret_is_masked_in_every_encoding(
        password in "[!-~ßé€😀]{4,24}", token in "[!-~]{8,40}", how in 0_usize..12,
        before in "[ .,;a-z]{0,12}", behind in "[ .,;a-z]{0,12}",
    ) {
        let secrets = secrets("root", &password, &token);
        for secret in [&password, &token] {
            let written = written(secret, how);
            let blank = secrets.mask(&format!("{before}{written}{behind}"));
            prop_assert!(!blank.contains(&written), "{} in {}", written, blank);
            prop_assert!(!blank.contains(secret.as_str()), "{}", blank);
            let is_found = secrets.are_in(&format!("{before} {written} {behind}"));
            prop_assert!(is_found || secret.chars().count() < SHORTEST_CORE);
        }
    }

    #[test]
    fn a_secret_is_masked_at_every_offset_of_a_base64_text(
        password in "[!-~ß]{6,24}", before in "[ -~]{0,7}", behind in "[ -~]{0,7}", is_pair: bool,
    ) {
        let secrets = secrets("root", &password, "a-token-of-a-session");
        let inner = if is_pair { format!("root:{password}") } else { password };
        let whole = format!("{before}{inner}{behind}");
        for encoded in [BASE64_STANDARD.encode(&whole), BASE64_URL_SAFE_NO_PAD.encode(&whole)] {
            let blank = secrets.mask(&format!("<{encoded}>"));
            prop_assert_eq!(blank, format!("<{MASK}>"));
        }
    }
}
