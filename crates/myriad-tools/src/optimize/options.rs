//! Command line of `myriad optimize`.

use std::ffi::OsString;

use myriad_cli::admin::{CommandWords, KnownOption};
use myriad_cli::web::WebTarget;

/// Text that `myriad optimize --help` prints.
pub const USAGE: &str = "\
Usage: myriad optimize audit URL [--at HOST:PORT] [--header 'Name: value']...
              [--all] [--json]

Requests a page and the style sheets, scripts, images and fonts that it loads
from its own site, grades it from A to F, and shows what each filter of the
page optimizer would save. Nothing is changed.

Resources of other sites are listed, but not requested.

  URL             : URL of the page: https://example.com/
  --at HOST:PORT  : address of the server (default: 127.0.0.1 and the port of
                    the URL); all requests go to this address
  --header FIELD  : additional request header: 'X-Forwarded-Proto: https' if a
                    proxy in front of Myriad terminates https
  --all           : list all resources of each check
  --json          : print the result as a JSON object

Exit status: 0 on success; 1 on errors.
";

/// User agent of the requests. Myriad gives them a low priority for PHP (presets/bots.conf).
pub(super) const AGENT: &str = concat!("Myriad-Audit/", env!("CARGO_PKG_VERSION"));

const OPTIONS: &[KnownOption] = &[("--at", true), ("--header", true), ("--all", false), ("--json", false)];

#[derive(Debug)]
pub(super) struct AuditOptions {
    pub(super) words: CommandWords,
    pub(super) target: WebTarget,
    pub(super) at: Option<String>,
    pub(super) headers: Vec<(String, String)>,
}

impl AuditOptions {
    /// Parses the words after `myriad optimize`; `None` if help is requested.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = CommandWords::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        words.at_most(2, "optimize")?;
        match words.plain.first().map(String::as_str) {
            Some("audit") => {}
            Some(other) => return Err(format!("unknown action \"{other}\"; use: myriad optimize audit URL")),
            None => return Err("no action specified; use: myriad optimize audit URL".into()),
        }
        let url = words
            .plain
            .get(1)
            .ok_or("no page specified; add its URL: myriad optimize audit http://example.com/")?;
        Ok(Some(Self {
            target: WebTarget::parse(url)?,
            at: words.value("--at"),
            headers: words.headers()?,
            words,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<AuditOptions>, String> {
        AuditOptions::parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn page_and_action_are_required() {
        let options = parsed(&["audit", "a.test/x", "--at", "b:81"]).expect("valid").expect("no help");
        assert_eq!(
            (options.target.to_string().as_str(), options.at.as_deref()),
            ("http://a.test/x", Some("b:81"))
        );
        assert!(parsed(&["--help"]).expect("valid").is_none());
        for (arguments, part) in [
            (&[][..], "no action"),
            (&["audit"], "no page"),
            (&["show", "a.test"], "unknown action"),
            (&["audit", "a.test", "b.test"], "unexpected argument"),
            (&["audit", "file:///etc/passwd"], "http"),
            (&["audit", "a.test", "--header", "X: y\r\nZ: a"], "Name: value"),
        ] {
            assert!(parsed(arguments).expect_err(part).contains(part), "{arguments:?}");
        }
    }
}
