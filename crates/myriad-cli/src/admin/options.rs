//! Parsing of command arguments: options `--name value` or `--name=value` at any position, and other words in order.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::cli;

/// Parsed arguments of a command.
#[derive(Debug, Default)]
pub struct CommandWords {
    /// Options that select a server: `-c`, `-p` or `--prefix`, `-g`.
    pub server: cli::ServerOptions,
    /// `--socket`: control socket of the server.
    pub socket: Option<PathBuf>,
    /// True if help is requested: `-h`, `-?`, `--help`.
    pub help: bool,
    options: Vec<(&'static str, Option<String>)>,
    /// Words that are not options (all words after `--`), in order.
    pub plain: Vec<String>,
}

/// Long options that all commands have.
const GENERAL: [&str; 3] = ["--prefix", "--socket", "--help"];

/// Name of an option, and true if it takes a value.
pub type KnownOption = (&'static str, bool);

/// Action of a command that only prints its changes unless `--apply` or `--undo` is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeAction {
    /// Only print the changes.
    Show,
    /// Make the changes (`--apply`).
    Apply,
    /// Revert earlier changes (`--undo`).
    Undo,
}

impl CommandWords {
    /// Parses the arguments of a command with the options `known`, in addition to those that all commands have (`-c`,
    /// `-p`, `--prefix`, `-g`, `--socket`, `--help`). Returns an error text if an option is unknown, lacks its value or
    /// has a value that it does not take, or if the value of an option of `known` is not UTF-8.
    pub fn parse(
        mut arguments: impl Iterator<Item = OsString>,
        known: &[KnownOption],
    ) -> Result<Self, String> {
        let mut words = Self::default();
        let mut only_plain = false;
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            if only_plain || !text.starts_with('-') || text == "-" {
                words.plain.push(text);
                continue;
            }
            if text == "--" {
                only_plain = true;
                continue;
            }
            let (name, glued) = match text.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(OsString::from(value))),
                _ => (text.as_str(), None),
            };
            if matches!(name, "-h" | "-?" | "--help") {
                words.help = true;
                continue;
            }
            let mut value = || value_of(name, glued.clone(), &mut arguments);
            match name {
                "-c" => words.server.configuration = Some(value()?.into()),
                "-p" | "--prefix" => words.server.prefix = Some(value()?.into()),
                "-g" => words.server.directives = Some(value()?.into_vec()),
                "--socket" => words.socket = Some(value()?.into()),
                _ => {
                    let Some((known, takes_value)) = known.iter().find(|(known, _)| *known == name) else {
                        let names = known.iter().map(|(known, _)| *known).chain(GENERAL);
                        return Err(format!("{} (see --help)", cli::invalid(name, names)));
                    };
                    let value = if *takes_value { Some(into_text(value()?)?) } else { None };
                    if glued.is_some() && !takes_value {
                        return Err(format!("option \"{name}\" takes no value"));
                    }
                    words.options.push((known, value));
                }
            }
        }
        Ok(words)
    }

    /// Returns whether the arguments contain the option `name` of the command, such as `--json`. General options such
    /// as `-c` are not found.
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(known, _)| *known == name)
    }

    /// Returns the value of an option, the last one if it was given several times; `None` if it was not given.
    pub fn value(&self, name: &str) -> Option<String> {
        self.values(name).pop()
    }

    /// Returns all values of an option, in order; empty if it was not given.
    pub fn values(&self, name: &str) -> Vec<String> {
        let given = self.options.iter().filter(|(known, _)| *known == name);
        given.filter_map(|(_, value)| value.clone()).collect()
    }

    /// Returns the names and values of all options `--header 'Name: value'`. Returns an error text if one has no colon,
    /// its name is empty or contains a character other than ASCII letters, digits and `-`, or its value contains
    /// control characters: a line break would start another header.
    pub fn headers(&self) -> Result<Vec<(String, String)>, String> {
        self.values("--header").iter().map(|field| parse_header(field)).collect()
    }

    /// Returns an error text if there are more than `count` words that are not options.
    pub fn at_most(&self, count: usize, command: &str) -> Result<(), String> {
        self.plain.get(count).map_or(Ok(()), |word| Err(too_much(word, command)))
    }

    /// Returns the action of `--apply`, `--undo` or neither; an error text if both are given.
    pub fn act(&self) -> Result<ChangeAction, String> {
        match (self.has("--apply"), self.has("--undo")) {
            (true, true) => Err("--apply or --undo, not both".into()),
            (true, false) => Ok(ChangeAction::Apply),
            (false, true) => Ok(ChangeAction::Undo),
            (false, false) => Ok(ChangeAction::Show),
        }
    }

    /// Returns the folder of `--root`, below which system files are read and written; `/` by default. Returns an error
    /// text if it is not an existing folder.
    pub fn root(&self) -> Result<PathBuf, String> {
        let root = self.value("--root").map_or_else(|| "/".into(), PathBuf::from);
        if root.is_dir() { Ok(root) } else { Err(format!("--root {}: no such folder", root.display())) }
    }
}

fn parse_header(field: &str) -> Result<(String, String), String> {
    let parts = field.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    let is_token = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    match parts {
        Some((name, value)) if is_token(name) && !value.chars().any(char::is_control) => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(format!("--header \"{}\": use the form 'Name: value'", field.escape_debug())),
    }
}

/// Returns the message for a word that a command does not take.
pub fn too_much(word: &str, command: &str) -> String {
    format!("unexpected argument \"{word}\" (see myriad {command} --help)")
}

/// Returns the value of an option: `glued`, the text after its `=`, or the next argument. Returns an error text if the
/// value is missing or empty, or if the next argument starts with `-`.
fn value_of(
    name: &str,
    glued: Option<OsString>,
    arguments: &mut impl Iterator<Item = OsString>,
) -> Result<OsString, String> {
    let is_glued = glued.is_some();
    let value = glued.or_else(|| arguments.next()).filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| format!("option \"{name}\" requires a value"))?;
    if !is_glued && value.as_encoded_bytes().starts_with(b"-") {
        let text = value.to_string_lossy();
        let remedy =
            if name.starts_with("--") { format!("{name}={text}") } else { format!("{name} ./{text}") };
        return Err(format!(
            "option \"{name}\" requires a value, but \"{text}\" is another option (write {remedy} to use it as the value)"
        ));
    }
    Ok(value)
}

fn into_text(value: OsString) -> Result<String, String> {
    value.into_string().map_err(|value| format!("\"{}\" is not UTF-8", value.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[KnownOption] = &[("--tag", true), ("--all", false)];

    fn parsed(arguments: &[&str]) -> Result<CommandWords, String> {
        CommandWords::parse(arguments.iter().map(OsString::from), KNOWN)
    }

    #[test]
    fn options_stand_anywhere_and_values_may_be_glued() {
        let words =
            parsed(&["a", "--tag", "x", "-c", "f", "--tag=y=z", "b", "--all", "--", "--tag"]).expect("words");
        assert_eq!(words.plain, ["a", "b", "--tag"]);
        assert_eq!(words.values("--tag"), ["x", "y=z"]);
        assert_eq!(words.value("--tag").as_deref(), Some("y=z"));
        assert!(words.has("--all") && !words.help);
        assert_eq!(words.server.configuration, Some("f".into()));
        for prefix in [&["-p", "/srv"][..], &["--prefix", "/srv"], &["--prefix=/srv"]] {
            assert_eq!(parsed(prefix).expect("words").server.prefix, Some("/srv".into()), "{prefix:?}");
        }
    }

    #[test]
    fn unknown_options_and_missing_values_are_reported() {
        let unknown = parsed(&["--tags", "x"]).expect_err("unknown");
        assert_eq!(unknown, "invalid option: \"--tags\", did you mean \"--tag\"? (see --help)");
        assert!(parsed(&["--sokcet=x"]).expect_err("unknown").contains("did you mean \"--socket\"?"));
        assert!(parsed(&["--tag"]).expect_err("no value").contains("requires a value"));
        assert!(parsed(&["--all=x"]).expect_err("a value").contains("takes no value"));
        assert!(parsed(&["--tag="]).is_err());
        let swallowed = parsed(&["--tag", "-p", "/srv"]).expect_err("an option");
        assert!(swallowed.contains("\"-p\" is another option (write --tag=-p"), "{swallowed}");
        assert_eq!(parsed(&["--tag=-p"]).expect("glued").values("--tag"), ["-p"]);
        assert!(parsed(&["-c", "-p"]).expect_err("an option").contains("\"-c\" requires a value"));
    }
}
