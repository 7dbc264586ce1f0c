//! The kickstart file of Anaconda, the installer of Fedora, RHEL and its rebuilds.
//!
//! Sources: `dracut/parse-anaconda-kickstart.sh` reads the file that `inst.ks=file:PATH` names from the initramfs, before anything
//! has a network; `pyanaconda/kickstart.py` runs the sections `%post` in their order when everything else is installed.
//!
//! Anaconda's own system runs NetworkManager, so it takes the host's keyfiles, and has the whole network. A command `network` in the
//! file is not needed.

mod command;
mod compare;
mod post;
mod read;
mod words;

use super::{InstalledSystem, InstallerFile};
use read::Kickstart;
use vocabulary::answers::KICKSTART_FILE;
use vocabulary::report::{DocumentPath, Report, Reported};

/// The size limit of a file, in bytes.
const LIMIT: usize = 1 << 20;

/// The document that findings are about.
fn document() -> DocumentPath {
    DocumentPath::document("kickstart file")
}

/// Returns the completed file.
pub(super) fn complete(
    text: &str,
    system: InstalledSystem<'_>,
    report: &mut Report,
) -> Result<Vec<InstallerFile>, Reported> {
    if text.len() > LIMIT {
        report.error("answers-invalid", &document(), format!("has {} bytes, and may have {LIMIT}", text.len()));
        return Err(Reported);
    }
    let Kickstart { commands, includes, mistakes } = Kickstart::read(text);
    let mut is_refused = !mistakes.is_empty();
    for (line, mistake) in mistakes {
        report.error("answers-invalid", &document(), format!("line {line} {mistake}"));
    }
    for command in &commands {
        if let Some(option) = &command.unknown {
            let message =
                format!("line {} has the option {option:?} of network, which dayone does not know", command.line);
            report.warning("answers-unchecked", &document(), message);
        }
        for contradiction in compare::contradictions(command, &system.network.topology, system.hostname) {
            let message = format!(
                "line {} {contradiction}; remove the command, which the installer does not need, or correct the one that \
                 is wrong",
                command.line
            );
            report.error("answers-contradict-network", &document(), message);
            is_refused = true;
        }
    }
    for line in includes {
        let message = format!("line {line} includes a file, and dayone does not see what that says of the network");
        report.warning("answers-unchecked", &document(), message);
    }
    if is_refused {
        return Err(Reported);
    }
    let mut content = String::from(text);
    if !text.is_empty() && !text.ends_with('\n') {
        content.push('\n');
    }
    content.push_str(&post::sections(system));
    Ok(vec![InstallerFile { path: KICKSTART_FILE.to_owned(), is_program: false, is_secret: true, content }])
}

#[cfg(test)]
mod tests;
