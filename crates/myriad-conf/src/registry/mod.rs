//! Registry of all directives: name, contexts, arity, default, status, description and setter.
//!
//! Each family of directives has a file. To support a rejected directive, add a row to the file of its family.

#![allow(clippy::unnecessary_wraps, reason = "setters and readers share one signature each")]

mod acme;
mod arguments;
mod arity;
mod blocks;
mod build_features;
mod client;
mod condition;
mod content;
mod contexts;
mod control;
mod default;
mod directive;
mod family;
mod field_changes;
mod health_check;
mod http2;
#[cfg(feature = "http3")]
mod http3;
mod known_directives;
mod listen;
mod log;
pub(crate) use log::json_format;
mod builtin_families;
mod media_types;
mod name_use;
mod network;
mod origin;
mod origin_tls;
mod pass;
mod permissions;
mod process;
mod rewrite;
mod server;
mod set;
mod sticky;
mod suggest;
mod syslog;
mod table;
mod tls;
mod tuning;
mod upstream;
mod zone;

pub(crate) use crate::set;
pub use arity::{Arity, FLAG, ONE, TWO, at_least, between, block, exactly};
pub use build_features::{BUILD_FEATURES, BuildFeature};
pub(crate) use condition::parse_condition;
pub use contexts::Contexts;
pub use directive::NOT_YET;
pub use directive::{Arguments, BlockKind, DefaultValue, Directive, DirectiveStatus, Set, SetterResult};
pub use family::{DirectiveFamily, ExamineBlock, ExamineHttp, ExamineLocation, FamilyRow, ProtocolLanguage};
pub use health_check::pattern_of_match;
pub use known_directives::module_of_variable;
pub(crate) use known_directives::{KnownDirective, known};
pub use listen::{BadListenAddress, is_host_name, listen_addresses};
pub use media_types::add_types;
pub use name_use::{NameKind, NameUse};
pub use network::{network, parse_network};
pub use pass::{PARAM, pass, pass_with_methods};
pub use permissions::{folder_permissions, permissions};
pub use rewrite::call;
pub use suggest::nearest;
pub use table::{DirectiveRow, Registry};
pub use zone::use_cache_zone;
