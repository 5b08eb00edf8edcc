//! Observations of a running server as data: its busiest pages, the reasons of cache misses, its history.
//!
//! | file | content |
//! |---|---|
//! | `top` | heaviest keys of a stream, in a table of fixed size |
//! | `pages` | pages ranked by requests, misses, slowness and bytes, of the last ten to twenty minutes |
//! | `sampling` | sampling of hits, with the number of hits that each sample represents |
//! | `reasons` | reasons of cache misses as words and sentences |
//! | `history/` | figures of two weeks in steps, and their file |
//!
//! This crate uses no sockets, files or clocks: times are parameters, and results are bytes.

pub mod history;
mod pages;
mod reasons;
mod sampling;
mod top;

pub use pages::{Miss, PageRankings, PageRow, RankedRequest, Ranking, merged};
pub use reasons::{REASONS, sentence};
pub use sampling::Sampling;
pub use top::{HeaviestKeys, RankedKey};
