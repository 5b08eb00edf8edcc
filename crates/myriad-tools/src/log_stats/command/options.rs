//! Command line of `myriad log`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::log_stats::{ReportSection, moment};
use myriad_base::digits::decimal;
use myriad_log::local_time;

use myriad_cli::admin::{CommandWords, KnownOption};
use myriad_cli::cli;

/// Text that `myriad log --help` prints.
pub const USAGE: &str = "\
Usage: myriad log [FILE]... [--hours] [--pages] [--slow] [--missed] [--floods]
                  [--errors] [--limit N] [--since TIME] [--until TIME]
                  [--host HOST] [--format FORMAT] [--rotated] [--json]

Analyzes access logs and error logs, and prints a summary. A FILE may be
compressed with gzip; `-` is standard input. Without FILE: standard input if it
is not a terminal, else the logs of the running server.

  --hours         : response statuses by hour
  --pages         : most requested pages
  --slow          : slowest pages (the format needs $request_time)
  --missed        : pages with most cache misses ($upstream_cache_status)
  --floods        : clients with most requests: address, share, user agent
  --errors        : errors, grouped, with remedies (default: all of these)
  --limit N       : maximum number of rows per table (default: 10)
  --since TIME    : only entries since this time: 2h, 3d, 17:30, today,
                    yesterday, 2026-11-24, or '2026-11-24 17:30'
  --until TIME    : only entries until this time
  --host HOST     : only requests for this host, if the format contains it
  --format FORMAT : format of access logs: the name of a log_format in the
                    configuration, or the text of a format (default: detected)
  --rotated       : also read rotated files: FILE.1, FILE.2.gz, ...
  --json          : print the report as one JSON object

Configuration:
  -c FILE         : configuration file (default: that of the running server)
  -p PREFIX       : prefix of the server; for a `myriad wordpress`, its --prefix

Exit status: 0 on success; 1 on errors; 2 if no matching entry was found.
";

const OPTIONS: &[KnownOption] = &[
    ("--hours", false),
    ("--pages", false),
    ("--slow", false),
    ("--missed", false),
    ("--floods", false),
    ("--errors", false),
    ("--limit", true),
    ("--since", true),
    ("--until", true),
    ("--host", true),
    ("--format", true),
    ("--rotated", false),
    ("--json", false),
];

const QUESTIONS: [(&str, ReportSection); 6] = [
    ("--hours", ReportSection::Hours),
    ("--pages", ReportSection::Pages),
    ("--slow", ReportSection::Slow),
    ("--missed", ReportSection::Missed),
    ("--floods", ReportSection::Floods),
    ("--errors", ReportSection::Errors),
];

/// Options of the command `myriad log`.
#[derive(Debug)]
pub(super) struct LogOptions {
    pub(super) server: cli::ServerOptions,
    /// Log files given as arguments; `-` is standard input.
    pub(super) files: Vec<PathBuf>,
    pub(super) questions: Vec<ReportSection>,
    pub(super) limit: usize,
    /// Start of the time range of counted lines, in seconds since the epoch; `None` for no limit.
    pub(super) since_s: Option<u64>,
    pub(super) until_s: Option<u64>,
    pub(super) host: Option<String>,
    pub(super) format: Option<String>,
    pub(super) rotated: bool,
    pub(super) json: bool,
}

impl LogOptions {
    /// Parses the words after `myriad log`; `None` if help is requested, an error text if a word is invalid.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = CommandWords::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        if words.socket.is_some() {
            return Err("--socket is not supported: use -c or -p, or specify the log files".to_owned());
        }
        let asked: Vec<_> =
            QUESTIONS.iter().filter(|(name, _)| words.has(name)).map(|(_, asked)| *asked).collect();
        let limit = words.value("--limit").map(|text| limit(&text)).transpose()?;
        let (since_s, until_s) = (time(&words, "--since")?, time(&words, "--until")?);
        if let (Some(since), Some(until)) = (since_s, until_s)
            && since > until
        {
            return Err("--since is later than --until".to_owned());
        }
        Ok(Some(Self {
            files: words.plain.iter().map(PathBuf::from).collect(),
            questions: if asked.is_empty() { ReportSection::ALL.to_vec() } else { asked },
            limit: limit.unwrap_or(10),
            since_s,
            until_s,
            host: words.value("--host"),
            format: words.value("--format"),
            rotated: words.has("--rotated"),
            json: words.has("--json"),
            server: words.server,
        }))
    }

    /// Returns whether the options exclude some log lines, by time or host.
    pub(super) fn is_narrowed(&self) -> bool {
        self.since_s.is_some() || self.until_s.is_some() || self.host.is_some()
    }
}

fn limit(text: &str) -> Result<usize, String> {
    let limit = decimal(text).filter(|limit| (1..=10_000).contains(limit));
    limit.ok_or_else(|| format!("--limit \"{text}\" must be a number from 1 to 10000"))
}

fn time(words: &CommandWords, name: &str) -> Result<Option<u64>, String> {
    let Some(text) = words.value(name) else { return Ok(None) };
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let found = moment(&text, now_s, local_time::offset_minutes);
    let wrong = || {
        format!("{name} \"{text}\": use 2h, 3d, 17:30, today, yesterday, 2026-11-24 or '2026-11-24 17:30'")
    };
    found.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<LogOptions>, String> {
        LogOptions::parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn questions_are_asked_by_name_and_all_without_one() {
        let options = parsed(&["a.log", "--slow", "--errors", "-"]).expect("sound").expect("no help");
        assert_eq!(options.questions, [ReportSection::Slow, ReportSection::Errors]);
        assert_eq!(options.files, [PathBuf::from("a.log"), PathBuf::from("-")]);
        assert_eq!(parsed(&[]).expect("sound").expect("no help").questions.len(), 7);
        assert!(parsed(&["--help"]).expect("help").is_none());
    }

    #[test]
    fn invalid_options_are_reported_with_remedy() {
        for (arguments, part) in [
            (&["--limit", "0"][..], "1 to 10000"),
            (&["--since", "soon"], "use 2h"),
            (&["--since", "1h", "--until", "2h"], "later than --until"),
            (&["--sloww"], "did you mean \"--slow\"?"),
            (&["--socket", "x"], "-c or -p"),
        ] {
            assert!(parsed(arguments).expect_err(part).contains(part), "{arguments:?}");
        }
    }
}
