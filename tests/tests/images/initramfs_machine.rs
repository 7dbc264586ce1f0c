//! The shell of an initramfs with the NICs of a machine, for scripts that bring up a network.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

pub(super) const SHELLS: [&[&str]; 2] = [&["dash"], &["busybox", "sh"]];
pub(super) const LOOPBACK: Nic = ("lo", "00:00:00:00:00:00", true);
pub(super) const OTHER: Nic = ("ens3", "52:54:00:12:34:02", true);
pub(super) const FOUND: Nic = ("ens4", "52:54:00:12:34:01", true);

/// A NIC of a machine: its name, its MAC address, and whether it has a link.
pub(super) type Nic = (&'static str, &'static str, bool);

/// A machine in an initramfs: what its shell sees in place of `/sys`, `/proc` and `/scripts`.
pub(super) struct Machine(pub(super) TempDir);

impl Machine {
    /// One with these NICs. Routers and servers answer by the NIC `good`, after a second: ARP, and no ping.
    pub(super) fn new(nics: &[Nic], good: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let root = directory.path();
        for (name, mac, has_link) in nics {
            let nic = root.join("sys").join(name);
            fs::create_dir_all(&nic).unwrap();
            fs::write(nic.join("address"), format!("{mac}\n")).unwrap();
            fs::write(nic.join("carrier"), if *has_link { "1\n" } else { "0\n" }).unwrap();
        }
        fs::write(root.join("arp"), "IP address HW type\n").unwrap();
        fs::write(root.join("mounts"), "rootfs / rootfs rw,size=235820k,nr_inodes=58955 0 0\n").unwrap();
        let root = root.display();
        let programs = format!(
            r#"ip() {{ echo "ip $*"; case "$*" in *' address '*) echo "$6" > "{root}/sys/$4/address";; esac; }}
modprobe() {{ :; }}
mount() {{ echo "mount $*"; }}
udevadm() {{ :; }}
ping() {{ return 1; }}
sleep() {{ [ "$dayone_nic" != "{good}" ] || echo "$dayone_hop 0x1 0x2 52:55:0a:00:02:02 * $dayone_nic" > {root}/arp; }}
panic() {{ echo "panic $*"; exit 1; }}
"#
        );
        fs::write(directory.path().join("programs"), programs).unwrap();
        Self(directory)
    }

    /// Puts a script there, with the machine's paths in place of real ones.
    pub(super) fn script(&self, name: &str, text: &str) -> String {
        let root = self.0.path();
        let paths = [
            ("/sys/class/net", "sys"),
            ("/proc/net/arp", "arp"),
            ("/proc/mounts", "mounts"),
            ("/scripts", "scripts"),
            ("/run/live", "run"),
            ("/var/lib/live", "var"),
            ("/usr/lib/dayone", "dayone"),
        ];
        let real = |text: String, (real, ours): &(&str, &str)| text.replace(real, root.join(ours).to_str().unwrap());
        fs::write(root.join(name), paths.iter().fold(text.to_owned(), real)).unwrap();
        format!(". {}\n", root.join(name).display())
    }

    /// What a shell says that runs these lines. It knows the programs of the machine.
    pub(super) fn run(&self, shell: &[&str], lines: &str) -> String {
        let lines = format!(". {}\n{lines}", self.0.path().join("programs").display());
        let script = self.0.path().join("script");
        fs::write(&script, lines).unwrap();
        let output = Command::new(shell[0]).args(&shell[1..]).arg(script).output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}
