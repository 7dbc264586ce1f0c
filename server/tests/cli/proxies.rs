//! Commands that send requests, where a proxy answers in place of the server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;

use super::images::Place;
use super::{Ended, dayone, ended};

const SHA256: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Gives the same answer to every request, and returns the address.
fn answering(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut head, mut byte) = (Vec::<u8>::new(), [0_u8]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
                head.extend(byte);
            }
            let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            // The client may be gone.
            drop(stream.read_exact(&mut body));
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    address
}

/// An answer with a page, as proxies have it.
fn page(head: &str) -> String {
    format!("HTTP/1.1 {head}\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>")
}

/// `dayone` without the proxies and the token of whoever runs the test.
fn command(arguments: &[&str]) -> Command {
    let mut command = dayone();
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "DAYONE_API_TOKEN"] {
        command.env_remove(name).env_remove(name.to_ascii_lowercase());
    }
    command.args(arguments);
    command
}

#[test]
fn an_answer_of_a_proxy_in_front_of_the_server_says_what_to_do() {
    let place = Place::new();
    let interface = "{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}";
    let host = place.write("host.yaml", format!("interfaces: [{interface}]\n"));
    let boot = &["boot", host.as_str(), "--base", "coreos"][..];
    let base = &["base", "add", "fcos", "https://files.example/a.iso", "--sha256", SHA256][..];
    let list = &["boots", "list"][..];
    let has_begun = "the server may have begun the order: look with `dayone boots list`";
    let moved = "301 Moved Permanently\r\nLocation: https://dayone.example/v1/boots";
    for (head, arguments, expected) in [
        ("504 Gateway Timeout", boot, has_begun),
        ("502 Bad Gateway", boot, has_begun),
        ("503 Service Unavailable", base, "look with `dayone base list`"),
        ("504 Gateway Timeout", list, "answers 504 Gateway Timeout\n"),
        ("413 Content Too Large", boot, "nginx: client_max_body_size"),
        (moved, list, "redirects to https://dayone.example: "),
        ("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"proxy\"", list, "a login (Basic realm=\"proxy\")"),
        ("401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"dayone\"", list, "--token-file"),
        ("404 Not Found", list, "is it a dayone server?"),
    ] {
        let url = format!("http://{}", answering(page(head)));
        let Ended { code, err, .. } = ended(command(arguments).args(["--server", &url]).output().unwrap());
        assert!(code == 2 && err.contains(expected), "{head}: {err}");
    }
}

/// A problem of dayone's, as `application/problem+json`.
fn problem(head: &str, problem: &str) -> String {
    let length = problem.len();
    format!(
        "HTTP/1.1 {head}\r\nContent-Type: application/problem+json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{problem}"
    )
}

#[test]
fn a_path_without_an_api_is_a_mistake_in_the_address() {
    let new = r#"{"type": "/v1/problems/unknown-path", "detail": "none"}"#;
    let old = r#"{"type": "/v1/problems/not-found", "detail": "nothing exists at this path; see /v1/openapi.json"}"#;
    let missing = r#"{"type": "/v1/problems/not-found", "detail": "no base has this name; /v1/bases lists the bases"}"#;
    for (body, code, expected) in [
        (new, 2, "no API at this path: /v1/v1/bases/fcos; give --server without /v1"),
        (old, 2, "no API at this path: /v1/v1/bases/fcos; give --server without /v1"),
        (missing, 1, "the server has no base 'fcos'"),
    ] {
        let url = format!("http://{}/v1", answering(problem("404 Not Found", body)));
        let removed = ended(command(&["base", "rm", "fcos", "--server", &url]).output().unwrap());
        assert!(removed.code == code && removed.err.contains(expected), "{body}: {}", removed.err);
    }
}

#[test]
fn a_refused_token_is_named_by_where_it_comes_from() {
    let place = Place::new();
    let file = place.write("token", "a-token-of-some-length\n");
    let url = format!("http://{}", answering(page("401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"dayone\"")));
    let list = ["base", "list", "--server", &url];
    let run = |more: &[&str], variable: Option<&str>| {
        let mut command = command(&[&list[..], more].concat());
        ended(command.envs(variable.map(|value| ("DAYONE_API_TOKEN", value))).output().unwrap())
    };
    let of_file = format!("the server does not accept the token of {file}\n");
    for (more, variable, expected) in [
        (&[][..], None, "the server requires a token: give --token-file, or set DAYONE_API_TOKEN\n"),
        (&[][..], Some(" \n"), "the server requires a token: give --token-file, or set DAYONE_API_TOKEN\n"),
        (&[][..], Some("secret\n"), "the server does not accept the token of the variable DAYONE_API_TOKEN\n"),
        (&[][..], Some("a\u{1}b"), "the token of the variable DAYONE_API_TOKEN has a control character"),
        (&["--token-file", file.as_str()][..], Some("secret"), of_file.as_str()),
    ] {
        let Ended { code, err, .. } = run(more, variable);
        assert!(code == 2 && err.contains(expected), "{variable:?}: {err}");
    }
}

#[test]
fn http_and_https_are_not_mixed_up_silently() {
    // What a port with TLS answers to plain HTTP: an alert.
    let alert = "\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{a}".to_owned();
    let url = format!("http://{}", answering(alert));
    let Ended { code, err, .. } = ended(command(&["base", "list", "--server", &url]).output().unwrap());
    assert!(code == 2 && err.contains("if it uses TLS there, write https:// in --server"), "{err}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            drop(stream.write_all(page("400 Bad Request").as_bytes()));
            // The client reads the answer before the connection ends.
            drop(stream.read_to_end(&mut Vec::new()));
        }
    });
    let Ended { code, err, .. } = ended(command(&["base", "list", "--server", &url]).output().unwrap());
    assert!(code == 2 && err.contains("if it uses plain HTTP there, write http:// in --server"), "{err}");
}

#[test]
fn a_proxy_that_refuses_is_named_and_not_asked_again() {
    let place = Place::new();
    let target = place.argument("a.iso");
    // Nobody answers at the address, so that no request may go past the proxy.
    let fetch = |scheme: &str, variable: &str, value: &str| {
        let url = format!("{scheme}://192.0.2.1/a.iso");
        let mut command = command(&["base", "fetch", &url, "--sha256", SHA256, "-o", &target]);
        ended(command.env(variable, value).output().unwrap())
    };
    for (head, scheme, expected) in [
        ("407 Proxy Authentication Required", "https", "answers 407 Proxy Authentication Required: give its user name"),
        ("407 Proxy Authentication Required", "http", "answers 407 Proxy Authentication Required: give its user name"),
        ("403 Forbidden", "https", "does not connect to 192.0.2.1:443: it answers 403 Forbidden"),
        ("403 Forbidden", "http", "answers 403 Forbidden"),
    ] {
        let address = answering(page(head));
        let variable = format!("{}_PROXY", scheme.to_ascii_uppercase());
        let Ended { code, err, .. } = fetch(scheme, &variable, &format!("http://user:hunter2@{address}"));
        let proxy = format!("the proxy http://{address} ({variable}) {expected}");
        assert!(code == 1 && err.contains(&proxy) && !err.contains("hunter2"), "{head}: {err}");
        assert!(!err.contains("trying again"), "{err}");
    }
    for (proxy, expected) in [
        ("socks5://user:hunter2@127.0.0.1:9", "HTTPS_PROXY sets a proxy with socks5://"),
        ("http://user:hunter2 3@127.0.0.1:9", "HTTPS_PROXY is not the URL of a proxy"),
    ] {
        let Ended { code, err, .. } = fetch("https", "HTTPS_PROXY", proxy);
        assert!(code == 1 && err.contains(expected) && !err.contains("hunter2"), "{proxy}: {err}");
    }
}

#[test]
fn a_proxy_that_refuses_where_a_redirect_leads_is_named_with_that_place() {
    let place = Place::new();
    let redirecting = answering(page("302 Found\r\nLocation: https://192.0.2.1/b.iso"));
    let refusing = format!("http://{}", answering(page("403 Forbidden")));
    let told = format!("the proxy {refusing} (HTTPS_PROXY) does not connect to 192.0.2.1:443: it answers 403");
    // The redirect comes from the server, and then from a proxy.
    for (url, proxy) in [
        (format!("http://{redirecting}/a.iso"), None),
        ("http://192.0.2.2/a.iso".to_owned(), Some(format!("http://{redirecting}"))),
    ] {
        let mut command = command(&["base", "fetch", &url, "--sha256", SHA256, "-o", &place.argument("a.iso")]);
        command.env("HTTPS_PROXY", &refusing).envs(proxy.map(|proxy| ("HTTP_PROXY", proxy)));
        let Ended { code, err, .. } = ended(command.output().unwrap());
        assert!(code == 1 && err.contains(&told) && !err.contains("trying again"), "{url}: {err}");
    }
}

#[test]
fn a_cgi_program_uses_and_blames_no_proxy() {
    let place = Place::new();
    let url = format!("http://{}/a.iso", answering(page("404 Not Found")));
    let mut command = command(&["base", "fetch", &url, "--sha256", SHA256, "-o", &place.argument("a.iso")]);
    let proxy = format!("http://{}", answering(page("403 Forbidden")));
    command.env("REQUEST_METHOD", "GET").env("HTTP_PROXY", proxy);
    let Ended { code, err, .. } = ended(command.output().unwrap());
    assert!(code == 1 && err.contains(&format!("the server of {url} answers 404 Not Found")), "{err}");
}

#[test]
fn no_proxy_with_a_star_is_for_addresses_too() {
    let place = Place::new();
    let url = format!("http://{}/a.iso", answering(page("404 Not Found")));
    let mut command = command(&["base", "fetch", &url, "--sha256", SHA256, "-o", &place.argument("a.iso")]);
    let proxy = format!("http://{}", answering(page("403 Forbidden")));
    command.env("NO_PROXY", "*").env("HTTP_PROXY", proxy);
    let Ended { code, err, .. } = ended(command.output().unwrap());
    assert!(code == 1 && err.contains(&format!("the server of {url} answers 404 Not Found")), "{err}");
}

#[test]
fn a_variable_with_which_no_kubeconfig_can_be_read_is_named() {
    let place = Place::new();
    let cluster = |more: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- {{name: a, context: {{cluster: c, user: u}}}}\n\
             clusters:\n- {{name: c, cluster: {{server: 'https://127.0.0.1:1'{more}}}}}\nusers:\n- {{name: u, user: {{token: t}}}}\n"
        );
        place.write("kubeconfig", text)
    };
    let (proxy, wrong) = ("http://192.0.2.99:3128", "http://user:hunter^2@192.0.2.99:3128");
    let own = format!(", proxy-url: '{wrong}'");
    let socks = ", proxy-url: 'socks5://user:hunter2@192.0.2.99:1080'";
    for (more, https, no, expected) in [
        (
            "",
            proxy,
            "localhost,.svc,",
            "the variable NO_PROXY (or no_proxy) is not valid: comma-separated value is empty",
        ),
        ("", wrong, "localhost", "the variable HTTPS_PROXY (or https_proxy) is not valid: invalid uri character"),
        ("", "//user:hunter2@192.0.2.99:3128", "localhost", "is not valid: it has no host"),
        (&own, proxy, "localhost", "Kubernetes API server: failed to parse proxy url: invalid uri character"),
        (socks, proxy, "localhost", "the proxy-url of the kubeconfig does not begin with http:// or https://"),
    ] {
        let kubeconfig = cluster(more);
        let mut command = command(&["controller", "--kubeconfig", kubeconfig.as_str()]);
        command.args(["--images-bind-addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"]);
        let Ended { code, err, .. } = ended(command.env("HTTPS_PROXY", https).env("NO_PROXY", no).output().unwrap());
        assert!(code == 1 && err.contains(expected), "{err}");
        assert!(!err.contains("give --kubeconfig") && !err.contains("hunter"), "{err}");
    }
}

#[test]
fn a_proxy_that_fails_is_named_while_dayone_tries_again() {
    let place = Place::new();
    // Nobody listens at this port.
    let silent = "http://127.0.0.1:1".to_owned();
    let busy = format!("http://{}", answering(page("503 Service Unavailable")));
    for (scheme, proxy, expected) in [
        ("https", &silent, format!("(the proxy {silent} (HTTPS_PROXY): ")),
        ("http", &silent, format!("(the proxy {silent} (HTTP_PROXY): ")),
        ("http", &busy, format!("(the server through the proxy {busy} (HTTP_PROXY) answers 503 ")),
    ] {
        let url = format!("{scheme}://192.0.2.1/a.iso");
        let mut command = command(&["base", "fetch", &url, "--sha256", SHA256, "-o", &place.argument("a.iso")]);
        command.env(format!("{}_PROXY", scheme.to_ascii_uppercase()), proxy);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let told = lines.find(|line| line.contains("trying again")).unwrap_or_default();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(told.contains(&expected), "{told}");
    }
}
