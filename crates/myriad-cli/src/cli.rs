//! Parser of the command line, with nginx's syntax: one-letter options may be combined, and a value may directly follow
//! its letter.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

mod options;
mod suggestion;
mod usage;

pub use options::{ExplainRequest, ServerOptions, SignalRequest};
pub use suggestion::invalid;
use suggestion::invalid_first;
pub use usage::{COMMANDS, USAGE, options_in, usage_of_server_and_site};

use crate::wordpress;

/// Parses the arguments after the program name of a command that runs, tests or signals a server, including those of
/// `wordpress`, `php` and `certificates`. Returns an error text, to be printed after `myriad: `.
pub fn parse(arguments: Vec<OsString>) -> Result<ServerOptions, String> {
    if arguments.first().is_some_and(|first| first == "certificates") {
        let mut options = parse(arguments.into_iter().skip(1).collect())?;
        options.certificates = true;
        return Ok(options);
    }
    let kind = arguments.first().and_then(|first| wordpress::SiteKind::from_name(first.to_str()?));
    if let Some(kind) = kind {
        return wordpress::parse(kind, arguments.into_iter().skip(1));
    }
    let mut options = ServerOptions::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "--help" || argument == "--version" {
            options.help |= argument == "--help";
            options.version |= argument == "--version";
            continue;
        }
        if let Some(rest) = after_prefix_option(&argument) {
            let glued = rest.strip_prefix(b"=").map(|value| OsStr::from_bytes(value).to_owned());
            options.set_value(b'p', glued.or_else(|| arguments.next()))?;
            continue;
        }
        if argument == "--explain" || argument == "--method" || argument == "-H" {
            options.explain(&argument, arguments.next())?;
            continue;
        }
        let bytes = argument.as_bytes();
        let Some(mut letters) = bytes.strip_prefix(b"-").filter(|rest| !rest.starts_with(b"-")) else {
            return Err(invalid_first(&argument.to_string_lossy()));
        };
        while let [letter, rest @ ..] = letters {
            letters = rest;
            if options.set_flag(*letter) {
                continue;
            }
            let value = if rest.is_empty() { arguments.next() } else { Some(OsStr::from_bytes(rest).into()) };
            options.set_value(*letter, value)?;
            break;
        }
    }
    match &options.explain {
        Some(asked) if asked.url.is_empty() => Err("-H and --method require --explain".to_owned()),
        _ => Ok(options),
    }
}

/// Returns the text after `--prefix`: empty for `--prefix` (the value is the next argument), or `=DIR` for
/// `--prefix=DIR`. Returns `None` for other arguments.
fn after_prefix_option(argument: &OsStr) -> Option<&[u8]> {
    argument.as_bytes().strip_prefix(b"--prefix").filter(|rest| matches!(rest, [] | [b'=', ..]))
}

impl ServerOptions {
    fn set_flag(&mut self, letter: u8) -> bool {
        match letter {
            b'?' | b'h' => self.help = true,
            b'v' => self.version = true,
            b'V' => (self.version, self.configure) = (true, true),
            b't' => self.test = true,
            b'T' => (self.test, self.dump) = (true, true),
            b'q' => self.quiet = true,
            _ => return false,
        }
        true
    }

    fn set_value(&mut self, letter: u8, value: Option<OsString>) -> Result<(), String> {
        let wanted = match letter {
            b'p' => "directory name",
            b'e' | b'c' => "file name",
            b'g' | b's' => "parameter",
            _ => return Err(format!("invalid option: \"{}\"", letter as char)),
        };
        let missing = || format!("option \"-{}\" requires {wanted}", letter as char);
        let value = value.filter(|value| !value.is_empty()).ok_or_else(missing)?;
        match letter {
            b'p' => self.prefix = Some(value.into()),
            b'e' => self.error_log = Some(value.into()),
            b'c' => self.configuration = Some(value.into()),
            b'g' => self.directives = Some(value.into_vec()),
            _ => self.request = Some(request(&value)?),
        }
        Ok(())
    }
}

fn request(name: &OsStr) -> Result<SignalRequest, String> {
    match name.as_bytes() {
        b"stop" => Ok(SignalRequest::Stop),
        b"quit" => Ok(SignalRequest::Quit),
        b"reopen" => Ok(SignalRequest::Reopen),
        b"reload" => Ok(SignalRequest::Reload),
        _ => {
            let word = format!("-s {}", name.to_string_lossy());
            Err(invalid(&word, ["-s stop", "-s quit", "-s reopen", "-s reload"]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<ServerOptions, String> {
        parse(arguments.iter().map(OsString::from).collect())
    }

    #[test]
    fn values_may_be_glued_or_follow() {
        let glued = parsed(&["-c/etc/a.conf", "-p/srv", "-eerr.log", "-gdaemon off;", "-sreload"]);
        let separate = parsed(&[
            "-c",
            "/etc/a.conf",
            "-p",
            "/srv",
            "-e",
            "err.log",
            "-g",
            "daemon off;",
            "-s",
            "reload",
        ]);
        assert_eq!(glued, separate);
        let options = glued.expect("options");
        assert_eq!(options.configuration.as_deref(), Some("/etc/a.conf".as_ref()));
        assert_eq!(options.directives.as_deref(), Some(b"daemon off;".as_slice()));
        assert_eq!(options.request, Some(SignalRequest::Reload));
    }

    #[test]
    fn prefix_has_a_long_form() {
        for words in [&["--prefix", "/srv"][..], &["--prefix=/srv"], &["-p", "/srv"]] {
            assert_eq!(parsed(words).expect("options").prefix.as_deref(), Some("/srv".as_ref()), "{words:?}");
        }
        assert_eq!(parsed(&["--prefix"]), Err("option \"-p\" requires directory name".into()));
        assert!(parsed(&["--prefixed", "/srv"]).is_err());
    }

    #[test]
    fn flags_combine_and_the_last_may_take_a_value() {
        let options = parsed(&["-tqc", "a.conf"]).expect("options");
        assert!(options.test && options.quiet && !options.dump);
        assert_eq!(options.configuration.as_deref(), Some("a.conf".as_ref()));
        assert_eq!(
            parsed(&["-qTcx.conf"]).expect("options").configuration.as_deref(),
            Some("x.conf".as_ref())
        );
        assert!(parsed(&["-T"]).expect("options").test);
    }

    #[test]
    fn a_question_is_gathered_from_its_options() {
        let asked = parsed(&["-q", "--explain", "/x", "-H", "A: b", "-H", "C: d", "--method", "POST", "-t"]);
        let options = asked.expect("options");
        let asked = options.explain.expect("a question");
        assert!(options.test && options.quiet);
        assert_eq!((asked.url.as_str(), asked.method.as_deref()), ("/x", Some("POST")));
        assert_eq!(asked.fields, ["A: b", "C: d"]);
        assert!(parsed(&["-t", "-H", "A: b"]).is_err() && parsed(&["--explain"]).is_err());
    }

    #[test]
    fn near_commands_and_options_are_suggested() {
        for (words, near) in [
            (&["purg", "/a"][..], "purge"),
            (&["chache"], "cache"),
            (&["wordpres"], "wordpress"),
            (&["certificate"], "certificates"),
            (&["reload"], "-s reload"),
            (&["configtest"], "-t"),
            (&["--explian", "/"], "--explain"),
            (&["--helo"], "--help"),
            (&["-s", "relaod"], "-s reload"),
        ] {
            let error = parsed(words).expect_err("none");
            assert!(error.ends_with(&format!(", did you mean \"{near}\"?")), "{error}");
        }
    }

    #[test]
    fn errors_are_worded_as_nginx_words_them() {
        assert_eq!(parsed(&["-z"]), Err("invalid option: \"z\"".into()));
        assert_eq!(parsed(&["frobnicate"]), Err("invalid option: \"frobnicate\"".into()));
        assert_eq!(parsed(&["--frobnicate"]), Err("invalid option: \"--frobnicate\"".into()));
        assert_eq!(parsed(&["-c"]), Err("option \"-c\" requires file name".into()));
        assert_eq!(parsed(&["-p"]), Err("option \"-p\" requires directory name".into()));
        assert_eq!(parsed(&["-s", "restart"]), Err("invalid option: \"-s restart\"".into()));
    }
}
