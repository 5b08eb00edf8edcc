//! Messages of the control socket, the HTTP API and the command line.
//!
//! | file | content |
//! |---|---|
//! | `request` | requests: one line of JSON on the socket, or a body of the API |
//! | `reply` | replies: one line of JSON each |
//! | `report` | reports about a zone, a page, a purge, or a server of an upstream group |
//! | `process_memory` | memory of the process, its limit, and actions on low memory |
//! | `monitoring/` | live events, ranked pages, history, purges, tags |
//! | `pattern` | `--match`: a wildcard for URLs and keys |
//! | `redaction` | hiding of argument values from clients that are not authenticated |
//! | `bytes` | keys and URLs, which may contain any byte, as text and back |
//! | `render/` | reports as lines for a terminal |
//!
//! This module uses no sockets, files or clocks.

mod bytes;
mod cluster_report;
pub mod monitoring;
mod pattern;
mod process_memory;
mod redaction;
pub mod render;
mod reply;
mod report;
mod request;

pub use bytes::{escape_bytes, unescape_bytes};
pub use cluster_report::{ClusterReport, MemberReport, NO_CLUSTER, ServerReport, UnconfirmedPurgeReport};
pub use pattern::GlobPattern;
pub use process_memory::{BegunStages, MemoryPart, MemoryTick, ProcessMemoryReport};
pub use redaction::without_values;
pub use reply::{AdminReply, ReplyEnd};
pub use report::{
    DiskReport, EncodingReport, EsiReport, FilterResultReport, ImageCopyReport, MemoryReport,
    OptimizedReport, PageReport, PartReport, PeerReport, PurgeReport, ReceiptsReport, RequestCounts,
    RunningPurgeReport, SkippedReport, Tier, ZoneReport,
};
pub use request::{
    AdminRequest, ClusterRequest, ImageCopyRequest, MOST_PURGES, MOST_REQUEST_BYTES, MemoryRequest,
    PageRequest, PagesRequest, PurgeRequest, RequestError, StatsRequest, UpstreamChange, UpstreamsRequest,
    WantedState, parse_purge, parse_upstream_change,
};
