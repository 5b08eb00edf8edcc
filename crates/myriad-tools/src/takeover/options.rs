//! Command line of `myriad takeover`.

use std::ffi::OsString;
use std::path::PathBuf;

use myriad_cli::admin::{Act, Known, Words};

/// Text of `--help`.
pub const USAGE: &str = "\
Usage: myriad takeover [--apply | --undo] [-c FILE] [-p PREFIX] [--nginx PROGRAM]
                       [--service NAME] [--root PREFIX]

Takes over from an nginx on this machine, with nginx's own configuration. Says
what that configuration comes to here, with file, line and remedy; changes
nothing unless told to.

  --apply         : swap the services, and ask each address that is listened on.
                    Where one does not answer as it did, nginx is back at once
  --undo          : the other way: nginx serves again
  -c FILE         : nginx's configuration (default: that of the nginx that runs,
                    else that of its package)
  -p PREFIX       : where its relative paths begin (default: what nginx -V says)
  --nginx PROGRAM : (default: that of the nginx that runs, else found in PATH)
  --service NAME  : nginx's service (default: nginx)
  --root PREFIX   : write below PREFIX in place of /

No file of nginx is changed. Written are etc/systemd/system/myriad.service.d/
takeover.conf, with the command line and the folders, and
var/lib/myriad/takeover.json, from which --undo knows what was there.

Exit status: 0 it can be taken over, or was; 1 not, or after an error.
";

const OPTIONS: &[Known] =
    &[("--apply", false), ("--undo", false), ("--nginx", true), ("--service", true), ("--root", true)];

#[derive(Debug)]
pub(super) struct Options {
    pub(super) act: Act,
    pub(super) configuration: Option<PathBuf>,
    pub(super) prefix: Option<PathBuf>,
    pub(super) nginx: Option<PathBuf>,
    /// Unit of nginx, with its suffix.
    pub(super) unit: String,
    pub(super) root: PathBuf,
}

impl Options {
    /// Parses the words after `myriad takeover`; `None` if help is requested.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = Words::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        words.at_most(0, "takeover")?;
        if words.server.directives.is_some() || words.socket.is_some() {
            return Err("-g and --socket have no meaning here (see myriad takeover --help)".into());
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

/// Checks the name of a unit. Names that systemctl could treat as an option or a path are rejected.
fn unit(name: &str) -> Result<String, String> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@:".contains(&byte);
    if name.is_empty() || name.starts_with('-') || !name.bytes().all(is_usual) {
        return Err(format!("--service \"{name}\" is no name of a service"));
    }
    Ok(if name.ends_with(".service") { name.to_owned() } else { format!("{name}.service") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_told() {
        let parsed = |arguments: &[&str]| Options::parse(arguments.iter().map(OsString::from));
        let options = parsed(&["--service", "openresty", "-c", "a.conf"]).expect("sound").expect("no help");
        assert_eq!((options.act, options.unit.as_str()), (Act::Show, "openresty.service"));
        for (arguments, part) in [
            (&["--apply", "--undo"][..], "not both"),
            (&["--service", "a b"], "no name of a service"),
            (&["--service=-x"], "no name of a service"),
            (&["--root", "/nowhere/at/all"], "no such folder"),
            (&["-g", "daemon off;"], "no meaning here"),
            (&["now"], "too much here"),
        ] {
            assert!(parsed(arguments).expect_err(part).contains(part), "{arguments:?}");
        }
    }
}
