//! Place: the settings that apply at the current position of a request, which is a server, a location or an `if` block.

use std::sync::Arc;

use myriad_files::{Naming, TempFolder};
use myriad_log::{AccessLog, ErrorLog};
use myriad_net::Timeouts;
use myriad_script::{Program, Template};

use crate::exchange::{AccessGate, AfterSent, Counting, Exchange, Filters, Handler, Tracing, VisitorClasses};
use crate::traffic::TrafficZone;

use super::{CodingOffer, ErrorPage, FilePlace, HeaderRules, PlaceFeatures, PlaceId};

/// Compiled settings of a level. Levels with equal settings share their parts
/// ([`Shared::alike`](super::Shared::alike)), so that the memory of a location is proportional to its own directives:
/// with fifty thousand locations, most have few.
pub struct Place {
    /// True if the head of a response reads no variables set by rules, so that the result of the rules for an earlier
    /// request can be reused.
    pub shortcut: bool,
    /// Access rules.
    pub entry: EntryRules,
    /// Rewrite directives of the location.
    pub rewrite: RewriteRules,
    /// Content handler.
    pub handler: Box<dyn Handler>,
    /// Limits of request bodies.
    pub upload: Arc<UploadRules>,
    /// Settings of the client's connection.
    pub connection: Arc<ConnectionRules>,
    /// File settings.
    pub files: Arc<FilePlace>,
    /// Error pages.
    pub errors: Arc<ErrorRules>,
    /// Response fields.
    pub headers: Arc<HeaderRules>,
    /// Filters that change responses before they are sent.
    pub filters: Filters<Exchange>,
    /// Content codings that may be offered.
    pub offer: Arc<CodingOffer>,
    /// Logs, counts and traces.
    pub logs: Arc<LogRules>,
    /// Format of redirects.
    pub redirects: RedirectRules,
    /// Compiled settings of features.
    pub features: PlaceFeatures,
}

/// Access rules.
pub struct EntryRules {
    /// `internal`.
    pub internal: bool,
    /// `limit_except`.
    pub limit_except: Option<Box<LimitExcept>>,
    /// Checks before the content handler; `None` if all clients are admitted.
    pub gate: Option<Arc<AccessGate>>,
    /// Checks before a request to an origin; `None` if all requests are admitted.
    pub origin_gate: Option<Arc<AccessGate>>,
}

/// Rewrite directives of a location.
pub struct RewriteRules {
    /// Directives.
    pub program: Program,
    /// Places of the `if` blocks in the program, by `IfId`.
    pub ifs: Box<[PlaceId]>,
}

/// Limits of request bodies.
#[derive(PartialEq)]
pub struct UploadRules {
    /// `client_max_body_size`, in bytes; 0 without a limit.
    pub max_body: u64,
    /// Buffering of a body until it is complete.
    pub body: BodyRules,
    /// `client_body_timeout`, in milliseconds.
    pub timeout_ms: u64,
}

/// Settings of a client's connection.
#[derive(PartialEq)]
pub struct ConnectionRules {
    /// Timeouts of the connection.
    pub timeouts: Timeouts,
    /// `http2_chunk_size`, in bytes.
    pub frame: u32,
    /// Second argument of `keepalive_timeout`, in seconds; 0 if absent.
    pub keepalive_header_s: u32,
    /// Conditions under which a persistent connection is closed.
    pub keepalive: KeepAliveRules,
    /// `chunked_transfer_encoding`.
    pub chunked: bool,
    /// `limit_rate` and `limit_rate_after`, unless both are a constant 0.
    pub rates: Option<Rates>,
}

/// Error pages.
#[derive(PartialEq)]
pub struct ErrorRules {
    /// `error_page`, by status.
    pub pages: Vec<ErrorPage>,
    /// `recursive_error_pages`.
    pub recursive: bool,
}

/// Logs, counts and traces.
pub struct LogRules {
    /// `access_log`.
    pub access: Vec<AccessLog>,
    /// `error_log`.
    pub errors: ErrorLog,
    /// `log_not_found`.
    pub not_found: bool,
    /// `log_subrequest`.
    pub subrequests: bool,
    /// `rewrite_log`.
    pub rewrites: bool,
    /// `uninitialized_variable_warn`.
    pub uninitialized: bool,
    /// Counting feature; `None` if the requests are not counted separately.
    pub counting: Option<Box<dyn Counting>>,
    /// Tracing feature; `None` if the requests are not traced.
    pub tracing: Option<Box<dyn Tracing>>,
    /// `status_zone` of the location.
    pub traffic: Option<Arc<TrafficZone>>,
    /// Classification of clients, such as robots; `None` if it is disabled.
    pub classes: Option<Arc<dyn VisitorClasses>>,
    /// Action after a response has been sent, which then writes the access log line; `None` without an action.
    pub after_sent: Option<Box<dyn AfterSent>>,
}

/// Buffering of request bodies.
#[derive(PartialEq)]
pub struct BodyRules {
    /// `client_body_buffer_size`, in bytes; 0 with `client_body_in_file_only`.
    pub in_memory: u64,
    /// `client_body_in_file_only`.
    pub naming: Naming,
    /// `client_body_temp_max_size`, in bytes; 0 without a limit.
    pub most_in_files: u64,
    /// `client_body_temp_path`.
    pub folder: TempFolder,
    /// True if the directive is present; otherwise unnamed files are created in a temporary folder of the system.
    pub folder_is_written: bool,
}

/// `keepalive_time` and `keepalive_disable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAliveRules {
    /// Time after which a connection is closed with the current response, in milliseconds.
    pub time_ms: u64,
    /// `msie6`: old browsers ignore the response to a POST on a reused connection.
    pub not_msie6: bool,
    /// `safari`.
    pub not_safari: bool,
}

/// Compares log targets and switches. Rules with counting, tracing or an action after the response are equal to no
/// others.
impl PartialEq for LogRules {
    fn eq(&self, other: &Self) -> bool {
        // All fields are listed, so that a new field must be added to the comparison.
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

/// Returns whether both are the same object, or both `None`.
fn is_one<T: ?Sized>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl Place {
    /// Returns whether the place creates tunnels (`tunnel_pass`).
    pub fn tunnels(&self) -> bool {
        self.handler.origin().is_some_and(|origin| origin.protocol.tunnels())
    }
}

/// `limit_except`: another place for the methods that are not listed.
pub struct LimitExcept {
    /// Methods that remain in this place.
    pub methods: Vec<Box<[u8]>>,
    /// Place of the other methods.
    pub place: PlaceId,
}

/// `limit_rate`, `limit_rate_after`.
#[derive(PartialEq)]
pub struct Rates {
    /// Bytes per second.
    pub rate: Template,
    /// Number of bytes that are sent without a limit first.
    pub after: Template,
}

/// Format of redirects.
#[derive(Clone, Copy)]
pub struct RedirectRules {
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
