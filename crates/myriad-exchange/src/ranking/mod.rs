//! Observations of a running server as data: rankings of its pages, reasons of cache misses, history.
//!
//! | file | content |
//! |---|---|
//! | `top` | heaviest keys of a stream, in a table of fixed size |
//! | `pages` | pages of the last ten to twenty minutes, ranked by requests, misses, slowness and bytes |
//! | `sampling` | sampling of hits, with the number of hits that each sample represents |
//! | `reasons` | reasons of cache misses, with explanations |
//! | `history/` | statistics of two weeks in steps, and their file |
//!
//! This module uses no sockets, files or clocks: times are parameters, and results are bytes.

pub mod history;
mod pages;
mod reasons;
mod sampling;
mod top;

pub use pages::{Miss, PageRankings, PageRow, RankedRequest, Ranking, merged};
pub use reasons::REASONS;
pub(crate) use reasons::is_explained;
pub use sampling::Sampling;
pub use top::{HeaviestKeys, RankedKey};
