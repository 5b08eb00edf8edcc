//! Monitoring of the running server: live events, ranked pages, history, purges, tags.
//!
//! | file | content |
//! |---|---|
//! | `counts_snapshot` | snapshots of all counters, and their differences |
//! | `observer` | work of the observer thread: ticks for live events, steps of the history |
//! | `recorder` | current steps of the history |
//! | `encodings` | stored bodies of a zone by coding, counted incrementally |
//! | `stream` | live events over HTTP (`text/event-stream`) |
//! | `live_events` | live events over the control socket |
//! | `top_pages`, `history`, `purges`, `tags`, `leaks`, `senders` | responses to single requests |

mod counts_snapshot;
mod encodings;
mod history;
mod leaks;
mod live_events;
mod observer;
mod purges;
mod recorder;
mod senders;
mod stream;
mod tags;
mod top_pages;

pub use observer::SightObserver;
pub(crate) use stream::stream;
