//! `myriad import`: prints a translation of Apache's rules into nginx configuration.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::ExitCode;

use myriad_cli::apache::{LARGEST, TranslationOptions, translate};

use myriad_cli::admin::{CommandWords, KnownOption, help};
use myriad_cli::pidfile::reason;
use myriad_cli::site_folder::{SiteFolder, read_named};

/// Text that `myriad import --help` prints.
pub const USAGE: &str = "\
Usage: myriad import [FILE] [--root DIR] [--php ADDRESS] [--name HOST]...
                     [--listen ADDRESS] [--at PATH]

Translates an Apache configuration (a .htaccess file, or a file with virtual
hosts) into a site in the nginx language and prints it. A comment above each
part shows the original directive, its line number and its effect. Directives
that cannot be translated are reported with the reason, in the output and on
standard error.

  FILE             : file to translate; - for standard input (default:
                     .htaccess in the current folder)
  --root DIR       : document root of the site (default: DocumentRoot, else
                     the folder of FILE if its name is .htaccess)
  --php ADDRESS    : php-fpm socket, or HOST:PORT; without it, PHP files get
                     status 404
  --name HOST      : server name, may be repeated (default: ServerName)
  --listen ADDRESS : address to listen on (default: that of <VirtualHost>,
                     else 80)
  --at PATH        : URL path of the folder that contains the .htaccess file
                     (default: /)

To try the result, write it to a file that nginx.conf includes (myriad import >
site.conf), then run myriad -t and myriad -t --explain /some/page.

Exit status: 0 if everything was translated; 2 if some directives were not; 1
on errors.
";

const OPTIONS: &[KnownOption] =
    &[("--root", true), ("--php", true), ("--name", true), ("--listen", true), ("--at", true)];
/// Exit status of `myriad import` if some directives could not be translated.
const IN_PART: u8 = 2;

/// Runs `myriad import` with the arguments after its name. The exit status is 0, 1 after an error, or [`IN_PART`].
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    tried(arguments).unwrap_or_else(|error| {
        eprintln!("myriad: import: {error}");
        ExitCode::FAILURE
    })
}

fn tried(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, String> {
    let words = CommandWords::parse(arguments, OPTIONS)?;
    if words.help {
        return Ok(help(USAGE));
    }
    let file = match words.plain.as_slice() {
        [] => ".htaccess",
        [file] => file.as_str(),
        [_, other, ..] => return Err(format!("unexpected argument \"{other}\" (see myriad import --help)")),
    };
    let text = read(file)?;
    let translation = translate(&text, &options(&words, file)?);
    for remark in &translation.remarks {
        let kind = if remark.is_missing { "not translated" } else { "note" };
        eprintln!("{file}:{}: {kind}: {}\n  {}", remark.line, remark.text, remark.reason);
    }
    std::io::stdout().write_all(translation.text.as_bytes()).map_err(|error| reason(&error))?;
    Ok(if translation.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(IN_PART) })
}

/// Reads the input file, or standard input for `-`. Invalid UTF-8 is replaced. Returns an error text if it cannot be
/// read.
fn read(file: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| {
        format!("{file}: {}; specify a file, or - for standard input", reason(&error))
    };
    let limit = LARGEST as u64;
    let path = std::path::absolute(file).map_err(failed)?;
    let mut bytes = Vec::new();
    if file == "-" {
        std::io::stdin().take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    } else if path.starts_with("/dev") || path.starts_with("/proc") {
        // `file` may be a pipe of the shell: `myriad import <(...)`.
        std::fs::File::open(path)
            .and_then(|opened| opened.take(limit + 1).read_to_end(&mut bytes))
            .map_err(failed)?;
    } else if let (Some(folder), Some(".htaccess")) =
        (path.parent(), path.file_name().and_then(|name| name.to_str()))
    {
        bytes = SiteFolder::new(folder).read(".htaccess", limit).map_err(failed)?;
    } else {
        bytes = read_named(&path, limit).map_err(failed)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn options(words: &CommandWords, file: &str) -> Result<TranslationOptions, String> {
    let defaults = TranslationOptions::default();
    let sound = |option: &str, value: Option<String>| match value {
        Some(text)
            if text.is_empty()
                || text.contains(|letter: char| letter.is_control() || "$;{}\"'\\".contains(letter)) =>
        {
            Err(format!("{option} \"{text}\" contains characters that are not allowed in a configuration"))
        }
        value => Ok(value),
    };
    let names = words.values("--name");
    for name in &names {
        sound("--name", Some(name.clone()))?;
    }
    let base = sound("--at", words.value("--at"))?.unwrap_or(defaults.base);
    let around = std::path::absolute(file)
        .ok()
        .filter(|path| path.file_name().is_some_and(|name| name == ".htaccess"));
    // If the file applies to `/`, its folder is the root of the site.
    let around = around.and_then(|path| Some(path.parent()?.to_str()?.to_owned())).filter(|_| base == "/");
    let root = match words.value("--root") {
        Some(root) => Some(root),
        None => around,
    };
    Ok(TranslationOptions {
        source: file.to_owned(),
        root: sound("--root", root)?,
        php: sound("--php", words.value("--php"))?,
        listen: sound("--listen", words.value("--listen"))?.unwrap_or(defaults.listen),
        names,
        base: format!("/{}/", base.trim_matches('/')).replace("//", "/"),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use myriad_conf::{MemoryLoader, Node};

    use super::*;

    const PIECES: &[&str] = &[
        "RewriteEngine On\n",
        "RewriteCond ",
        "RewriteRule ",
        "%{REQUEST_URI}",
        "%{HTTP_HOST}",
        "%1",
        "$1",
        "$x",
        "^(.*)$",
        " [L,R=301]",
        "\n",
        "\t",
        "\"",
        "'",
        "\\",
        "$",
        "<Files ",
        "<IfModule ",
        "<Location /",
        "</Files>\n",
        "</IfModule>\n",
        "</Location>\n",
        ">\n",
        "{",
        "} ",
        ";",
        "#",
        "\"; allow all; #",
        "é",
        "\u{0}",
        "Header set X ",
        "Require ",
        "ip 10.0.0.0/8 ",
        "Order ",
        "Redirect /",
        " /b;}",
        "ExpiresByType ",
        "text/css A5",
        "AddType a/b .",
        "SetEnvIf A ",
        "SetEnv A ",
        "ErrorDocument 404 ",
        "php_value a ",
        "(",
        ")",
        "[",
        "]",
        "!",
        "99999999999999999999",
        "RedirectMatch ",
        "Options ",
        "DirectoryIndex ",
        "AuthType Basic\nRequire valid-user\nAuthUserFile /",
        "AuthName ",
        "<Limit GET>\n",
        "<VirtualHost *:80>\n",
        "ServerName ",
        "DocumentRoot /",
        "</VirtualHost>\n",
        "env=",
        "-f",
        "=a",
        " ",
    ];
    /// Fragments that would terminate a word of the output unless it is quoted correctly.
    const SHARP: &[&str] = &["\"", "'", "\\", "\t", "\"; allow all; #", "}", "a"];
    /// Directives that a test permits in a translation, in addition to the entries of the blocks [`TABLES`].
    const WRITTEN: &[&str] = &[
        "add_header",
        "auth_basic",
        "auth_basic_user_file",
        "autoindex",
        "break",
        "charset",
        "client_max_body_size",
        "default_type",
        "deny",
        "error_page",
        "etag",
        "expires",
        "fastcgi_param",
        "fastcgi_pass",
        "fastcgi_split_path_info",
        "geo",
        "gzip",
        "gzip_types",
        "gzip_vary",
        "if",
        "include",
        "index",
        "listen",
        "location",
        "map",
        "more_clear_headers",
        "more_clear_input_headers",
        "more_set_headers",
        "more_set_input_headers",
        "return",
        "rewrite",
        "root",
        "server",
        "server_name",
        "server_tokens",
        "set",
        "ssl_certificate",
        "ssl_certificate_key",
        "try_files",
        "types",
    ];
    /// Names of blocks in which the entries are not directives.
    const TABLES: &[&str] = &["geo", "map", "types"];

    fn foreign<'n>(nodes: &'n [Node], found: &mut Vec<&'n Node>) {
        let is = |names: &[&str], node: &Node| names.iter().any(|name| node.name.text == name.as_bytes());
        found.extend(nodes.iter().filter(|node| !is(WRITTEN, node)));
        for node in nodes.iter().filter(|node| !is(TABLES, node)) {
            foreign(node.block.as_deref().unwrap_or_default(), found);
        }
    }

    /// Tests that any text of a `.htaccess` file remains within one word of the translation.
    #[test]
    fn no_text_of_a_file_leaves_its_place() {
        for seed in 0..3000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut text = String::new();
            for _ in 0..random.usize(..40) {
                text.push_str(PIECES[random.usize(..PIECES.len())]);
                for _ in 0..random.usize(..2) * random.usize(..7) {
                    text.push_str(SHARP[random.usize(..SHARP.len())]);
                }
            }
            let options =
                TranslationOptions { php: Some("/run/php.sock".into()), ..TranslationOptions::default() };
            let translated = translate(&text, &options);
            assert!(!translated.text.contains('\u{0}'), "seed {seed}\n{text}");
            let path = Path::new("/site.conf");
            let loader = MemoryLoader::with(path.to_owned(), translated.text.clone().into_bytes());
            let parsed = myriad_serve::registry().parse(&loader, path, b"");
            assert!(
                parsed.errors.is_empty(),
                "seed {seed}: {:?}\n{text}\n{}",
                parsed.errors,
                translated.text
            );
            let mut found = Vec::new();
            foreign(&parsed.nodes, &mut found);
            assert!(found.is_empty(), "seed {seed}: {found:?}\n{text}\n{}", translated.text);
        }
    }
}
