//! Statistics of logs: converts lines of access and error logs to reports.
//!
//! ```text
//! line -> Layout | read_object -> Visit  \
//!                                          Tally -> Report -> text for a terminal, or JSON
//! line -> read_fault ----------> Fault   /
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `time` | times in the forms of logs and of command lines |
//! | `logged_request` | a request, by the fields in its line |
//! | `layout` | lines of a `log_format` |
//! | `json_line` | lines that are JSON |
//! | `error_line` | lines of the error log, and the group of a message |
//! | `remedy` | remedies for groups of errors |
//! | `top_counter` | the most frequent keys, in bounded memory |
//! | `duration_histogram` | a histogram of durations |
//! | `page` | the name that groups requests for a page |
//! | `counts` | all counts |
//! | `report`, `render` | the results, and their form for people |
//!
//! Input is untrusted: no line causes a panic, and memory usage is limited to some 60 MB for any number of lines.

pub mod command;
mod counts;
mod duration_histogram;
mod error_line;
mod json_line;
mod layout;
mod logged_request;
mod page;
mod remedy;
mod render;
mod report;
mod time;
mod top_counter;

pub use counts::Tally;
pub use error_line::{ErrorLogLine, read_fault};
pub use json_line::read_object;
pub use layout::LogLayout;
pub use logged_request::LoggedRequest;
pub use remedy::remedy;
pub use render::{ReportSection, Style, render};
pub use report::LogReport;
pub use time::moment;
