//! Translation of settings for files, media types, compression, errors and PHP, and of the addresses of virtual hosts.

use myriad_base::digits::decimal;

use crate::apache::lines::ApacheItem;
use crate::apache::pattern::{quoted, word};
use crate::apache::site::TranslatedEntry;
use crate::apache::state::ApacheWalk;

/// Handles a directive for settings, such as `DirectoryIndex`, `Options` or `AddType`. Returns false for other
/// directives. In a section it returns true for every directive, and reports all except `ServerSignature` as
/// untranslated.
pub(crate) fn take(walk: &mut ApacheWalk<'_>, item: &ApacheItem) -> bool {
    let name = item.name.to_ascii_lowercase();
    if !walk.guards.is_empty() && !matches!(name.as_str(), "php_value" | "php_flag" | "serversignature") {
        walk.missing(item, "not translated in a section: write it in a location");
        return true;
    }
    match name.as_str() {
        "directoryindex" => {
            if item.word(0).eq_ignore_ascii_case("disabled") {
                walk.missing(item, "index cannot be disabled: name a file that does not exist");
                return true;
            }
            walk.parts.has_index = true;
            let names: Vec<String> = item.words.iter().map(|name| word(name)).collect();
            push(walk, item, "Index files of folders.", format!("index {};", names.join(" ")));
        }
        "options" => options(walk, item),
        "errordocument" => error_document(walk, item),
        "addtype" => add_type(walk, item),
        "adddefaultcharset" => {
            let off = item.word(0).eq_ignore_ascii_case("off");
            let charset = if off { "off" } else { item.word(0) };
            push(
                walk,
                item,
                "Charset in the Content-Type of text responses.",
                format!("charset {};", word(charset)),
            );
        }
        "addcharset" => {
            walk.missing(item, "a charset applies to all text files: write charset in a location");
        }
        "addoutputfilterbytype" => compress(walk, item),
        "setoutputfilter" if item.word(0).eq_ignore_ascii_case("DEFLATE") => gzip(walk, item, &["*".into()]),
        "fileetag" => {
            if item.word(0).eq_ignore_ascii_case("none") {
                push(walk, item, "Sends no ETag headers for files.", "etag off;".into());
            } else {
                nothing(walk, item, "ETag values consist of modification time and size");
            }
        }
        "limitrequestbody" => {
            let bytes: u64 = decimal(item.word(0)).unwrap_or(0);
            push(
                walk,
                item,
                "Maximum size of a request body, in bytes.",
                format!("client_max_body_size {bytes};"),
            );
        }
        "fallbackresource" => fallback(walk, item),
        "serversignature" | "servertokens" => {
            push(walk, item, "Hides the version.", "server_tokens off;".into());
        }
        "allowoverride" | "allowoverridelist" | "indexignore" | "indexoptions" | "contentdigest"
        | "acceptpathinfo" | "addicon" => {
            nothing(walk, item, "it has no counterpart and is not needed");
        }
        "php_value" | "php_flag" | "php_admin_value" | "php_admin_flag" => php(walk, item),
        "addhandler" | "sethandler" | "removehandler" if item.text.to_ascii_lowercase().contains("php") => {
            nothing(walk, item, "--php sets the PHP that runs");
        }
        _ => return take_of_server(walk, item, &name),
    }
    true
}

/// Handles a directive that is valid only for a whole server; `name` is in lower case. Returns false for unknown
/// directives, and for names and root of a server within a folder.
fn take_of_server(walk: &mut ApacheWalk<'_>, item: &ApacheItem, name: &str) -> bool {
    match name {
        "servername" | "serveralias" if walk.folder.is_none() => {
            names(walk, item);
        }
        "documentroot" if walk.folder.is_none() && item.word(0).contains('$') => {
            walk.missing(item, "a \"$\" cannot be written in nginx's language: name the folder with --root");
        }
        "documentroot" if walk.folder.is_none() => walk.parts.root = Some(item.word(0).to_owned()),
        "serveradmin" | "errorlog" | "customlog" | "loglevel" | "sslengine" | "sslprotocol"
        | "sslciphersuite" => {
            nothing(walk, item, "logs and TLS are configured in nginx.conf");
        }
        "sslcertificatefile" => push(
            walk,
            item,
            "Certificate, with its chain.",
            format!("ssl_certificate {};", word(item.word(0))),
        ),
        "sslcertificatekeyfile" => {
            push(
                walk,
                item,
                "Key of the certificate.",
                format!("ssl_certificate_key {};", word(item.word(0))),
            );
        }
        "proxypass" => walk.missing(item, "write location PATH { proxy_pass URL; }"),
        _ => return false,
    }
    true
}

/// Adds the addresses of a `<VirtualHost>` as arguments of `listen` (port 80 by default), with `ssl` if it has
/// `SSLEngine on`. Invalid addresses are reported.
pub(crate) fn addresses(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    let inner = item.inner.as_deref().unwrap_or_default();
    let tls = inner.iter().any(|item| item.is("SSLEngine") && item.word(0).eq_ignore_ascii_case("on"));
    for address in &item.words {
        let address = address.replace("_default_", "*");
        let listen = if address.contains(':') { address } else { format!("{address}:80") };
        let listen = listen.strip_prefix("*:").map_or(listen.clone(), str::to_owned);
        let sound = listen.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:[]-*".contains(&byte));
        if sound {
            walk.parts.listens.push(if tls { format!("{listen} ssl") } else { listen });
        } else {
            walk.missing(item, "not a valid address");
        }
    }
}

/// Adds the names of a virtual host. A name with `$`, or with a leading `~`, which would start a regex in nginx, is
/// reported instead.
fn names(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    for name in &item.words {
        let name = name.rsplit_once("://").map_or(name.as_str(), |(_, rest)| rest);
        let name = name.split(':').next().unwrap_or_default();
        if name.contains('$') || name.starts_with('~') {
            walk.missing(item, "the name cannot be written in nginx's language");
        } else {
            walk.parts.names.push(name.to_owned());
        }
    }
}

fn push(walk: &mut ApacheWalk<'_>, item: &ApacheItem, why: &str, line: String) {
    if item.words.iter().any(|word| word.contains('$')) {
        return walk.missing(item, "a \"$\" cannot be written in nginx's language");
    }
    // If a directive is repeated, the last one applies.
    let directive = line.split(' ').next().unwrap_or_default().to_owned();
    if directive != "error_page" && directive != "location" {
        let is_same = |entry: &TranslatedEntry| {
            entry.lines.iter().any(|line| line.starts_with(&format!("{directive} ")))
        };
        walk.parts.settings.retain(|entry| !is_same(entry));
    }
    walk.parts.settings.push(TranslatedEntry::new(item, why, vec![line]));
}

fn nothing(walk: &mut ApacheWalk<'_>, item: &ApacheItem, reason: &str) {
    walk.parts.settings.push(TranslatedEntry::new(item, &format!("Left out: {reason}."), Vec::new()));
}

fn options(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    let mut lists = None;
    for option in &item.words {
        let (name, on) = match option.split_at_checked(1) {
            Some(("-", name)) => (name, false),
            Some(("+", name)) => (name, true),
            _ => (option.as_str(), true),
        };
        match name.to_ascii_lowercase().as_str() {
            "indexes" => lists = Some(on),
            "none" => lists = Some(false),
            "all" => lists = Some(true),
            "multiviews" | "includes" | "includesnoexec" | "execcgi" if on => {
                walk.missing(item, &format!("{name} has no counterpart in a .htaccess of Myriad"));
            }
            "symlinksifownermatch" => {
                walk.note(
                    item,
                    "links are followed regardless of their owner; disable_symlinks if_not_owner checks it",
                );
            }
            _ => {}
        }
    }
    match lists {
        Some(true) => {
            push(walk, item, "Lists folders without an index file.", "autoindex on;".into());
        }
        Some(false) => push(walk, item, "Does not list folders (403).", "autoindex off;".into()),
        None => nothing(walk, item, "links are followed anyway, and the other options have no effect here"),
    }
}

fn error_document(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    let (status, target) = (item.word(0), item.word(1));
    if !decimal::<u16>(status).is_some_and(|status| (400..600).contains(&status)) {
        return walk.missing(item, "the status is not an error status (400 to 599)");
    }
    let is_url = target.starts_with('/') || target.contains("://");
    if is_url && !target.contains(' ') {
        return push(walk, item, "Page for this error.", format!("error_page {status} {};", word(target)));
    }
    if target.eq_ignore_ascii_case("default") {
        return nothing(walk, item, "it is the default");
    }
    if target.contains('$') {
        return walk.missing(item, "a \"$\" cannot be written in nginx's language");
    }
    let name = format!("@error_{status}");
    let lines = vec![
        format!("error_page {status} {name};"),
        format!(
            "location {name} {{ default_type text/html; return {status} {}; }}",
            quoted(target.trim_start_matches('"'))
        ),
    ];
    walk.parts.settings.push(TranslatedEntry::new(item, "Text for this error.", lines));
}

fn add_type(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    let media = item.word(0).to_owned();
    let extensions: Vec<String> =
        item.words.iter().skip(1).map(|word| word.trim_start_matches('.').to_ascii_lowercase()).collect();
    if media.contains("php") {
        return nothing(walk, item, "--php sets the PHP that runs");
    }
    let sound = |text: &String| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_+.".contains(&byte))
    };
    let is_media = media.split_once('/').is_some_and(|(a, b)| sound(&a.to_owned()) && sound(&b.to_owned()));
    if !is_media || extensions.is_empty() || !extensions.iter().all(sound) {
        return walk.missing(item, "not a media type with extensions");
    }
    let line = format!("types {{ {media} {}; }}", extensions.join(" "));
    let is_first =
        !walk.parts.settings.iter().any(|entry| entry.lines.iter().any(|line| line.starts_with("types ")));
    let mut lines = vec![line];
    if is_first {
        lines.insert(0, "include mime.types;".into());
    }
    walk.parts.settings.push(TranslatedEntry::new(item, "Media type of files with these extensions.", lines));
}

fn compress(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    let filters = item.word(0).to_ascii_uppercase();
    if !filters.split(';').any(|filter| filter == "DEFLATE" || filter == "BROTLI_COMPRESS") {
        return walk.missing(item, "only DEFLATE has a counterpart");
    }
    let types: Vec<String> = item.words.iter().skip(1).map(|word| word.to_ascii_lowercase()).collect();
    gzip(walk, item, &types);
}

/// Adds media types to the translated directives for gzip, which are written once for the whole server.
fn gzip(walk: &mut ApacheWalk<'_>, item: &ApacheItem, types: &[String]) {
    let sound = |text: &&String| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/+-.*".contains(&byte)) && !text.is_empty()
    };
    // HTML is always compressed.
    let new: Vec<String> =
        types.iter().filter(sound).filter(|media| *media != "text/html").cloned().collect();
    let is_gzip = |entry: &&mut TranslatedEntry| entry.lines.first().is_some_and(|line| line == "gzip on;");
    if let Some(entry) = walk.parts.settings.iter_mut().find(is_gzip) {
        entry.of.push((item.line, item.text.clone()));
        let known = entry.lines.get(2).cloned().unwrap_or_else(|| "gzip_types;".into());
        let mut all: Vec<String> =
            known.trim_end_matches(';').split(' ').skip(1).map(str::to_owned).collect();
        for media in new {
            if !all.contains(&media) {
                all.push(media);
            }
        }
        entry.lines.truncate(2);
        if !all.is_empty() {
            entry.lines.push(format!("gzip_types {};", all.join(" ")));
        }
        return;
    }
    let mut lines = vec!["gzip on;".to_owned(), "gzip_vary on;".to_owned()];
    if !new.is_empty() {
        lines.push(format!("gzip_types {};", new.join(" ")));
    }
    walk.parts.settings.push(TranslatedEntry::new(
        item,
        "Compresses these types if the client accepts it; HTML is always included.",
        lines,
    ));
}

fn fallback(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    let path = item.word(0);
    if path.eq_ignore_ascii_case("disabled") {
        return nothing(walk, item, "it is the default");
    }
    if path.contains('$') || path.is_empty() {
        return walk.missing(item, "the path is missing or contains a \"$\"");
    }
    let base = walk.folder.clone().unwrap_or_else(|| "/".into());
    let path = if path.starts_with('/') { path.to_owned() } else { format!("{base}{path}") };
    walk.parts.fallback_path = word(&format!("{path}$is_args$args"));
    walk.parts.fallback = Some(TranslatedEntry::new(
        item,
        "Serves this path if neither a file nor a folder matches.",
        Vec::new(),
    ));
}

fn php(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    let (name, value) = (item.word(0), item.words.get(1..).unwrap_or_default().join(" "));
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if !is_name || value.contains(['$', '"', '\\']) {
        return walk.missing(item, "set it in the pool configuration of php-fpm: php_value[NAME] = VALUE");
    }
    if item.name.to_ascii_lowercase().starts_with("php_admin") {
        return walk
            .missing(item, "set it in the pool configuration of php-fpm: php_admin_value[NAME] = VALUE");
    }
    if !walk.guards.is_empty() {
        return walk.missing(item, "not translated in a section: PHP has one set of values for the site");
    }
    walk.note(item, "the same setting in .user.ini or in the pool of php-fpm has no cost per request");
    let line = format!("{name}={value}");
    if let Some(entry) = walk.parts.php.first_mut() {
        entry.of.push((item.line, item.text.clone()));
        let known = entry.lines[0].trim_end_matches("\";").to_owned();
        entry.lines[0] = format!("{known}\\n{line}\";");
    } else {
        let lines = vec![format!("fastcgi_param PHP_VALUE \"{line}\";")];
        walk.parts.php.push(TranslatedEntry::new(item, "PHP settings of this site.", lines));
    }
}
