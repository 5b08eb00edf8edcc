//! A place: the settings that hold where a request is, be it a server, a location or an `if` in one.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_encode::Coding;
use myriad_files::{LinkRule, Naming, TempFolder, Validity};
use myriad_log::{AccessLog, ErrorLog};
use myriad_net::Timeouts;
use myriad_policy::Rules;
use myriad_script::{Predicates, Program, Regex, Template};
use myriad_upstream::{Group, NextUpstream, Timeouts as OriginTimeouts};

pub(crate) use myriad_conf::settings::AutoindexFormat as ListingFormat;
pub(crate) use myriad_conf::settings::PurgeStyle;

use super::{BodyFilters, Caches, Gate, HttpPlace, PageZone, PlaceId, RealIp, Referers, TypeSet};

/// Settings of a level, compiled.
pub(crate) struct Place {
    /// Whether the head of an answer reads nothing that rules have set, so that the rules may have been run for an
    /// `cache_purge_response_type`.
    pub purge_style: PurgeStyle,
    /// earlier request.
    pub shortcut: bool,
    /// `internal`.
    pub internal: bool,
    /// The location's rewrite directives.
    pub rewrite: Program,
    /// Places of the `if` blocks in `rewrite`, by `IfId`.
    pub ifs: Vec<PlaceId>,
    /// What makes the content.
    pub handler: Handler,
    /// `limit_except`.
    pub limit_except: Option<LimitExcept>,
    /// From where visitors may come; none where that does not matter.
    pub referers: Option<Box<Referers>>,
    /// Who is believed about the client's address; none where nobody is.
    pub real_ip: Option<Box<RealIp>>,
    /// What is asked of a visitor before the content; none where everybody may come in at once.
    pub gate: Option<Box<Gate>>,
    /// `client_max_body_size`, bytes, 0 for any.
    pub max_body: u64,
    /// Where a body waits for its end.
    pub body: BodyRules,
    /// `client_body_timeout`, milliseconds.
    pub body_timeout_ms: u64,
    /// The connection's time-outs.
    pub timeouts: Timeouts,
    /// `http2_chunk_size`, bytes.
    pub frame: u32,
    /// Second argument of `keepalive_timeout`, seconds, 0 for none.
    pub keepalive_header_s: u32,
    /// What ends a connection that could be kept.
    pub keepalive: KeepAliveRules,
    /// `chunked_transfer_encoding`.
    pub chunked: bool,
    /// `limit_rate` and `limit_rate_after`, unless both are plain 0.
    pub rates: Option<Rates>,
    /// Files.
    pub files: FilePlace,
    /// `error_page`, by status.
    pub error_pages: Vec<ErrorPage>,
    /// `recursive_error_pages`.
    pub recursive_error_pages: bool,
    /// Response fields.
    pub headers: HeaderRules,
    /// `charset`, if on.
    pub charset: Option<Box<CharsetRules>>,
    /// What changes bodies on their way, if anything does.
    pub filters: Option<Box<BodyFilters>>,
    /// Encodings that may be offered.
    pub offer: Offer,
    /// `access_log`.
    pub access_logs: Vec<AccessLog>,
    /// `error_log`.
    pub error_log: ErrorLog,
    /// `log_not_found`.
    pub log_not_found: bool,
    /// `subrequest_output_buffer_size`: most bytes of a subrequest's answer that become a variable.
    pub subrequest_memory: u64,
    /// `slice`, bytes; 0 for off.
    pub slice: u64,
    /// `log_subrequest`.
    pub log_subrequest: bool,
    /// `rewrite_log`.
    pub rewrite_log: bool,
    /// `uninitialized_variable_warn`.
    pub uninitialized_warn: bool,
    /// How redirects are written.
    pub redirects: RedirectRules,
}

/// Where a request's body is gathered.
pub(crate) struct BodyRules {
    /// `client_body_buffer_size`, bytes; 0 with `client_body_in_file_only`.
    pub in_memory: u64,
    /// `client_body_in_file_only`.
    pub naming: Naming,
    /// `client_body_temp_max_size`, bytes; 0 for no bound.
    pub most_in_files: u64,
    /// `client_body_temp_path`.
    pub folder: TempFolder,
    /// Whether it is written; otherwise a file without a name goes to a folder of the system's.
    pub folder_is_written: bool,
}

/// `keepalive_time` and `keepalive_disable`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepAliveRules {
    /// Milliseconds after which a connection ends with the answer under way.
    pub time_ms: u64,
    /// `msie6`: old browsers do not read the answer to a POST that comes over a kept connection.
    pub not_msie6: bool,
    /// `safari`.
    pub not_safari: bool,
}

/// `charset*`.
pub(crate) struct CharsetRules {
    /// The name.
    pub name: Template,
    /// `source_charset`.
    pub source: Option<Template>,
    /// `override_charset`.
    pub override_named: bool,
    /// Media types that get it.
    pub types: TypeSet,
}

/// What makes the content of a place.
pub(crate) enum Handler {
    /// Files under `root`.
    Files,
    /// `stub_status`.
    StubStatus,
    /// `api`.
    Api(ApiPlace),
    /// `*_cache_purge ZONE KEY`.
    Purge(Box<PurgePlace>),
    /// An origin.
    Origin(Box<OriginPlace>),
}

/// What a place purges.
pub(crate) struct PurgePlace {
    /// The zone.
    pub zone: Arc<PageZone>,
    /// Which page.
    pub by: PurgeBy,
}

/// What a location purges.
pub(crate) enum PurgeBy {
    /// What is stored under the key, or keys that begin so where it ends in `*`.
    Key(Template),
    /// What was fetched for the path and query, on the host that the request names.
    Url(Template),
}

/// `limit_except`: another place for the methods that are not listed.
pub(crate) struct LimitExcept {
    /// Methods that stay.
    pub methods: Vec<Box<[u8]>>,
    /// Where the others go.
    pub place: PlaceId,
}

/// `limit_rate`, `limit_rate_after`.
pub(crate) struct Rates {
    /// Bytes a second.
    pub rate: Template,
    /// Bytes at full speed first.
    pub after: Template,
}

/// Media types by extension.
pub(crate) type MediaTypes = HashMap<Box<[u8]>, Box<[u8]>>;

/// How files become answers.
pub(crate) struct FilePlace {
    /// `root` or `alias`, absolute.
    pub root: Template,
    /// How `root` and the URI make a path.
    pub rooting: Rooting,
    /// `index`.
    pub index: Vec<Template>,
    /// `autoindex`, if on.
    pub autoindex: Option<Autoindex>,
    /// `try_files`.
    pub try_files: Option<TryFiles>,
    /// Media types by extension.
    pub types: Arc<MediaTypes>,
    /// `default_type`.
    pub default_type: Box<[u8]>,
    /// `etag`.
    pub etag: bool,
    /// `if_modified_since`.
    pub if_modified_since: myriad_policy::IfModifiedSince,
    /// `max_ranges`; `usize::MAX` without a limit.
    pub max_ranges: usize,
    /// `disable_symlinks`.
    pub symlinks: Option<Box<Symlinks>>,
    /// How long what is known of a file is believed.
    pub validity: Validity,
    /// Codings whose files are looked for beside a file (`gzip_static` and its like), the best first; the flag says
    /// that every client gets them (`always`).
    pub precompressed: Vec<(Coding, bool)>,
}

/// `disable_symlinks`.
pub(crate) struct Symlinks {
    /// Which links are refused.
    pub rule: LinkRule,
    /// The leading part of paths that is not checked.
    pub from: Template,
}

/// `autoindex*`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Autoindex {
    /// `autoindex_format`.
    pub format: ListingFormat,
    /// `autoindex_exact_size`.
    pub exact_size: bool,
    /// `autoindex_localtime`.
    pub local_time: bool,
}

/// How `root` or `alias` and the URI make a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rooting {
    /// `root`: the URI follows.
    Root,
    /// `alias`: the URI follows without so many bytes, the location's prefix.
    Alias(usize),
    /// `alias` in a regex location: it is the whole path.
    Whole,
}

/// `try_files`.
pub(crate) struct TryFiles {
    /// What to try, in order.
    pub candidates: Vec<Candidate>,
    /// What follows when none is there.
    pub end: TryEnd,
    /// Whether root and candidates read nothing but the URI, so that what was found may be remembered.
    pub by_uri: bool,
}

/// A word of `try_files` that is not the last.
pub(crate) enum Candidate {
    /// A file of this name; or a directory.
    Path {
        /// The name.
        name: Template,
        /// Whether a directory is asked for.
        directory: bool,
    },
    /// A named location, where its own `try_files` finds something.
    Location(Box<[u8]>),
}

/// The last word of `try_files`.
pub(crate) enum TryEnd {
    /// `=404`.
    Code(u16),
    /// `@name`.
    Named(Box<[u8]>),
    /// An URI.
    Uri(Template),
}

/// One `error_page`.
pub(crate) struct ErrorPage {
    /// Statuses it answers.
    pub codes: Vec<u16>,
    /// The status to send: none keeps the error's, `Some(0)` takes the page's own.
    pub answer: Option<u16>,
    /// Where it leads.
    pub target: ErrorTarget,
}

/// Where an `error_page` leads.
pub(crate) enum ErrorTarget {
    /// A named location.
    Named(Box<[u8]>),
    /// An URI on this server, or an URL to redirect to.
    Uri(Template),
}

/// `api`.
pub(crate) struct ApiPlace {
    /// Whether it may change anything.
    pub write: bool,
    /// What its paths stand behind.
    pub prefix: Box<[u8]>,
}

/// `cache_debug on`.
pub(crate) struct DebugRules {
    /// Who may see keys; none written: who is near.
    pub from: Option<Vec<super::Network>>,
    /// An `add_header` of the place is called `X-Cache`.
    pub said_already: bool,
}

/// What is added to an answer's fields.
pub(crate) struct HeaderRules {
    /// The whole `Server` line.
    pub server_line: Box<[u8]>,
    /// The whole `Alt-Svc` line for clients that come by TLS; empty where HTTP/3 is not spoken or the line is written by
    /// hand.
    pub alt_svc: Box<[u8]>,
    /// The name shown on error pages.
    pub server_name: Box<str>,
    /// What `https_only` has browsers remember: the whole `Strict-Transport-Security` line.
    pub hsts_line: Option<Box<[u8]>>,
    /// `add_header`.
    pub add: Vec<AddField>,
    /// Fields that an `add_header` takes the place of (`Last-Modified`, `ETag`), lower case; the flag says `always`.
    pub replaced: Vec<(&'static [u8], bool)>,
    /// `cache_debug`; none where it is off.
    pub debug: Option<Box<DebugRules>>,
    /// `add_trailer`.
    pub trailers: Vec<AddField>,
    /// `expires`.
    pub expires: Expires,
    /// Whether an `add_header` says for how long an answer is fresh: from when it is sent.
    pub says_freshness: bool,
}

/// One `add_header`.
pub(crate) struct AddField {
    /// The name.
    pub name: Box<[u8]>,
    /// The value; nothing is added where it comes out empty.
    pub value: Template,
    /// `always`.
    pub always: bool,
    /// Whether a later one of the same name takes its place: where that one is added at all, or (true) everywhere.
    pub superseded: Option<bool>,
}

impl AddField {
    /// Whether it is added to an answer; `decorated` says that plain ones are.
    pub(crate) fn is_added(&self, decorated: bool) -> bool {
        (decorated || self.always) && !self.superseded.is_some_and(|always| decorated || always)
    }
}

/// `expires`; offsets in seconds.
pub(crate) enum Expires {
    /// Leaves the fields alone.
    Off,
    /// `epoch`.
    Epoch,
    /// `max`.
    Max,
    /// From now.
    Access(i64),
    /// From the last change.
    Modified(i64),
    /// At a time of day, seconds after midnight.
    Daily(u32),
    /// As a variable says; the flag says that `modified` stood before it.
    Variable(Template, bool),
}

impl Expires {
    /// Whether it may depend on when the content was changed last.
    pub(crate) fn reads_change(&self) -> bool {
        matches!(self, Self::Modified(_) | Self::Variable(_, true))
    }

    /// What holds no variable.
    pub(crate) fn fixed(expires: &myriad_conf::settings::Expires) -> Self {
        use myriad_conf::settings::Expires as Written;
        match expires {
            Written::Epoch => Self::Epoch,
            Written::Max => Self::Max,
            Written::Access(seconds) => Self::Access(*seconds),
            Written::Modified(seconds) => Self::Modified(*seconds),
            Written::Daily(second) => Self::Daily(*second),
            Written::Off | Written::Variable { .. } => Self::Off,
        }
    }
}

/// Which encodings a place offers.
#[derive(Default)]
pub(crate) struct Offer {
    /// `gzip`, if on.
    pub gzip: Option<OfferRules>,
    /// `brotli`, if on.
    pub brotli: Option<OfferRules>,
    /// `zstd`, if on.
    pub zstd: Option<OfferRules>,
    /// `gzip_vary`.
    pub vary: bool,
    /// `gzip_http_version 1.0`.
    pub http_1_0: bool,
    /// `gzip_proxied any`; otherwise a request with `Via` gets identity unless the answer says it may not be cached.
    pub proxied: myriad_conf::settings::Proxied,
    /// `gzip_disable`.
    pub disable: Vec<Regex>,
    /// `gzip_disable msie6`.
    pub disable_msie6: bool,
}

/// What one coding is offered for.
pub(crate) struct OfferRules {
    /// Media types, lower case; none for every type.
    pub types: Option<Vec<Box<[u8]>>>,
    /// Bytes below which nothing is compressed.
    pub min_length: u64,
    /// The level for what is not stored.
    pub level: u8,
}

/// How redirects are written.
#[derive(Clone, Copy)]
pub(crate) struct RedirectRules {
    /// `absolute_redirect`.
    pub absolute: bool,
    /// `port_in_redirect`.
    pub port: bool,
    /// `server_name_in_redirect`.
    pub server_name: bool,
    /// `msie_refresh`.
    pub msie_refresh: bool,
    /// `msie_padding`.
    pub msie_padding: bool,
}

/// How an origin is asked.
pub(crate) struct OriginPlace {
    /// Who is asked.
    pub target: Target,
    /// `fastcgi_param`, in order.
    pub params: Vec<Param>,
    /// Whether the client's fields are passed on.
    pub pass_request_headers: bool,
    /// Whether the client's body is.
    pub pass_request_body: bool,
    /// `fastcgi_index`.
    pub index: Box<[u8]>,
    /// `fastcgi_split_path_info`.
    pub split_path_info: Option<Regex>,
    /// Fields not passed to the client, lower case.
    pub hide: Vec<Box<[u8]>>,
    /// Fields passed although hidden by default, lower case.
    pub pass: Vec<Box<[u8]>>,
    /// Whether `Server` or `Date` are among [`OriginPlace::pass`].
    pub passes_head: bool,
    /// Whether interim responses go to the visitor.
    pub passes_interim: bool,
    /// `*_intercept_errors`.
    pub intercept_errors: bool,
    /// `*_ignore_client_abort`.
    pub ignore_client_abort: bool,
    /// `*_buffering`.
    pub buffering: bool,
    /// How much of an answer is read ahead in memory, bytes (`*_buffers`).
    pub ahead_memory: u64,
    /// How much of it in a file, bytes (`*_max_temp_file_size`).
    pub ahead_file: u64,
    /// `*_limit_rate`, unless it is a plain 0.
    pub limit_rate: Option<Template>,
    /// `*_force_ranges`.
    pub force_ranges: bool,
    /// `*_request_buffering`.
    pub request_buffering: bool,
    /// `fastcgi_keep_conn`.
    pub keep_conn: bool,
    /// Which `X-Accel-*` fields are not obeyed.
    pub ignore_accel: myriad_conf::settings::AcceleratorHeaders,
    /// `*_connect_timeout` and its like.
    pub timeouts: OriginTimeouts,
    /// `*_next_upstream` and its like.
    pub next: NextUpstream,
    /// `*_buffer_size`: most bytes of an answer's head.
    pub head_bytes: usize,
    /// `*_cache`.
    pub cache: Caches,
    /// `fastcgi_catch_stderr`.
    pub catch_stderr: Vec<Box<[u8]>>,
    /// `proxy_pass_trailers`.
    pub pass_trailers: bool,
    /// `*_bind`.
    pub bind: Option<Template>,
    /// What an HTTP origin is told; none for FastCGI.
    pub http: Option<Box<HttpPlace>>,
}

impl OriginPlace {
    /// Whether a request's body goes to the origin as it comes: not where something else is sent, nor in a coding that
    /// HTTP/1.0 does not know.
    pub(crate) fn streams(&self, body: &myriad_net::RequestBody) -> bool {
        let http = self.http.as_ref();
        let fits = http.is_none_or(|http| http.body.is_none() && (http.http_1_1 || body.length().is_some()));
        !self.request_buffering && self.pass_request_body && fits
    }
}

/// Who is asked.
pub(crate) enum Target {
    /// A group that the configuration names, or an address.
    Group(Arc<OriginGroup>),
    /// A text with variables: a group's name or an address.
    Variable(Template),
}

/// A group of origins.
pub(crate) struct OriginGroup {
    /// The peers.
    pub group: Group,
    /// `hash`: what chooses among them.
    pub key: Option<Template>,
}

/// One `fastcgi_param` or `proxy_set_header`.
pub(crate) struct Param {
    /// The name.
    pub name: Box<[u8]>,
    /// The value.
    pub value: Template,
    /// `if_not_empty`.
    pub if_not_empty: bool,
}

/// How answers of an origin are cached.
pub(crate) struct CachePlace {
    /// The zone.
    pub zone: Arc<PageZone>,
    /// Its place in [`super::Runtime::zone_list`].
    pub zone_number: u16,
    /// `*_cache_key`.
    pub key: Template,
    /// `*_cache_bypass`.
    pub bypass: Predicates,
    /// `*_no_cache`.
    pub no_cache: Predicates,
    /// What may be stored and served, for the policy.
    pub rules: Rules,
    /// `*_cache_max_range_offset`, bytes: a range that begins there or beyond is asked of the origin.
    pub max_range_offset: Option<u64>,
    /// Whether the key, or a parameter, says which `Host` the origin is told.
    pub host_in_key: bool,
    /// Whether the key follows the URI that is asked for, which of a subrequest is not what the client sent.
    pub uri_in_key: bool,
    /// `proxy_cache_convert_head`, for every protocol: HEAD shares the page of GET.
    pub convert_head: bool,
    /// `*_cache_purge` without a zone: which requests purge, and whose.
    pub purge: Option<Box<PurgeRules>>,
    /// `*_cache_valid` with variables: what comes to the time of each entry of the rules that holds some.
    pub valid_texts: Option<Box<[Option<Template>]>>,
}

/// `*_cache_purge` for the requests of a place.
pub(crate) struct PurgeRules {
    /// Which requests purge.
    pub when: PurgeWhen,
    /// `purge_all`: whatever they are sent for.
    pub everything: bool,
    /// Who may; none written: who is near.
    pub from: Option<Arc<[super::Network]>>,
}

/// Which requests purge.
pub(crate) enum PurgeWhen {
    /// Those with one of these methods.
    Methods(Arc<[Box<[u8]>]>),
    /// Those for which one of the texts is neither empty nor `0`.
    Conditions(Predicates),
}

/// A zone that requests to a server may purge in.
pub(crate) struct ServerPurge {
    /// Those with one of these methods.
    pub methods: Arc<[Box<[u8]>]>,
    /// Who may; none written: who is near.
    pub from: Option<Arc<[super::Network]>>,
    /// The zone.
    pub zone: Arc<PageZone>,
}
