//! `myriad log`: statistics of access and error logs.
//!
//! ```text
//! line -> LogLayout | read_object -> LoggedRequest  \
//!                                                    Tally -> LogReport -> text for a terminal, or JSON
//! line -> read_fault --------------> ErrorLogLine   /
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `command` | command line, and reading of files |
//! | `time` | times in the forms of logs and of command lines |
//! | `logged_request` | request of an access log line |
//! | `layout` | parsing of lines by their `log_format` |
//! | `json_line` | parsing of lines that are JSON |
//! | `error_line` | parsing of error log lines, and grouping of messages |
//! | `remedy` | remedies for groups of errors |
//! | `top_counter` | the most frequent keys, in bounded memory |
//! | `duration_histogram` | histogram of durations |
//! | `page` | name under which requests for a page are counted |
//! | `counts` | all counts |
//! | `report`, `render` | the results, and their output in a terminal |
//!
//! Input is untrusted: no line causes a panic, and the memory usage is at most some 60 MB for any number of lines.

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
