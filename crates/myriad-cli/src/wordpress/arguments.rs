//! Arguments of `myriad wordpress` on the command line.

use std::ffi::OsString;

use super::object_cache_change::ObjectCacheChange;
use super::options::SiteOptions;
use super::plugin_placement::PluginPlacement;
use super::site_kind::SiteKind;
use super::values;
use crate::cli;

/// Commands to the running server, suggested for a mistyped argument.
const COMMANDS: [&str; 3] = ["status", "reload", "stop"];

/// Parses the arguments after the word `wordpress` or `php`. Returns an error text if they are invalid, contradictory
/// or incomplete.
pub fn parse(
    kind: SiteKind,
    arguments: impl Iterator<Item = OsString>,
) -> Result<cli::ServerOptions, String> {
    parsed(kind, arguments).map_err(|error| kind.adapt_message(error))
}

fn parsed(
    kind: SiteKind,
    mut arguments: impl Iterator<Item = OsString>,
) -> Result<cli::ServerOptions, String> {
    let mut site = SiteOptions { kind, ..SiteOptions::default() };
    let mut options = cli::ServerOptions::default();
    let mut given = Vec::new();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy().into_owned();
        let (name, glued) = match text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (text.as_str(), None),
        };
        match name {
            "--print" => site.print = true,
            "--install-plugin" => site.install = Some(site.install.unwrap_or(PluginPlacement::Plugin)),
            "--must-use" => site.install = Some(PluginPlacement::MustUse),
            "--remove-object-cache" => site.object_cache = Some(ObjectCacheChange::Remove),
            "--php-later" => site.php_later = true,
            "--self-signed" => site.https.self_signed = true,
            "--acme-staging" => site.https.staging = true,
            "-t" => options.test = true,
            "-T" => (options.test, options.dump) = (true, true),
            "-q" => options.quiet = true,
            "--explain" | "--method" | "-H" => {
                let value = glued.map(OsString::from).or_else(|| arguments.next());
                options.explain(name.as_ref(), value)?;
            }
            "-h" | "--help" => options.help = true,
            "--root"
            | "--php"
            | "--php-children"
            | "--listen"
            | "--name"
            | "--prefix"
            | "-p"
            | "--user"
            | "--domain"
            | "--email"
            | "--acme-directory"
            | "--acme-ca"
            | "--https-listen"
            | "--site"
            | "--trusted-proxy"
            | "--cluster"
            | "--sites"
            | "--set"
            | "--install-object-cache" => {
                once(name, &mut given)?;
                let is_glued = glued.is_some();
                let value = glued.or_else(|| arguments.next().and_then(|value| value.into_string().ok()));
                site.set(name, values::option_value(name, value, is_glued)?)?;
            }
            _ => {
                let known = COMMANDS.into_iter().chain(cli::options_in(cli::USAGE));
                return Err(format!("{} (see myriad -h)", cli::invalid(name, known)));
            }
        }
    }
    if !options.help && !site.is_template() {
        site.check_whole()?;
    }
    site.check()?;
    options.wordpress = Some(site);
    Ok(options)
}

/// Options that may be given several times.
const REPEATED: [&str; 7] =
    ["--cluster", "--domain", "--listen", "--name", "--set", "--site", "--trusted-proxy"];

/// Returns an error text if an option that takes a single value is given again; `given` are the earlier options.
fn once(name: &str, given: &mut Vec<String>) -> Result<(), String> {
    let name = if name == "-p" { "--prefix" } else { name };
    if !REPEATED.contains(&name) && given.iter().any(|known| known == name) {
        return Err(format!("wordpress: {name} is given more than once"));
    }
    given.push(name.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Result<cli::ServerOptions, String> {
        parse(SiteKind::WordPress, words.iter().map(OsString::from).collect::<Vec<_>>().into_iter())
    }

    #[test]
    fn options_add_or_are_refused_when_they_are_given_again() {
        let base = ["--root=/srv", "--php=/p"];
        let with = |more: &[&'static str]| arguments(&[&base[..], more].concat());
        let site = with(&["--listen", "80", "--listen=127.0.0.1:8080", "--listen=80"]).expect("both");
        assert_eq!(site.wordpress.expect("site").listens, ["80", "127.0.0.1:8080"]);
        for (more, option) in [
            (&["--prefix=/a", "-p", "/b"][..], "--prefix"),
            (&["--root=/other"], "--root"),
            (&["--php=/q"], "--php"),
            (&["--https-listen=443", "--https-listen=444"], "--https-listen"),
        ] {
            let error = with(more).expect_err(option);
            assert_eq!(error, format!("wordpress: {option} is given more than once"));
        }
        let short = with(&["-p", "/a"]).expect("short").wordpress.expect("site");
        assert_eq!(short.prefix.as_deref(), Some("/a".as_ref()));
    }

    #[test]
    fn near_options_are_suggested() {
        let error_of =
            |words: &[&str]| parse(SiteKind::WordPress, words.iter().map(OsString::from)).expect_err("none");
        assert_eq!(
            error_of(&["--rot", "/x"]),
            "invalid option: \"--rot\", did you mean \"--root\"? (see myriad -h)"
        );
        assert!(error_of(&["--self-singed"]).contains("did you mean \"--self-signed\"?"));
        assert!(error_of(&["stauts"]).contains("did you mean \"status\"?"));
    }

    #[test]
    fn print_needs_no_site_unless_other_options_are_given() {
        let alone = arguments(&["--print"]).expect("alone").wordpress.expect("site");
        assert!(alone.is_template());
        assert!(arguments(&["--print", "--listen=80"]).expect_err("listen").contains("--root is missing"));
        assert!(arguments(&["--print", "--root=/srv"]).expect_err("root").contains("--php is missing"));
        let whole = arguments(&["--print", "--root=/srv", "--php=/p"]).expect("whole");
        assert!(!whole.wordpress.expect("site").is_template());
    }

    #[test]
    fn both_needed_options_are_asked_for() {
        assert!(arguments(&["--php", "x"]).expect_err("root").contains("--root is missing"));
        assert!(arguments(&["--root=/srv"]).expect_err("php").contains("--php is missing"));
        let options =
            arguments(&["--root=/srv", "--php", "/p", "--php-children=7", "--name", "a,b", "--name=c", "-t"])
                .expect("all");
        assert!(options.test);
        let site = options.wordpress.expect("site");
        assert_eq!((site.children, site.names), (Some(7), vec!["a".into(), "b".into(), "c".into()]));
        assert!(arguments(&["--root=/srv", "--php=/p", "--php-children=x"]).is_err());
    }

    #[test]
    fn php_takes_the_same_but_what_is_wordpress_s() {
        let parsed_php = |words: &[&str]| parse(SiteKind::Php, words.iter().map(OsString::from));
        let options = parsed_php(&["--root=/srv", "--php=/p", "--set", "validity=5s"]).expect("sound");
        assert_eq!(options.wordpress.expect("site").kind, SiteKind::Php);
        assert!(parsed_php(&["--print"]).expect("alone").wordpress.expect("site").is_template());
        for (words, part) in [
            (&["--php=/p"][..], "php: --root is missing"),
            (
                &["--root=/srv", "--php=/p", "--set", "search=on"],
                "php: the setting search is only available for WordPress",
            ),
            (&["--root=/srv", "--install-plugin"], "php: --install-plugin is only available for WordPress"),
        ] {
            let error = parsed_php(words).expect_err("refused");
            assert!(error.starts_with(part), "{error}");
        }
    }
}
