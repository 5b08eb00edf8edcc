//! What is seen of a running server, as data: its busiest pages, why they were no hits, its history.
//!
//! | file | what |
//! |---|---|
//! | `top` | the heaviest keys of a stream, in a table of fixed size |
//! | `pages` | pages ranked by requests, misses, slowness and bytes, of the last ten to twenty minutes |
//! | `sampling` | which hits are counted, and for how many each stands |
//! | `reasons` | why a page was no hit, as words and as sentences |
//! | `history/` | figures of two weeks in steps, and the file that they are kept in |
//!
//! Nothing here has a socket, a file or a clock: times come in, bytes go out.

#![forbid(unsafe_code)]

pub mod history;
mod pages;
mod reasons;
mod sampling;
mod top;

pub use pages::{Miss, PageRow, PageTops, Ranking, Seen, merged};
pub use reasons::{REASONS, sentence};
pub use sampling::Sampling;
pub use top::{Place, Top};
