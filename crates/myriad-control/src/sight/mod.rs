//! What is seen of the running server: live events, ranked pages, history, purges, tags.
//!
//! | file | what |
//! |---|---|
//! | `look` | all counts at one moment, and what happened between two |
//! | `observer` | what the observer's thread does: ticks while somebody reads, steps of the history |
//! | `recorder` | the steps under way |
//! | `encodings` | the codings of a zone's pages, counted in rounds |
//! | `stream` | the events as `text/event-stream` |
//! | `watch` | the events over the control socket |
//! | `tops`, `history`, `purges`, `tags`, `senders` | answers to single requests |

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

pub use observer::Observer;
pub(crate) use stream::stream;
