//! Access checks of requests (the pre-access and access phases of nginx), and the protection of origins. The checks
//! limit which clients are admitted, their request rate and their concurrency.
//!
//! A location has an [`AccessGate`](myriad_exchange::exchange::AccessGate), a list of checks; a location without checks
//! has none. Each check is a folder with its directives, settings, compilation and execution:
//!
//! | folder | check | directives | runs for subrequests |
//! |---|---|---|---|
//! | `more_input_headers` | changes header fields of the request, never rejects it | `more_set_input_headers`, `more_clear_input_headers` | no |
//! | `limit_req` | request rate of a client | `limit_req*` | yes, once with its parent |
//! | `limit_conn` | number of concurrent requests of a client | `limit_conn*` | yes, once with its parent |
//! | `access` | client address | `allow`, `deny`, `satisfy` | no: the parent request was checked |
//! | `auth_basic` | user name and password | `auth_basic`, `auth_basic_user_file`, `auth_delay` | no |
//! | `auth_request` | result of a subrequest | `auth_request`, `auth_request_set` | no |
//!
//! `compile` defines the order of the checks, which is that of nginx. `run` executes them in sequence, and applies
//! `satisfy` and `auth_delay`.
//!
//! Other folders: `origin_protection` (queue, pauses, limits and challenges before a request is sent to an origin),
//! `geo_database` (variables with the location of a client), `limit_zone` (zones of `limit_req` and `limit_conn`),
//! `password` (password files and hashes), and `secure_link`, whose variables contain the validity of a link.

pub mod access;
pub mod auth_basic;
pub mod auth_request;
mod client_authentication;
mod compile;
#[cfg(feature = "geoip")]
pub mod geo_database;
pub mod limit_conn;
pub mod limit_req;
mod limit_response;
mod limit_zone;
pub mod more_input_headers;
pub mod origin_protection;
pub mod password;
mod run;
pub mod secure_link;
#[cfg(test)]
mod testing;

pub use client_authentication::identifies_client;
pub use compile::{GateBuilder, PersistentCheckState};
pub use limit_response::LimitResponse;
pub use limit_zone::{
    KeyUsage, LimitBlock, LimitKind, LimitTable, LimitZone, LimitZoneConf, MAX_SHARED_KEY, PeerUsage,
    RequestRate, SharedLimitZone, UsageTable, ZoneTables, limit_zones,
};
pub use run::begin;
