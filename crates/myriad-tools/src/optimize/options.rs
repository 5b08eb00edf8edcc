//! Command line of `myriad optimize`.

use std::ffi::OsString;

use myriad_cli::admin::{CommandWords, KnownOption};
use myriad_cli::web::WebTarget;

/// Text that `myriad optimize --help` prints.
pub const USAGE: &str = "\
Usage: myriad optimize audit URL [--at HOST:PORT] [--header 'Name: value']...
              [--all] [--json]
       myriad optimize show  URL|KEY [--json]

audit requests a page and the style sheets, scripts, images and fonts that it
      loads from its own site, grades it from A to F, and shows what each filter
      of the page optimizer would save; nothing is changed, and resources of
      other sites are listed, but not requested
show  prints what the page optimizer of a running server did with a cached
      page, and why it left parts unchanged; for an image, the length of its
      WebP copy, or why there is none

  URL             : URL of the page: https://example.com/
  --at HOST:PORT  : address of the server (default: 127.0.0.1 and the port of
                    the URL); all requests go to this address
  --header FIELD  : additional request header: 'X-Forwarded-Proto: https' if a
                    proxy in front of Myriad terminates https
  --all           : list all resources of each check
  --json          : print the result as a JSON object

Which server (show):
  -c FILE         : configuration file of the server (default: the running one)
  -p PREFIX       : prefix of the server; of a `myriad wordpress`, its --prefix
  --socket PATH   : control socket of the server

Exit status: 0 on success; 1 on errors; 2 if the page is not cached, or no
browser that accepts WebP has requested the image.
";

/// User agent of the requests. Myriad gives them a low priority for PHP (presets/bots.conf).
pub(super) const AGENT: &str = concat!("Myriad-Audit/", env!("CARGO_PKG_VERSION"));

const OPTIONS: &[KnownOption] = &[("--at", true), ("--header", true), ("--all", false), ("--json", false)];

/// Command line of `myriad optimize`.
#[derive(Debug)]
pub(super) enum OptimizeCommand {
    /// `myriad optimize audit`: requests and grades a page.
    Audit(AuditOptions),
    /// Prints what the optimizer did with a cached page: the parsed options, and the URL or key of the page.
    Show(CommandWords, String),
}

#[derive(Debug)]
pub(super) struct AuditOptions {
    pub(super) words: CommandWords,
    pub(super) target: WebTarget,
    pub(super) at: Option<String>,
    pub(super) headers: Vec<(String, String)>,
}

impl OptimizeCommand {
    /// Parses the words after `myriad optimize`; `None` if help is requested, an error text if a word is invalid.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = CommandWords::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        words.at_most(2, "optimize")?;
        let action = words.plain.first().map_or("", String::as_str);
        let use_one = "use: myriad optimize audit URL, or myriad optimize show URL";
        match action {
            "audit" | "show" => {}
            "" => return Err(format!("no action specified; {use_one}")),
            other => return Err(format!("unknown action \"{other}\"; {use_one}")),
        }
        let url = words.plain.get(1).cloned().ok_or_else(|| {
            format!("no page specified; add its URL: myriad optimize {action} http://example.com/")
        })?;
        if action == "show" {
            let of_audit = ["--at", "--header", "--all"].into_iter().find(|option| words.has(option));
            return match of_audit {
                Some(option) => Err(format!("{option} is only valid with audit")),
                None => Ok(Some(Self::Show(words, url))),
            };
        }
        Ok(Some(Self::Audit(AuditOptions {
            target: WebTarget::parse(&url)?,
            at: words.value("--at"),
            headers: words.headers()?,
            words,
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<OptimizeCommand>, String> {
        OptimizeCommand::parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn page_and_action_are_required() {
        let command = parsed(&["audit", "a.test/x", "--at", "b:81"]).expect("valid").expect("no help");
        let OptimizeCommand::Audit(options) = command else { panic!("{command:?}") };
        assert_eq!(
            (options.target.to_string().as_str(), options.at.as_deref()),
            ("http://a.test/x", Some("b:81"))
        );
        assert!(parsed(&["--help"]).expect("valid").is_none());
        for (arguments, part) in [
            (&[][..], "no action"),
            (&["audit"], "no page"),
            (&["list", "a.test"], "unknown action"),
            (&["show", "a.test", "--at", "b:81"], "only valid with audit"),
            (&["show"], "myriad optimize show http"),
            (&["audit", "a.test", "b.test"], "unexpected argument"),
            (&["audit", "file:///etc/passwd"], "http"),
            (&["audit", "a.test", "--header", "X: y\r\nZ: a"], "Name: value"),
        ] {
            assert!(parsed(arguments).expect_err(part).contains(part), "{arguments:?}");
        }
    }
}
