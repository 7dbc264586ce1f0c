//! Machines under software emulation: slower than others, and the same everywhere.

pub mod arm64;
mod network_boot;
mod other_architectures;
mod tpm;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub use network_boot::{asks_dhcp, packets};
pub use other_architectures::OtherArchitecture;
pub use tpm::Tpm;

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

#[derive(Debug, Clone, Copy)]
enum Platform {
    X86,
    Arm64,
    Other(OtherArchitecture),
}

impl Platform {
    fn command(self) -> Command {
        let (program, arguments) = match self {
            Self::X86 => ("qemu-system-x86_64", ["-machine", "q35", "-device", "VGA"]),
            // The processor of the first servers.
            Self::Arm64 => ("qemu-system-aarch64", ["-machine", "virt", "-cpu", "cortex-a57"]),
            Self::Other(OtherArchitecture::S390x) => {
                ("qemu-system-s390x", ["-machine", "s390-ccw-virtio", "-cpu", "qemu"])
            }
            Self::Other(OtherArchitecture::Ppc64le) => ("qemu-system-ppc64", ["-machine", "pseries", "-cpu", "power9"]),
        };
        let mut command = Command::new(program);
        command.args(arguments);
        command
    }

    fn nic(self) -> &'static str {
        match self {
            Self::Other(OtherArchitecture::S390x) => "virtio-net-ccw",
            _ => "virtio-net-pci,romfile=",
        }
    }
}

/// A machine to be booted once. It has no way to any network: its NICs are each on a network of their own, with a DHCP
/// server and nothing behind it.
#[derive(Debug, Clone)]
pub struct Machine {
    name: String,
    platform: Platform,
    arguments: Vec<String>,
    nics: usize,
    limit: Duration,
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

    /// One that boots an image from a CD or a USB stick, and verifies what it boots, as machines come from their vendors:
    /// with Microsoft's keys. Its variables are kept in the directory.
    pub fn with_secure_boot(image: &Path, boot: Boot, directory: &Path) -> Self {
        let variables = directory.join("variables.fd");
        fs::copy("/usr/share/OVMF/OVMF_VARS_4M.ms.fd", &variables).expect("variables");
        Self::with_variables(image, boot, &variables)
    }

    /// The same with these variables, which it may change.
    pub fn with_variables(image: &Path, boot: Boot, variables: &Path) -> Self {
        let mut machine = Self::with_image(image, boot);
        let firmware = machine.arguments.iter().position(|argument| argument == "-bios").expect("UEFI");
        machine.arguments.drain(firmware..firmware + 2);
        machine.arguments.extend(secure_firmware(variables));
        machine.name += "-secure";
        machine
    }

    /// One that boots the system on this disk, `/dev/vda`, by UEFI. The disk stays as it is.
    pub fn with_uefi_disk(image: &Path) -> Self {
        let drive = format!("format=raw,file={},if=virtio,snapshot=on", image.display());
        Self::new("disk".to_owned(), ["-drive", &drive, "-bios", "/usr/share/ovmf/OVMF.fd"].map(str::to_owned).to_vec())
    }

    fn new(name: String, arguments: Vec<String>) -> Self {
        Self { name, platform: Platform::X86, arguments, nics: 0, limit: LIMIT }
    }

    /// Adds a NIC with this MAC address.
    #[must_use]
    pub fn nic(mut self, mac: &str) -> Self {
        let id = format!("nic{}", self.nics);
        self.nics += 1;
        let network = format!("user,id={id},restrict=on");
        let device = format!("{},netdev={id},mac={mac}", self.platform.nic());
        self.arguments.extend(["-netdev", &network, "-device", &device].map(str::to_owned));
        self
    }

    /// Gives it more memory, in MiB.
    #[must_use]
    pub fn memory(mut self, mebibytes: u32) -> Self {
        // The last of these options counts.
        self.arguments.extend(["-m".to_owned(), mebibytes.to_string()]);
        self
    }

    /// Reads the medium no faster than this, in bytes a second, as by a slow BMC.
    #[must_use]
    pub fn reads_at_most(mut self, speed: u32) -> Self {
        let medium = self.arguments.iter_mut().find(|argument| argument.contains("id=medium")).expect("a medium");
        // QEMU lets what was not used in the last tenth of a second be used at once.
        medium.push_str(&format!(",throttling.bps-read={speed}"));
        self
    }

    /// Adds a disk that cannot be written to: `/dev/vda`, and so on.
    #[must_use]
    pub fn disk(mut self, image: &Path) -> Self {
        let drive = format!("format=raw,file={},if=virtio,readonly=on", image.display());
        self.arguments.extend(["-drive".to_owned(), drive]);
        self
    }

    /// Adds a disk, `/dev/vda` and so on, whose contents stay as the machine leaves them.
    #[must_use]
    pub fn own_disk(mut self, image: &Path) -> Self {
        let drive = format!("format=raw,file={},if=virtio,cache=unsafe", image.display());
        self.arguments.extend(["-drive".to_owned(), drive]);
        self
    }

    /// Gives it more processors.
    #[must_use]
    pub fn processors(mut self, count: u32) -> Self {
        self.arguments.extend(["-smp".to_owned(), count.to_string()]);
        self
    }

    /// Lets it take this long, in place of [a quarter of an hour](LIMIT).
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Boots it, and returns what came over the serial console until this text, at which it is switched off: it would wait
    /// there for somebody.
    pub fn console_until(&self, text: &'static str) -> String {
        let (console, ended) = self.run(Some(text), &|| true);
        if !ended || !console.contains(text) {
            self.fail(&console, &format!("did not say {text:?}"));
        }
        console
    }

    /// Boots it, and returns what came over the serial console until it was powered off.
    pub fn console(&self) -> String {
        let (console, ended) = self.run(None, &|| true);
        if !ended {
            self.fail(&console, &format!("was not off after {:?}", self.limit));
        }
        console
    }

    fn run(&self, until: Option<&'static str>, also: &dyn Fn() -> bool) -> (String, bool) {
        let _turn = Turn::take();
        let mut command = self.platform.command();
        // A smaller buffer for translated code than QEMU's own fits the processor's caches better.
        command.args(["-accel", "tcg,thread=multi,tb-size=512", "-m", "1024"]);
        command.args(["-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"]);
        command.args(&self.arguments);
        run(command, self.limit, until, also)
    }

    /// Boots it, and returns what the system in it says of its network.
    pub fn report(&self) -> Report {
        let console = self.console();
        match Report::in_console(&console) {
            Some(report) => report,
            None => self.fail(&console, "says nothing of its network"),
        }
    }

    /// Boots it, and returns what the system in it says of its network. The system stays on until this is so, too.
    pub fn report_and(&self, what: &str, also: &dyn Fn() -> bool) -> Report {
        let (console, ended) = self.run(Some("BOOT-REPORT-END"), also);
        match Report::in_console(&console) {
            Some(report) if ended => report,
            _ => self.fail(&console, &format!("did not say what its network is, or not {what}")),
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

/// The firmware of a machine that verifies what it boots, with these variables. Only code in system management mode can write
/// them, as on real machines: without it, this firmware hangs.
fn secure_firmware(variables: &Path) -> [String; 10] {
    let flash = "if=pflash,format=raw,unit";
    [
        "-machine".to_owned(),
        "smm=on".to_owned(),
        "-global".to_owned(),
        "driver=cfi.pflash01,property=secure,value=on".to_owned(),
        "-global".to_owned(),
        "ICH9-LPC.disable_s3=1".to_owned(),
        "-drive".to_owned(),
        format!("{flash}=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.ms.fd"),
        "-drive".to_owned(),
        format!("{flash}=1,file={}", variables.display()),
    ]
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

/// Runs a machine whose console is its standard output: what it wrote, and whether it ended by itself, or wrote `until` and `also` is
/// so.
pub(crate) fn run(
    mut command: Command,
    limit: Duration,
    until: Option<&'static str>,
    also: &dyn Fn() -> bool,
) -> (String, bool) {
    let mut machine = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut output = machine.stdout.take().unwrap();
    let said = Arc::new(AtomicBool::new(false));
    let reader = thread::spawn({
        let said = Arc::clone(&said);
        move || {
            let mut console = Vec::new();
            let mut chunk = [0; 4096];
            loop {
                let count = output.read(&mut chunk).unwrap();
                // It may lie across two reads.
                let from = console.len().saturating_sub(until.map_or(0, str::len));
                console.extend(&chunk[..count]);
                let has = |text: &str| console[from..].windows(text.len()).any(|window| window == text.as_bytes());
                if count == 0 || until.is_some_and(has) {
                    said.store(count > 0, Ordering::Relaxed);
                    return String::from_utf8_lossy(&console).replace('\r', "");
                }
            }
        }
    });
    let start = Instant::now();
    let ended = loop {
        if machine.try_wait().unwrap().is_some() {
            break true;
        }
        let said = said.load(Ordering::Relaxed) && also();
        if said || start.elapsed() > limit {
            machine.kill().unwrap();
            machine.wait().unwrap();
            break said;
        }
        thread::sleep(Duration::from_millis(50));
    };
    (reader.join().unwrap(), ended)
}
