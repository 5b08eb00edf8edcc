//! Prints `docs/nginx-compatibility.md` from the registry:
//!
//! ```text
//! cargo run -p myriad-conf --example compatibility > docs/nginx-compatibility.md
//! ```
//!
//! What a directive means is said in its row of the registry. Here stand only the rules that belong to no directive,
//! and the names that the server does not act on yet. `tests/compatibility.rs` holds the page against this program.

use std::fmt::Write as _;

use myriad_conf::registry::{Row, Status, rows};

fn main() {
    print!("{}", page());
}

const HEAD: &str = "\
# nginx compatibility

<!-- Written by `cargo run -p myriad-conf --example compatibility > docs/nginx-compatibility.md`. Do not edit. -->

Myriad reads the language of nginx 1.31. Every directive is in one of these states:

| state | meaning |
|---|---|
| as nginx | it means what nginx documents |
| **differs** | it is obeyed, and means something else in the way that is said |
| **no effect** | it is read, checked and accepted; the server has no need of it |
| **later** | it is read, checked and accepted; this version does not act on it yet |
| **refused** | the configuration is not loaded; the message says why |
| **Myriad's own** | nginx has no such directive |

A name that is in no table is a typing error: the configuration is not loaded, and the message names the nearest directive.
";

/// Behaviour that no directive's row can hold: topic, what holds here.
const EVERYWHERE: &[(&str, &[(&str, &str)])] = &[
    (
        "Requests",
        &[
            ("control bytes", "a control byte in a request target or a field value is answered with 400"),
            (
                "framing",
                "two lengths, a length beside `chunked`, folded fields, a space before the colon, a field twice that may \
                 stand once: 400, and the connection closes",
            ),
            ("HTTP/0.9", "refused with 400"),
            ("`Host`", "a port above 65535 is answered with 400"),
            (
                "`If-Modified-Since`",
                "counts for nothing where `If-None-Match` is present (RFC 9110 section 13.1.3); nginx wants both to hold",
            ),
        ],
    ),
    (
        "Rewriting",
        &[
            (
                "redirects",
                "control characters in the target are sent percent-encoded, so that no field can be injected",
            ),
            (
                "`rewrite`",
                "the first `?` of a replacement begins its arguments; in nginx each further one begins them anew",
            ),
            (
                "regular expressions",
                "a match gives up after 100,000 steps and the request is answered with 500, so that no request can hold a \
                 worker",
            ),
        ],
    ),
    (
        "Cache",
        &[
            (
                "personal cookies",
                "a request that carries one neither reads nor fills a shared page, unless `personal_cookies off` or a key \
                 with `$http_cookie` says otherwise",
            ),
            (
                "`Authorization`",
                "neither reads nor fills a shared page, unless the key holds `$http_authorization` or `$remote_user`",
            ),
            (
                "`Set-Cookie`",
                "never stored, also not with `*_ignore_headers Set-Cookie`; the visitor who caused the fetch gets it",
            ),
            ("`private`", "never stored; neither `*_ignore_headers` nor `X-Accel-Expires` overrides it"),
            ("5xx", "`*_cache_valid any` does not store one, and none takes the place of a usable page"),
            (
                "HEAD",
                "shares the page of GET: `$request_method` in the key reads GET, and so does the origin",
            ),
            (
                "lock",
                "on unless `*_cache_lock off` is written; waiters are woken by event and may read the page while it arrives",
            ),
            (
                "hit-for-miss",
                "an answer that is not stored frees all waiters at once, and for two seconds the key is fetched side by side",
            ),
            (
                "encodings",
                "a page is stored as identity and served in the best of `br`, `zstd`, `gzip` that is ready; `Vary: \
                 Accept-Encoding` makes no variants",
            ),
            ("`ETag`", "a stored page without one gets a strong one from its bytes, and so answers 304"),
            (
                "`stale-if-error`",
                "speaks for broken connections, time-outs, unreadable answers and 500, 502, 503, 504; not for 403, 404, 429",
            ),
        ],
    ),
    (
        "Origins",
        &[(
            "a unix socket whose backlog is full",
            "is tried again until `*_connect_timeout`; nginx answers 502 at once",
        )],
    ),
    ("Logs", &[("error log", "times are UTC; the access log's `$time_local` is local time")]),
];

/// Names that the language has and the server does not act on yet, by family, with what it does meanwhile. A name leaves
/// this list with the commit that brings its code. What is said of `fastcgi_` holds for the `proxy_` twin too.
const LATER: &[(&str, &str, &str)] = &[
    ("process", "master_process", "the supervisor is always there"),
    ("process", "pcre_jit", "`off` is not heeded"),
    (
        "client",
        "client_body_buffer_size client_body_in_single_buffer",
        "bodies go to the origin as they arrive",
    ),
    ("client", "client_body_in_file_only", "no body goes to a file"),
    (
        "client",
        "keepalive_min_timeout keepalive_time",
        "`keepalive_timeout` and `keepalive_requests` decide alone",
    ),
    ("client", "keepalive_disable", "no browser is treated apart"),
    (
        "client",
        "tcp_nodelay tcp_nopush",
        "the server chooses: an answer is written in one piece where it can be",
    ),
    (
        "content",
        "sendfile sendfile_max_chunk output_buffers",
        "files above 1 MB go by sendfile(2), smaller ones from memory",
    ),
    ("content", "msie_padding msie_refresh", "no browser is treated apart"),
    (
        "content",
        "open_file_cache_min_uses open_file_cache_errors",
        "`open_file_cache_valid` decides alone, for absent files too",
    ),
    ("content", "charset charset_types override_charset", "media types are sent as they are"),
    ("headers", "add_trailer", "no trailers are sent"),
    ("log", "open_log_file_cache", "a log whose path holds variables is opened for each line"),
    ("encoding", "brotli_window", "the coder chooses its window"),
    ("upstream", "hash random", "round robin"),
    ("origin", "fastcgi_catch_stderr", "the error stream goes to the error log and spoils no answer"),
    (
        "origin",
        "fastcgi_buffering fastcgi_buffers fastcgi_busy_buffers_size",
        "what is not cached is read as fast as it is taken",
    ),
    (
        "origin",
        "fastcgi_max_temp_file_size fastcgi_temp_file_write_size",
        "no answer goes to a temporary file",
    ),
    ("origin", "fastcgi_request_buffering", "a request's body is sent while it arrives"),
    ("origin", "fastcgi_limit_rate", "the origin is read at full speed"),
    (
        "origin",
        "fastcgi_ignore_client_abort",
        "a fetch for the cache goes on without its client, any other ends with it",
    ),
    ("origin", "fastcgi_socket_keepalive", "the system's default holds"),
    ("origin", "fastcgi_force_ranges", "ranges are cut from stored pages and files"),
    (
        "origin",
        "proxy_pass",
        "refused when the configuration is checked; until then no other `proxy_*` has anything to do",
    ),
    (
        "cache",
        "fastcgi_cache_path",
        "pages are in memory only: `levels`, `max_size`, `min_free` wait for the disk tier",
    ),
    ("cache", "fastcgi_cache_revalidate", "an expired page is fetched whole"),
    ("cache", "fastcgi_cache_max_range_offset", "ranges are cut from the whole stored page"),
];

const FAMILIES: &[(&str, &str)] = &[
    ("process", "Processes"),
    ("server", "Servers and locations"),
    ("client", "Clients"),
    ("content", "Files and pages"),
    ("rewrite", "Rewriting"),
    ("access", "Access"),
    ("headers", "Response fields"),
    ("log", "Logs"),
    ("encoding", "Compression"),
    ("blocks", "Variables by table"),
    ("upstream", "Groups of origins"),
    ("origin", "Origins"),
    ("cache", "Cache"),
    ("tuning", "Tuning of nginx's own machinery"),
];

/// The whole page.
pub(crate) fn page() -> String {
    let rows = rows();
    let mut out = String::from(HEAD);
    everywhere(&mut out);
    out.push_str("\n## Directives\n");
    for (family, title) in FAMILIES {
        let members: Vec<&Row> = rows.iter().filter(|row| row.family == *family).collect();
        table(&mut out, title, &members);
    }
    refused(&mut out, &rows);
    out
}

/// Names of [`LATER`] that the registry does not have, or does not take by itself; for the test.
#[cfg(test)]
pub(crate) fn stale_names() -> Vec<&'static str> {
    let rows = rows();
    let taken = |family: &str, name: &str| {
        let named = rows.iter().find(|row| row.family == family && row.name == name);
        named.is_some_and(|row| matches!(row.status, Status::Same | Status::Differs(_)))
    };
    let names = LATER.iter().flat_map(|(family, names, _)| names.split(' ').map(move |name| (*family, name)));
    names.filter(|(family, name)| !taken(family, name)).map(|(_, name)| name).collect()
}

/// Families of the registry that the page has no title for; for the test.
#[cfg(test)]
pub(crate) fn untitled_families() -> Vec<&'static str> {
    let titled = |family: &str| FAMILIES.iter().any(|(known, _)| *known == family);
    rows()
        .iter()
        .filter(|row| !row.contexts.is_empty())
        .map(|row| row.family)
        .filter(|f| !titled(f))
        .collect()
}

fn everywhere(out: &mut String) {
    out.push_str(
        "\n## Different everywhere\n\nWhere a promise of Myriad is stronger than nginx, the promise wins.\n",
    );
    for (title, facts) in EVERYWHERE {
        let _ = writeln!(out, "\n**{title}**\n\n| what | here |\n|---|---|");
        for (topic, here) in *facts {
            let _ = writeln!(out, "| {topic} | {here} |");
        }
    }
}

/// One family. Members of `fastcgi_*` and `proxy_*` that fare alike share a line.
fn table(out: &mut String, title: &str, members: &[&Row]) {
    let _ = writeln!(
        out,
        "\n### {title}\n\n| directive | where | default | what it does | here |\n|---|---|---|---|---|"
    );
    for row in members {
        let twin = |prefix: &str, other: &str| {
            let rest = row.name.strip_prefix(prefix)?;
            let name = format!("{other}{rest}");
            members.iter().find(|known| known.name == name && fares_alike(known, row))
        };
        if twin("proxy_", "fastcgi_").is_some() {
            continue;
        }
        let mut names = format!("`{}`", row.name);
        if let Some(proxy) = twin("fastcgi_", "proxy_") {
            let _ = write!(names, ", `{}`", proxy.name);
        }
        let default = row.default.map(|text| format!("`{text}`")).unwrap_or_default();
        let _ = writeln!(out, "| {names} | {} | {default} | {} | {} |", row.contexts, row.doc, state(row));
    }
}

fn fares_alike(a: &Row, b: &Row) -> bool {
    a.contexts == b.contexts
        && a.default == b.default
        && a.doc == b.doc
        && a.status == b.status
        && later(a) == later(b)
}

/// The note on a name that is not acted on yet.
fn later(row: &Row) -> Option<&'static str> {
    let note = |name: &str| {
        let listed = |names: &str| names.split(' ').any(|known| known == name);
        LATER.iter().find(|(family, names, _)| *family == row.family && listed(names))
    };
    let twin = || note(&format!("fastcgi_{}", row.name.strip_prefix("proxy_")?));
    note(&row.name).or_else(twin).map(|(_, _, note)| *note)
}

fn state(row: &Row) -> String {
    let status = match row.status {
        Status::Same => "as nginx".to_owned(),
        Status::Differs(note) => format!("**differs**: {note}"),
        Status::NoEffect(note) => format!("**no effect**: {note}"),
        Status::Refused(reason) => format!("**refused**: {reason}"),
        Status::Own => "**Myriad's own**".to_owned(),
    };
    match (row.status, later(row)) {
        (_, None) => status,
        (Status::Differs(_), Some(note)) => format!("{status}; **later**: {note}"),
        (_, Some(note)) => format!("**later**: {note}"),
    }
}

/// The names that are only refused, by reason and module.
fn refused(out: &mut String, rows: &[Row]) {
    out.push_str("\n## Refused by name\n\nKnown, and never taken for a typing error.\n");
    let only_refused: Vec<(&Row, &str)> = rows
        .iter()
        .filter(|row| row.contexts.is_empty())
        .filter_map(|row| match row.status {
            Status::Refused(reason) => Some((row, reason)),
            _ => None,
        })
        .collect();
    let mut reasons: Vec<&str> = Vec::new();
    for (_, reason) in &only_refused {
        if !reasons.contains(reason) {
            reasons.push(reason);
        }
    }
    for reason in reasons {
        let _ = writeln!(out, "\n**{}**\n\n| module | names |\n|---|---|", capitalised(reason));
        let mut modules: Vec<&str> = Vec::new();
        for (row, _) in only_refused.iter().filter(|(_, why)| *why == reason) {
            if !modules.contains(&row.family) {
                modules.push(row.family);
            }
        }
        for module in modules {
            let named = only_refused.iter().filter(|(row, why)| *why == reason && row.family == module);
            let names: Vec<String> = named.map(|(row, _)| format!("`{}`", row.name)).collect();
            let _ = writeln!(out, "| {module} | {} |", names.join(" "));
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
