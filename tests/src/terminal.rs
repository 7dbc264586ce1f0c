//! A terminal: tmux, and what it shows.

use std::path::Path;
use std::process::Command;

use crate::peers::run;

/// A terminal with a shell's command in it, which is gone with this.
pub struct Terminal<'a>(&'a Path);

impl<'a> Terminal<'a> {
    /// Starts the command at a terminal of this size. When it has ended, the last line is `ended with` and its exit code.
    pub fn start(directory: &'a Path, command: &str, columns: usize, lines: usize) -> Self {
        let terminal = Self(directory);
        // Once the command has ended the screen stays to be read.
        let command = format!("{command}; echo \"ended with $?\"; sleep 600");
        let size = [columns.to_string(), lines.to_string()];
        run(&mut terminal.tmux(&["new-session", "-d", "-x", &size[0], "-y", &size[1], &command]));
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-f", "/dev/null", "-S"]).arg(self.0.join("tmux")).args(arguments).env("TERM", "xterm");
        tmux.env("LC_ALL", "C.UTF-8");
        tmux
    }

    /// What is on it, or with arguments of `tmux capture-pane`, has gone off its top.
    pub fn text(&self, arguments: &[&str]) -> Vec<String> {
        let output = self.tmux(&[&["capture-pane", "-p"], arguments].concat()).output().expect("tmux");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().lines().map(str::to_owned).collect()
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).status();
    }
}
