//! Reads images with other people's programs: curl, and nbdkit's curl plugin with qemu-img, as OpenBMC's virtual media do.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::oracle::difference_of_file;
use super::random::Random;
use super::readers::{Choice, choose};
use super::world::{World, add};

/// Reads until the run ends.
pub(crate) fn read(world: &World) {
    let mut random = world.random("programs");
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("output");
    while !world.is_over() {
        let Some(choice) = choose(world, &mut random) else {
            world.pause(Duration::from_millis(100));
            continue;
        };
        let _ = std::fs::remove_file(&output);
        if random.percent(25) {
            nbd(world, &choice, &output);
        } else {
            curl(world, &choice, &output, &mut random);
        }
        world.pause(Duration::from_millis(random.below(500)));
    }
}

fn curl(world: &World, choice: &Choice, output: &Path, random: &mut Random) {
    let size = choice.file.expected.size();
    let range = random.percent(50).then(|| {
        let first = random.below(size);
        (first, first + random.below(size - first))
    });
    let mut command = Command::new("timeout");
    command.args(["90", "curl", "-sS", "--noproxy", "*", "--fail", "-o"]).arg(output);
    if let Some(authority) = &world.site.authority {
        command.arg("--cacert").arg(authority.file());
    }
    if let Some((first, last)) = range {
        command.arg("-r").arg(format!("{first}-{last}"));
    }
    command.arg(choice.url(world));
    let (from, length) = range.map_or((0, size), |(first, last)| (first, last - first + 1));
    check(world, choice, &mut command, output, (from, length));
}

fn nbd(world: &World, choice: &Choice, output: &Path) {
    let size = choice.file.expected.size();
    if !size.is_multiple_of(512) {
        // A block device has whole sectors.
        return;
    }
    let mut command = Command::new("timeout");
    command
        .args(["90", "nbdkit", "-U", "-", "-r", "curl"])
        .arg(choice.url(world))
        .args(["followlocation=false", "proxy="]);
    if let Some(authority) = &world.site.authority {
        command.arg(format!("cainfo={}", authority.file().display()));
    }
    let copy = format!("qemu-img convert -f raw -O raw \"$uri\" {}", output.display());
    command.arg("--run").arg(copy);
    check(world, choice, &mut command, output, (0, size));
}

/// Runs a program that writes bytes of the file to `output`, and compares them. Also a program that fails must not have got a wrong
/// byte.
fn check(world: &World, choice: &Choice, command: &mut Command, output: &Path, (from, length): (u64, u64)) {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; see scripts/setup-peers.sh"));
    let name = format!("{command:?}");
    let is_block_device = name.contains("nbdkit");
    add(&world.counts.requests, 1);
    // The program makes the whole file first, and a part of it is still empty if it fails.
    if done.status.success() || !is_block_device {
        let (found, wrong) = difference_of_file(&choice.file.expected, from, output);
        add(&world.counts.bytes, found);
        let wrong = wrong.or_else(|| (done.status.success() && found != length).then_some(from + found));
        if let Some(wrong) = wrong {
            choice.wrong_byte(world, wrong, &name);
        }
    }
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
        if !choice.may_break(world) {
            let log = world.process.log();
            world.fail(&format!("{name}: {}: {said}\n{log}", done.status));
        }
        add(&world.counts.excused, 1);
    }
}
