//! The systemd unit that runs the agent's container.

use imagelib::ignition::MAX_UNIT_LINE;
use vocabulary::host::HostName;

use super::files::{AUTHFILE, CONFIGURATION};
use super::{AgentError, AgentHost, AgentSettings, IRONIC_CA_PATH, image, one_line};

/// The unit's name.
pub(super) const NAME: &str = "ironic-agent.service";

/// The unit file. The agent's image reads the variables `IPA_…` when it installs a CoreOS.
pub(super) fn unit(
    settings: &AgentSettings,
    host: &AgentHost<'_>,
    hostname: Option<&HostName>,
) -> Result<String, AgentError> {
    let http = environment("HTTP_PROXY", &settings.proxies.http)?;
    let https = environment("HTTPS_PROXY", &settings.proxies.https)?;
    let no_proxy = environment("NO_PROXY", &settings.proxies.no_proxy)?;
    let ip_options = argument(one_line("IP_OPTIONS", &settings.ip_options)?);
    let copy_network = host.keyfiles > 0;
    let hostname = hostname.map(HostName::as_str).unwrap_or_default();
    let authfile = settings.pull_secret.as_ref().map(|_| format!(" --authfile={AUTHFILE}")).unwrap_or_default();
    let trust = settings.ironic_ca_bundle.as_ref().map(|_| {
        format!(
            " --mount type=bind,src={IRONIC_CA_PATH},dst={IRONIC_CA_PATH},ro \
             --env REQUESTS_CA_BUNDLE={IRONIC_CA_PATH} --env SSL_CERT_FILE={IRONIC_CA_PATH}"
        )
    });
    let trust = trust.unwrap_or_default();
    let image = image(settings)?;
    // `StartLimitIntervalSec` is in [Unit]: upstream has it in [Service], where systemd ignores it.
    Ok(format!(
        "[Unit]\n\
         Description=Ironic Agent\n\
         After=network-online.target\n\
         Wants=network-online.target\n\
         StartLimitIntervalSec=0\n\
         [Service]\n\
         {http}\n\
         {https}\n\
         {no_proxy}\n\
         TimeoutStartSec=0\n\
         Restart=on-failure\n\
         RestartSec=5\n\
         Type=notify\n\
         ExecStartPre=/bin/rm -f %t/%n.ctr-id\n\
         ExecStart=/bin/podman run --detach --cgroups=no-conmon --sdnotify=conmon --rm --cidfile=%t/%n.ctr-id \
         --privileged --network host \
         --mount type=bind,src={CONFIGURATION},dst=/etc/ironic-python-agent/ignition.conf \
         --mount type=bind,src=/dev,dst=/dev \
         --mount type=bind,src=/sys,dst=/sys \
         --mount type=bind,src=/run/dbus/system_bus_socket,dst=/run/dbus/system_bus_socket \
         --mount type=bind,src=/,dst=/mnt/coreos \
         --mount type=bind,src=/run/udev,dst=/run/udev \
         --ipc=host --uts=host \
         --env \"IPA_COREOS_IP_OPTIONS={ip_options}\" \
         --env IPA_COREOS_COPY_NETWORK={copy_network} \
         --env \"IPA_DEFAULT_HOSTNAME={hostname}\"{authfile}{trust} \
         --name ironic-agent {image}\n\
         ExecStop=/bin/podman stop --ignore --cidfile=%t/%n.ctr-id\n\
         ExecStopPost=/bin/podman rm -f --ignore --cidfile=%t/%n.ctr-id\n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    ))
}

/// The line that sets a variable.
fn environment(name: &'static str, text: &str) -> Result<String, AgentError> {
    let line = format!("Environment=\"{name}={}\"", variable(one_line(name, text)?));
    if line.len() < MAX_UNIT_LINE { Ok(line) } else { Err(AgentError::TooLong(name)) }
}

/// Escapes text between the double quotes of `Environment=` (`systemd.exec(5)`). Upstream does not escape it, so systemd
/// expands what looks like a specifier in the password of a proxy.
fn variable(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', r#"\""#).replace('%', "%%")
}

/// Escapes text between double quotes in a command line (`systemd.service(5)`), where systemd also expands variables.
fn argument(text: &str) -> String {
    variable(text).replace('$', "$$")
}
