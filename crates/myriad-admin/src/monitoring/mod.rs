//! Monitoring of the running server: live events, ranked pages, history, purges, tags.
//!
//! | file | content |
//! |---|---|
//! | `counts_snapshot` | snapshots of all counts, and their differences |
//! | `observer` | work of the observer's thread: ticks for readers, steps of the history |
//! | `recorder` | current steps of the history |
//! | `encodings` | codings of a zone's pages, counted incrementally |
//! | `stream` | events as `text/event-stream` |
//! | `live_events` | events over the control socket |
//! | `top_pages`, `history`, `purges`, `tags`, `senders` | responses to single requests |

mod counts_snapshot;
mod encodings;
mod history;
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
