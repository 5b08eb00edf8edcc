//! Place: compiled settings of a configuration level, which is a server, a location, an `if` or a `limit_except` block.

use std::sync::Arc;

use myriad_files::{Naming, TempFolder};
use myriad_log::{AccessLog, ErrorLog};
use myriad_net::Timeouts;
use myriad_script::{Program, Template};

use crate::exchange::{AccessGate, AfterSent, Counting, Exchange, Filters, Handler, Tracing, VisitorClasses};
use crate::traffic::TrafficZone;

use super::{CodingOffer, ErrorPage, FilePlace, HeaderRules, PlaceFeatures, PlaceId};

/// Compiled settings of a server, a location, an `if` or a `limit_except` block. Equal parts of different levels share
/// memory ([`Shared::deduplicate`](super::Shared::deduplicate)), so that a location needs memory only for its own
/// directives. Some configurations have fifty thousand locations.
pub struct Place {
    /// True if requests may use the shortcut to this location, which skips the rewrite rules: its handler and filters
    /// permit it, and neither its response nor its logs depend on what the rules set.
    pub shortcut: bool,
    /// Conditions for entering the location.
    pub entry: EntryRules,
    /// Rewrite directives of the location.
    pub rewrite: RewriteRules,
    /// Content handler, which generates the responses of the location.
    pub handler: Box<dyn Handler>,
    /// Settings for request bodies: maximum size, buffering, timeout.
    pub upload: Arc<UploadRules>,
    /// Settings of the client's connection.
    pub connection: Arc<ConnectionRules>,
    /// Settings for serving files (`root`, `try_files`, `etag`, …).
    pub files: Arc<FilePlace>,
    /// Settings of `error_page` and `recursive_error_pages`.
    pub errors: Arc<ErrorRules>,
    /// Header fields added to responses.
    pub headers: Arc<HeaderRules>,
    /// Filters that change responses before they are sent.
    pub filters: Filters<Exchange>,
    /// Content codings with which responses are compressed.
    pub offer: Arc<CodingOffer>,
    /// Settings for logs, counts and traces of the location's requests.
    pub logs: Arc<LogRules>,
    /// Rules for the form of redirects (`absolute_redirect` and related directives).
    pub redirects: RedirectRules,
    /// Compiled settings of features, by type.
    pub features: PlaceFeatures,
}

/// Conditions for entering a location.
pub struct EntryRules {
    /// `internal`: only internal redirects and subrequests may enter.
    pub internal: bool,
    /// `limit_except`: other settings for some methods; `None` without the directive.
    pub limit_except: Option<Box<LimitExcept>>,
    /// Access checks before the content handler; `None` if there are none.
    pub gate: Option<Arc<AccessGate>>,
    /// Checks before a request to the origin (limits with `origin_only`, queues); `None` if there are none.
    pub origin_gate: Option<Arc<AccessGate>>,
}

/// Rewrite directives of a location.
pub struct RewriteRules {
    /// Compiled rewrite directives (`set`, `rewrite`, `return`, `if`, …).
    pub program: Program,
    /// Settings of the `if` blocks in the program, by `IfId`; 0 for a block without settings.
    pub ifs: Box<[PlaceId]>,
}

/// Settings for request bodies: maximum size, buffering in memory and files, timeout.
#[derive(PartialEq)]
pub struct UploadRules {
    /// `client_max_body_size`, in bytes; 0 without a limit.
    pub max_body: u64,
    /// Size of the buffer in memory; names, maximum size and folder of files.
    pub body: BodyRules,
    /// `client_body_timeout`: timeout for reading request bodies, in milliseconds.
    pub timeout_ms: u64,
}

/// Settings of a client's connection.
#[derive(PartialEq)]
pub struct ConnectionRules {
    /// Timeouts of the client's connection.
    pub timeouts: Timeouts,
    /// `http2_chunk_size`: maximum size of an HTTP/2 frame that contains body data, in bytes.
    pub frame: u32,
    /// Second argument of `keepalive_timeout`, in seconds; 0 if absent.
    pub keepalive_header_s: u32,
    /// Rules for closing connections: `keepalive_time` and `keepalive_disable`.
    pub keepalive: KeepAliveRules,
    /// `chunked_transfer_encoding`: true if responses of unknown length are sent in chunks.
    pub chunked: bool,
    /// `limit_rate` and `limit_rate_after`; `None` if both are a constant 0.
    pub rates: Option<Rates>,
}

/// Settings of `error_page` and `recursive_error_pages`.
#[derive(PartialEq)]
pub struct ErrorRules {
    /// All `error_page` directives, in the order of the configuration.
    pub pages: Vec<ErrorPage>,
    /// `recursive_error_pages`: true if an error of an error page may have another error page.
    pub recursive: bool,
}

/// Settings for logs, counts and traces of a location's requests.
pub struct LogRules {
    /// `access_log`: access logs of the location.
    pub access: Vec<AccessLog>,
    /// `error_log`: error log of the location.
    pub errors: ErrorLog,
    /// `log_not_found`: true if missing files are logged.
    pub not_found: bool,
    /// `log_subrequest`: true if subrequests are written to the access logs.
    pub subrequests: bool,
    /// `rewrite_log`: true if rewrites are logged.
    pub rewrites: bool,
    /// `uninitialized_variable_warn`: true if reading an uninitialized variable logs a warning.
    pub uninitialized: bool,
    /// Separate counting of the location's requests by a feature (`vhost_traffic_status`); `None` without it.
    pub counting: Option<Box<dyn Counting>>,
    /// Tracing of the location's requests by a feature; `None` without it.
    pub tracing: Option<Box<dyn Tracing>>,
    /// `status_zone` of the location: counters of its requests; `None` without the directive.
    pub traffic: Option<Arc<TrafficZone>>,
    /// Classification of clients, such as robots; `None` if it is off.
    pub classes: Option<Arc<dyn VisitorClasses>>,
    /// Action after a response (`post_action`), which then writes the access log line; `None` without it.
    pub after_sent: Option<Box<dyn AfterSent>>,
}

/// Buffering of request bodies in memory and files.
#[derive(PartialEq)]
pub struct BodyRules {
    /// `client_body_buffer_size`, in bytes; 0 with `client_body_in_file_only`, so that all bodies are in files.
    pub in_memory: u64,
    /// `client_body_in_file_only`: names and lifetime of files.
    pub naming: Naming,
    /// `client_body_temp_max_size`, in bytes; 0 without a limit.
    pub most_in_files: u64,
    /// Folder for files with request bodies: `client_body_temp_path`, or its default.
    pub folder: TempFolder,
    /// True if `client_body_temp_path` is in the configuration. Otherwise files without names are created in the
    /// system's temporary folder.
    pub folder_is_written: bool,
}

/// Rules by which connections are closed after a response: `keepalive_time` and `keepalive_disable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAliveRules {
    /// `keepalive_time`, in milliseconds: a connection of at least this age is closed after the current response.
    pub time_ms: u64,
    /// `keepalive_disable msie6`: true if HTTP/1 connections of old Internet Explorers are closed after the response to
    /// a POST, because they lose responses on reused connections.
    pub not_msie6: bool,
    /// `keepalive_disable safari`: true if HTTP/1 connections of Safari on macOS and iOS are closed after each
    /// response.
    pub not_safari: bool,
}

/// Compares all log settings. Settings with a counting, tracing or after-response feature are never equal, because
/// these cannot be compared.
impl PartialEq for LogRules {
    fn eq(&self, other: &Self) -> bool {
        // All fields are listed, so that the compiler rejects a new field that is not compared.
        let Self {
            access,
            errors,
            not_found,
            subrequests,
            rewrites,
            uninitialized,
            counting,
            tracing,
            traffic,
            classes,
            after_sent,
        } = self;
        let is_own =
            |rules: &Self| rules.counting.is_some() || rules.tracing.is_some() || rules.after_sent.is_some();
        let is_bare = counting.is_none() && tracing.is_none() && after_sent.is_none();
        is_bare
            && !is_own(other)
            && (*not_found, *subrequests, *rewrites, *uninitialized)
                == (other.not_found, other.subrequests, other.rewrites, other.uninitialized)
            && is_one(traffic.as_ref(), other.traffic.as_ref())
            && is_one(classes.as_ref(), other.classes.as_ref())
            && *errors == other.errors
            && *access == other.access
    }
}

/// Returns true if both are the same object or both are `None`.
fn is_one<T: ?Sized>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl Place {
    /// Returns true if the location creates tunnels (`tunnel_pass`).
    pub fn tunnels(&self) -> bool {
        self.handler.origin().is_some_and(|origin| origin.protocol.tunnels())
    }
}

/// `limit_except`: other settings for the methods that are not listed.
pub struct LimitExcept {
    /// Methods for which the location's own settings apply.
    pub methods: Vec<Box<[u8]>>,
    /// Settings for all methods that are not in `methods`.
    pub place: PlaceId,
}

/// Limit of the rate at which a response is sent: `limit_rate` and `limit_rate_after`.
#[derive(PartialEq)]
pub struct Rates {
    /// `limit_rate`: bytes per second; 0 means no limit.
    pub rate: Template,
    /// `limit_rate_after`: number of bytes that are sent first without a limit.
    pub after: Template,
}

/// Rules for the form of redirects: `absolute_redirect`, `port_in_redirect`, `server_name_in_redirect`, `msie_refresh`;
/// and `msie_padding`.
#[derive(Clone, Copy)]
pub struct RedirectRules {
    /// `absolute_redirect`: true if `Location` is an absolute URL.
    pub absolute: bool,
    /// `port_in_redirect`: true if absolute redirects contain a port other than the default.
    pub port: bool,
    /// `server_name_in_redirect`: true if absolute redirects contain the first `server_name` instead of the requested
    /// host.
    pub server_name: bool,
    /// `msie_refresh`: true if Internet Explorer gets refreshing pages instead of redirects.
    pub msie_refresh: bool,
    /// `msie_padding`: true if error pages for Internet Explorer and Chrome are padded to at least 512 bytes.
    pub msie_padding: bool,
}
