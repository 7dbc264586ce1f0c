//! The texts that `dayone init` writes.

use std::fmt::Write as _;
use std::path::Path;

use crate::store::BaseDefinition;

/// Where the files are, and what they name.
pub(super) struct Place<'a> {
    /// The directory, as an absolute path.
    pub(super) directory: &'a Path,
    pub(super) media_url: &'a str,
    /// Whether nobody has given the URL.
    pub(super) is_guess: bool,
    pub(super) bases: &'a [BaseDefinition],
}

/// Three hosts with a bond of two NICs, and a VLAN on it.
pub(super) const FLEET: &str = r#"# A network for all hosts of hosts.csv. dayone puts the columns of a host's row in place of ${…}.
apiVersion: dayone.metal3.io/v1alpha1
kind: HostFleet
metadata: {name: rack1}
spec:
  hosts: {csvFile: hosts.csv}
  template:
    # The address of the host's BMC, for dayone boot. dayone serve reads its credentials from bmc-credentials/NAME/username and
    # bmc-credentials/NAME/password; for dayone boot without a server, give --bmc-username and --bmc-password-file.
    bmc: {address: "redfish-virtualmedia+https://${bmc}/redfish/v1/Systems/1", credentialsName: "${name}-bmc"}
    # Which NIC a name of the network means.
    interfaces:
    - {name: nic0, macAddress: "${bootMACAddress}"}
    - {name: nic1, macAddress: "${secondMAC}"}
    # NMState
    network:
      interfaces:
      - {name: nic0, type: ethernet, state: up}
      - {name: nic1, type: ethernet, state: up}
      - name: bond0
        type: bond
        state: up
        ipv4: {enabled: false}
        ipv6: {enabled: false}
        link-aggregation:
          mode: active-backup
          options: {miimon: "100"}
          port: [nic0, nic1]
      - name: bond0.10
        type: vlan
        state: up
        vlan: {base-iface: bond0, id: 10}
        ipv4: {enabled: true, dhcp: false, address: [{ip: "${address}", prefix-length: 24}]}
        ipv6: {enabled: false}
      routes:
        config:
        - {destination: 0.0.0.0/0, next-hop-address: "${gateway}", next-hop-interface: bond0.10}
      dns-resolver:
        config: {server: ["${dns}"]}
"#;

/// The rows of these hosts. The addresses are those of documentation (RFC 5737).
pub(super) const HOSTS: &str = "\
name,     bootMACAddress,    secondMAC,         bmc,           address,      gateway,     dns
worker-0, 52:54:00:12:34:00, 52:54:00:12:35:00, 198.51.100.10, 192.0.2.10,   192.0.2.1,   192.0.2.53
worker-1, 52:54:00:12:34:01, 52:54:00:12:35:01, 198.51.100.11, 192.0.2.11,   192.0.2.1,   192.0.2.53
worker-2, 52:54:00:12:34:02, 52:54:00:12:35:02, 198.51.100.12, 192.0.2.12,   192.0.2.1,   192.0.2.53
";

/// What does not belong into a repository.
pub(super) const IGNORED: &str = "/api-token\n/data/\n/images/\n/bmc-credentials/\n";

/// The directory with the credentials of BMCs.
pub(super) const CREDENTIALS: &str = "bmc-credentials";

/// The settings file.
pub(super) fn settings(place: &Place<'_>) -> String {
    let quoted = |text: &str| serde_yaml::to_string(text).unwrap_or_default().trim_end().to_owned();
    let path = |name: &str| quoted(&place.directory.join(name).display().to_string());
    let mut text = String::from(
        "# Settings of dayone serve. docs/reference/settings.md has all of them, and `dayone config check` finds mistakes.\n\
         # Relative paths would be relative to the directory in which the server is started.\n\n",
    );
    let guess = if place.is_guess { " This is a guess: correct it if BMCs use another address." } else { "" };
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "# The URL under which BMCs reach this machine.{guess}\nmedia-url: {}\n",
        quoted(place.media_url)
    );
    text.push_str("# Base images: ISOs, or kernels with their initramfs.\n");
    if place.bases.is_empty() {
        text.push_str("#bases:\n#- name: coreos\n#  iso: /srv/dayone/fedora-coreos-live.x86_64.iso\n");
    } else {
        text.push_str("bases:\n");
    }
    for base in place.bases {
        let _ = writeln!(text, "- name: {}", base.name);
        for (role, file) in base.files.iter() {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
            let _ = writeln!(text, "  {}: {}", role.word(), quoted(&file.display().to_string()));
        }
        if let Some(profile) = base.profile {
            let _ = writeln!(text, "  profile: {}", profile.as_str());
        }
    }
    let _ = writeln!(text, "\n# What the server stores.\ndata-dir: {}\n", path("data"));
    let _ = writeln!(
        text,
        "# The users and passwords of BMCs, for dayone boot: a directory for each name, with the files username and password.\n\
         bmc-credentials: {}\n",
        path(CREDENTIALS)
    );
    let _ = writeln!(
        text,
        "# The API, for programs on this machine. Clients need the token in this file.\napi-listen: 127.0.0.1:8080\napi-token-file:\n- {}",
        path("api-token")
    );
    text
}

/// The next commands.
pub(super) fn readme(place: &Place<'_>) -> String {
    let base = place.bases.first().map_or("coreos", |base| base.name.as_str());
    format!(
        r#"# A fleet for dayone

| file | what it is |
| --- | --- |
| `dayone.yaml` | the settings of the server |
| `api-token` | the token of its API; keep it secret |
| `bmc-credentials/` | the users and passwords of BMCs: a directory for each, as `hosts/fleet.yaml` names them, with the files `username` and `password` |
| `hosts/fleet.yaml`, `hosts/hosts.csv` | one network for all hosts, and a row for each host |

Run these commands in this directory.

1. Name a base image under `bases` in `dayone.yaml`, correct `media-url`, and check both:

   ```sh
   dayone config check dayone.yaml
   ```

2. Put your hosts into `hosts/`, and find mistakes in them before anything boots:

   ```sh
   dayone check hosts/
   dayone convert --explain hosts/
   ```

3. Serve, and test the server from outside:

   ```sh
   dayone serve --config dayone.yaml
   dayone doctor --self --config dayone.yaml
   ```

4. Make the images of all hosts, and list their URLs:

   ```sh
   jq -n --rawfile fleet hosts/fleet.yaml --rawfile hosts hosts/hosts.csv '{{base: "{base}", hosts: "all",
         documents: [{{name: "fleet.yaml", text: $fleet}}, {{name: "hosts.csv", text: $hosts}}]}}' |
     curl --json @- -H "Authorization: Bearer $(cat api-token)" http://127.0.0.1:8080/v1/images
   dayone images --token-file api-token --server http://127.0.0.1:8080
   ```

5. Boot them through their BMCs: `dayone boot --help`.
"#
    )
}
