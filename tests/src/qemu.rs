//! Machines under software emulation: slower than others, and the same everywhere.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Where [`Machine::by_http`] and [`Machine::nic_to_here`] record packets.
const PACKETS: &str = "packets.pcap";

/// The Ethernet frames that a machine in this directory sent and received.
pub fn packets(directory: &Path) -> Vec<Vec<u8>> {
    let recorded = fs::read(directory.join(PACKETS)).expect("a record");
    let mut rest = recorded.get(24..).expect("its header");
    let mut frames = Vec::new();
    while let Some((head, behind)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
        let Some((frame, behind)) = behind.split_at_checked(length as usize) else { break };
        frames.push(frame.to_vec());
        rest = behind;
    }
    frames
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
        // Only code in system management mode can write the variables, as on real machines: without it, this firmware hangs.
        let flash = "if=pflash,format=raw,unit";
        machine.arguments.extend([
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
        ]);
        machine.name += "-secure";
        machine
    }

    /// One whose firmware boots from a URL once. The firmware's own address is from DHCP, which OVMF always asks. Everything that
    /// the machine sends and receives is recorded ([`packets`]); this machine is 10.0.2.2 to it.
    pub fn by_http(url: &str, mac: &str, memory: u32, directory: &Path) -> Self {
        let variables = directory.join("variables.fd");
        let mut write = peers::peer("virt-fw-vars");
        write.args(["--input", "/usr/share/OVMF/OVMF_VARS_4M.fd", "--set-boot-uri", url, "--output"]).arg(&variables);
        peers::run(&mut write);
        let flash = "if=pflash,format=raw,unit";
        let arguments = [
            // The last of these options counts.
            "-m".to_owned(),
            memory.to_string(),
            "-drive".to_owned(),
            format!("{flash}=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd"),
            "-drive".to_owned(),
            format!("{flash}=1,file={}", variables.display()),
            "-netdev".to_owned(),
            "user,id=nic".to_owned(),
            "-device".to_owned(),
            format!("virtio-net-pci,netdev=nic,mac={mac},romfile="),
            "-object".to_owned(),
            format!("filter-dump,id=dump,netdev=nic,file={}", directory.join(PACKETS).display()),
        ];
        Self::new("http".to_owned(), arguments.into())
    }

    /// Lets the firmware of [`by_http`](Self::by_http) trust a certificate (DER), as an operator enrols one in its setup.
    #[must_use]
    pub fn trusting(mut self, certificate: &[u8], directory: &Path) -> Self {
        // EFI_SIGNATURE_LIST (UEFI 2.10, 32.4.1): the type EFI_CERT_X509_GUID, sizes, and one signature with its owner.
        const X509: [u8; 16] =
            [0xa1, 0x59, 0xc0, 0xa5, 0xe4, 0x94, 0xa7, 0x4a, 0x87, 0xb5, 0xab, 0x15, 0x5c, 0x2b, 0xf0, 0x72];
        let signature = 16 + u32::try_from(certificate.len()).expect("a certificate");
        let sizes = [28 + signature, 0, signature].map(u32::to_le_bytes).concat();
        let list = directory.join("authorities.esl");
        fs::write(&list, [&X509[..], &sizes, &[0; 16], certificate].concat()).expect("a list");
        let list = format!("name=etc/edk2/https/cacerts,file={}", list.display());
        // TLS needs random numbers, which the usual processor does not have.
        self.arguments.extend(["-cpu", "max", "-fw_cfg", &list].map(str::to_owned));
        self
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

    /// Adds a NIC with this MAC address, from which the machine reaches this one as 10.0.2.2. What it sends and receives is recorded
    /// ([`packets`]).
    #[must_use]
    pub fn nic_to_here(mut self, mac: &str, directory: &Path) -> Self {
        let device = format!("virtio-net-pci,netdev=here,mac={mac},romfile=");
        let dump = format!("filter-dump,id=dump,netdev=here,file={}", directory.join(PACKETS).display());
        let arguments = ["-netdev", "user,id=here", "-device", &device, "-object", &dump];
        self.arguments.extend(arguments.map(str::to_owned));
        self
    }

    /// Gives it more memory, in MiB.
    #[must_use]
    pub fn memory(mut self, mebibytes: u32) -> Self {
        // The last of these options counts.
        self.arguments.extend(["-m".to_owned(), mebibytes.to_string()]);
        self
    }

    /// Adds a disk that cannot be written to: `/dev/vda`, and so on.
    #[must_use]
    pub fn disk(mut self, image: &Path) -> Self {
        let drive = format!("format=raw,file={},if=virtio,readonly=on", image.display());
        self.arguments.extend(["-drive".to_owned(), drive]);
        self
    }

    /// Boots it, and returns what came over the serial console until this text, at which it is switched off: it would wait
    /// there for somebody.
    pub fn console_until(&self, text: &'static str) -> String {
        let (console, ended) = self.run(Some(text));
        if !ended || !console.contains(text) {
            self.fail(&console, &format!("did not say {text:?}"));
        }
        console
    }

    /// Boots it, and returns what came over the serial console until it was powered off.
    pub fn console(&self) -> String {
        let (console, ended) = self.run(None);
        if !ended {
            self.fail(&console, &format!("was not off after {LIMIT:?}"));
        }
        console
    }

    fn run(&self, until: Option<&'static str>) -> (String, bool) {
        let _turn = Turn::take();
        let mut command = Command::new("qemu-system-x86_64");
        // A smaller buffer for translated code than QEMU's own fits the processor's caches better.
        command.args(["-machine", "q35", "-accel", "tcg,thread=multi,tb-size=512", "-m", "1024"]);
        command.args(["-nodefaults", "-no-reboot", "-display", "none", "-device", "VGA", "-serial", "stdio"]);
        command.args(&self.arguments);
        run(command, until)
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

/// Runs a machine whose console is its standard output: what it wrote, and whether it ended by itself or wrote `until`.
pub(crate) fn run(mut command: Command, until: Option<&'static str>) -> (String, bool) {
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
        let said = said.load(Ordering::Relaxed);
        if said || start.elapsed() > LIMIT {
            machine.kill().unwrap();
            machine.wait().unwrap();
            break said;
        }
        thread::sleep(Duration::from_millis(50));
    };
    (reader.join().unwrap(), ended)
}
