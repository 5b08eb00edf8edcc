//! Man page of a command.

use super::commands::{Described, commands};
use super::outline::{Outline, Part};
use super::roff::Roff;

/// Prefix of the exit status, which is a sentence in the usage texts.
const EXIT: &str = "Exit status: ";

/// Files of a package; a manually built server has them below its prefix.
const FILES: &[(&str, &str)] = &[
    ("/etc/myriad/nginx.conf", "the configuration; see myriad.conf(5)"),
    (
        "/etc/myriad/conf.d/*.conf, /etc/myriad/sites-enabled/*",
        "what it includes: settings of all sites, and the sites",
    ),
    ("/etc/myriad/sites", "a line for each site of myriad-wordpress.service"),
    ("/var/log/myriad", "error log and access log"),
    ("/var/lib/myriad", "the prefix: certificates that renew themselves, caches"),
    (
        "/run/myriad/myriad.pid, /run/myriad/myriad.sock",
        "the process, and the socket of myriad-purge(8) and its kin",
    ),
];

/// Signals to the supervisor.
const SIGNALS: &[(&str, &str)] = &[
    ("TERM, INT", "end at once"),
    ("QUIT", "end when what is under way is done"),
    ("HUP", "read the configuration again; where it is not sound, the earlier one goes on"),
    ("USR1", "open the log files again"),
    ("USR2", "start the new binary on the same sockets; see myriad-upgrade(8)"),
];

/// Returns the name of the page.
pub(super) fn name(command: &Described) -> String {
    if command.name.is_empty() { "myriad".to_owned() } else { format!("myriad-{}", command.name) }
}

/// Returns the page as roff.
pub(super) fn made(command: &Described) -> String {
    let name = name(command);
    let outline = Outline::of(&command.usage);
    let mut page = Roff::new(&name, 8);
    page.section("name");
    page.line(&format!("{name} - {}", command.purpose));
    page.section("synopsis");
    page.lines(outline.synopsis.iter().map(String::as_str));
    page.section("description");
    let mut exit = None;
    for part in &outline.parts {
        match part {
            Part::Heading(text) => page.part(text),
            Part::Entry(entry) => page.entry(&entry.names, &entry.text),
            Part::Sentences(text) => match text.strip_prefix(EXIT) {
                Some(status) => exit = Some(status),
                None => page.paragraph(text),
            },
        }
    }
    if command.name.is_empty() {
        table(&mut page, "signals", SIGNALS);
        table(&mut page, "files", FILES);
    }
    if let Some(status) = exit {
        page.section("exit status");
        page.line(status);
    }
    page.section("see also");
    let others = commands().iter().map(self::name).filter(|other| *other != name).collect::<Vec<_>>();
    page.line(&format!("{}(8), myriad.conf(5)", others.join("(8), ")));
    page.finish()
}

fn table(page: &mut Roff, name: &str, rows: &[(&str, &str)]) {
    page.section(name);
    for (name, text) in rows {
        page.entry(name, text);
    }
}
