//! The command line, read as nginx reads its own: letters may be glued, values may follow at once.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::process::Signal;

use crate::explain::Asked;
use crate::wordpress;

/// What `--help` and `-h` print, to standard error as nginx does.
pub(crate) const USAGE: &str = "\
Usage: myriad [-?hvVtTq] [-s signal] [-p prefix]
              [-e filename] [-c filename] [-g directives]
       myriad wordpress --root DIR --php SOCKET|HOST:PORT
              [--listen ADDRESS] [--name HOST]... [--prefix DIR]
              [--user NAME] [-tTq] [--explain URL ...]
              [--domain HOST... [--email ADDRESS] [--acme-staging]]
       myriad wordpress --site 'NAMES DIR PHP [https]'... | --sites FILE ...
       myriad wordpress --print [--root DIR --php ...]
       myriad wordpress status | reload | stop [--prefix DIR]
       myriad certificates [-p prefix] [-c filename] | wordpress ...
       myriad purge URL... | --tag T | --wildcard PATTERN | --all ...
       myriad cache ls | show URL | stats        (each has its --help)

Options:
  -?,-h         : this help
  -v            : show version and exit
  -V            : show version and configure options then exit
  -t            : test configuration and exit
  -T            : test configuration, dump it and exit
  --explain URL : with -t: say what would become of a request for this URL
                  (or /path), and why it would be cached or not
  -H 'Name: x'  : a request field for --explain, may be repeated
  --method NAME : the method for --explain (default: GET)
  -q            : suppress non-error messages during configuration testing
  -s signal     : send signal to a master process: stop, quit, reopen, reload
  -p prefix     : set prefix path (default: /usr/local/myriad/)
  -e filename   : set error log file (default: logs/error.log)
  -c filename   : set configuration file (default: conf/nginx.conf)
  -g directives : set global directives out of configuration file

myriad wordpress serves a WordPress site without a configuration file:
  --root DIR    : the folder that holds wp-config.php and index.php
  --php ADDRESS : php-fpm's socket path, or HOST:PORT
  --php-children N
                : its pm.max_children (default: what its pool's file says)
  --listen ADDR : where visitors connect (default: 80, or 8080 unless root)
  --name HOST   : host name of the site, may be repeated (default: any)
  --prefix DIR  : where the cache, logs and pid file go
  --user NAME   : who serves when started by root (default: myriad, nobody)
  --domain HOST : serve HTTPS with a certificate for this name, issued and
                  renewed by Let's Encrypt, whose terms you accept by it;
                  may be repeated; leads http to https
  --email ADDR  : whom the authority may write to
  --acme-staging: Let's Encrypt's twin for trying out
  --acme-directory URI, --acme-ca FILE
                : another authority, and who vouches for its own server
  --https-listen ADDR
                : where visitors connect by https (default: 443, or 8443)
  --self-signed : serve HTTPS with a certificate made here, for trying out
  --site LINE   : one of several sites: NAME[,NAME]... DIR PHP, and https
                  behind them for a certificate; may be repeated
  --sites FILE  : a file with such a line for each site
  --print       : print the configuration that would run and exit;
                  alone: the preset with {{placeholders}}
";

/// First words of a command line that are no options.
const COMMANDS: [&str; 4] = ["cache", "certificates", "purge", "wordpress"];

/// Options of more than a letter.
const LONG: [&str; 4] = ["--explain", "--help", "--method", "--version"];

/// `-s`: what to ask of the supervisor that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Stop,
    Quit,
    Reopen,
    Reload,
}

impl Request {
    /// The signal that asks for it.
    pub(crate) fn signal(self) -> Signal {
        match self {
            Self::Stop => Signal::TERM,
            Self::Quit => Signal::QUIT,
            Self::Reopen => Signal::USR1,
            Self::Reload => Signal::HUP,
        }
    }
}

/// Everything that the command line said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) help: bool,
    pub(crate) version: bool,
    /// `-V`; implies `version`.
    pub(crate) configure: bool,
    pub(crate) test: bool,
    /// `-T`; implies `test`.
    pub(crate) dump: bool,
    pub(crate) quiet: bool,
    /// `--explain`; implies `test`.
    pub(crate) explain: Option<Asked>,
    pub(crate) request: Option<Request>,
    pub(crate) prefix: Option<PathBuf>,
    pub(crate) error_log: Option<PathBuf>,
    pub(crate) configuration: Option<PathBuf>,
    pub(crate) directives: Option<Vec<u8>>,
    /// `myriad certificates …`: list them and exit.
    pub(crate) certificates: bool,
    /// `myriad wordpress …`.
    pub(crate) wordpress: Option<wordpress::Options>,
}

/// Reads the arguments after the program's name; the error is a sentence to be printed after `myriad: `.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Options, String> {
    if arguments.first().is_some_and(|first| first == "certificates") {
        let mut options = parse(arguments.into_iter().skip(1).collect())?;
        options.certificates = true;
        return Ok(options);
    }
    if arguments.first().is_some_and(|first| first == "wordpress") {
        return wordpress::parse(arguments.into_iter().skip(1));
    }
    let mut options = Options::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "--help" || argument == "--version" {
            options.help |= argument == "--help";
            options.version |= argument == "--version";
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
        Some(asked) if asked.url.is_empty() => Err("-H and --method go with --explain".to_owned()),
        _ => Ok(options),
    }
}

impl Options {
    /// `--explain URL`, `-H "Name: value"`, `--method NAME`.
    pub(crate) fn explain(&mut self, option: &OsStr, value: Option<OsString>) -> Result<(), String> {
        let value = value.and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty());
        let value =
            value.ok_or_else(|| format!("option \"{}\" requires a value", option.to_string_lossy()))?;
        let asked = self.explain.get_or_insert_default();
        match option.as_bytes() {
            b"-H" => asked.fields.push(value),
            b"--method" => asked.method = Some(value),
            _ => (asked.url, self.test) = (value, true),
        }
        Ok(())
    }

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

fn request(name: &OsStr) -> Result<Request, String> {
    match name.as_bytes() {
        b"stop" => Ok(Request::Stop),
        b"quit" => Ok(Request::Quit),
        b"reopen" => Ok(Request::Reopen),
        b"reload" => Ok(Request::Reload),
        _ => {
            let word = format!("-s {}", name.to_string_lossy());
            Err(invalid(&word, ["-s stop", "-s quit", "-s reopen", "-s reload"]))
        }
    }
}

/// A word that is no option, and the known one that it is nearest to.
pub(crate) fn invalid<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    told(word, myriad_conf::nearest(word, known))
}

/// The same for a word that may be one of those that init scripts and other servers' programs take.
fn invalid_first(word: &str) -> String {
    match word {
        "stop" => told(word, Some("-s stop")),
        "quit" => told(word, Some("-s quit")),
        "reopen" => told(word, Some("-s reopen")),
        "reload" => told(word, Some("-s reload")),
        "configtest" | "test" => told(word, Some("-t")),
        "version" => told(word, Some("--version")),
        "help" => told(word, Some("--help")),
        _ => invalid(word, COMMANDS.into_iter().chain(LONG)),
    }
}

fn told(word: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("invalid option: \"{word}\", did you mean \"{near}\"?"),
        None => format!("invalid option: \"{word}\""),
    }
}

/// The options of more than a letter that a text of usage names.
pub(crate) fn options_in(usage: &str) -> impl Iterator<Item = &str> {
    let words = usage.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| word.starts_with("--"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Options, String> {
        parse(arguments.iter().map(OsString::from).collect())
    }

    #[test]
    fn values_may_be_glued_or_follow() {
        let glued = parsed(&["-c/etc/a.conf", "-p/srv", "-eerr.log", "-gdaemon off;", "-sreload"]);
        let apart = parsed(&[
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
        assert_eq!(glued, apart);
        let options = glued.expect("options");
        assert_eq!(options.configuration.as_deref(), Some("/etc/a.conf".as_ref()));
        assert_eq!(options.directives.as_deref(), Some(b"daemon off;".as_slice()));
        assert_eq!(options.request, Some(Request::Reload));
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
