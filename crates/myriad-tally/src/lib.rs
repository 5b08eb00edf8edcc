//! What logs come to: lines of access and error logs in, answers to everyday questions out.
//!
//! ```text
//! line -> Layout | read_object -> Visit  \
//!                                          Tally -> Report -> text for a terminal, or JSON
//! line -> read_fault ----------> Fault   /
//! ```
//!
//! | module | what |
//! |---|---|
//! | `time` | times as logs write them, and as people name them |
//! | `visit` | one request, as far as its line tells of it |
//! | `layout` | lines of a `log_format` |
//! | `object` | lines that are JSON |
//! | `fault` | lines of the error log, and the group that a message belongs to |
//! | `remedy` | what to do about a group of errors |
//! | `top` | the most frequent of any number of things, in bounded memory |
//! | `times` | a histogram of durations |
//! | `page` | the name under which requests for a page are counted together |
//! | `tally` | all counts |
//! | `report`, `render` | the answers; as a person reads them |
//!
//! What is read was written by strangers: no line makes this panic, and memory stays within some 60 MB however many lines there are.

#![forbid(unsafe_code)]

mod fault;
mod layout;
mod object;
mod page;
mod remedy;
mod render;
mod report;
mod tally;
mod time;
mod times;
mod top;
mod visit;

pub use fault::{Fault, read_fault};
pub use layout::Layout;
pub use object::read_object;
pub use remedy::remedy;
pub use render::{Question, Style, render};
pub use report::Report;
pub use tally::Tally;
pub use time::moment;
pub use visit::Visit;
