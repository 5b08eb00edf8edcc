//! Where visitors are: variables that databases of addresses compute.
//!
//! | module | what |
//! |---|---|
//! | `geoip` | `geoip_country`, `geoip_city`, `geoip_org`: databases in the former format |
//! | `geoip2` | `geoip2 FILE { ... }`: databases in MaxMind's format, as the module of that name reads them |
//! | `visitor` | the address that is looked up: the client's, or what a trusted proxy tells of it |
//! | `file` | a database as it is in memory, read anew when its file has changed |

#![forbid(unsafe_code)]

mod file;
pub mod geoip;
pub mod geoip2;
mod visitor;
