//! Command line of `myriad takeover`.

use std::ffi::OsString;
use std::path::PathBuf;

use myriad_cli::admin::{ChangeAction, CommandWords, KnownOption};

/// Text that `myriad takeover --help` prints.
pub const USAGE: &str = "\
Usage: myriad takeover [--apply | --undo] [-c FILE] [-p PREFIX] [--nginx PROGRAM]
                       [--service NAME] [--root PREFIX]

Replaces nginx on this machine with Myriad, which uses the nginx configuration.
Without --apply or --undo, reports how Myriad interprets this configuration,
with file, line and remedy, and changes nothing.

  --apply         : replace the nginx service with Myriad, then send a request
                    to each listening address; if a response is worse than
                    before, restore nginx immediately
  --undo          : replace Myriad with nginx again
  -c FILE         : nginx configuration (default: that of the running nginx,
                    else that of its package)
  -p PREFIX       : folder for relative paths in the configuration (default:
                    from nginx -V)
  --nginx PROGRAM : nginx program (default: that of the running nginx, else
                    from PATH)
  --service NAME  : name of the nginx service (default: nginx)
  --root PREFIX   : write files below PREFIX instead of /

No file of nginx is changed. The command writes two files:
etc/systemd/system/myriad.service.d/takeover.conf contains the command line and
the folders, var/lib/myriad/takeover.json the previous state for --undo.

Exit status: 0 if the takeover is possible or succeeded; 1 if not, or on errors.
";

const OPTIONS: &[KnownOption] =
    &[("--apply", false), ("--undo", false), ("--nginx", true), ("--service", true), ("--root", true)];

#[derive(Debug)]
pub(super) struct TakeoverOptions {
    pub(super) act: ChangeAction,
    pub(super) configuration: Option<PathBuf>,
    pub(super) prefix: Option<PathBuf>,
    pub(super) nginx: Option<PathBuf>,
    /// Name of nginx's systemd unit, such as `nginx.service`.
    pub(super) unit: String,
    pub(super) root: PathBuf,
}

impl TakeoverOptions {
    /// Parses the words after `myriad takeover`; `None` if help is requested, an error text if a word is invalid.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = CommandWords::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        words.at_most(0, "takeover")?;
        if words.server.directives.is_some() || words.socket.is_some() {
            return Err("-g and --socket are not supported (see myriad takeover --help)".into());
        }
        let act = words.act()?;
        let root = words.root()?;
        Ok(Some(Self {
            act,
            configuration: words.server.configuration.clone(),
            prefix: words.server.prefix.clone(),
            nginx: words.value("--nginx").map(PathBuf::from),
            unit: unit(&words.value("--service").unwrap_or_else(|| "nginx".into()))?,
            root,
        }))
    }
}

/// Checks the name of a systemd unit and adds `.service` if it is missing. Names that systemctl could treat as an
/// option or a path are rejected.
fn unit(name: &str) -> Result<String, String> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@:".contains(&byte);
    if name.is_empty() || name.starts_with('-') || !name.bytes().all(is_usual) {
        return Err(format!("--service \"{name}\" is not a valid service name"));
    }
    Ok(if name.ends_with(".service") { name.to_owned() } else { format!("{name}.service") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_takeover_options_are_reported() {
        let parsed = |arguments: &[&str]| TakeoverOptions::parse(arguments.iter().map(OsString::from));
        let options = parsed(&["--service", "openresty", "-c", "a.conf"]).expect("sound").expect("no help");
        assert_eq!((options.act, options.unit.as_str()), (ChangeAction::Show, "openresty.service"));
        for (arguments, part) in [
            (&["--apply", "--undo"][..], "not both"),
            (&["--service", "a b"], "not a valid service name"),
            (&["--service=-x"], "not a valid service name"),
            (&["--root", "/nowhere/at/all"], "no such folder"),
            (&["-g", "daemon off;"], "not supported"),
            (&["now"], "unexpected argument"),
        ] {
            assert!(parsed(arguments).expect_err(part).contains(part), "{arguments:?}");
        }
    }
}
