//! Checks of visitors: nginx's pre-access and access phases. Who may come in, how fast, how much at once.
//!
//! A place has a [`Gate`](myriad_exchange::exchange::Gate), a list of checks; a place where everybody may come in has none. Each check is
//! a folder, with its directives, their settings, its compilation and its judgement:
//!
//! | folder | check | directives | asked for subrequests |
//! |---|---|---|---|
//! | `more_input_headers` | changes fields of the request, and lets everybody in | `more_set_input_headers`, `more_clear_input_headers` | no |
//! | `limit_req` | how fast a visitor asks | `limit_req*` | yes, once for a request and all of its subrequests |
//! | `limit_conn` | how many requests a visitor has under way | `limit_conn*` | likewise |
//! | `access` | from which addresses | `allow`, `deny`, `satisfy` | no: the request that they belong to was judged |
//! | `auth_basic` | who knows a password | `auth_basic`, `auth_basic_user_file`, `auth_delay` | no |
//! | `auth_request` | whom a subrequest lets in | `auth_request`, `auth_request_set` | no |
//!
//! `secure_link` is no check: its variables say whether a link is what it says to be, and rules what follows.
//!
//! `compile` says their order, which is nginx's. `run` asks them one after another: `satisfy`, `auth_delay`.

pub mod access;
pub mod auth_basic;
pub mod auth_request;
mod compile;
mod identifies;
mod limit_answer;
pub mod limit_conn;
pub mod limit_req;
mod limit_zone;
pub mod more_input_headers;
mod run;
pub mod secure_link;
#[cfg(test)]
mod testing;

pub use compile::{Gates, Kept};
pub use identifies::identifies;
pub use limit_answer::LimitAnswer;
pub use limit_zone::{LimitKind, LimitZone, LimitZoneConf, Table, Tables, limit_zones};
pub use run::begin;
