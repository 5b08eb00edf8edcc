//! Variables, templates, conditions, rewrite programs and maps, compiled once.
//!
//! A [`Compiler`] turns text of the nginx language into [`Template`]s, [`Condition`]s, [`Predicates`], [`Regex`]es and
//! [`Program`]s. Running them needs two things: an [`Environment`], through which the embedder gives the variables of
//! the request and takes what `rewrite` and `set` change, and a [`Frame`], which holds what the request itself makes:
//! values of user variables, captures, results of maps. A frame is reused from request to request, and in the steady
//! state nothing here allocates.
//!
//! Compiling takes two passes, because the language lets a map be written after its use: first `declare_*` every
//! name, then compile; [`Compiler::finish`] binds the maps and reports names that were declared but never defined.
//!
//! Four files need each other, as the language does: a template reads variables, a variable may be computed, by a map among
//! others, and a map's source and values are templates. What is compiled stands above them, on `names`; `Compiler` on top.

#![forbid(unsafe_code)]

mod assignment;
mod compiler;
mod condition;
mod environment;
mod error;
mod escape;
mod frame;
mod geo;
mod hostnames;
mod lazy;
pub mod locations;
mod map;
mod names;
mod predicate;
mod program;
mod readings;
mod regex;
mod server_names;
mod split_clients;
mod suggestion;
mod table;
mod template;
mod trace;
mod variable;

pub use assignment::Assignment;
pub use compiler::Compiler;
pub use condition::Condition;
pub use environment::{Builtin, Catalogue, Environment, FileTest, Role};
pub use error::{EvalError, MOST_TEXT, ScriptError};
pub use frame::Frame;
pub use hostnames::{Hostnames, RefusedHostname};
pub use predicate::Predicates;
pub use program::{Action, Flow, IfId, Program, StepKind, StepSource};
pub use readings::{Scope, ScopeReads};
pub use regex::{Found, Regex, matches_everything_like_dot_slash, search_once};
pub use server_names::ServerNames;
pub use table::Table;
pub use template::{Template, ValueForm};
pub use trace::{RuleOutcome, Trace};
pub use variable::Variable;

#[cfg(test)]
mod testing;
