//! Manual: man pages and shell completions, generated from the texts of `--help` and from the registry of directives.
//!
//! ```text
//! USAGE of each command -> outline -> page (roff)        rows of the registry -> directives (roff)
//!                             '-----> completions
//! ```
//! Each text has a single source, so that no page documents an option that does not exist.

mod commands;
mod completions;
mod directives;
mod outline;
mod page;
mod roff;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use commands::{DIRECTIVES, USAGE, commands};
use completions::Shell;
use myriad_cli::admin::{CommandWords, help, too_much};
use myriad_cli::cli;

/// Command that prints manuals: the first word of its command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ManualCommand {
    Man,
    Completions,
}

impl ManualCommand {
    /// Returns the command with this name; `None` for other words.
    pub(crate) fn from_name(word: &OsString) -> Option<Self> {
        match word.to_str() {
            Some("man") => Some(Self::Man),
            Some("completions") => Some(Self::Completions),
            _ => None,
        }
    }

    /// Prints the requested text. The exit status is 0, or 1 after an error.
    pub(crate) fn run(self, arguments: impl Iterator<Item = OsString>) -> ExitCode {
        match self.text(arguments) {
            Ok(None) => help(USAGE),
            Ok(Some(text)) if io::stdout().write_all(text.as_bytes()).is_ok() => ExitCode::SUCCESS,
            Ok(Some(_)) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("myriad: {error}");
                ExitCode::FAILURE
            }
        }
    }

    /// Returns the text to print; `None` if help is requested.
    fn text(self, arguments: impl Iterator<Item = OsString>) -> Result<Option<String>, String> {
        let words = CommandWords::parse(arguments, &[("--list", false)])?;
        if words.help {
            return Ok(None);
        }
        let text = match (self, words.plain.as_slice()) {
            (Self::Man, []) if words.has("--list") => list(),
            (Self::Man, []) => page::manual_page(&commands()[0]),
            (Self::Man, [name]) => page_named(name)?,
            (Self::Completions, [shell]) => {
                completions::completion_script(Shell::from_name(shell)?, &commands())
            }
            (Self::Completions, []) => return Err("completions: give a shell: bash, zsh or fish".into()),
            (_, [_, word, ..]) => return Err(too_much(word, "man")),
        };
        Ok(Some(text))
    }
}

/// Returns the file names of all manual pages, one per line.
fn list() -> String {
    let commands = commands().into_iter().map(|command| format!("{}.8\n", page::name(&command)));
    commands.chain([format!("{DIRECTIVES}.5\n")]).collect()
}

/// Returns the manual page with this name, with or without `myriad-` in front; an error text if there is none.
fn page_named(name: &str) -> Result<String, String> {
    if name == DIRECTIVES {
        return Ok(directives::directives_page(&myriad_serve::registry().rows()));
    }
    let commands = commands();
    let wanted = commands.iter().find(|command| page::name(command) == name || command.name == name);
    let known = commands.iter().map(|command| command.name);
    wanted
        .map(page::manual_page)
        .ok_or_else(|| format!("man: {} (see myriad man --list)", cli::invalid(name, known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(command: ManualCommand, arguments: &[&str]) -> Result<Option<String>, String> {
        command.text(arguments.iter().map(OsString::from))
    }

    #[test]
    fn every_page_that_is_listed_is_there() {
        let list = text(ManualCommand::Man, &["--list"]).expect("a list").expect("no help");
        assert!(
            list.contains("myriad.8\n")
                && list.contains("myriad-purge.8\n")
                && list.contains("myriad.conf.5\n")
        );
        for line in list.lines() {
            let (name, section) = line.rsplit_once('.').expect("a section");
            let page = text(ManualCommand::Man, &[name]).expect(name).expect("no help");
            assert!(
                page.starts_with(&format!(".TH {} {section}", name.to_uppercase())),
                "{name}: {page:.80}"
            );
        }
    }

    #[test]
    fn every_command_of_the_command_line_has_a_page() {
        let named: Vec<_> = commands().iter().map(|command| command.name).collect();
        for command in cli::COMMANDS {
            if crate::tools::named(&command.into()).is_some_and(|tool| tool.implementation.is_none()) {
                continue;
            }
            // `php` is documented on the page of `wordpress`; `certificates` and `completions` on those of the server
            // and of `man`.
            let is_elsewhere = ["php", "certificates", "completions"].contains(&command);
            assert!(is_elsewhere || named.contains(&command), "{command}");
        }
    }

    #[test]
    fn unknown_names_are_reported_with_nearest_match() {
        assert!(text(ManualCommand::Man, &["purg"]).expect_err("none").contains("did you mean \"purge\"?"));
        assert!(text(ManualCommand::Completions, &["csh"]).expect_err("none").contains("bash, zsh or fish"));
        assert!(
            text(ManualCommand::Completions, &[]).is_err() && text(ManualCommand::Man, &["a", "b"]).is_err()
        );
    }
}
