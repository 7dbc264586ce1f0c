//! What starts the Ironic Python agent, read by what will read it on a host: systemd the unit, bash the dispatcher
//! script.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::data_url;
use acceptance::peers::run;
use dayone::ironic_agent::{AgentHost, AgentSettings, IronicCaBundle, Proxies, PullSecret, ignition};
use serde_json::Value;
use tempfile::TempDir;

const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";

/// Settings that fill the unit, with every character that means something to systemd.
fn settings() -> AgentSettings {
    AgentSettings {
        image: "[2001:db8::1]:5000/ironic-agent@sha256:00ff".into(),
        ironic_urls: "https://ironic.example.com".into(),
        pull_secret: Some(PullSecret::from_base64(b"{}").unwrap()),
        ip_options: r#"ip=dhcp a="b" c\d $HOME ${x} 10%t ; 'e'"#.into(),
        proxies: Proxies {
            http: r#"http://u:p%41"$x'\n@proxy"#.into(),
            https: "http://proxy:3128 X=y".into(),
            no_proxy: "localhost,[::1]".into(),
        },
        ironic_ca_bundle: Some(IronicCaBundle::from_pem(CERTIFICATE.into()).unwrap()),
        ..AgentSettings::default()
    }
}

/// The Ignition config of a host.
fn config(settings: &AgentSettings) -> Value {
    let host = AgentHost { hostname: Some("worker-0"), has_network_data: true, keyfiles: 1 };
    serde_json::to_value(ignition(settings, &host).unwrap()).unwrap()
}

/// Writes the unit with `program` in the place of all that it runs.
fn write_unit(directory: &Path, program: &Path) -> PathBuf {
    let config = config(&settings());
    let unit = config["systemd"]["units"][0]["contents"].as_str().unwrap();
    // The machine that tests has no podman.
    let unit = unit.replace("/bin/podman", program.to_str().unwrap());
    let path = directory.join("ironic-agent.service");
    fs::write(&path, unit).unwrap();
    path
}

/// Writes a script that can be run.
fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn systemd_has_nothing_to_say_about_the_unit() {
    let directory = TempDir::new().unwrap();
    let unit = write_unit(directory.path(), Path::new("/bin/true"));
    let verify = |path: &Path| {
        let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(path).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(verify(&unit), (true, String::new()));
    // It would have.
    let text = fs::read_to_string(&unit).unwrap();
    fs::write(&unit, text.replace("RestartSec=", "RestartSecs=")).unwrap();
    assert!(verify(&unit).1.contains("RestartSecs"));
}

/// What systemd makes of the unit: one line for each variable and each command.
fn as_systemd_reads_it() -> String {
    let directory = TempDir::new().unwrap();
    write_unit(directory.path(), Path::new("/bin/true"));
    // A manager of a user's units, which starts nothing. root may not have one.
    let mut manager = Command::new("timeout");
    manager.arg("30");
    if rustix::process::getuid().is_root() {
        chown(directory.path(), Some(65534), Some(65534)).unwrap();
        manager.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    manager.args(["/usr/lib/systemd/systemd", "--test", "--user", "--unit=ironic-agent.service"]);
    manager.env_clear().env("HOME", directory.path()).env("XDG_RUNTIME_DIR", directory.path());
    // Before the system's own directories.
    let read = run(manager.env("SYSTEMD_UNIT_PATH", format!("{}:", directory.path().display())));
    String::from_utf8_lossy(&read).into_owned()
}

#[test]
fn to_systemd_every_value_is_one_value() {
    let read = as_systemd_reads_it();
    let lines: Vec<&str> = read.lines().map(str::trim).collect();
    for expected in [
        r#"Environment: HTTP_PROXY=http://u:p%41"$x'\n@proxy"#,
        "Environment: HTTPS_PROXY=http://proxy:3128 X=y",
        "Environment: NO_PROXY=localhost,[::1]",
    ] {
        assert!(lines.contains(&expected), "{expected} is not in\n{read}");
    }
    let command = lines.iter().find(|line| line.starts_with("Command Line: /bin/true run --detach")).unwrap();
    // In its own quotes: `\$\$` is what becomes `$` when the command is run.
    let options = r#" --env "IPA_COREOS_IP_OPTIONS=ip=dhcp a=\"b\" c\\d \$\$HOME \$\${x} 10%t ; 'e'" --env "#;
    assert!(command.contains(options), "{command}");
    let image = r#" --name ironic-agent "[2001:db8::1]:5000/ironic-agent@sha256:00ff""#;
    assert!(command.ends_with(image), "{command}");
}

/// Writes the script for the dispatcher, and says where it is.
fn write_script(directory: &Path) -> PathBuf {
    let config = config(&settings());
    let files = config["storage"]["files"].as_array().unwrap();
    let path = "/etc/NetworkManager/dispatcher.d/01-hostname";
    let file = files.iter().find(|file| file["path"] == path).unwrap();
    let source = file["contents"]["source"].as_str().unwrap();
    let script = directory.join("01-hostname");
    fs::write(&script, data_url::content(source)).unwrap();
    let mode = file["mode"].as_u64().unwrap().try_into().unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(mode)).unwrap();
    script
}

#[test]
fn shellcheck_finds_nothing_in_the_dispatchers_script() {
    let directory = TempDir::new().unwrap();
    run(Command::new("shellcheck").arg(write_script(directory.path())));
}

#[test]
fn the_dispatchers_script_names_a_host_that_has_no_name() {
    let directory = TempDir::new().unwrap();
    let script = write_script(directory.path());
    let log = directory.path().join("log");
    write_program(
        &directory.path().join("hostnamectl"),
        &format!("#!/bin/sh\nprintf '<%s>' \"$@\" >> {0}\necho >> {0}\n", log.display()),
    );
    let path = format!("{}:/usr/bin:/bin", directory.path().display());
    for (current, by_dhcp, expected) in [
        ("localhost", None, "<set-hostname><--transient><--><worker-0>\n"),
        ("localhost.localdomain", Some("single"), "<set-hostname><--transient><--><worker-0>\n"),
        ("other", None, ""),
        ("localhost1", None, ""),
        ("other", Some("a.example.com"), "<set-hostname><--static><--transient><--><a.example.com>\n"),
        ("other", Some("-H x.$(reboot)"), "<set-hostname><--static><--transient><--><-H x.$(reboot)>\n"),
    ] {
        fs::write(&log, "").unwrap();
        // A host name of its own, and the script run as the dispatcher does: by its first line.
        let mut host = Command::new("unshare");
        host.args(["--user", "--map-root-user", "--uts", "sh", "-c", "hostname \"$1\" && exec \"$2\" eth0 up", "sh"]);
        host.arg(current).arg(&script).env("PATH", &path);
        if let Some(name) = by_dhcp {
            host.env("DHCP6_FQDN_FQDN", name);
        }
        run(&mut host);
        assert_eq!(fs::read_to_string(&log).unwrap(), expected, "{current} {by_dhcp:?}");
    }
}
