//! Command line of `myriad tune`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::tune::{DatabaseServer, parse_amount};

use myriad_base::digits::decimal;
use myriad_cli::admin::{ChangeAction, CommandWords, KnownOption};

/// Text that `myriad tune --help` prints.
pub const USAGE: &str = "\
Usage: myriad tune [--apply | --undo [--force]] [--site DIR] [--root PREFIX]
                   [--memory SIZE] [--cores N] [--worker SIZE]
                   [--body SIZE] [--database NAME-VERSION]

Computes settings of php-fpm, php.ini, OPcache, APCu, MariaDB or MySQL, Redis
or Valkey, Apache, the kernel and the limits of open files, so that all programs
together use at most three quarters of the memory and nothing is swapped.
Prints each change with its reason. Changes nothing without --apply or --undo.

  --apply         : write the settings to separate files next to those of the
                    packages, and validate them with the programs themselves
  --undo          : restore the state before the first --apply, except for
                    files that were changed since
  --force         : with --undo: also restore files that were changed since
  --site DIR      : WordPress folder, to count its PHP files (default: searched
                    in /var/www)
  --root PREFIX   : read and write files below PREFIX instead of /
  --memory SIZE   : memory, such as 2g or 512m (default: that of this machine,
                    or of its control group)
  --cores N       : number of CPU cores (default: those of this machine)
  --worker SIZE   : private memory of a PHP worker (default: measured if
                    php-fpm is running, else 80m)
  --body SIZE     : client_max_body_size of Myriad (default: that of the
                    preset)
  --database NAME : mariadb-10.11, mysql-8.0, or none (default: the installed
                    database)

Exit status: 0 on success; 1 on errors, or if --undo did not restore a file.
";

const OPTIONS: &[KnownOption] = &[
    ("--apply", false),
    ("--undo", false),
    ("--force", false),
    ("--site", true),
    ("--root", true),
    ("--memory", true),
    ("--cores", true),
    ("--worker", true),
    ("--body", true),
    ("--database", true),
];

/// Parsed value of the option `--database`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseOption {
    /// The option is missing: the installed database is detected.
    Nothing,
    /// The value is `none`: the machine has no database.
    Missing,
    This(DatabaseServer),
}

/// Options of `myriad tune`. Values replace facts that would be detected.
#[derive(Clone, Debug)]
pub(super) struct TuneOptions {
    pub(super) act: ChangeAction,
    pub(super) force: bool,
    pub(super) root: PathBuf,
    pub(super) site: Option<PathBuf>,
    pub(super) memory: Option<u64>,
    pub(super) cores: Option<u32>,
    pub(super) worker: Option<u64>,
    pub(super) body: Option<u64>,
    pub(super) database: DatabaseOption,
}

/// Permitted values of `--memory`, in bytes.
const MEMORY: std::ops::RangeInclusive<u64> = 512 << 20..=16 << 40;

impl TuneOptions {
    /// Parses the words after `myriad tune`; `None` if help is requested, an error text if a word is invalid.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = CommandWords::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        words.at_most(0, "tune")?;
        let act = words.act()?;
        if words.has("--force") && act != ChangeAction::Undo {
            return Err("--force requires --undo".into());
        }
        let root = words.root()?;
        if root.join("wp-includes").is_dir() {
            let root = root.display();
            return Err(format!(
                "--root {root}: this is a WordPress folder; specify it with --site, and use --root for the root of a system"
            ));
        }
        let memory = size(&words, "--memory")?;
        if let Some(memory) = memory.filter(|memory| !MEMORY.contains(memory)) {
            return Err(format!("--memory {}: must be from 512m to 16t", crate::tune::amount(memory)));
        }
        let worker = size(&words, "--worker")?;
        if worker.is_some_and(|worker| !(1 << 20..=16 << 30).contains(&worker)) {
            return Err("--worker: must be from 1m to 16g".into());
        }
        Ok(Some(Self {
            act,
            force: words.has("--force"),
            root,
            site: words.value("--site").map(PathBuf::from),
            memory,
            cores: words.value("--cores").map(|text| cores(&text)).transpose()?,
            worker,
            body: size(&words, "--body")?,
            database: database(words.value("--database"))?,
        }))
    }
}

fn size(words: &CommandWords, option: &str) -> Result<Option<u64>, String> {
    let Some(text) = words.value(option) else { return Ok(None) };
    let size = parse_amount(&text).filter(|size| *size > 0);
    size.map(Some).ok_or_else(|| format!("{option} \"{text}\" is not a size; use 2g, 512m or 65536k"))
}

fn cores(text: &str) -> Result<u32, String> {
    let cores = decimal(text).filter(|cores| (1..=4096).contains(cores));
    cores.ok_or_else(|| format!("--cores \"{text}\" is not a number from 1 to 4096"))
}

#[expect(clippy::needless_pass_by_value, reason = "the caller does not use the value afterwards")]
fn database(text: Option<String>) -> Result<DatabaseOption, String> {
    match text.as_deref() {
        None => Ok(DatabaseOption::Nothing),
        Some("none") => Ok(DatabaseOption::Missing),
        Some(text) => DatabaseServer::parse(text)
            .map(DatabaseOption::This)
            .ok_or_else(|| format!("--database \"{text}\": must be mariadb-10.11, mysql-8.0 or none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<TuneOptions>, String> {
        TuneOptions::parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn tune_options_are_parsed_and_invalid_values_are_reported() {
        let options =
            parsed(&["--memory", "2g", "--cores=4", "--database", "none"]).expect("sound").expect("no help");
        assert_eq!(
            (options.memory, options.cores, options.database),
            (Some(2 << 30), Some(4), DatabaseOption::Missing)
        );
        assert_eq!(options.act, ChangeAction::Show);
        for (arguments, part) in [
            (&["--apply", "--undo"][..], "not both"),
            (&["--memory", "lots"], "is not a size"),
            (&["--memory", "1m"], "from 512m"),
            (&["--worker", "1"], "from 1m"),
            (&["--cores", "0"], "not a number from 1"),
            (&["--database", "oracle"], "mariadb-10.11"),
            (&["--root", "/nowhere/at/all"], "no such folder"),
            (&["--force"], "requires --undo"),
            (&["now"], "unexpected argument"),
        ] {
            assert!(parsed(arguments).expect_err(part).contains(part), "{arguments:?}");
        }
    }

    #[test]
    fn site_is_no_root() {
        let site = std::env::temp_dir().join(format!("myriad-tune-site-{}", std::process::id()));
        std::fs::create_dir_all(site.join("wp-includes")).expect("a folder");
        let error = parsed(&["--root", &site.display().to_string()])
            .expect_err("a site is not accepted as root folder");
        assert!(error.contains("specify it with --site"), "{error}");
        std::fs::remove_dir_all(&site).expect("removed");
    }
}
