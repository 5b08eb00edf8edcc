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
use myriad_conf::registry::{DefaultValue, Row, Status};
use myriad_serve::{DocumentedVariable, documented_variables};

pub(crate) mod coverage;

fn main() {
    print!("{}", page());
}

const HEAD: &str = "\
# nginx compatibility

<!-- Written by `cargo run -p myriad-serve --example compatibility > docs/nginx-compatibility.md`. Do not edit. -->

Myriad reads the language of nginx 1.31. Every directive is in one of these states:

| state | meaning |
|---|---|
| same | it means what nginx documents; the test that covers it follows, a golden one if there is one, or *untested* |
| **differs** | it is obeyed, and means something else in the way that is said |
| **no effect** | it is read, checked and accepted; the server has no need of it |
| **later** | it is read, checked and accepted; this version does not act on it yet |
| **refused** | the configuration is not loaded; the message says why |
| **Myriad's own** | nginx has no such directive |

A name that is in no table is a typing error: the configuration is not loaded, and the message names the nearest directive.
";

/// Behaviour that belongs to no directive: topic, and rules.
const EVERYWHERE: &[(&str, &[(&str, &str)])] = &[
    (
        "Requests",
        &[
            (
                "control bytes",
                "a control byte in a method, a request target, a host or a field value (there but for tabs) is answered with \
                 400 in every version of HTTP",
            ),
            (
                "framing",
                "two lengths, a length beside `chunked`, folded fields, a space before the colon, a line without one, a field \
                 twice that may stand once: 400, and the connection closes",
            ),
            (
                "`alias`",
                "what would climb out of it, as `/a../c` does behind `location /a { alias /b/; }`, is answered with 404",
            ),
            (
                "field names",
                "one that is no token (`X[a`, `é`) is answered with 400; nginx drops or passes it. Tokens that nginx calls \
                 invalid are `ignore_invalid_headers`'s and `underscores_in_headers`'s matter",
            ),
            (
                "chunks",
                "the line of a request's chunk is of the grammar (`5;`, `5;bad[=x`, `5 ` are answered with 400); nginx takes \
                 anything behind the size",
            ),
            (
                "`Transfer-Encoding`",
                "that names `chunked` before `gzip` or another known coding is answered with 400, for nobody can tell where the \
                 body ends; other lists with 501, as in nginx",
            ),
            ("`OPTIONS *`", "is answered by the server itself, with `Allow`; nginx answers 400"),
            (
                "405",
                "has `Allow` where Myriad refuses the method itself, not where the configuration or an origin does",
            ),
            (
                "long methods",
                "a method that fills a whole buffer is answered with 400; nginx says 414 as of any long request line",
            ),
            ("HTTP/0.9", "refused with 400"),
            ("versions", "`HTTP/01.1` and `HTTP/1.01` are answered with 400"),
            (
                "408",
                "a client that is too slow, or `return 408`, is told so before the connection closes; nginx closes in silence",
            ),
            (
                "`Host`",
                "a port above 65535 is answered with 400. In any spelling it is told in one, lower case and without a dot at its \
                 end: by `$http_host`, `HTTP_HOST` and what is sent to origins; access logs show what came",
            ),
            (
                "`Upgrade`",
                "is passed on for protocols of `upgrade_protocols` alone (`websocket`), and a 101 that says another one than was \
                 asked for is 502; nginx passes on any",
            ),
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
                "`try_files`",
                "a `@name` that is not the last word is tried: where its own `try_files` finds nothing, the next word has its \
                 turn; nginx looks for a file of that name. A name there that ends in `.gz` is the packed copy of a page: \
                 for clients that accept gzip, sent as what it unpacks to",
            ),
            (
                "`if` and `try_files`",
                "an `if` of a location that holds only `set`, `rewrite` and their like leaves the location's `try_files` in force; in \
                 nginx a location whose `if` holds runs none, and the request ends with 404 or at the file of its own name. An `if` with \
                 other directives runs none here either",
            ),
            (
                "`try_files`, names without a slash",
                "are looked for in the root; nginx appends them to its last folder's name",
            ),
            (
                "the last word of `try_files` behind an `alias`",
                "loses the location's prefix as in nginx where it has variables and then still begins with a slash \
                 (`/a//a/index.php?$args`); else it stays as it is, where nginx asks for a URI without a slash, which no location has",
            ),
            (
                "`proxy_set_header Host` twice",
                "the last one is sent; nginx sends both lines, which an origin refuses",
            ),
            ("variables that need each other", "are answered with 500; nginx goes on with what it has"),
            (
                "regular expressions",
                "a match gives up after 100,000 steps and the request is answered with 500, so that no request can hold a \
                 worker",
            ),
        ],
    ),
    (
        "Logs",
        &[
            (
                "`$sent_http_connection`",
                "says what was sent; nginx logs `close` also where it has sent `keep-alive`",
            ),
            ("`-t`", "looks up no syslog server's name, and opens no log that only requests name"),
            ("`$body_bytes_sent`", "the bytes of the body; nginx counts the sizes of its chunks among them"),
        ],
    ),
    (
        "Bodies",
        &[
            (
                "an answer to HEAD",
                "has the fields that one to GET has (RFC 9110 section 9.3.2); nginx leaves out the `Vary` of compression",
            ),
            (
                "`Accept-Ranges`",
                "sent with cached pages and compressed files too: parts of them may be asked for",
            ),
            (
                "filters",
                "`sub_filter` does not look into packed bodies; a 206 is not unpacked; what a filter changes offers no parts; \
                 bytes that a `charset_map` does not list become `?`",
            ),
            ("lists of folders", "have a Content-Length; a 304 has its `Vary`"),
        ],
    ),
    (
        "Access",
        &[
            (
                "PROXY protocol",
                "a header of version 1 whose words are no addresses closes the connection, where nginx takes any hexadecimal \
                 digits, dots and colons; a header may arrive in pieces, which nginx refuses",
            ),
            ("addresses that proxies tell", "a number with a leading zero (`010.0.0.1`) makes no address"),
            ("a zero byte in a password", "belongs to it; in nginx it ends the password"),
        ],
    ),
    (
        "Cache",
        &[
            (
                "`Age`",
                "sent with every stored page that was not fetched or confirmed for this very request, the origin's own added (RFC 9111 \
                 section 5.1); not where `expires`, or an `add_header` of `Cache-Control` or `Expires`, says from now on for how long it \
                 is fresh, nor where `*_hide_header Age` is written. nginx passes on what the origin sent, as old as that is",
            ),
            (
                "pages that are taken back",
                "a refresh that is answered with 2xx to 4xx and may not be stored removes the stale page, unless `*_use_stale` names the \
                 status ([more](caching.md#stale-pages)); nginx leaves it and serves it on",
            ),
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
                "a page that may be compressed here is stored as identity and served in the best of `br`, `zstd`, `gzip` \
                 that is ready; `Vary: Accept-Encoding` makes no variants. Any other body is sent in the coding in \
                 which it came",
            ),
            ("`ETag`", "a stored page without one gets a strong one from its bytes, and so answers 304"),
            (
                "`stale-if-error`",
                "speaks for broken connections, time-outs, unreadable answers and 500, 502, 503, 504; not for 403, 404, 429",
            ),
        ],
    ),
    (
        "Subrequests",
        &[
            (
                "what is asked for",
                "is asked for whole and without the body of the request: neither conditions, ranges, codings nor upgrades of the \
                 client's request are passed on",
            ),
            (
                "variables",
                "a subrequest has a copy of those of its parent, and what it sets is its own; in nginx they share one set, and \
                 which of them comes first has its say",
            ),
            (
                "number",
                "one request causes 4096 at most, so that pages that include each other twice end; as in nginx they stand in \
                 each other 51 deep",
            ),
            (
                "keys of caches",
                "a key that does not follow `$uri` (such as one of `$request_uri`, which is the client's) is told apart for each \
                 include; in nginx a page and what it includes are then taken for each other",
            ),
            (
                "`auth_request` before a cache",
                "a request with `Authorization` neither reads nor fills it, as everywhere (auth_request.t of nginx's tests, \
                 `proxy auth cached`)",
            ),
            (
                "`slice` with a filter",
                "where a filter changes the body, a range is answered by the whole; texts that lie across pieces are replaced too",
            ),
            ("`%Z` in `timefmt`", "a local time has its offset, such as `+0100`, for the name of its zone"),
        ],
    ),
    (
        "Origins",
        &[(
            "a unix socket whose backlog is full",
            "is tried again until `*_connect_timeout`; nginx answers 502 at once",
        )],
    ),
    (
        "Streams",
        &[
            (
                "variables",
                "`stream` has those of nginx's modules core, upstream, realip, limit_conn and ssl_preread, and of ssl those of the handshake and `$ssl_client_verify`; other variables of `http` mean nothing there",
            ),
            (
                "`$bytes_received`",
                "counts what `ssl_preread` looked at once it is passed on; nginx counts what it reads after that",
            ),
            (
                "`ssl_preread` on a `listen … ssl`",
                "is not done: what the client sends by TLS is not looked at",
            ),
            ("an address of `http`", "is refused where `stream` listens there too, with both places"),
            (
                "a client that waits to be passed on",
                "for a PROXY protocol header or `ssl_preread`, gives its place to others where `worker_connections` are short",
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
    ("resolver", "Name servers"),
    ("realip", "Clients behind proxies"),
    ("referers", "Referers"),
    ("stub_status", "Counts"),
    ("control", "Control and inspection"),
    ("limits", "Limits"),
    ("shield", "Before origins"),
    ("auth_request", "Access by subrequest"),
    ("headers", "Response fields"),
    ("log", "Logs"),
    ("encoding", "Compression"),
    ("autoindex", "Lists of folders"),
    ("dav", "Files that clients write"),
    ("charset", "Charsets"),
    ("filters", "Body filters"),
    ("blocks", "Variables by table"),
    ("tls", "TLS"),
    ("acme", "Certificates that renew themselves"),
    ("https_only", "Everybody by HTTPS"),
    ("early_hints", "Early hints"),
    ("slice", "Slices"),
    ("upstream", "Groups of origins"),
    ("stream", "Streams"),
    ("origin", "Origins"),
    ("cache", "Cache"),
    ("tuning", "Tuning of nginx's own machinery"),
    ("shared_fetch", "shared_fetch"),
];

/// Returns the complete page.
pub(crate) fn page() -> String {
    let rows = myriad_serve::registry().rows();
    let coverage = Coverage::read();
    let mut out = String::from(HEAD);
    everywhere(&mut out);
    out.push_str("\n## Directives\n");
    for (family, title) in titles(&rows) {
        let members: Vec<&Row> =
            rows.iter().filter(|row| row.family == family && !row.contexts.is_empty()).collect();
        table(&mut out, title, &members, &coverage);
    }
    variable_table(&mut out, &coverage);
    refused(&mut out, &rows);
    suite(&mut out);
    out
}

/// Conflicts between nginx's test suite and guarantees of Myriad: file, its subtests, expected behaviour.
const SUITE: &[(&str, &str, &str)] = &[
    (
        "proxy_if.t",
        "`proxy_pass inside if`",
        "500 where an `if` without a handler follows one with `proxy_pass`: the location's own handler answers",
    ),
    (
        "proxy_connection_headers.t",
        "`upgrade in 200`, `upgrade in 426`",
        "the origin's `Upgrade` in an answer that switches nothing: `Connection` names it there, so it is between that origin and this server \
         (RFC 9110 section 7.6.1)",
    ),
    (
        "proxy_extra_data.t",
        "`head too short`, `head too short cached`, now and then",
        "what there is of an answer that breaks off; where that is known before its head is sent, the answer is 502",
    ),
    (
        "upstream_least_time.t",
        "`different header time`",
        "a head that `limit_rate` holds back: it counts the bytes of bodies",
    ),
    (
        "proxy_ssl.t",
        "`ssl session reused`, `ssl session reused 2`",
        "a new handshake for each request: the connection is kept, so there is none to resume a session",
    ),
    (
        "h2_priority.t",
        "of weights and dependencies, 10 of 22",
        "the dependency trees of RFC 7540, which RFC 9113 has deprecated and clients have given up; answers leave by the \
         priorities of RFC 9218",
    ),
    (
        "h2.t",
        "`dup stream - error code`",
        "`PROTOCOL_ERROR` for a request on a stream that is closed; RFC 9113 section 5.1 has `STREAM_CLOSED`",
    ),
    (
        "h2_headers.t",
        "`all chars`",
        "that control bytes in a field reach the location; they are answered with 400 in every version of HTTP",
    ),
    (
        "h2_request_body.t",
        "`request body - empty body file`, `request body - empty content`",
        "a file for a body of no bytes (`client_body_in_file_only`)",
    ),
    (
        "auth_request.t",
        "`proxy auth cached`",
        "a page that a request with `Authorization` made, kept for others",
    ),
    (
        "proxy_cache.t",
        "`non-empty get stale`, `empty get stale`",
        "a gzip made anew for each visitor, in chunks, of an empty page too: what is kept compressed goes out with its length",
    ),
    ("proxy_h2_cache.t", "`non-empty get stale`, `empty get stale`", "the same of an origin of HTTP/2"),
    (
        "grpc_ssl.t",
        "`response 2 - connection`, and the figures of windows behind it",
        "a new connection for each request where no `upstream` keeps them: one whose origin reads on carries the next, as over HTTP/1",
    ),
    (
        "proxy_h2_body_discard.t",
        "`rst no error many`, `rst error`",
        "an error where `RST_STREAM` comes behind a whole answer, which is passed on",
    ),
    (
        "proxy_h2_headers.t, grpc.t, grpc_ssl.t",
        "`huffman`, `dynamic table size 1`; all with an empty value in the Huffman code",
        "that a padding of eight bits is taken, which RFC 7541 section 5.2 forbids; a table of 0 bytes",
    ),
    (
        "grpc.t",
        "`keepalive 4 - GOAWAY aborted request`; all with frames of clients above 16384 bytes",
        "502 for a request that an origin has left unprocessed, which is sent once more; larger frames than are announced",
    ),
    (
        "grpc_request_buffering.t",
        "`preserve_output - first body bytes`, `preserve_output - last body bytes`",
        "larger frames of clients than are announced",
    ),
    (
        "proxy_cache_convert_head.t",
        "`head cached`, `get after head`",
        "an answer to HEAD kept under the key of the page, so that GET gets it without its body",
    ),
    (
        "proxy_cache_lock.t",
        "`nolock - last`, `nolock - last cached`",
        "several fetches of one page at once, where no `proxy_cache_lock` is written",
    ),
    (
        "proxy_cache_use_stale.t",
        "`s-w-r - updating revalidated`",
        "that a client whose connection ends waits till the background refresh is over, four seconds there; here 40 ms at \
         most",
    ),
    (
        "proxy_upgrade.t, ssl_proxy_upgrade.t",
        "`log - bytes noupgrade`; all of the connection that is switched, unless `upgrade_protocols foo` is written",
        "that a 101 nobody has asked for is passed on, which here is 502, for what follows has no framing; and a protocol \
         named `foo`",
    ),
    (
        "h3_limit_req.t, h3_headers.t",
        "all behind the first pause in which the client sends nothing",
        "a session ticket that is sent but once: RFC 9000 section 13.3 has it sent again until it is acknowledged, and the suite's client \
         breaks off (`bad inner`) at what it has had",
    ),
    (
        "quic_migration.t",
        "`remote addr after migration`, `next packets after migration`, `remote addr on migration`",
        "an answer on a new path to a client who has sent some 40 bytes there; here once it has sent a third of a datagram, which is as \
         far as RFC 9000 section 8.1 lets a whole one go to an address that is not proved",
    ),
    (
        "h3_proxy.t",
        "`client reset connection`, `backend request incomplete`",
        "that `limit_rate 100` holds back 80 bytes: the first second's share goes at once, so that the request is over when the client \
         stops it",
    ),
];

fn suite(out: &mut String) {
    out.push_str(
        "\n## nginx's own tests\n\nThese subtests ask for what a promise of Myriad forbids, and fail by decision.\n\n\
         | file | subtests | what they ask for |\n|---|---|---|\n",
    );
    for (file, subtests, asked) in SUITE {
        let _ = writeln!(out, "| `{file}` | {subtests} | {asked} |");
    }
}

/// Returns families and their titles in the order of the page. A family without a title comes last, with its name as
/// title.
fn titles(rows: &[Row]) -> Vec<(&'static str, &'static str)> {
    let mut titles = FAMILIES.to_vec();
    for row in rows.iter().filter(|row| !row.contexts.is_empty()) {
        if !titles.iter().any(|(known, _)| *known == row.family) {
            titles.push((row.family, row.family));
        }
    }
    titles
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

/// Appends the table of a family. Members of `fastcgi_*` and `proxy_*` with equal status share a line.
fn table(out: &mut String, title: &str, members: &[&Row], coverage: &Coverage) {
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
        let mut names = vec![row.name.as_str()];
        names.extend(twin("fastcgi_", "proxy_").map(|proxy| proxy.name.as_str()));
        let state = state(row.status, &names, coverage);
        let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let default = match row.default {
            DefaultValue::None => String::new(),
            DefaultValue::Text(text) => format!("`{text}`"),
            DefaultValue::Computed(sentence) => sentence.to_owned(),
        };
        let _ = writeln!(out, "| {names} | {} | {default} | {} | {state} |", row.contexts, row.doc);
    }
}

fn fares_alike(a: &Row, b: &Row) -> bool {
    a.contexts == b.contexts && a.default == b.default && a.doc == b.doc && a.status == b.status
}

/// Returns the text of a status for these names; names of variables start with `$`.
fn state(status: Status, names: &[&str], coverage: &Coverage) -> String {
    match status {
        Status::Same => format!("same: {}", proof(names, coverage)),
        Status::Differs(note) => format!("**differs**: {note}"),
        Status::NoEffect(note) => format!("**no effect**: {note}"),
        Status::Later(note) => format!("**later**: {note}"),
        Status::Refused(reason) => format!("**refused**: {reason}"),
        Status::Own => "**Myriad's own**".to_owned(),
    }
}

/// Returns the first test of each name, and the names without a test.
fn proof(names: &[&str], coverage: &Coverage) -> String {
    let mut tests: Vec<&str> = names.iter().filter_map(|name| coverage.of(name).first().copied()).collect();
    tests.dedup();
    if tests.is_empty() {
        return "*untested*".to_owned();
    }
    let untested = names.iter().filter(|name| coverage.of(name).is_empty());
    tests
        .into_iter()
        .map(str::to_owned)
        .chain(untested.map(|name| format!("`{name}` *untested*")))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Appends the variables, one line per module and status; variables that need a test have separate lines.
fn variable_table(out: &mut String, coverage: &Coverage) {
    out.push_str(
        "\n## Variables\n\nEvery variable of nginx's HTTP modules.\n\n| variable | module | here |\n|---|---|---|\n",
    );
    let all = documented_variables();
    let alike = |a: &DocumentedVariable, b: &DocumentedVariable| {
        a.module == b.module && a.status == b.status && a.status != Status::Same
    };
    for group in all.chunk_by(alike) {
        let shown = |variable: &DocumentedVariable| {
            let any = if variable.name.ends_with('_') { "*" } else { "" };
            format!("`${}{any}`", variable.name)
        };
        let names = group.iter().map(shown).collect::<Vec<_>>().join(" ");
        let covered = format!("${}", group[0].name);
        let state = state(group[0].status, &[&covered], coverage);
        let _ = writeln!(out, "| {names} | {} | {state} |", group[0].module);
    }
}

/// Appends the names that are only rejected, by reason and module.
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
