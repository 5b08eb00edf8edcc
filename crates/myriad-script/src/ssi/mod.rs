//! Server side includes as implemented by nginx's ssi module: parsing and execution of the commands in a page.
//!
//! ```text
//! pieces of a page -> Parser -> text, commands -> SsiPage -> text to send, SsiInclude to fetch
//! ```
//!
//! Nothing here performs I/O: an [`SsiPage`] produces text and [`SsiInclude`]s, and reads variables through
//! [`PageEnvironment`]. Pieces may be split at any byte, even within a command. Pages come from the site itself, but
//! their commands read data of clients, so every length is bounded ([`SsiState`], `ssi_value_length`).
//!
//! | file | content |
//! |---|---|
//! | `parser` | splitting of a page into text and commands |
//! | `command` | commands and their parameters |
//! | `page` | execution of the commands |
//! | `expression`, `text`, `encode` | conditions; values with variables; encodings of `echo` |
//! | `shared` | state shared by the pages of a request, interface to the request |

mod command;
mod encode;
mod expression;
mod page;
mod parser;
mod shared;
mod text;

pub use page::{IncludeUse, SsiInclude, SsiPage, SsiRules};
pub use parser::{Directive, PageElement, Parser};
pub use shared::{PageEnvironment, PatternGroups, SsiState};
