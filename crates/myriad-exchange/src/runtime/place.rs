//! A place: the settings that hold where a request is, be it a server, a location or an `if` in one.

use std::sync::Arc;

use myriad_files::{Naming, TempFolder};
use myriad_log::{AccessLog, ErrorLog};
use myriad_net::Timeouts;
use myriad_script::{Program, Template};

use crate::exchange::{AfterSent, Counting, Exchange, Filters, Gate, Handler, Tracing, VisitorClasses};
use crate::traffic::TrafficZone;

use super::{ErrorPage, FilePlace, HeaderRules, Offer, PlaceFeatures, PlaceId};

/// Settings of a level, compiled. Levels that come to the same share their parts ([`Shared::alike`](super::Shared::alike)), so that a
/// location costs what it says itself: of fifty thousand most say little.
pub struct Place {
    /// Whether the head of an answer reads nothing that rules have set, so that the rules may have been run for an
    /// earlier request.
    pub shortcut: bool,
    /// Who may come in, and by what.
    pub entry: EntryRules,
    /// The location's rewrite directives.
    pub rewrite: RewriteRules,
    /// What makes the content.
    pub handler: Box<dyn Handler>,
    /// What a request may bring.
    pub upload: Arc<UploadRules>,
    /// How the connection is used.
    pub connection: Arc<ConnectionRules>,
    /// Files.
    pub files: Arc<FilePlace>,
    /// What is sent for an error.
    pub errors: Arc<ErrorRules>,
    /// Response fields.
    pub headers: Arc<HeaderRules>,
    /// What changes answers on their way to the client.
    pub filters: Filters<Exchange>,
    /// Encodings that may be offered.
    pub offer: Arc<Offer>,
    /// What is written down.
    pub logs: Arc<LogRules>,
    /// How redirects are written.
    pub redirects: RedirectRules,
    /// What features have compiled.
    pub features: PlaceFeatures,
}

/// Who may come in, and by what.
pub struct EntryRules {
    /// `internal`.
    pub internal: bool,
    /// `limit_except`.
    pub limit_except: Option<Box<LimitExcept>>,
    /// What is asked of a visitor before the content; none where everybody may come in at once.
    pub gate: Option<Arc<Gate>>,
    /// What is asked of a request before its origin is; none where every request may go there.
    pub origin_gate: Option<Arc<Gate>>,
}

/// Rewrite directives of a location.
pub struct RewriteRules {
    /// The directives.
    pub program: Program,
    /// Places of the `if` blocks in the program, by `IfId`.
    pub ifs: Box<[PlaceId]>,
}

/// What a request may bring.
#[derive(PartialEq)]
pub struct UploadRules {
    /// `client_max_body_size`, bytes, 0 for any.
    pub max_body: u64,
    /// Where a body waits for its end.
    pub body: BodyRules,
    /// `client_body_timeout`, milliseconds.
    pub timeout_ms: u64,
}

/// How a client's connection is used.
#[derive(PartialEq)]
pub struct ConnectionRules {
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
}

/// What is sent for an error.
#[derive(PartialEq)]
pub struct ErrorRules {
    /// `error_page`, by status.
    pub pages: Vec<ErrorPage>,
    /// `recursive_error_pages`.
    pub recursive: bool,
}

/// What is written to which log.
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
    /// What counts the requests; none where they are not counted apart.
    pub counting: Option<Box<dyn Counting>>,
    /// What traces the requests; none where nothing does.
    pub tracing: Option<Box<dyn Tracing>>,
    /// The location's `status_zone`; none where it has none.
    pub traffic: Option<Arc<TrafficZone>>,
    /// What tells robots from other visitors; none where nothing does.
    pub classes: Option<Arc<dyn VisitorClasses>>,
    /// What follows an answer that has been sent, and writes the line of the access log then; none where nothing does.
    pub after_sent: Option<Box<dyn AfterSent>>,
}

/// Where a request's body is gathered.
#[derive(PartialEq)]
pub struct BodyRules {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAliveRules {
    /// Milliseconds after which a connection ends with the answer under way.
    pub time_ms: u64,
    /// `msie6`: old browsers do not read the answer to a POST that comes over a kept connection.
    pub not_msie6: bool,
    /// `safari`.
    pub not_safari: bool,
}

/// Whether both write the same and tell the same. What counts, traces or follows requests is a place's own, and like no other.
impl PartialEq for LogRules {
    fn eq(&self, other: &Self) -> bool {
        // All are named: one that is added has to say here what makes it equal.
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

/// Whether both are the same, or none.
fn is_one<T: ?Sized>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl Place {
    /// Whether clients are connected to a server here (`tunnel_pass`).
    pub fn tunnels(&self) -> bool {
        self.handler.origin().is_some_and(|origin| origin.protocol.tunnels())
    }
}

/// `limit_except`: another place for the methods that are not listed.
pub struct LimitExcept {
    /// Methods that stay.
    pub methods: Vec<Box<[u8]>>,
    /// Where the others go.
    pub place: PlaceId,
}

/// `limit_rate`, `limit_rate_after`.
#[derive(PartialEq)]
pub struct Rates {
    /// Bytes a second.
    pub rate: Template,
    /// Bytes at full speed first.
    pub after: Template,
}

/// How redirects are written.
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
