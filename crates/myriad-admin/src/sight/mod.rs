//! Monitoring of the running server: live events, ranked pages, history, purges, tags.
//!
//! | file | content |
//! |---|---|
//! | `look` | snapshots of all counts, and their differences |
//! | `observer` | work of the observer's thread: ticks for readers, steps of the history |
//! | `recorder` | current steps of the history |
//! | `encodings` | codings of a zone's pages, counted incrementally |
//! | `stream` | events as `text/event-stream` |
//! | `watch` | events over the control socket |
//! | `tops`, `history`, `purges`, `tags`, `senders` | responses to single requests |

mod encodings;
mod history;
mod look;
mod observer;
mod purges;
mod recorder;
mod senders;
mod stream;
mod tags;
mod tops;
mod watch;

pub use observer::SightObserver;
pub(crate) use stream::stream;
