//! What administrators ask of a running server and are told: one language for the control socket, the HTTP API and the
//! command line.
//!
//! | file | what |
//! |---|---|
//! | `request` | what is asked: one line of JSON on the socket, a body of the API |
//! | `reply` | what is told: one line of JSON each |
//! | `report` | the facts: of a zone, of a page, of a purge, of a server of a group |
//! | `process_memory` | the memory of the process, its limit, what was done for want of it |
//! | `sight/` | what is seen of the running server: ticks, ranked pages, history, purges, tags |
//! | `pattern` | `--match`: a wildcard over URLs and keys |
//! | `hidden` | values of arguments, hidden from readers without a secret |
//! | `bytes` | keys and URLs, which may hold any byte, as text and back |
//! | `render/` | reports as lines for a terminal |
//!
//! Nothing here has a socket, a file or a clock: who answers has zones, who asks has a terminal.

#![forbid(unsafe_code)]

mod bytes;
mod hidden;
mod pattern;
mod process_memory;
pub mod render;
mod reply;
mod report;
mod request;
pub mod sight;

pub use bytes::{from_shown, shown};
pub use hidden::without_values;
pub use pattern::Pattern;
pub use process_memory::{BegunStages, MemoryPart, MemoryTick, ProcessMemoryReport};
pub use reply::{Ended, Reply};
pub use report::{
    DiskReport, EncodingReport, EsiReport, MemoryReport, PageReport, PartReport, PeerReport, PurgeReport,
    RequestCounts, RunningPurgeReport, Tier, ZoneReport,
};
pub use request::{
    MOST_PURGES, MOST_REQUEST_BYTES, MemoryRequest, PageRequest, PagesRequest, PurgeRequest, Request,
    RequestError, StatsRequest, UpstreamChange, UpstreamsRequest, WantedState, parse_purge,
    parse_upstream_change,
};
