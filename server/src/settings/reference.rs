//! The reference of all settings, as a page of the documentation.

use std::fmt::Write as _;

use super::definition::Setting;
use crate::arguments::Program;

/// What stands above the tables.
const HEAD: &str = "\
# Settings

The settings of `dayone serve`, `dayone controller` and `dayone static-server`. You can write each of them in three places:

1. a settings file (YAML): `media-url: http://192.0.2.10:8081`
2. the environment: `DAYONE_MEDIA_URL=http://192.0.2.10:8081`
3. the command line: `--media-url http://192.0.2.10:8081`

The environment overrides the file, and the command line overrides both. The option is the name in the file with two hyphens in front;
only `bases` is different: its option is `--base`, and the bases of all three places are joined. A variable with several values has
commas between networks and between sources of bases, and ends of lines between everything else.

`--config FILE` or `DAYONE_CONFIG` names the file. `dayone serve` reads `/etc/dayone/dayone.yaml` if it exists and neither
of them names a file; an empty name means no file. A file can have no secrets: it names files that have them. `dayone config check` finds
mistakes in settings and shows which value comes from where ([commands.md](../commands.md#config-check)).

On SIGHUP (`systemctl reload dayone`), a server reads its settings again. It takes over those with *yes* under *reload*. If another
one has changed, the log says that it needs a restart. If anything is wrong, the server keeps all old settings, and the log says why.
A process keeps the environment that it was started with.

A test generates this page from the command line's definitions.
";

/// Returns the page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for program in Program::ALL {
        // Writing to a String does not fail.
        let _ = write!(page, "\n## dayone {}\n\n", program.name());
        page.push_str(
            "| setting | variable | value | default | reload | meaning |\n| --- | --- | --- | --- | --- | --- |\n",
        );
        program.settings().iter().for_each(|setting| page.push_str(&row(setting)));
        page.push_str("\nSecrets in the environment, which no file and no option can hold:\n\n| variable | meaning | in place of it |\n| --- | --- | --- |\n");
        for secret in program.secrets() {
            let _ = writeln!(page, "| `{}` | {} | {} |", secret.name, secret.meaning, secret.instead);
        }
    }
    page
}

fn row(setting: &Setting) -> String {
    let value = match setting.words.as_slice() {
        [] => format!("`{}`", setting.value),
        words => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
    };
    let several = if setting.is_list { ", several" } else { "" };
    let default = setting.default.as_deref().unwrap_or("none").replace('|', "\\|");
    let reload = if setting.is_reloaded { "yes" } else { "restart" };
    let meaning = setting.meaning.replace('|', "\\|").replace('\n', " ");
    format!("| `{}` | `{}` | {value}{several} | {default} | {reload} | {meaning} |\n", setting.key, setting.variable)
}
