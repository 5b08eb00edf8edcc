//! Server side includes, as nginx's ssi module understands them: the commands in a page, and what they come to.
//!
//! ```text
//! pieces of a page -> Parser -> text, commands -> Page -> text to send, Include to be asked for
//! ```
//!
//! Nothing here does I/O: a [`Page`] gives text and [`Include`]s, and reads variables through [`Surroundings`]. Pieces
//! may end anywhere, also within a command. Pages come from the site itself, but what their commands read comes from
//! visitors: every length is bounded ([`Shared`], `ssi_value_length`).

#![forbid(unsafe_code)]

mod command;
mod encode;
mod expression;
mod page;
mod parser;
mod shared;
mod text;

pub use page::{Include, Page, Rules, Then};
pub use parser::{Directive, Event, Parser};
pub use shared::{Groups, Shared, Surroundings};
