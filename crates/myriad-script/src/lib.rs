//! Variables, templates, conditions, rewrite programs and maps of the nginx language, compiled once and run for each
//! request.
//!
//! A [`Compiler`] converts texts of a configuration to [`Template`]s, [`CompiledCondition`]s, [`Predicates`],
//! [`Regex`]es and [`Program`]s. Running them requires an [`Environment`] and a [`Frame`]. Through the environment, the
//! embedder (the code that uses this crate) provides the variables of the request and receives the changes of `rewrite`
//! and `set`. The frame stores the state of the request: values of user variables, captures, results of maps. Frames
//! are reused between requests, so that most scripts allocate no memory.
//!
//! Compiling takes two passes, because a map may be used before its definition: declare all names by `declare_*`, then
//! compile. [`Compiler::finish`] binds the maps and reports names that were declared but never defined.
//!
//! The modules `template`, `variable`, `lazy` and `map` depend on each other, as the language requires: a template
//! reads variables, a variable may be computed by a map, and the source and values of a map are templates. The compile
//! modules are built on top of these and `names`, and `Compiler` on top of all.
//!
//! Separate parts: `locations` and `server_names` select location and server, `functions` are the functions of `set_*`
//! directives, `ssi` and `esi` process markup in pages.

#![forbid(unsafe_code)]

mod assignment;
mod compiler;
mod condition;
mod environment;
mod error;
mod escape;
pub mod esi;
mod frame;
pub mod functions;
mod geo;
mod hostnames;
mod lazy;
pub mod locations;
mod map;
mod names;
mod predicate;
mod program;
mod regex;
mod server_names;
mod split_clients;
pub mod ssi;
mod suggestion;
mod table;
mod template;
mod trace;
mod variable;
mod variable_reads;

pub use assignment::Assignment;
pub use compiler::Compiler;
pub use condition::CompiledCondition;
pub use environment::{Builtin, Catalogue, Environment, FileTest, VariableRole};
pub use error::{EvalError, MOST_TEXT, ScriptError};
pub use frame::Frame;
pub use hostnames::{HostnameError, Hostnames};
pub use predicate::Predicates;
pub use program::{IfId, Program, ProgramAction, ProgramResult, StepKind, StepSource};
pub use regex::{MatchGroups, Regex, matches_everything_like_dot_slash, search_once};
pub use server_names::ServerNames;
pub use table::VariableTable;
pub use template::{Template, ValueForm};
pub use trace::{RuleOutcome, Trace};
pub use variable::Variable;
pub use variable_reads::{EvaluationScope, ScopeReads};

#[cfg(test)]
mod testing;
