//! Images over a live ISO of 1 GiB: the time and the memory of a plan, beside the time that xorriso takes for the same
//! edits, and the time of mastering the ISO anew, in the same run. Prints a part of `docs/benchmarks.md`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use acceptance::bases::debian_live_iso;
use acceptance::hosts::bond_and_vlans;
use acceptance::peers::run;
use hosts::input;
use hosts::network::convert;
use imagelib::base::{Base, BaseIdentity, Format};
use imagelib::digest::Digest;
use imagelib::ignition::Additions;
use imagelib::image::Image;
use imagelib::overlay::{Overlay, Segment};
use imagelib::recipe::Recipe;
use imagelib::source::{Role, Source};

const SIZE: u64 = 1 << 30;
const INITRD_SIZE: usize = 50 << 20;
const HOSTS: usize = 1000;
const PEER_RUNS: usize = 5;

fn main() -> io::Result<()> {
    let work = tempfile::tempdir()?;
    let work = work.path();
    let path = work.join("base.iso");
    let initrd = make_base(&path, work)?;
    let source = BaseFile { file: File::open(&path)?, size: fs::metadata(&path)?.len() };
    let base = || (Role::Iso, &source);
    let (probing, probed) = median(|| Base::probe(&base()).expect("a base"));

    let identity = BaseIdentity::of(&BTreeMap::from([(Role::Iso, Digest::of(b"the base"))]));
    let recipes: Vec<Recipe> = (0..HOSTS).map(|host| recipe(host, identity)).collect();
    let mut times = Vec::with_capacity(HOSTS);
    let mut memory = 0;
    for recipe in &recipes {
        let start = Instant::now();
        let image = Image::plan(recipe, &probed, identity).expect("a plan");
        times.push(start.elapsed());
        memory = memory.max(held(&image));
    }
    times.sort();
    let p50 = times[HOSTS / 2];
    println!("## Images over a live ISO of 1 GiB\n");
    println!(
        "{HOSTS} hosts, each with its own keyfiles and its own kernel argument, over an ISO in Debian's layout with an"
    );
    println!("initrd of {} MiB. The initrd grows, and the boot menus, `md5sum.txt`, directories and", initrd >> 20);
    println!("partition tables change. To plan an image, dayone reads nothing from the base.\n");
    println!("| step | time |\n| --- | --- |");
    println!("| examining the base, once, without computing its digest | {} |", ms(probing));
    println!("| planning an image, p50 | {} |", ms(p50));
    println!("| planning an image, p99 | {} |", ms(times[HOSTS * 99 / 100]));
    println!("\nMemory per image: at most {:.1} KiB.\n", memory as f64 / 1024.0);

    let image = Image::plan(&recipes[0], &probed, identity).expect("a plan");
    let ours = work.join("ours.iso");
    let (_, overlay) = image.main_file().expect("an ISO");
    write(overlay, &base(), &ours)?;
    let changed = changed_files(&image, &ours, &work.join("changed"));
    let theirs = work.join("theirs.iso");
    println!("The other programs get the changed files ready-made. Medians of {PEER_RUNS} runs.\n");
    println!("| command | time | times a plan (p50) | disk per image |\n| --- | --- | --- | --- |");
    let row = |name: &str, edit: &dyn Fn()| -> io::Result<()> {
        let (time, ()) = median(|| {
            let _ = fs::remove_file(&theirs);
            edit();
        });
        let ratio = time.as_secs_f64() / p50.as_secs_f64();
        let blocks = fs::metadata(&theirs)?.blocks() * 512;
        println!("| {name} | {} | {ratio:.0} | {} MiB |", ms(time), blocks >> 20);
        Ok(())
    };
    row("`xorriso -indev … -outdev … -boot_image any replay -map …`", &|| replay(&path, &changed, &theirs))?;
    row("extracted, changed, `xorrisofs`, `implantisomd5`", &|| {
        let tree = work.join("tree");
        extract(&path, &tree);
        for (name, file) in &changed {
            fs::copy(file, tree.join(name.trim_start_matches('/'))).expect("the file is ours");
        }
        master(&tree, &theirs);
        run(Command::new("implantisomd5").arg(&theirs));
        fs::remove_dir_all(tree).expect("the tree is ours");
    })
}

/// The time of the run in the middle, and what the last one made.
fn median<T>(mut run: impl FnMut() -> T) -> (Duration, T) {
    let mut timed = || {
        let start = Instant::now();
        let made = run();
        (start.elapsed(), made)
    };
    let mut times: Vec<Duration> = (1..PEER_RUNS).map(|_| timed().0).collect();
    let (time, made) = timed();
    times.push(time);
    times.sort();
    (times[PEER_RUNS / 2], made)
}

fn recipe(host: usize, identity: BaseIdentity) -> Recipe {
    let hosts = input::read(bond_and_vlans(host).as_bytes()).hosts;
    let network = convert(&hosts[0]).0.expect("a network");
    let additions = Additions {
        keyfiles: network.keyfiles,
        no_auto_default: true,
        hostname: network.hostname,
        ..Additions::default()
    };
    let mut recipe = Recipe::new(identity, Format::Iso, additions);
    recipe.kernel_arguments.append.push(format!("host={host}").parse().expect("an argument"));
    recipe
}

/// The bytes that a planned image holds: its own, the list of its segments, and the texts about it.
fn held(image: &Image) -> u64 {
    let list =
        |overlay: &Overlay| overlay.segments(0..overlay.size()).count() * (size_of::<Segment>() + size_of::<u64>());
    let files: u64 = image.files.values().map(|overlay| overlay.patch_size() + list(overlay) as u64).sum();
    let embedded = image.embedded.iter().map(|file| format!("{file:?}").len());
    let changes = image.changes.iter().map(|change| format!("{change:?}").len());
    files + embedded.chain(changes).sum::<usize>() as u64
}

/// A base on disk.
struct BaseFile {
    file: File,
    size: u64,
}

impl Source for BaseFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
}

/// Debian's live ISO with a file that makes it as large as many are. Returns the size of its initrd.
fn make_base(path: &Path, work: &Path) -> io::Result<u64> {
    let live = debian_live_iso();
    let tree = work.join("base");
    extract(&live, &tree);
    let padding = File::create(tree.join("pool.img"))?;
    padding.set_len(SIZE - fs::metadata(&live)?.len() - INITRD_SIZE as u64)?;
    let mut entries = fs::read_dir(tree.join("live"))?.map(|entry| entry.expect("an entry").path());
    let initrd = entries.find(|path| path.to_string_lossy().contains("initrd")).expect("an initrd");
    grow_initrd(&initrd, &tree.join("live/filesystem.squashfs"))?;
    let initrd = fs::metadata(initrd)?.len();
    master(&tree, path);
    fs::remove_dir_all(tree)?;
    Ok(initrd)
}

/// Puts an archive behind the initrd of the base, which has few modules, that makes it as large as Debian's own is.
fn grow_initrd(initrd: &Path, content: &Path) -> io::Result<()> {
    let mut file = fs::read(initrd)?;
    file.resize(file.len().next_multiple_of(512), 0);
    let directory = initrd.with_extension("more");
    fs::create_dir(&directory)?;
    let more = INITRD_SIZE.saturating_sub(file.len());
    fs::write(directory.join("more"), &fs::read(content)?[..more])?;
    let archiver = "echo more | cpio -o -H newc --quiet";
    file.extend(run(Command::new("sh").args(["-c", archiver]).current_dir(&directory)));
    fs::remove_dir_all(directory)?;
    fs::write(initrd, file)
}

fn extract(iso: &Path, tree: &Path) {
    run(Command::new("xorriso")
        .args(["-osirrox", "on:sort_lba_on", "-indev"])
        .arg(iso)
        .args(["-extract", "/"])
        .arg(tree));
    // As everything on an ISO, it is read-only; and the catalog is made with the image.
    run(Command::new("chmod").args(["-R", "u+w"]).arg(tree));
    fs::remove_file(tree.join("isolinux/boot.cat")).expect("the tree is ours");
}

/// What `fixtures/bases/make-debian-live-iso.sh` does.
fn master(tree: &Path, iso: &Path) {
    run(Command::new("xorrisofs")
        .args(["-quiet", "-R", "-r", "-J", "-joliet-long", "-l", "-iso-level", "3", "-V", "d-live 12 test amd64", "-o"])
        .arg(iso)
        .args(["-isohybrid-mbr", "/usr/lib/ISOLINUX/isohdpfx.bin", "-partition_offset", "16"])
        .args(["-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat", "-no-emul-boot", "-boot-load-size", "4"])
        .args(["-boot-info-table", "-eltorito-alt-boot", "-e", "boot/grub/efi.img", "-no-emul-boot"])
        .args(["-isohybrid-gpt-basdat", "-isohybrid-apm-hfsplus"])
        .arg(tree));
}

/// Lets xorriso write an ISO with the changed files.
fn replay(base: &Path, changed: &BTreeMap<String, PathBuf>, iso: &Path) {
    let mut xorriso = Command::new("xorriso");
    xorriso.arg("-indev").arg(base).arg("-outdev").arg(iso).args(["-boot_image", "any", "replay"]);
    for (name, file) in changed {
        xorriso.arg("-map").arg(file).arg(name);
    }
    run(&mut xorriso);
}

fn write(overlay: &Overlay, base: &(Role, &BaseFile), path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    while offset < overlay.size() {
        let count = overlay.read_at(base, offset, &mut buffer)?;
        file.write_all(&buffer[..count])?;
        offset += count as u64;
    }
    Ok(())
}

/// The files that are others on an image, by their paths.
fn changed_files(image: &Image, iso: &Path, directory: &Path) -> BTreeMap<String, PathBuf> {
    fs::create_dir(directory).expect("a new directory");
    let mut files = BTreeMap::new();
    for path in image.changes.iter().map(|change| &change.subject).filter(|subject| is_file(subject)) {
        let file = directory.join(files.len().to_string());
        files.entry(path.clone()).or_insert_with(|| {
            run(Command::new("xorriso")
                .args(["-osirrox", "on", "-indev"])
                .arg(iso)
                .args(["-extract", path])
                .arg(&file));
            file
        });
    }
    assert!(files.len() >= 3, "an initrd and menus: {files:?}");
    files
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// Whether that is a file, rather than a line of one (`/initrd in /md5sum.txt`) or a structure.
fn is_file(subject: &str) -> bool {
    subject.starts_with('/') && !subject.contains(" in /")
}
