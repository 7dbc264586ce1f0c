//! Machines under software emulation: slower than others, and the same everywhere.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::peers;
use crate::report::Report;

/// How long a machine may take: a minute is usual, and ten times that happens where others compile beside it.
pub(crate) const LIMIT: Duration = Duration::from_secs(900);

/// How a machine meets an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boot {
    /// BIOS, from a CD: El Torito.
    BiosCd,
    /// BIOS, from a disk: the code in the MBR.
    BiosDisk,
    /// UEFI, from a CD: El Torito.
    UefiCd,
    /// UEFI, from a USB stick: the EFI system partition.
    UefiUsb,
}

impl Boot {
    fn drive(self, image: &Path) -> Vec<String> {
        // What firmware reads over AHCI and xHCI, it reads in half the time that the older controllers take.
        let (options, devices) = match self {
            Self::BiosCd | Self::UefiCd => ("media=cdrom,readonly=on", ["-device", "ide-cd,drive=medium"].as_slice()),
            Self::BiosDisk => ("snapshot=on", ["-device", "ide-hd,drive=medium"].as_slice()),
            Self::UefiUsb => {
                ("snapshot=on", ["-device", "qemu-xhci", "-device", "usb-storage,drive=medium"].as_slice())
            }
        };
        let drive = format!("format=raw,file={},if=none,id=medium,{options}", image.display());
        let firmware = match self {
            Self::BiosCd | Self::BiosDisk => [].as_slice(),
            Self::UefiCd | Self::UefiUsb => &["-bios", "/usr/share/ovmf/OVMF.fd"],
        };
        ["-drive", &drive].iter().chain(devices).chain(firmware).map(|argument| (*argument).to_owned()).collect()
    }
}

/// A machine to be booted once. It has no way to any network: its NICs are each on a network of their own, with a DHCP
/// server and nothing behind it.
#[derive(Debug, Clone)]
pub struct Machine {
    name: String,
    arguments: Vec<String>,
    nics: usize,
}

impl Machine {
    /// One that boots an image.
    pub fn with_image(image: &Path, boot: Boot) -> Self {
        let name = image.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Self::new(format!("{name}-{boot:?}"), boot.drive(image))
    }

    /// One that boots a kernel and an initramfs without a boot loader.
    pub fn with_kernel(kernel: &Path, initramfs: &Path, command_line: &str) -> Self {
        let name = initramfs.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let (kernel, initramfs) = (kernel.display().to_string(), initramfs.display().to_string());
        let arguments =
            ["-kernel", &kernel, "-initrd", &initramfs, "-append", command_line].map(str::to_owned).to_vec();
        Self::new(name, arguments)
    }

    fn new(name: String, arguments: Vec<String>) -> Self {
        Self { name, arguments, nics: 0 }
    }

    /// Adds a NIC with this MAC address.
    #[must_use]
    pub fn nic(mut self, mac: &str) -> Self {
        let id = format!("nic{}", self.nics);
        self.nics += 1;
        let network = format!("user,id={id},restrict=on");
        let device = format!("virtio-net-pci,netdev={id},mac={mac},romfile=");
        self.arguments.extend(["-netdev", &network, "-device", &device].map(str::to_owned));
        self
    }

    /// Adds a disk that cannot be written to: `/dev/vda`, and so on.
    #[must_use]
    pub fn disk(mut self, image: &Path) -> Self {
        let drive = format!("format=raw,file={},if=virtio,readonly=on", image.display());
        self.arguments.extend(["-drive".to_owned(), drive]);
        self
    }

    /// Adds a disk that it may write to.
    #[must_use]
    pub fn writable_disk(mut self, image: &Path) -> Self {
        let drive = format!("format=raw,file={},if=virtio", image.display());
        self.arguments.extend(["-drive".to_owned(), drive]);
        self
    }

    /// Gives it more than one processor.
    #[must_use]
    pub fn processors(mut self, number: usize) -> Self {
        self.arguments.extend(["-smp".to_owned(), number.to_string()]);
        self
    }

    /// Boots it, and returns what came over the serial console until it was powered off.
    pub fn console(&self) -> String {
        let _turn = Turn::take();
        let mut command = Command::new("qemu-system-x86_64");
        command.args([
            "-machine",
            "q35",
            "-accel",
            "tcg,thread=multi,tb-size=512",
            "-m",
            "1024",
            "-nodefaults",
            "-no-reboot",
        ]);
        command.args(["-display", "none", "-device", "VGA", "-serial", "stdio"]);
        command.args(&self.arguments);
        let (console, ended) = run(command);
        if !ended {
            self.fail(&console, &format!("was not off after {LIMIT:?}"));
        }
        console
    }

    /// Boots it, and returns what the system in it says of its network.
    pub fn report(&self) -> Report {
        let console = self.console();
        match Report::in_console(&console) {
            Some(report) => report,
            None => self.fail(&console, "says nothing of its network"),
        }
    }

    fn fail(&self, console: &str, what: &str) -> ! {
        let path = kept_console(&self.name, console);
        let lines: Vec<_> = console.lines().collect();
        let last = lines[lines.len().saturating_sub(60)..].join("\n");
        panic!("{} {what}; the end of its console ({} has all of it):\n{last}", self.name, path.display());
    }
}

/// Keeps the console of a machine that failed.
pub(crate) fn kept_console(name: &str, console: &str) -> PathBuf {
    let directory = peers::cache().join("consoles");
    let path = directory.join(format!("{name}.log"));
    fs::create_dir_all(&directory).expect("a directory for consoles");
    fs::write(&path, console).expect("the console is kept");
    path
}

/// The right to run a machine: two at a time, whichever test they belong to.
pub(crate) struct Turn(File);

impl Turn {
    pub(crate) fn take() -> Self {
        let directory = peers::cache();
        fs::create_dir_all(&directory).expect("the cache");
        loop {
            for slot in 0..2 {
                let file = File::create(directory.join(format!("machine-{slot}.lock"))).expect("a lock");
                if file.try_lock().is_ok() {
                    return Self(file);
                }
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.unlock().expect("the lock is ours");
    }
}

/// Boots Debian's cloud kernel directly with an initramfs, and returns what came over the serial console until the
/// machine was powered off.
pub fn boot_initramfs(initramfs: &Path) -> String {
    let kernel = peers::cache().join("kernel/vmlinuz");
    assert!(kernel.exists(), "{} is missing; run scripts/setup-peers.sh", kernel.display());
    Machine::with_kernel(&kernel, initramfs, "console=ttyS0 panic=-1 loglevel=5").console()
}

/// Boots an image, and returns what came over the serial console until the machine was powered off.
pub fn boot_image(image: &Path, boot: Boot) -> String {
    Machine::with_image(image, boot).console()
}

/// Runs a machine whose serial console is its standard output: what it wrote, and whether it ended by itself.
fn run(mut command: Command) -> (String, bool) {
    let mut machine = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut output = machine.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut console = Vec::new();
        output.read_to_end(&mut console).unwrap();
        String::from_utf8_lossy(&console).replace('\r', "")
    });
    let start = Instant::now();
    let ended = loop {
        if machine.try_wait().unwrap().is_some() {
            break true;
        }
        if start.elapsed() > LIMIT {
            machine.kill().unwrap();
            machine.wait().unwrap();
            break false;
        }
        thread::sleep(Duration::from_millis(50));
    };
    (reader.join().unwrap(), ended)
}
