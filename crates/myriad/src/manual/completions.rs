//! Shell completions: commands, their words and options, and the kinds of values (file, folder).

use std::fmt::Write;

use super::commands::Described;
use super::outline::{Outline, Switch};
use myriad_cli::cli;

/// Shell that uses the completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    pub(super) fn named(name: &str) -> Result<Self, String> {
        match name {
            "bash" => Ok(Self::Bash),
            "zsh" => Ok(Self::Zsh),
            "fish" => Ok(Self::Fish),
            _ => Err(format!("completions: \"{name}\" is none of bash, zsh or fish")),
        }
    }
}

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    File,
    Folder,
    Signal,
    Free,
}

impl Value {
    fn of(switch: Switch<'_>) -> Option<Self> {
        let kind = match switch.value? {
            "FILE" | "filename" | "PATH" | "ADDRESS" | "SOCKET" => Self::File,
            "DIR" | "PREFIX" | "prefix" => Self::Folder,
            "signal" => Self::Signal,
            _ => Self::Free,
        };
        Some(kind)
    }
}

/// Command with the data that shells need.
struct Command {
    /// First words that select it; empty for the server.
    names: Vec<&'static str>,
    purpose: &'static str,
    words: Vec<String>,
    switches: Vec<(String, Option<Value>)>,
}

/// Words of `-s`.
const SIGNALS: &str = "stop quit reopen reload";

/// Returns the script for the shell.
pub(super) fn made(shell: Shell, described: &[Described]) -> String {
    let commands: Vec<Command> =
        described.iter().filter(|one| !one.name.contains('-')).map(command).collect();
    match shell {
        Shell::Bash => bash(&commands),
        Shell::Zsh => zsh(&commands),
        Shell::Fish => fish(&commands),
    }
}

fn command(described: &Described) -> Command {
    let outline = Outline::of(&described.usage);
    let names = match described.name {
        "" => Vec::new(),
        "wordpress" => vec!["wordpress", "php"],
        "man" => vec!["man", "completions"],
        name => vec![name],
    };
    let switches = outline.switches().into_iter().map(|switch| (switch.name.to_owned(), Value::of(switch)));
    let mut switches: Vec<_> = switches.collect();
    if !names.is_empty() && !switches.iter().any(|(name, _)| name == "--help") {
        switches.push(("--help".to_owned(), None));
    }
    let words = match described.name {
        "" => cli::COMMANDS.iter().map(|&name| name.to_owned()).collect(),
        _ => words(&outline, &names),
    };
    Command { names, purpose: described.purpose, words, switches }
}

/// Returns words that may follow the command: those directly after its name in the synopsis, such as `ls` for
/// `myriad cache`.
fn words(outline: &Outline, names: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for line in &outline.synopsis {
        let mut words = line.split_whitespace().skip_while(|word| *word == "myriad");
        if !words.next().is_some_and(|word| names.contains(&word)) {
            continue;
        }
        for word in words.filter(|word| *word != "|").flat_map(|word| word.split('|')) {
            if !word.starts_with(|first: char| first.is_ascii_lowercase()) {
                break;
            }
            if !all.iter().any(|known| known == word) {
                all.push(word.to_owned());
            }
        }
    }
    all
}

fn bash(commands: &[Command]) -> String {
    let mut text = String::from(
        "# bash completion of myriad, made by `myriad completions bash`.\n\
         _myriad() {\n    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words\n    \
         COMPREPLY=()\n    case ${COMP_WORDS[1]} in\n",
    );
    for command in commands.iter().rev() {
        let pattern = if command.names.is_empty() { "*".to_owned() } else { command.names.join(" | ") };
        let _ = writeln!(text, "    {pattern})");
        let _ = writeln!(text, "        case $previous in");
        for (value, action) in [
            (
                Value::File,
                "mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); compopt -o filenames; return",
            ),
            (
                Value::Folder,
                "mapfile -t COMPREPLY < <(compgen -d -- \"$current\"); compopt -o filenames; return",
            ),
            (Value::Free, "return"),
        ] {
            let names = with_value(command, value).collect::<Vec<_>>().join(" | ");
            if !names.is_empty() {
                let _ = writeln!(text, "        {names}) {action} ;;");
            }
        }
        for name in with_value(command, Value::Signal) {
            let _ = writeln!(
                text,
                "        {name}) mapfile -t COMPREPLY < <(compgen -W '{SIGNALS}' -- \"$current\"); return ;;"
            );
        }
        let switches: Vec<_> = command.switches.iter().map(|(name, _)| name.as_str()).collect();
        let words = command.words.join(" ");
        let _ = writeln!(text, "        esac\n        words='{words} {}'", switches.join(" "));
        let _ = writeln!(text, "        ;;");
    }
    text.push_str(
        "    esac\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n}\ncomplete -F _myriad myriad\n",
    );
    text
}

fn zsh(commands: &[Command]) -> String {
    let mut text = String::from(
        "#compdef myriad\n# zsh completion of myriad, made by `myriad completions zsh`.\n\
         _myriad() {\n    local -a words_of\n    case ${words[2]} in\n",
    );
    for command in commands.iter().rev() {
        let pattern = if command.names.is_empty() { "*".to_owned() } else { command.names.join("|") };
        let _ = writeln!(
            text,
            "    {pattern})\n        words_of=({})\n        _arguments -s \\",
            command.words.join(" ")
        );
        for (name, value) in &command.switches {
            let action = match value {
                None => "",
                Some(Value::File) => ":file:_files",
                Some(Value::Folder) => ":folder:_files -/",
                Some(Value::Signal) => ":signal:(stop quit reopen reload)",
                Some(Value::Free) => ":value:",
            };
            let name = name.replace('?', "\\?");
            let _ = writeln!(text, "            '*{name}{action}' \\");
        }
        let _ = writeln!(text, "            '*:word:compadd -a words_of'\n        ;;");
    }
    text.push_str("    esac\n}\n_myriad \"$@\"\n");
    text
}

fn fish(commands: &[Command]) -> String {
    let mut text = String::from(
        "# fish completion of myriad, made by `myriad completions fish`.\ncomplete -c myriad -f\n",
    );
    for command in commands {
        let condition = match command.names.as_slice() {
            [] => "__fish_use_subcommand".to_owned(),
            names => format!("__fish_seen_subcommand_from {}", names.join(" ")),
        };
        for name in &command.names {
            let _ = writeln!(
                text,
                "complete -c myriad -n __fish_use_subcommand -a {name} -d '{}'",
                command.purpose.replace('\'', "\\'")
            );
        }
        if !command.names.is_empty() && !command.words.is_empty() {
            let _ = writeln!(text, "complete -c myriad -n '{condition}' -a '{}'", command.words.join(" "));
        }
        for (name, value) in &command.switches {
            let switch = match name.strip_prefix("--") {
                Some(long) => format!("-l {long}"),
                None => format!("-s '{}'", name.trim_start_matches('-')),
            };
            let value = match value {
                None => "",
                Some(Value::File) => " -r -F",
                Some(Value::Folder) => " -x -a '(__fish_complete_directories)'",
                Some(Value::Signal) => " -x -a 'stop quit reopen reload'",
                Some(Value::Free) => " -x",
            };
            let _ = writeln!(text, "complete -c myriad -n '{condition}' {switch}{value}");
        }
    }
    text
}

fn with_value(command: &Command, wanted: Value) -> impl Iterator<Item = &str> {
    command.switches.iter().filter(move |(_, value)| *value == Some(wanted)).map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: &str = "Usage: myriad cache ls    [--zone Z]\n       myriad cache show  URL|KEY\n\n  -c FILE : that\n  --all : all\n";

    #[test]
    fn words_and_options_come_from_the_usage() {
        let cache = Described { name: "cache", purpose: "pages", usage: CACHE.into() };
        let command = command(&cache);
        assert_eq!(command.words, ["ls", "show"]);
        let file = ("-c".to_owned(), Some(Value::File));
        assert_eq!(command.switches, [file, ("--all".to_owned(), None), ("--help".to_owned(), None)]);
        for (shell, part) in [
            (Shell::Bash, "words='ls show -c --all --help'"),
            (Shell::Zsh, "words_of=(ls show)"),
            (Shell::Fish, "complete -c myriad -n '__fish_seen_subcommand_from cache' -s 'c' -r -F"),
        ] {
            let text = made(shell, std::slice::from_ref(&cache));
            assert!(text.contains(part), "{text}");
        }
    }
}
