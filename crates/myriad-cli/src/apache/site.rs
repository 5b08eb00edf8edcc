//! Output of the translation: the parts of `http`, then the `server` blocks.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::apache::pattern::word;

/// Values for the translation that the text does not contain.
#[derive(Clone, Debug)]
pub struct TranslationOptions {
    /// Name of the translated file, for the header of the translation.
    pub source: String,
    /// Document root; `None` to use that of the text, or `/var/www/html`.
    pub root: Option<String>,
    /// Address of php-fpm: a path, or `HOST:PORT`; `None` if unknown: the translation then returns 404 for PHP files.
    pub php: Option<String>,
    /// Argument of `listen`, for a server to which the text gives no address.
    pub listen: String,
    /// Host names of the site; empty to use those of the text.
    pub names: Vec<String>,
    /// URL path of the folder of the `.htaccess`, with a leading and a trailing `/`.
    pub base: String,
}

impl Default for TranslationOptions {
    fn default() -> Self {
        Self {
            source: ".htaccess".into(),
            root: None,
            php: None,
            listen: "80".into(),
            names: Vec::new(),
            base: "/".into(),
        }
    }
}

/// Remark on a line of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Line number, from 1; 0 for a remark about the whole file.
    pub line: usize,
    /// Text of the line; for a remark about the whole file, a description such as `the rest of the file`.
    pub text: String,
    /// Reason, as a sentence without a full stop.
    pub reason: String,
    /// True if the line is not translated; false if it is translated with a difference, or is left out because it is
    /// not needed or its module is unknown, as the reason describes.
    pub is_missing: bool,
}

impl Remark {
    /// Creates a remark on a line that is not translated.
    pub(crate) fn missing(line: usize, text: &str, reason: impl Into<String>) -> Self {
        Self { line, text: text.to_owned(), reason: reason.into(), is_missing: true }
    }

    /// Creates a remark on a line that is translated with a difference, or is left out although that may be intended.
    pub(crate) fn note(line: usize, text: &str, reason: impl Into<String>) -> Self {
        Self { is_missing: false, ..Self::missing(line, text, reason) }
    }
}

/// Translated configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Text of the `server` blocks, with the `map` and `geo` blocks that they need, for inclusion in `http`.
    pub text: String,
    /// Remarks in the order of the lines.
    pub remarks: Vec<Remark>,
}

impl Translation {
    /// Returns whether no remark has `is_missing` set. Lines that are translated with a difference, and those that are
    /// left out because they are not needed or their module is unknown, count as translated.
    pub fn is_whole(&self) -> bool {
        !self.remarks.iter().any(|remark| remark.is_missing)
    }
}

/// Original lines, and their translation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TranslatedEntry {
    /// Numbers and texts of the original lines.
    pub(crate) of: Vec<(usize, String)>,
    /// Explanation of the translation, in sentences.
    pub(crate) why: String,
    /// Lines of nginx configuration.
    pub(crate) lines: Vec<String>,
}

/// Parts of a translated server, and the facts on which its output depends.
#[derive(Clone, Debug, Default)]
pub(crate) struct TranslatedServer {
    pub(crate) http: Vec<TranslatedEntry>,
    pub(crate) settings: Vec<TranslatedEntry>,
    pub(crate) env: Vec<TranslatedEntry>,
    pub(crate) access: Vec<TranslatedEntry>,
    /// Variables that are empty if the client is denied (`access`, `allowed`).
    pub(crate) access_variables: Vec<&'static str>,
    pub(crate) redirects: Vec<TranslatedEntry>,
    pub(crate) headers: Vec<TranslatedEntry>,
    pub(crate) rewrite: Vec<TranslatedEntry>,
    /// Directives for the location of PHP scripts.
    pub(crate) php: Vec<TranslatedEntry>,
    pub(crate) listens: Vec<String>,
    pub(crate) names: Vec<String>,
    pub(crate) root: Option<String>,
    /// Translation of `FallbackResource`.
    pub(crate) fallback: Option<TranslatedEntry>,
    pub(crate) fallback_path: String,
    /// True if `$apache_https` is needed, which replaces Apache's `%{HTTPS}`: `on` with TLS, otherwise `off`.
    pub(crate) uses_https: bool,
    /// True if `$apache_file`, the name of the requested file, is needed.
    pub(crate) uses_file: bool,
    /// Names of the nginx variables (`env_*`) of the environment variables that the translation reads.
    pub(crate) env_read: BTreeSet<String>,
    pub(crate) env_set: BTreeSet<String>,
    pub(crate) has_index: bool,
}

impl TranslatedServer {
    /// Returns the lists to which the directives of a section may be added.
    pub(crate) fn lists(&mut self) -> [&mut Vec<TranslatedEntry>; 6] {
        [
            &mut self.settings,
            &mut self.env,
            &mut self.access,
            &mut self.redirects,
            &mut self.headers,
            &mut self.php,
        ]
    }
}

/// Result of the translation before its output.
#[derive(Debug, Default)]
pub(crate) struct WalkResult {
    pub(crate) servers: Vec<TranslatedServer>,
    pub(crate) remarks: Vec<Remark>,
}

/// Writes the translation as text.
pub(crate) fn write(found: WalkResult, options: &TranslationOptions) -> Translation {
    let mut text = format!(
        "# Translated by `myriad import` from {}. Comments show the original lines with their numbers.\n# It is a \
             complete server, for a folder that nginx.conf includes; test it with `myriad -t`.\n",
        single_line(&options.source)
    );
    let mut remarks = found.remarks;
    remarks.sort_by_key(|remark| remark.line);
    for remark in &remarks {
        let kind = if remark.is_missing { "NOT TRANSLATED" } else { "note" };
        let _ = write!(
            text,
            "#\n# {kind}, line {}: {}\n#   {}\n",
            remark.line,
            single_line(&remark.text),
            single_line(&remark.reason)
        );
    }
    for parts in &found.servers {
        text.push('\n');
        entries(&mut text, &parts.http, "");
        server(&mut text, parts, options);
    }
    Translation { text, remarks }
}

/// Sets the file name for `<Files>`, without the path info of a PHP file. Named captures are used because they preserve
/// the text: `$1` in `set` would be escaped again.
const FILE: &str = r#"    # The file's name; of /a.php/b it is a.php.
    if ($uri ~ "(?<apache_file>[^/]*)$") { }
    if ($uri ~ "(?<apache_file>[^/]+\.php)/") { }

"#;

fn server(text: &mut String, parts: &TranslatedServer, options: &TranslationOptions) {
    text.push_str("server {\n");
    let listens =
        if parts.listens.is_empty() { std::slice::from_ref(&options.listen) } else { &parts.listens };
    for listen in listens {
        let _ = writeln!(text, "    listen {listen};");
    }
    let names = if options.names.is_empty() { &parts.names } else { &options.names };
    if !names.is_empty() {
        let _ = writeln!(
            text,
            "    server_name {};",
            names.iter().map(|name| word(name)).collect::<Vec<_>>().join(" ")
        );
    }
    let root = options.root.as_deref().or(parts.root.as_deref()).unwrap_or("/var/www/html");
    let _ = writeln!(text, "    root {};", word(root));
    if !parts.has_index {
        let php = if options.php.is_some() { "index.php " } else { "" };
        let _ = writeln!(text, "    index {php}index.html;");
    }
    text.push('\n');
    entries(text, &parts.settings, "    ");
    if parts.uses_https {
        text.push_str("    # %{HTTPS} of Apache: on or off.\n    set $apache_https off;\n    if ($https) { set $apache_https on; }\n\n");
    }
    if parts.uses_file {
        text.push_str(FILE);
    }
    for name in parts.env_read.union(&parts.env_set) {
        let _ = writeln!(text, "    set ${name} \"\";");
    }
    entries(text, &parts.env, "    ");
    entries(text, &parts.access, "    ");
    for name in &parts.access_variables {
        let _ = writeln!(text, "    if (${name} = \"\") {{ return 403; }}\n");
    }
    entries(text, &parts.headers, "    ");
    entries(text, &parts.redirects, "    ");
    entries(text, &parts.rewrite, "    ");
    locations(text, parts, options);
    text.push_str("}\n");
}

fn locations(text: &mut String, parts: &TranslatedServer, options: &TranslationOptions) {
    if let Some(entry) = &parts.fallback {
        entries(text, std::slice::from_ref(entry), "    ");
    }
    let fallback = if parts.fallback.is_some() { parts.fallback_path.as_str() } else { "=404" };
    let _ = write!(text, "    location / {{\n        try_files $uri $uri/ {fallback};\n    }}\n\n");
    text.push_str("    # Apache's main configuration denies access to these files.\n    location ~ /\\.ht {\n        deny all;\n    }\n");
    let Some(php) = &options.php else {
        text.push_str("\n    # PHP: run myriad import with --php to get a location that passes .php files to php-fpm.\n    location ~ \
             \\.php(/|$) {\n        return 404;\n    }\n");
        return;
    };
    let address = if php.starts_with('/') { format!("unix:{php}") } else { php.clone() };
    let _ = write!(
        text,
        "\n    location ~ [^/]\\.php(/|$) {{\n        fastcgi_split_path_info ^(.+?\\.php)(/.*)?$;\n        \
         if (!-f $document_root$fastcgi_script_name) {{ return 404; }}\n        include fastcgi_params;\n        \
         fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n        fastcgi_param PATH_INFO $fastcgi_path_info;\n"
    );
    for name in &parts.env_set {
        let upper = name.trim_start_matches("env_").to_ascii_uppercase();
        let _ = writeln!(text, "        fastcgi_param {upper} ${name} if_not_empty;");
    }
    entries(text, &parts.php, "        ");
    let _ = write!(text, "        fastcgi_pass {};\n    }}\n", word(&address));
}

fn entries(text: &mut String, entries: &[TranslatedEntry], indent: &str) {
    for entry in entries {
        for (line, of) in &entry.of {
            let _ = writeln!(text, "{indent}# {line}: {}", single_line(of));
        }
        if !entry.why.is_empty() {
            let _ = writeln!(text, "{indent}# -> {}", single_line(&entry.why));
        }
        for line in &entry.lines {
            let _ = writeln!(text, "{indent}{line}");
        }
        text.push('\n');
    }
}

/// Converts a text to a single line for a comment.
fn single_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
