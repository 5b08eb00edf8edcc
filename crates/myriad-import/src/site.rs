//! The site that comes of it: what stands in `http`, then `server` blocks; and what is remarked.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::pattern::word;

/// What the text itself does not say.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the file, for the head of the text.
    pub source: String,
    /// Folder of the site; `/var/www/html` where neither this nor the text names one.
    pub root: Option<String>,
    /// Address of php-fpm, a path or `HOST:PORT`.
    pub php: Option<String>,
    /// What `listen` says.
    pub listen: String,
    /// Names of the site.
    pub names: Vec<String>,
    /// URL path of the folder in which the `.htaccess` lies; begins and ends with `/`.
    pub base: String,
}

impl Default for Options {
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

/// What is said of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Number of the line, from 1; 0 for the file.
    pub line: usize,
    /// The line.
    pub text: String,
    /// Why, in one sentence without a full stop.
    pub reason: String,
    /// Whether the line is not translated; else it is, and differs as the reason says.
    pub is_missing: bool,
}

impl Remark {
    pub(crate) fn missing(line: usize, text: &str, reason: impl Into<String>) -> Self {
        Self { line, text: text.to_owned(), reason: reason.into(), is_missing: true }
    }

    pub(crate) fn note(line: usize, text: &str, reason: impl Into<String>) -> Self {
        Self { is_missing: false, ..Self::missing(line, text, reason) }
    }
}

/// Result of a translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The site, to be included in `http`.
    pub text: String,
    /// What is to be known, in the order of the lines.
    pub remarks: Vec<Remark>,
}

impl Translation {
    /// Whether every line has its counterpart.
    pub fn is_whole(&self) -> bool {
        !self.remarks.iter().any(|remark| remark.is_missing)
    }
}

/// Lines of Apache, and what they come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Line numbers and texts.
    pub(crate) of: Vec<(usize, String)>,
    /// What it does, in one sentence.
    pub(crate) why: String,
    /// Lines of the nginx language.
    pub(crate) lines: Vec<String>,
}

/// One server, in the order in which its parts are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) http: Vec<Entry>,
    pub(crate) settings: Vec<Entry>,
    pub(crate) env: Vec<Entry>,
    pub(crate) access: Vec<Entry>,
    /// Variables that are empty where a visitor may not.
    pub(crate) access_variables: Vec<&'static str>,
    pub(crate) redirects: Vec<Entry>,
    pub(crate) headers: Vec<Entry>,
    pub(crate) rewrite: Vec<Entry>,
    /// In the location of PHP.
    pub(crate) php: Vec<Entry>,
    pub(crate) listens: Vec<String>,
    pub(crate) names: Vec<String>,
    pub(crate) root: Option<String>,
    /// `FallbackResource`.
    pub(crate) fallback: Option<Entry>,
    pub(crate) fallback_path: String,
    /// Whether a variable has to say `on` or `off` of TLS.
    pub(crate) uses_https: bool,
    /// Whether a section asks for the name of the file.
    pub(crate) uses_file: bool,
    /// Variables of the environment that are read, and those that are set.
    pub(crate) env_read: BTreeSet<String>,
    pub(crate) env_set: BTreeSet<String>,
    pub(crate) has_index: bool,
}

impl Parts {
    /// What a section may add to.
    pub(crate) fn lists(&mut self) -> [&mut Vec<Entry>; 6] {
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

/// What a walk has found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) servers: Vec<Parts>,
    pub(crate) remarks: Vec<Remark>,
}

/// Writes it all.
pub(crate) fn write(found: Found, options: &Options) -> Translation {
    let mut text = format!(
        "# Translated by `myriad import` from {}. Above each part stands what it was, with its line.\n\
         # It is a site of its own, for a folder that nginx.conf includes; test it with `myriad -t`.\n",
        shown(&options.source)
    );
    let mut remarks = found.remarks;
    remarks.sort_by_key(|remark| remark.line);
    for remark in &remarks {
        let kind = if remark.is_missing { "NOT TRANSLATED" } else { "note" };
        let _ = write!(
            text,
            "#\n# {kind}, line {}: {}\n#   {}\n",
            remark.line,
            shown(&remark.text),
            shown(&remark.reason)
        );
    }
    for parts in &found.servers {
        text.push('\n');
        entries(&mut text, &parts.http, "");
        server(&mut text, parts, options);
    }
    Translation { text, remarks }
}

/// The name that `<Files>` asks for: a path behind a PHP file is no part of it. Captures with names keep the text as it is; `$1` in `set`
/// would be escaped again.
const FILE: &str = r#"    # The file's name; of /a.php/b it is a.php.
    if ($uri ~ "(?<apache_file>[^/]*)$") { }
    if ($uri ~ "(?<apache_file>[^/]+\.php)/") { }

"#;

fn server(text: &mut String, parts: &Parts, options: &Options) {
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

fn locations(text: &mut String, parts: &Parts, options: &Options) {
    if let Some(entry) = &parts.fallback {
        entries(text, std::slice::from_ref(entry), "    ");
    }
    let fallback = if parts.fallback.is_some() { parts.fallback_path.as_str() } else { "=404" };
    let _ = write!(text, "    location / {{\n        try_files $uri $uri/ {fallback};\n    }}\n\n");
    text.push_str("    # Apache's main configuration hides these files.\n    location ~ /\\.ht {\n        deny all;\n    }\n");
    let Some(php) = &options.php else {
        text.push_str("\n    # PHP: name php-fpm with --php, for a location that passes .php to it.\n    location ~ \\.php(/|$) {\n        return 404;\n    }\n");
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

fn entries(text: &mut String, entries: &[Entry], indent: &str) {
    for entry in entries {
        for (line, of) in &entry.of {
            let _ = writeln!(text, "{indent}# {line}: {}", shown(of));
        }
        if !entry.why.is_empty() {
            let _ = writeln!(text, "{indent}# -> {}", shown(&entry.why));
        }
        for line in &entry.lines {
            let _ = writeln!(text, "{indent}{line}");
        }
        text.push('\n');
    }
}

/// Text in a comment: one line.
fn shown(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
