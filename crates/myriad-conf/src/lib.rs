//! The nginx configuration language: parses text into a typed model with inheritance, and reports diagnostics.
//!
//! ```text
//! bytes --lexer--> tokens --parser--> Parsed (syntax tree + sources) --build--> Model
//!                                        |                              |
//!                                        +--------- Diagnostic ---------+
//! ```
//!
//! The registry ([`registry`]) is the single list of directives. Parsing, checks, suggestions and documentation use it.

#![forbid(unsafe_code)]

mod builtin;
pub mod diagnostic;
mod glob;
mod lexer;
pub mod model;
pub mod number;
mod parse;
pub mod parsed;
mod pasted_text;
pub mod registry;
mod render;
mod resolve;
pub mod settings;
pub mod source;
pub mod span;
mod span_text;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;

pub use builtin::BuiltinFile;
pub use diagnostic::{Diagnostic, PossibleCause, RepeatedDiagnostics, Severity};
pub use model::Model;
pub use number::parse_time_ms;
pub use parsed::{Node, ParsedConfiguration, SourceFile, Word};
pub use registry::nearest;
pub use render::{dump, line_and_column, render};
pub use resolve::{Survey, build, defaults, survey};
pub use settings::Settings;
pub use source::{Loader, MemoryLoader};
pub use span::{FileId, Span};
pub use span_text::{directive_at, position_text};
pub use text::Text;
