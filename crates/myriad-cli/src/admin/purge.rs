//! `myriad purge`: purges pages from the zones of a running server.

use std::ffi::OsString;
use std::process::ExitCode;

use myriad_admin::protocol::{AdminReply, AdminRequest, PurgeReport, PurgeRequest, render};

use super::client::RunningServer;
use super::options::{CommandWords, KnownOption};
use super::output::CommandOutput;

/// Text that `myriad purge --help` prints.
pub const USAGE: &str = "\
Usage: myriad purge [URL]... [--tag T]... [--wildcard PATTERN]...
                    [--regex RE]... [--host H]... [--all]
                    [--soft | --invalidate] [--zone Z] [--wait] [--json]

Purges the given pages with all variants and encodings, in memory and on disk;
responses in flight for them are not stored. The purge is in effect when the
command returns, and after a restart.

  URL                : http://host/path: that path, with any query or none;
                       http://host/path?query: only that URL
  --tag T            : pages with the cache tag T
  --wildcard PATTERN : URLs with `*` as a wildcard: http://host/shop/*
  --regex RE         : pages whose path and query match RE
  --host H           : all pages of a host
  --all              : all pages
  --soft             : mark the pages as stale instead of removing them: they
                       are served while new ones are fetched; `myriad warm
                       --by-heat` fetches these, the most requested first
  --invalidate       : do not serve the pages until they are fetched again, but
                       store them for the case that the upstream fails
  --zone Z           : only in this zone (default: all)
  --wait             : wait until the pages that match patterns are counted
                       (they are purged immediately in either case)
  --json             : one JSON object per line

Which server:
  -c FILE            : configuration file of the server (default: the running
                       one)
  -p PREFIX          : prefix of the server; of a `myriad wordpress`, its
                       --prefix
  --socket PATH      : control socket of the server

Exit status: 0, also if no page matched; 1 after an error.
";

const OPTIONS: &[KnownOption] = &[
    ("--tag", true),
    ("--wildcard", true),
    ("--regex", true),
    ("--host", true),
    ("--all", false),
    ("--soft", false),
    ("--invalidate", false),
    ("--zone", true),
    ("--wait", false),
    ("--json", false),
];

/// Command line of `myriad purge`.
#[derive(Debug)]
pub(super) struct PurgeCommandLine {
    words: CommandWords,
    request: AdminRequest,
}

/// Parses the words after `myriad purge`; `None` if help is requested, an error text if a word is invalid.
pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<PurgeCommandLine>, String> {
    let words = CommandWords::parse(arguments, OPTIONS)?;
    if words.help {
        return Ok(None);
    }
    let purge = PurgeRequest {
        urls: words.plain.clone(),
        tags: words.values("--tag"),
        wildcards: words.values("--wildcard"),
        regexes: words.values("--regex"),
        hosts: words.values("--host"),
        all: words.has("--all"),
        soft: words.has("--soft"),
        invalidate: words.has("--invalidate"),
        zone: words.value("--zone"),
        wait: words.has("--wait"),
    };
    if purge.is_empty() {
        return Err(
            "purge: give URLs, --tag, --wildcard, --regex, --host or --all (see myriad purge --help)".into(),
        );
    }
    Ok(Some(PurgeCommandLine { words, request: AdminRequest::Purge(purge) }))
}

pub(super) fn run(command: &PurgeCommandLine) -> Result<ExitCode, String> {
    let running = RunningServer::find(&command.words.server, command.words.socket.as_deref())?;
    let json = command.words.has("--json");
    let mut output = CommandOutput::new();
    let mut reports: Vec<PurgeReport> = Vec::new();
    let asked = running.send_request(&command.request, |reply| {
        // A closed output is ignored, so that the purge is completed.
        if let AdminReply::Purge(report) = &reply {
            output.line(&if json { reply.json() } else { render::purge(report) })?;
            reports.push((**report).clone());
        }
        Ok(true)
    });
    if reports.len() > 1 && !json {
        output.line(&render::purge_total(&reports))?;
    }
    output.finish()?;
    asked?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<PurgeCommandLine>, String> {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn everything_that_is_named_is_one_request() {
        let command = parsed(&["http://a/", "--tag=x", "--soft", "http://b/?c", "--tag", "y", "--wait"]);
        let AdminRequest::Purge(purge) = command.expect("sound").expect("no help").request else {
            panic!("a purge")
        };
        assert_eq!(purge.urls, ["http://a/", "http://b/?c"]);
        assert_eq!(purge.tags, ["x", "y"]);
        assert!(purge.soft && purge.wait && !purge.all);
    }

    #[test]
    fn nothing_is_never_everything() {
        assert!(parsed(&[]).expect_err("nothing").contains("purge: give URLs"));
        assert!(parsed(&["--soft", "--zone", "z"]).is_err());
        assert!(parsed(&["--all=no"]).is_err() && parsed(&["--everything"]).is_err());
    }
}
