//! Man page of a command.

use super::commands::{DescribedCommand, commands};
use super::outline::{OutlinePart, UsageOutline};
use super::roff::RoffPage;

/// Prefix of the sentence about the exit status in usage texts.
const EXIT: &str = "Exit status: ";

/// FILES section of the manual page: paths in a package; a server built from source has them below its prefix.
const FILES: &[(&str, &str)] = &[
    ("/etc/myriad/nginx.conf", "main configuration file; see myriad.conf(5)"),
    (
        "/etc/myriad/conf.d/*.conf, /etc/myriad/sites-enabled/*",
        "included files: settings of all sites, and the sites",
    ),
    ("/etc/myriad/sites", "sites of myriad-wordpress.service, one per line"),
    ("/var/log/myriad", "error log and access log"),
    ("/var/lib/myriad", "prefix: certificates with automatic renewal, caches"),
    (
        "/run/myriad/myriad.pid, /run/myriad/myriad.sock",
        "pid file, and control socket of myriad-purge(8) and similar commands",
    ),
];

/// SIGNALS section of the manual page: signals to the supervisor.
const SIGNALS: &[(&str, &str)] = &[
    ("TERM, INT", "stop immediately"),
    ("QUIT", "stop after requests in flight are completed"),
    ("HUP", "reload the configuration; if it is invalid, the previous one remains in effect"),
    ("USR1", "reopen the log files"),
    ("USR2", "start the new binary on the same sockets; see myriad-upgrade(8)"),
];

/// Returns the name of the manual page of a command.
pub(super) fn name(command: &DescribedCommand) -> String {
    if command.name.is_empty() { "myriad".to_owned() } else { format!("myriad-{}", command.name) }
}

/// Returns the manual page of a command as roff.
pub(super) fn manual_page(command: &DescribedCommand) -> String {
    let name = name(command);
    let outline = UsageOutline::parse(&command.usage);
    let mut page = RoffPage::new(&name, 8);
    page.section("name");
    page.line(&format!("{name} - {}", command.purpose));
    page.section("synopsis");
    page.lines(outline.synopsis.iter().map(String::as_str));
    page.section("description");
    let mut exit = None;
    for part in &outline.parts {
        match part {
            OutlinePart::Heading(text) => page.part(text),
            OutlinePart::Entry(entry) => page.entry(&entry.names, &entry.text),
            OutlinePart::Sentences(text) => match text.strip_prefix(EXIT) {
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

fn table(page: &mut RoffPage, name: &str, rows: &[(&str, &str)]) {
    page.section(name);
    for (name, text) in rows {
        page.entry(name, text);
    }
}
