//! Several sites in one process (`--site`, `--sites`), specified by one line each.
//!
//! ```text
//! # names                      folder       php               certificate, settings
//! example.com,www.example.com  /var/www/a   /run/php/a.sock   https
//! example.org                  /var/www/b   127.0.0.1:9001    disk=200m queue=20
//! ```

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::settings::SiteSettings;
use super::values;

/// Description of the form of a line, for error messages.
const FORM: &str = "a line is NAME[,NAME]... FOLDER PHP, followed by `https` for a certificate, and by settings such as disk=2g";

/// Line that specifies a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteLine {
    /// Position of the line, for messages: `FILE:LINE`, or `--site` with its number.
    pub(super) place: String,
    /// Host names of the site.
    pub names: Vec<String>,
    /// Folder of the site: the document root, or a folder that contains it.
    pub root: PathBuf,
    /// Address of php-fpm in the form of `--php`.
    pub php: String,
    /// True if a certificate is obtained for its names.
    pub(super) https: bool,
    /// Settings that apply only to this site.
    pub(super) settings: SiteSettings,
}

/// Parses the values of `--site` and the file of `--sites`.
///
/// # Errors
/// Returns an error text with the position if the file cannot be read, a line is invalid, there is no site, or a name
/// occurs twice.
pub fn read(said: &[String], file: Option<&Path>) -> Result<Vec<SiteLine>, String> {
    let mut lines = Vec::new();
    for (index, text) in said.iter().enumerate() {
        let place = format!("--site {}", index + 1);
        let line = SiteLine::parse(text, &place, Path::new(""))?;
        lines.push(line.ok_or_else(|| format!("wordpress: {place}: no site: {FORM}"))?);
    }
    if let Some(path) = file {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| format!("wordpress: --sites {name}: {error}"))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for (index, text) in text.lines().enumerate() {
            lines.extend(SiteLine::parse(text, &format!("{name}:{}", index + 1), folder)?);
        }
        if lines.is_empty() {
            return Err(format!("wordpress: --sites {name}: no site: {FORM}"));
        }
    }
    each_name_once(&lines)?;
    Ok(lines)
}

/// Returns an error text if a name occurs twice in the lines, ignoring letter case.
fn each_name_once(lines: &[SiteLine]) -> Result<(), String> {
    let mut known: Vec<(String, &str)> = Vec::new();
    for line in lines {
        for name in &line.names {
            let lower = name.to_ascii_lowercase();
            if let Some((_, first)) = known.iter().find(|(known, _)| *known == lower) {
                return Err(format!("wordpress: {}: \"{name}\" is also a name of {first}", line.place));
            }
            known.push((lower, &line.place));
        }
    }
    Ok(())
}

impl SiteLine {
    /// Parses a line; `None` if it is empty or a comment. `place` is its position for messages. Relative paths start at
    /// `folder`.
    fn parse(text: &str, place: &str, folder: &Path) -> Result<Option<Self>, String> {
        let failed = |why: String| format!("wordpress: {place}: {}", why.trim_start_matches("wordpress: "));
        let words = words(text).map_err(&failed)?;
        let (list, root, php, more) = match &words[..] {
            [] => return Ok(None),
            [names, root, php, more @ ..] => (names, root, php, more),
            [..] => return Err(failed(format!("the line is incomplete: {FORM}"))),
        };
        let (https, settings) = parse_after_php(more).map_err(&failed)?;
        let mut names = Vec::new();
        values::add_names(&mut names, list);
        if let Some(name) = names.iter().find(|name| *name == "_") {
            return Err(failed(format!(
                "\"{name}\" is not a valid name: with several sites, each requires its own names"
            )));
        }
        let check = if https { values::domain } else { values::name };
        names.iter().try_for_each(|name| check("name", name)).map_err(&failed)?;
        if names.is_empty() {
            return Err(failed(format!("no name: {FORM}")));
        }
        // A path in the form of `--php`; a relative one starts at the folder of the file.
        let php = match php.strip_prefix("unix:").unwrap_or(php) {
            path if path.contains('/') => folder.join(path).to_string_lossy().into_owned(),
            address => address.to_owned(),
        };
        Ok(Some(Self { place: place.to_owned(), names, root: folder.join(root), php, https, settings }))
    }
}

/// Parses the words of a line after the address of PHP: `https`, and settings.
fn parse_after_php(words: &[String]) -> Result<(bool, SiteSettings), String> {
    let (mut https, mut settings) = (false, SiteSettings::default());
    for word in words {
        match &**word {
            "https" => https = true,
            word if word.starts_with("dashboard=") => {
                return Err("dashboard is a setting of all sites: --set dashboard=PORT, or off".to_owned());
            }
            word if word.contains('=') => settings.add(word)?,
            word => return Err(format!("unexpected word \"{word}\": {FORM}")),
        }
    }
    Ok((https, settings))
}

/// Splits a line into words; a word that starts with `#` starts a comment. Quoted words may contain spaces.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = match rest.strip_prefix('"') {
            Some(inner) => inner.split_once('"').ok_or("missing closing quotation mark")?,
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    Ok(words)
}

/// Returns the name of each site's zone, which is also the name of its cache folder: the first name of the site in
/// lower case, without leading dots, with `_` for characters that are invalid in a zone name, and with a number
/// appended if an earlier site has that name.
pub(super) fn zones(lines: &[SiteLine]) -> Vec<String> {
    let mut zones: Vec<String> = Vec::new();
    for line in lines {
        let first = line.names[0].to_ascii_lowercase();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
        let name = first.trim_start_matches('.').replace(|letter| !plain(letter), "_");
        let taken = |name: &String| zones.contains(name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        zones.extend(names.find(|name| !taken(name)));
    }
    zones
}

/// Returns the arguments of a `listen` without the options of its socket, which only one server may set.
pub(super) fn without_options(listen: &str) -> String {
    let mut words = listen.split(' ');
    let address = words.next().unwrap_or_default().to_owned();
    words.filter(|word| matches!(*word, "ssl" | "quic")).fold(address, |all, word| all + " " + word)
}

/// Returns the `server` block for host names that belong to no site: it returns 421, and rejects TLS handshakes.
pub(super) fn unknown_names(listens: &[String]) -> String {
    let mut text =
        "# Requests for names of no site are misdirected (RFC 9110 section 15.5.20).\n    server {\n"
            .to_owned();
    for listen in listens {
        let _ = writeln!(text, "        listen {listen} default_server;");
    }
    if listens.iter().any(|listen| listen.split(' ').any(|word| word == "ssl")) {
        text.push_str("        http2 on;\n        ssl_reject_handshake on;\n");
    }
    text.push_str("        server_name _;\n        return 421;\n    }\n");
    text
}

/// Returns the `server` block for the names of a site with a failed check: the server returns 503.
pub(super) fn failed_site(listen: &str, https: &str, names: &[String]) -> String {
    let https = if https.is_empty() { String::new() } else { format!("        {https}\n") };
    format!(
        "\n    # The check of this site failed, with a warning.
    server {{
        listen {listen};
{https}        server_name {};
        add_header Retry-After 60 always;
        return 503;
    }}\n",
        names.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<SiteLine>, String> {
        SiteLine::parse(text, "sites:7", Path::new("/etc/myriad"))
    }

    #[test]
    fn line_is_names_folder_php_and_perhaps_https() {
        let line = parsed("a.test,www.a.test /var/www/a unix:/run/a.sock https  # the shop").expect("sound");
        let line = line.expect("a site");
        assert_eq!(line.names, ["a.test", "www.a.test"]);
        assert_eq!((line.root.as_path(), line.php.as_str()), (Path::new("/var/www/a"), "/run/a.sock"));
        assert!(line.https);
        let line = parsed("  *.b.test\t\"b c\" 127.0.0.1:9000").expect("sound").expect("a site");
        assert_eq!(
            (line.root.as_path(), line.php.as_str()),
            (Path::new("/etc/myriad/b c"), "127.0.0.1:9000")
        );
        assert!(!line.https);
        let line = parsed("a.test /a /b disk=2g https queue=9").expect("sound").expect("a site");
        assert_eq!((line.https, line.settings.get("disk"), line.settings.get("queue")), (true, "2g", "9"));
        for nothing in ["", "  ", "# a.test /a /b"] {
            assert_eq!(parsed(nothing), Ok(None));
        }
    }

    #[test]
    fn invalid_site_lines_are_rejected_with_line_and_reason() {
        for (text, part) in [
            ("a.test /a", "the line is incomplete"),
            ("a.test /a /b tls", "unexpected word \"tls\""),
            ("a.test /a /b https more", "unexpected word \"more\""),
            ("a.test /a /b disk=much", "disk must be a size"),
            ("a.test /a /b dashboard=off", "dashboard is a setting of all sites"),
            ("a.test /a /b https colour=red", "unknown setting \"colour\""),
            ("_ /a /b", "its own names"),
            (", /a /b", "no name"),
            ("http://a.test /a /b", "is not a valid host name"),
            ("*.a.test /a /b https", "is a wildcard"),
            ("a.test \"/a /b", "quotation mark"),
        ] {
            let error = parsed(text).expect_err(text);
            assert!(error.starts_with("wordpress: sites:7: ") && error.contains(part), "{error}");
        }
    }

    #[test]
    fn name_leads_to_one_site_and_zones_have_names_of_their_own() {
        let lines_given = ["a.test,b.test /a /b", "c.test,B.test /c /d"].map(str::to_owned);
        let error = read(&lines_given, None).expect_err("twice");
        assert_eq!(error, "wordpress: --site 2: \"B.test\" is also a name of --site 1");
        let lines_given =
            ["A.test /a /b", ".a.test /a /b", "*.a.test /a /b", "[::1] /a /b"].map(str::to_owned);
        let lines = read(&lines_given, None).expect("sound");
        assert_eq!(zones(&lines), ["a.test", "a.test-2", "_.a.test", "__1"]);
    }

    #[test]
    fn socket_options_are_written_once() {
        assert_eq!(without_options("443 quic reuseport"), "443 quic");
        assert_eq!(without_options("[::]:443 ssl"), "[::]:443 ssl");
        assert_eq!(without_options("80 backlog=5"), "80");
        let text = unknown_names(&["80".into(), "443 ssl".into(), "443 quic reuseport".into()]);
        assert_eq!(text.matches(" default_server;").count(), 3, "{text}");
        assert!(text.contains("ssl_reject_handshake on;") && text.contains("return 421;"), "{text}");
        assert!(!unknown_names(&["80".into()]).contains("ssl"));
    }
}
