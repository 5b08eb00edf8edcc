//! Prints `docs/nginx-compatibility.md` from the registry:
//!
//! ```text
//! cargo run -p myriad-serve --example compatibility > docs/nginx-compatibility.md
//! ```
//!
//! A directive or variable with the status *same* is listed with the test that covers it, found by the `covers` lines
//! of tests. Directives are described in their rows of the registry. This file only contains the rules that belong to
//! no directive. `tests/compatibility.rs` compares the page with the output of this program.

use std::fmt::Write as _;

use coverage::Coverage;
use myriad_conf::registry::{DefaultValue, DirectiveRow, DirectiveStatus};
use myriad_serve::{DocumentedVariable, documented_variables};

pub(crate) mod coverage;

fn main() {
    print!("{}", page());
}

const HEAD: &str = "\
# nginx compatibility

<!-- Written by `cargo run -p myriad-serve --example compatibility > docs/nginx-compatibility.md`. Do not edit. -->

Myriad reads the configuration language of nginx 1.31. Every directive is in one of these states:

| state | meaning |
|---|---|
| same | as documented by nginx; followed by the test that covers it (a golden test if possible), or *untested* |
| **differs** | supported, with the difference that is described |
| **no effect** | parsed, checked and accepted; the server does not need it |
| **later** | parsed, checked and accepted; not implemented yet |
| **refused** | the configuration is not loaded; the message contains the reason |
| **Myriad's own** | nginx has no such directive |

A name that is in no table is treated as a spelling mistake: the configuration is not loaded, and the message contains the most similar directive.
";

/// Differences from nginx that belong to no directive: for each topic, its subjects with a description.
const EVERYWHERE: &[(&str, &[(&str, &str)])] = &[
    (
        "Requests",
        &[
            (
                "control bytes",
                "a control byte in a method, a request target, a host or a header value (except tabs) gets 400 in every \
                 version of HTTP",
            ),
            (
                "framing",
                "these requests get 400, and the connection is closed: two lengths, a length together with `chunked`, folded \
                 headers, a space before the colon, a line without a colon, a repeated header that may occur once only",
            ),
            (
                "`alias`",
                "a path that would leave the folder, such as `/a../c` with `location /a { alias /b/; }`, gets 404",
            ),
            (
                "header names",
                "a name that is not a token (`X[a`, `é`) gets 400; nginx drops or forwards the header. Tokens that nginx considers \
                 invalid are handled by `ignore_invalid_headers` and `underscores_in_headers`",
            ),
            (
                "chunks",
                "chunk size lines of requests must match the grammar (`5;`, `5;bad[=x` and `5 ` get 400); nginx accepts any text \
                 after the size",
            ),
            (
                "`Transfer-Encoding`",
                "a list with `chunked` before `gzip` or another known coding gets 400, because the end of the body is \
                 ambiguous; other lists get 501, as in nginx",
            ),
            ("`OPTIONS *`", "the server responds with `Allow`; nginx responds with 400"),
            (
                "405",
                "the response has `Allow` if Myriad refuses the method itself, not if the configuration or an upstream does",
            ),
            (
                "long methods",
                "a method that fills a whole buffer gets 400; nginx responds with 414, as for any long request line",
            ),
            ("HTTP/0.9", "refused with 400"),
            ("versions", "`HTTP/01.1` and `HTTP/1.01` get 400"),
            (
                "408",
                "sent before the connection is closed, to a client that is too slow and for `return 408`; nginx closes the \
                 connection without a response",
            ),
            (
                "`Host`",
                "a port above 65535 gets 400. `$http_host`, `HTTP_HOST` and requests to upstreams contain the host in lower case and \
                 without a dot at its end; access logs contain it as received",
            ),
            (
                "`Upgrade`",
                "forwarded only for the protocols of `upgrade_protocols` (`websocket`); a 101 response with a protocol that was not \
                 requested becomes 502. nginx forwards any protocol",
            ),
            (
                "`If-Modified-Since`",
                "ignored if `If-None-Match` is present (RFC 9110 section 13.1.3); nginx requires both to match",
            ),
        ],
    ),
    (
        "Rewriting",
        &[
            (
                "redirects",
                "control characters in the target are percent-encoded, so that no header can be injected",
            ),
            (
                "`rewrite`",
                "the arguments of a replacement start at its first `?`; in nginx they start again at each further one",
            ),
            (
                "`try_files`",
                "a `@name` that is not the last argument is tried as a location: if its own `try_files` finds nothing, the next argument \
                 is tried; nginx looks for a file of that name. A file name in that location that ends in `.gz` is a compressed \
                 copy of a page: it is used for clients that accept gzip, and sent with `Content-Encoding`",
            ),
            (
                "`if` and `try_files`",
                "if an `if` of a location contains only `set`, `rewrite` and similar directives, the `try_files` of the location \
                 still applies. In nginx, a location whose `if` matches runs no `try_files`, and the response is 404 or the file of \
                 the URI. After an `if` with other directives it does not apply here either",
            ),
            (
                "`try_files`, names without a slash",
                "relative to the root; nginx appends them to the name of its last folder",
            ),
            (
                "last argument of `try_files` with an `alias`",
                "the prefix of the location is removed, as in nginx, if the argument has variables and its result still starts \
                 with a slash (`/a//a/index.php?$args`). Otherwise it stays unchanged; nginx then uses a URI without a slash, which \
                 matches no location",
            ),
            (
                "`proxy_set_header Host` twice",
                "the last one is sent; nginx sends both lines, which upstreams refuse",
            ),
            (
                "variables that depend on each other",
                "the request gets 500; nginx continues with the available values",
            ),
            (
                "regular expressions",
                "a match is aborted after 100,000 steps and the request gets 500, so that no request can block a \
                 worker",
            ),
        ],
    ),
    (
        "Logs",
        &[
            (
                "`$sent_http_connection`",
                "the header that was sent; nginx also logs `close` where it has sent `keep-alive`",
            ),
            (
                "`-t`",
                "does not resolve the names of syslog servers, and does not open logs that only requests name",
            ),
            ("`$body_bytes_sent`", "the bytes of the body; nginx includes the chunk sizes"),
        ],
    ),
    (
        "Bodies",
        &[
            (
                "response to HEAD",
                "has the same headers as the response to GET (RFC 9110 section 9.3.2); nginx omits the `Vary` of compression",
            ),
            (
                "`Accept-Ranges`",
                "also sent with cached pages and compressed files, because they support ranges",
            ),
            (
                "filters",
                "`sub_filter` does not change compressed bodies; a 206 is not decompressed; a body that a filter changes does not \
                 support ranges; bytes that a `charset_map` does not list become `?`",
            ),
            ("directory listings and 304", "a listing has a `Content-Length`; a 304 has its `Vary`"),
        ],
    ),
    (
        "Access",
        &[
            (
                "PROXY protocol",
                "a header of version 1 with invalid addresses closes the connection; nginx accepts any hexadecimal digits, \
                 dots and colons. A header may arrive in several packets, which nginx refuses",
            ),
            (
                "addresses in headers of proxies",
                "an address with a leading zero in a number (`010.0.0.1`) is invalid",
            ),
            ("a zero byte in a password", "is a part of the password; in nginx it ends the password"),
        ],
    ),
    (
        "Cache",
        &[
            (
                "`Age`",
                "sent with every stored page that was not fetched or confirmed for this request, including the `Age` of the upstream \
                 (RFC 9111 section 5.1). Not sent if `expires`, or an `add_header` of `Cache-Control` or `Expires`, sets a lifetime \
                 that starts now, or with `*_hide_header Age`. nginx forwards the value of the upstream unchanged",
            ),
            (
                "removed pages",
                "if a refresh gets a 2xx to 4xx response that must not be stored, the stale page is removed, unless `*_use_stale` names \
                 the status ([more](caching.md#stale-pages)); nginx keeps it and continues to serve it",
            ),
            (
                "personal cookies",
                "a request with a personal cookie neither reads nor fills a shared page, except with `personal_cookies off` or \
                 a key that contains `$http_cookie`",
            ),
            (
                "`Authorization`",
                "such a request neither reads nor fills a shared page, unless the key contains `$http_authorization` or `$remote_user`",
            ),
            (
                "`Set-Cookie`",
                "never stored, even with `*_ignore_headers Set-Cookie`; the visitor who caused the fetch gets it",
            ),
            (
                "`private`",
                "such a response is never stored; neither `*_ignore_headers` nor `X-Accel-Expires` overrides it",
            ),
            ("5xx", "not stored by `*_cache_valid any`, and never replaces a usable page"),
            (
                "HEAD",
                "shares the page of GET: `$request_method` in the key is GET, and so is the request to the upstream",
            ),
            (
                "lock",
                "on, unless `*_cache_lock off` is set; waiting requests are notified, and can receive the page while it arrives",
            ),
            (
                "hit-for-miss",
                "a response that is not stored releases all waiting requests at once; for two seconds, requests for the key are then \
                 sent concurrently",
            ),
            (
                "encodings",
                "a page that may be compressed here is stored uncompressed and served in the best of `br`, `zstd` and `gzip` \
                 that is available; `Vary: Accept-Encoding` creates no variants. Any other body is sent in the coding in \
                 which it was received",
            ),
            (
                "`ETag`",
                "a stored page without one gets a strong one, computed from its bytes, so that it can be confirmed by 304",
            ),
            (
                "`stale-if-error`",
                "applies to failed connections, timeouts, invalid responses, and 500, 502, 503, 504; not to 403, 404, 429",
            ),
        ],
    ),
    (
        "Subrequests",
        &[
            (
                "request",
                "sent without the body, conditions, ranges, accepted codings and upgrades of the client's request",
            ),
            (
                "variables",
                "a subrequest has a copy of the variables of its parent, and its changes are not visible to others; in nginx all \
                 share one set, so the result depends on their order",
            ),
            (
                "number",
                "at most 4096 for one request, so that pages that include each other twice end; the maximum depth is 51, as in \
                 nginx",
            ),
            (
                "cache keys",
                "a key that does not depend on `$uri` (such as one of `$request_uri`, which is the client's) is made unique for each \
                 include; in nginx, a page and its includes then share an entry",
            ),
            (
                "`auth_request` and a cache",
                "a request with `Authorization` neither reads nor fills the cache, as everywhere (auth_request.t of nginx's tests, \
                 `proxy auth cached`)",
            ),
            (
                "`slice` with a filter",
                "if a filter changes the body, a range request gets the whole body; texts that span two slices are replaced too",
            ),
            (
                "`%Z` in `timefmt`",
                "a local time has its offset, such as `+0100`, instead of the name of its zone",
            ),
        ],
    ),
    (
        "Upstreams",
        &[(
            "a unix socket whose backlog is full",
            "the connection is attempted again until `*_connect_timeout`; nginx responds with 502 at once",
        )],
    ),
    (
        "Streams",
        &[
            (
                "variables",
                "`stream` has those of nginx's modules core, upstream, realip, limit_conn and ssl_preread, and of ssl those of \
                 the handshake and `$ssl_client_verify`; other variables of `http` are not available",
            ),
            (
                "`$bytes_received`",
                "includes the bytes that `ssl_preread` has read, after they were forwarded; nginx counts only bytes that it reads \
                 afterwards",
            ),
            (
                "`ssl_preread` with `listen … ssl`",
                "has no effect: data that the client sends over TLS is not examined",
            ),
            ("address that `http` also uses", "refused if `stream` listens on it too, with both positions"),
            (
                "client that waits for forwarding",
                "because of a PROXY protocol header or `ssl_preread`: closed in favour of others if `worker_connections` is reached",
            ),
        ],
    ),
];

const FAMILIES: &[(&str, &str)] = &[
    ("process", "Processes"),
    ("server", "Servers and locations"),
    ("client", "Clients"),
    ("content", "Files and pages"),
    ("rewrite", "Rewriting"),
    ("access", "Access"),
    ("ssi", "Server-side includes"),
    ("resolver", "Name resolution"),
    ("realip", "Clients behind proxies"),
    ("referers", "Referers"),
    ("stub_status", "Connection counts"),
    ("control", "Control and inspection"),
    ("limits", "Limits"),
    ("shield", "Protection of upstreams"),
    ("auth_request", "Access by subrequest"),
    ("headers", "Response headers"),
    ("log", "Logs"),
    ("encoding", "Compression"),
    ("autoindex", "Directory listings"),
    ("dav", "WebDAV"),
    ("charset", "Charsets"),
    ("filters", "Body filters"),
    ("blocks", "Variables by mapping"),
    ("tls", "TLS"),
    ("acme", "Automatic certificates"),
    ("https_only", "Redirects to HTTPS"),
    ("early_hints", "Early hints"),
    ("slice", "Slices"),
    ("upstream", "Upstream groups"),
    ("stream", "Streams"),
    ("origin", "Requests to upstreams"),
    ("cache", "Cache"),
    ("tuning", "Tuning of nginx internals"),
    ("shared_fetch", "Shared fetches"),
];

/// Returns the text of `docs/nginx-compatibility.md`.
pub(crate) fn page() -> String {
    let rows = myriad_serve::registry().rows();
    let coverage = Coverage::read();
    let mut out = String::from(HEAD);
    append_general_differences(&mut out);
    out.push_str("\n## Directives\n");
    for (family, title) in titles(&rows) {
        let members: Vec<&DirectiveRow> =
            rows.iter().filter(|row| row.family == family && !row.contexts.is_empty()).collect();
        append_table(&mut out, title, &members, &coverage);
    }
    append_variable_table(&mut out, &coverage);
    append_refused(&mut out, &rows);
    append_suite(&mut out);
    out
}

/// Tests of nginx's test suite that contradict guarantees of Myriad: file, its subtests, expected behaviour.
const SUITE: &[(&str, &str, &str)] = &[
    (
        "proxy_if.t",
        "`proxy_pass inside if`",
        "500 if an `if` without a handler follows one with `proxy_pass`; here the handler of the location responds",
    ),
    (
        "proxy_connection_headers.t",
        "`upgrade in 200`, `upgrade in 426`",
        "the upstream's `Upgrade` in a response that switches no protocol: `Connection` names it, so it applies only between the upstream \
         and this server (RFC 9110 section 7.6.1)",
    ),
    (
        "proxy_extra_data.t",
        "`head too short`, `head too short cached`, sometimes",
        "the received part of an incomplete response; if the failure is known before the response headers are sent, the response here is \
         502",
    ),
    (
        "upstream_least_time.t",
        "`different header time`",
        "response headers that `limit_rate` delays; here it counts only the bytes of bodies",
    ),
    (
        "proxy_ssl.t",
        "`ssl session reused`, `ssl session reused 2`",
        "a new handshake for each request; here the connection is reused, so no session is resumed",
    ),
    (
        "h2_priority.t",
        "of weights and dependencies, 10 of 22",
        "the dependency trees of RFC 7540, which RFC 9113 has deprecated and clients no longer use; responses are sent by the \
         priorities of RFC 9218",
    ),
    (
        "h2.t",
        "`dup stream - error code`",
        "`PROTOCOL_ERROR` for a request on a closed stream; RFC 9113 section 5.1 requires `STREAM_CLOSED`",
    ),
    (
        "h2_headers.t",
        "`all chars`",
        "that control bytes in a header reach the location; here they get 400 in every version of HTTP",
    ),
    (
        "h2_headers.t",
        "`invalid index length`, `invalid literal length`; `too long index`, `too long literal`",
        "`FRAME_SIZE_ERROR` for an integer that the header block truncates, where RFC 9113 section 4.3 requires `COMPRESSION_ERROR`; an error \
         before the frame is complete, whereas header blocks are decoded as a whole here",
    ),
    (
        "h2_request_body.t",
        "`request body - empty body file`, `request body - empty content`",
        "a file for an empty body (`client_body_in_file_only`)",
    ),
    (
        "auth_request.t",
        "`proxy auth cached`",
        "that the response to a request with `Authorization` is stored for other clients",
    ),
    (
        "proxy_cache.t",
        "`non-empty get stale`, `empty get stale`",
        "gzip for each client separately, in chunks, even of an empty page; here a stored compressed page is sent with its length",
    ),
    ("proxy_h2_cache.t", "`non-empty get stale`, `empty get stale`", "the same with an HTTP/2 upstream"),
    (
        "grpc_ssl.t",
        "`response 2 - connection`",
        "a new connection for each request without an `upstream` with `keepalive`; here a connection is reused if the upstream continues to \
         read, as with HTTP/1",
    ),
    (
        "proxy_h2_body_discard.t, grpc.t",
        "`rst no error many`, `rst error`; `discard NO_ERROR many - no trailers`, `discard CANCEL - no trailers`",
        "an error if `RST_STREAM` follows a complete response, which is forwarded here",
    ),
    (
        "proxy_h2_headers.t, grpc.t, grpc_ssl.t, h2_headers.t, h3_headers.t",
        "all with a string whose Huffman code ends at a byte boundary, such as the content type `application/grpc` and an empty \
         `grpc-message`",
        "that the eight bits of padding after such a string, sent by the suite and accepted by nginx, are ignored; RFC 7541 section 5.2 requires \
         an error for more than seven",
    ),
    ("proxy_h2_headers.t", "`dynamic table size 1`", "a table of 0 bytes"),
    (
        "grpc.t, grpc_ssl.t, h2_headers.t",
        "all after a frame of the client above 16384 bytes (`continuation`, `flow control`), and all on the same connection after it; \
         `response header - parts`, `response header split`",
        "that frames of up to 16777215 bytes are received, as nginx announces, and that the frames of headers are as large as the client \
         announces; both are at most 16384 bytes here, the default of RFC 9113 section 6.5.2",
    ),
    (
        "grpc.t",
        "`keepalive 4 - GOAWAY aborted request`",
        "502 for a request that the upstream has not processed, which is sent once more here",
    ),
    (
        "grpc.t",
        "`set host - authority`, `set host - host`",
        "the field `host` instead of `:authority` with `grpc_set_header Host`; here the value is sent as `:authority`, which RFC 9113 \
         section 8.3.1 requires of intermediaries",
    ),
    (
        "grpc_request_buffering.t",
        "`preserve_output - first body bytes`, `preserve_output - last body bytes`",
        "a frame of a client that is larger than announced and exceeds the window (`http2_body_preread_size`)",
    ),
    (
        "proxy_cache_convert_head.t",
        "`head cached`, `get after head`",
        "that the response to HEAD is stored under the key of the page, so that GET gets it without its body",
    ),
    (
        "proxy_cache_lock.t",
        "`nolock - last`, `nolock - last cached`",
        "several concurrent fetches of one page, if `proxy_cache_lock` is not set",
    ),
    (
        "proxy_cache_use_stale.t",
        "`s-w-r - updating revalidated`",
        "that a client whose connection is closed waits until the background refresh is complete, four seconds in this test; here it waits \
         40 ms at most",
    ),
    (
        "proxy_upgrade.t, ssl_proxy_upgrade.t",
        "`log - bytes noupgrade`; all tests of the switched connection, unless `upgrade_protocols foo` is set",
        "that an unrequested 101 is forwarded, which is 502 here because the following data has no framing; and a protocol \
         named `foo`",
    ),
    (
        "h3_limit_req.t, h3_headers.t",
        "all after the first pause in which the client sends nothing",
        "that a session ticket is sent only once; RFC 9000 section 13.3 requires that it is sent again until it is acknowledged, and the \
         client of the suite fails (`bad inner`) at repeated data",
    ),
    (
        "quic_migration.t",
        "`remote addr after migration`, `next packets after migration`, `remote addr on migration`",
        "a response on a new path after the client has sent some 40 bytes there; here after a third of a datagram, the limit at which RFC \
         9000 section 8.1 permits a whole datagram to an address that is not validated",
    ),
    (
        "h3_proxy.t",
        "`client reset connection`, `backend request incomplete`",
        "that `limit_rate 100` delays 80 bytes; here the bytes of the first second are sent at once, so that the request is complete when \
         the client cancels it",
    ),
];

fn append_suite(out: &mut String) {
    out.push_str(
        "\n## nginx's own tests\n\nThese subtests expect behaviour that contradicts a guarantee of Myriad, so they fail intentionally.\n\n\
         | file | subtests | expected behaviour |\n|---|---|---|\n",
    );
    for (file, subtests, asked) in SUITE {
        let _ = writeln!(out, "| `{file}` | {subtests} | {asked} |");
    }
}

/// Returns the families of directives and their titles, in the order of the page. A family without a title comes last,
/// with its name as title.
fn titles(rows: &[DirectiveRow]) -> Vec<(&'static str, &'static str)> {
    let mut titles = FAMILIES.to_vec();
    for row in rows.iter().filter(|row| !row.contexts.is_empty()) {
        if !titles.iter().any(|(known, _)| *known == row.family) {
            titles.push((row.family, row.family));
        }
    }
    titles
}

fn append_general_differences(out: &mut String) {
    out.push_str(
        "\n## Different everywhere\n\nDifferences that belong to no directive. Most follow from guarantees that nginx does not give.\n",
    );
    for (title, facts) in EVERYWHERE {
        let _ = writeln!(out, "\n**{title}**\n\n| topic | behaviour of Myriad |\n|---|---|");
        for (topic, here) in *facts {
            let _ = writeln!(out, "| {topic} | {here} |");
        }
    }
}

/// Appends the table of a family. Directives of `fastcgi_*` and `proxy_*` that differ only in the prefix share a line.
fn append_table(out: &mut String, title: &str, members: &[&DirectiveRow], coverage: &Coverage) {
    let _ = writeln!(
        out,
        "\n### {title}\n\n| directive | contexts | default | description | state |\n|---|---|---|---|---|"
    );
    for row in members {
        let twin = |prefix: &str, other: &str| {
            let rest = row.name.strip_prefix(prefix)?;
            let name = format!("{other}{rest}");
            members.iter().find(|known| known.name == name && is_same_in_both(known, row))
        };
        if twin("proxy_", "fastcgi_").is_some() {
            continue;
        }
        let mut names = vec![row.name.as_str()];
        names.extend(twin("fastcgi_", "proxy_").map(|proxy| proxy.name.as_str()));
        let state = status_text(row.status, &names, coverage);
        let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let default = match row.default {
            DefaultValue::None => String::new(),
            DefaultValue::Text(text) => format!("`{text}`"),
            DefaultValue::Computed(sentence) => sentence.to_owned(),
        };
        let _ = writeln!(out, "| {names} | {} | {default} | {} | {state} |", row.contexts, row.doc);
    }
}

fn is_same_in_both(a: &DirectiveRow, b: &DirectiveRow) -> bool {
    a.contexts == b.contexts && a.default == b.default && a.doc == b.doc && a.status == b.status
}

/// Returns the text of a status for the directives or variables `names`; names of variables start with `$`.
fn status_text(status: DirectiveStatus, names: &[&str], coverage: &Coverage) -> String {
    match status {
        DirectiveStatus::Same => format!("same: {}", tests_of(names, coverage)),
        DirectiveStatus::Differs(note) => format!("**differs**: {note}"),
        DirectiveStatus::NoEffect(note) => format!("**no effect**: {note}"),
        DirectiveStatus::Later(note) => format!("**later**: {note}"),
        DirectiveStatus::Refused(reason) => format!("**refused**: {reason}"),
        DirectiveStatus::Own => "**Myriad's own**".to_owned(),
    }
}

/// Returns a link to the first test of each name, and the names without a test.
fn tests_of(names: &[&str], coverage: &Coverage) -> String {
    let mut tests: Vec<&str> =
        names.iter().filter_map(|name| coverage.files_covering(name).first().copied()).collect();
    tests.dedup();
    if tests.is_empty() {
        return "*untested*".to_owned();
    }
    let untested = names.iter().filter(|name| coverage.files_covering(name).is_empty());
    tests
        .into_iter()
        .map(str::to_owned)
        .chain(untested.map(|name| format!("`{name}` *untested*")))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Appends the table of variables. Variables of a module with equal status share a line, except those with the status
/// *same*, each of which lists its test.
fn append_variable_table(out: &mut String, coverage: &Coverage) {
    out.push_str(
        "\n## Variables\n\nEvery variable of nginx's HTTP modules.\n\n| variable | module | state |\n|---|---|---|\n",
    );
    let all = documented_variables();
    let alike = |a: &DocumentedVariable, b: &DocumentedVariable| {
        a.module == b.module && a.status == b.status && a.status != DirectiveStatus::Same
    };
    for group in all.chunk_by(alike) {
        let shown = |variable: &DocumentedVariable| {
            let any = if variable.name.ends_with('_') { "*" } else { "" };
            format!("`${}{any}`", variable.name)
        };
        let names = group.iter().map(shown).collect::<Vec<_>>().join(" ");
        let covered = format!("${}", group[0].name);
        let state = status_text(group[0].status, &[&covered], coverage);
        let _ = writeln!(out, "| {names} | {} | {state} |", group[0].module);
    }
}

/// Appends the names that are known only to be rejected, by reason and module.
fn append_refused(out: &mut String, rows: &[DirectiveRow]) {
    out.push_str("\n## Refused by name\n\nKnown names, which are not treated as spelling mistakes.\n");
    let only_refused: Vec<(&DirectiveRow, &str)> = rows
        .iter()
        .filter(|row| row.contexts.is_empty())
        .filter_map(|row| match row.status {
            DirectiveStatus::Refused(reason) => Some((row, reason)),
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
