//! What a live system of `fixtures/bases/make-live-root.sh` says of its network before it switches off.

use serde_json::Value;

/// The report of one boot.
#[derive(Debug, Clone)]
pub struct Report(pub(crate) Value);

/// A connection of NetworkManager.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// The name of the profile.
    pub name: String,
    /// The interface that it is active on; empty if it is not active.
    pub device: String,
    /// `activated`, where it is.
    pub state: String,
    /// The keyfile that it was read from.
    pub file: String,
}

impl Report {
    /// Finds the report in what came over the serial console.
    pub fn in_console(console: &str) -> Option<Self> {
        let (_, rest) = console.rsplit_once("BOOT-REPORT-BEGIN\n")?;
        let (line, _) = rest.split_once("\nBOOT-REPORT-END")?;
        serde_json::from_str(line).ok().map(Self)
    }

    /// The name of the interface with this MAC address. Of several (a bond and its ports) it is the first.
    pub fn interface(&self, mac: &str) -> String {
        let found = self.interfaces().find(|interface| interface["address"] == mac);
        found.and_then(|interface| interface["ifname"].as_str()).unwrap_or_else(|| panic!("no {mac}: {self:#?}")).into()
    }

    /// The addresses of an interface that reach further than its link, such as `192.0.2.10/24`. None if there is no
    /// such interface.
    pub fn addresses(&self, interface: &str) -> Vec<String> {
        let addresses = self.interfaces().filter(|found| found["ifname"] == interface);
        let addresses =
            addresses.flat_map(|found| list(&found["addr_info"])).filter(|found| found["scope"] == "global");
        addresses.map(|found| format!("{}/{}", text(&found["local"]), found["prefixlen"])).collect()
    }

    /// The ports of a bond or a bridge.
    pub fn ports(&self, controller: &str) -> Vec<String> {
        let ports = self.interfaces().filter(|found| found["master"] == controller);
        ports.map(|port| text(&port["ifname"]).to_owned()).collect()
    }

    /// The interface that is below this one: of a VLAN what it is on.
    pub fn base(&self, interface: &str) -> Option<String> {
        let found = self.interfaces().find(|found| found["ifname"] == interface)?;
        found["link"].as_str().map(str::to_owned)
    }

    /// The next hops of the default routes, such as `192.0.2.1 ens3`.
    pub fn default_routes(&self) -> Vec<String> {
        let routes = list(&self.0["routes"]).chain(list(&self.0["routes6"]));
        let routes = routes.filter(|route| route["dst"] == "default");
        routes.map(|route| format!("{} {}", text(&route["gateway"]), text(&route["dev"]))).collect()
    }

    /// All routes that an interface has, such as `10.0.0.0/8 via 192.0.2.1`, but for those of its own addresses.
    pub fn routes(&self, interface: &str) -> Vec<String> {
        let routes = list(&self.0["routes"]).chain(list(&self.0["routes6"]));
        let routes = routes.filter(|route| route["dev"] == interface && route["protocol"] != "kernel");
        let written = routes.map(|route| match route["gateway"].as_str() {
            Some(gateway) => format!("{} via {gateway}", text(&route["dst"])),
            None => text(&route["dst"]).to_owned(),
        });
        written.collect()
    }

    /// The connections of NetworkManager, without that of the loopback interface that it makes itself.
    pub fn connections(&self) -> Vec<Connection> {
        let lines = list(&self.0["connections"]).map(text);
        let connections = lines.map(|line| {
            let [name, _, device, state, file] = fields(line).try_into().unwrap_or_else(|_| panic!("{line}"));
            Connection { name, device, state, file }
        });
        connections.filter(|connection| connection.name != "lo" || connection.file.starts_with("/etc/")).collect()
    }

    /// The files of profiles there are: mode, owner, group and path, such as `600 0 0 /etc/NetworkManager/…`.
    pub fn profiles(&self) -> Vec<&str> {
        list(&self.0["profiles"]).map(text).collect()
    }

    /// What the network was in the initramfs, line by line, where the system has one that knows networks.
    pub fn initramfs(&self) -> Vec<&str> {
        list(&self.0["initramfs"]).map(text).collect()
    }

    /// The lines that a host says of one subject, such as `log`, where it says that.
    pub fn lines(&self, subject: &str) -> Vec<&str> {
        list(&self.0[subject]).map(text).collect()
    }

    /// The host name.
    pub fn host_name(&self) -> &str {
        text(&self.0["hostname"][0])
    }

    /// What is mounted of devices, as in `/proc/mounts`.
    pub fn mounts(&self) -> Vec<&str> {
        list(&self.0["mounts"]).map(text).collect()
    }

    /// The kernel's command line.
    pub fn command_line(&self) -> &str {
        text(&self.0["cmdline"][0])
    }

    fn interfaces(&self) -> impl Iterator<Item = &Value> {
        list(&self.0["addresses"])
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The fields of a line that `nmcli --terse` printed: colons in them have a backslash before them.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ':' => fields.push(String::new()),
            '\\' => fields.last_mut().expect("one at least").extend(characters.next()),
            _ => fields.last_mut().expect("one at least").push(character),
        }
    }
    fields
}
