//! Commands of the binary, and what every command shares.
//!
//! | module | purpose |
//! |---|---|
//! | `cli`, `report`, `terminal`, `version` | options, messages, the terminal |
//! | `configuration`, `paths`, `accounts`, `machine_files`, `path_walk`, `pidfile`, `instance`, `server_selection` | files, users, and the running servers |
//! | `admin` | commands that query a running server |
//! | `apache` | translates Apache's rules to nginx configuration |
//! | `wordpress` | the presets: `myriad wordpress`, `myriad php` |
//! | `upgrade`, `explain` | upgrading the binary, `-t --explain` |
//! | `web` | a small HTTP client for commands |

#![forbid(unsafe_code)]

pub mod accounts;
pub mod admin;
pub mod apache;
pub mod cli;
pub mod configuration;
pub mod explain;
pub mod instance;
pub mod machine_files;
pub mod path_walk;
pub mod paths;
pub mod pidfile;
pub mod port_holder;
pub mod report;
pub mod server_selection;
pub mod servers;
pub mod signals;
pub mod site_folder;
pub mod terminal;
pub mod upgrade;
pub mod version;
pub mod web;
pub mod wordpress;
