//! The place of one server: bases, hosts, orders, certificates and tokens.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use acceptance::bases::{coreos_iso, extracted};
use acceptance::extents;
use acceptance::peers::cache;
use acceptance::server::dayone;
use imagelib::base::{BaseIdentity, Role};
use imagelib::cpio::Archive;
use imagelib::digest::Digest;
use tempfile::TempDir;

use super::authority::Authority;
use super::oracle::Expected;
use super::orders::{Image, ImageFile, Order};
use super::random::Random;

const HOSTS: u64 = 3;

/// Where a minimal ISO finds its root file system: the same in every order, so that `dayone build` makes the same bytes.
const ROOTFS: &str = "http://192.0.2.1/rootfs.img";

pub(crate) struct Site {
    root: TempDir,
    pub(crate) authority: Option<Authority>,
    pub(crate) orders: Vec<Order>,
    /// The two versions of the base that comes and goes.
    pub(crate) rolling: [(PathBuf, Digest); 2],
}

impl Site {
    pub(crate) fn new(random: &mut Random, tls: bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        for directory in ["data", "bases", "originals", "expected", "sources"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        let authority = tls.then(|| Authority::new(root.path()));
        let rolling = [(0, "6"), (1, "9")].map(|(version, size)| {
            let path = root.path().join(format!("sources/rolling-{version}.iso"));
            make_iso(&path, &["--size-mib", size], random);
            let digest = Digest::of(&fs::read(&path).unwrap());
            (path, digest)
        });
        let mut site = Self { root, authority, orders: Vec::new(), rolling };
        let installer = cache().join("bin/coreos-installer").display().to_string();
        let coreos = site.path("originals/coreos.iso");
        make_iso(&coreos, &["--size-mib", "8", "--pack", &installer], random);
        fs::write(site.path("originals/kernel"), noise(random, 300_000)).unwrap();
        fs::write(site.path("originals/initrd"), initramfs(random)).unwrap();
        for base in ["coreos.iso", "kernel", "initrd"] {
            fs::copy(site.path("originals").join(base), site.path("bases").join(base)).unwrap();
        }
        site.make_orders();
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The options that name the configured bases.
    pub(crate) fn bases(&self) -> [String; 2] {
        let path = |name: &str| self.path("bases").join(name).display().to_string();
        [format!("coreos={}", path("coreos.iso")), format!("pxe=kernel:{},initrd:{}", path("kernel"), path("initrd"))]
    }

    /// The name of a configured base, and the files that it has.
    pub(crate) fn configured(base: usize) -> (&'static str, &'static [&'static str]) {
        if base == 0 { ("coreos", &["coreos.iso"]) } else { ("pxe", &["kernel", "initrd"]) }
    }

    /// The identity of a configured base.
    pub(crate) fn identity(&self, base: usize) -> BaseIdentity {
        let digest = |file: &str| Digest::of(&fs::read(self.path("originals").join(file)).unwrap());
        if base == 0 {
            BaseIdentity::of(&[(Role::Iso, digest("coreos.iso"))].into())
        } else {
            BaseIdentity::of(&[(Role::Kernel, digest("kernel")), (Role::Initrd, digest("initrd"))].into())
        }
    }

    fn make_orders(&mut self) {
        let coreos = self.path("originals/coreos.iso");
        let files = self.path("expected/files");
        fs::create_dir(&files).unwrap();
        let [kernel, rootfs] =
            ["/images/pxeboot/vmlinuz", "/images/pxeboot/rootfs.img"].map(|file| extracted(&coreos, file, &files));
        let pxe = format!(
            "kernel:{},initrd:{}",
            self.path("originals/kernel").display(),
            self.path("originals/initrd").display()
        );
        for number in 1..=HOSTS {
            let document = host(number);
            let file = self.path(&format!("host-{number}.yaml"));
            fs::write(&file, &document).unwrap();
            let build = |base: &str, options: &[&str]| self.build(&file, base, options);
            let mut orders: Vec<(String, Vec<Image>, bool)> = Vec::new();

            for (format, served) in [("iso", "boot.iso"), ("usb", "boot.img"), ("minimal-iso", "boot.iso")] {
                let minimal = format == "minimal-iso";
                let more: &[&str] = if minimal { &["--rootfs-url", ROOTFS] } else { &[] };
                let (path, _) = build(&coreos.display().to_string(), &[&["--format", format], more].concat());
                let query = format!(
                    "base=coreos&format={format}{}",
                    if minimal { format!("&rootfs_url={ROOTFS}") } else { String::new() }
                );
                let title = format!("{format} of host {number} over coreos");
                let image = Image::new(title, vec![ImageFile::new(served, Expected::file(&path))], Some(0));
                orders.push((query, vec![image], false));
            }

            let (path, arguments) = build(&coreos.display().to_string(), &["--format", "initrd"]);
            let files = vec![
                ImageFile::new("initrd.img", Expected::file(&path)),
                ImageFile::new("vmlinuz", Expected::file(&kernel)),
                ImageFile::new("rootfs.img", Expected::file(&rootfs)),
                ImageFile::new("boot.ipxe", Expected::script(&arguments)),
            ];
            let title = format!("initrd of host {number} over coreos");
            orders.push(("base=coreos&format=initrd".to_owned(), vec![Image::new(title, files, Some(0))], false));

            let (path, _) = build(&pxe, &["--format", "initrd"]);
            let files = vec![
                ImageFile::new("initrd.img", Expected::file(&path)),
                ImageFile::new("vmlinuz", Expected::file(&self.path("originals/kernel"))),
            ];
            let title = format!("initrd of host {number} over pxe");
            orders.push(("base=pxe&format=initrd".to_owned(), vec![Image::new(title, files, Some(1))], false));

            for (format, served) in [("iso", "boot.iso"), ("usb", "boot.img")] {
                let version = |version: usize| {
                    let (path, _) = build(&self.rolling[version].0.display().to_string(), &["--format", format]);
                    let title = format!("{format} of host {number} over version {version} of rolling");
                    Image::new(title, vec![ImageFile::new(served, Expected::file(&path))], None)
                };
                orders.push((format!("base=rolling&format={format}"), vec![version(0), version(1)], true));
            }

            for (kind, system, served) in [("cidata", "iso", "data.iso"), ("config-2", "vfat", "data.img")] {
                let (path, _) = build("", &["--data", kind, "--file-system", system]);
                let title = format!("{kind} of host {number} as {system}");
                let image = Image::new(title, vec![ImageFile::new(served, Expected::file(&path))], None);
                orders.push((format!("format=data&data={kind}&file_system={system}"), vec![image], false));
            }
            self.orders.extend(orders.into_iter().map(|(query, images, is_rolling)| Order {
                query,
                document: document.clone(),
                images,
                is_rolling,
                changing: std::sync::Mutex::default(),
            }));
        }
    }

    /// The file that `dayone build` writes, and the kernel arguments that it prints.
    fn build(&self, document: &Path, base: &str, options: &[&str]) -> (PathBuf, String) {
        let (file, path) = tempfile::Builder::new().tempfile_in(self.path("expected")).unwrap().keep().unwrap();
        drop(file);
        let mut command = dayone();
        command.arg("build").arg(document).args(options);
        if !base.is_empty() {
            command.args(["--base", base]);
        }
        let output = command.arg("--force").arg("-o").arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command:?}: {said}");
        let arguments = said.lines().find_map(|line| line.strip_prefix("kernel arguments: ")).unwrap_or_default();
        (path, arguments.to_owned())
    }
}

/// Puts a file in place that only its owner may read.
pub(crate) fn write_secret(path: &Path, text: &str) {
    let new = path.with_extension("new");
    let options = &mut File::options();
    let mut file = options.create(true).write(true).truncate(true).mode(0o600).open(&new).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    fs::rename(new, path).unwrap();
}

fn host(number: u64) -> String {
    format!(
        "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  identifier: mac-address\n  \
         mac-address: 52:54:00:00:00:{number:02x}\n  ipv4: {{enabled: true, dhcp: false, \
         address: [{{ip: 192.0.2.{number}, prefix-length: 24}}]}}\n"
    )
}

/// An ISO whose root file system has bytes that repeat nowhere: zeros from a wrong offset would look right.
fn make_iso(path: &Path, options: &[&str], random: &mut Random) {
    fs::copy(coreos_iso(options), path).unwrap();
    let extents = extents::by_xorriso(path);
    let extent = extents["/images/pxeboot/rootfs.img"].first().unwrap();
    let file = File::options().write(true).open(path).unwrap();
    let (from, to) = (extent.start + 1024, extent.end - 1024);
    file.write_all_at(&noise(random, usize::try_from(to - from).unwrap()), from).unwrap();
}

fn noise(random: &mut Random, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    random.fill(&mut bytes);
    bytes
}

fn initramfs(random: &mut Random) -> Vec<u8> {
    let mut archive = Archive::new();
    archive.file("etc/coreos-live-initramfs".parse().unwrap(), 0o644, Vec::new()).unwrap();
    archive.file("usr/lib/noise".parse().unwrap(), 0o644, noise(random, 1 << 20)).unwrap();
    archive.add_parents(0o755).unwrap();
    archive.to_bytes()
}
