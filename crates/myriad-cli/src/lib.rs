//! Commands of the binary, and code shared by all commands.
//!
//! | module | purpose |
//! |---|---|
//! | `cli`, `report`, `terminal`, `version` | options, messages, the terminal |
//! | `configuration`, `paths`, `pidfile`, `signals`, `accounts` | files, users and signals of a server |
//! | `machine_files`, `path_walk`, `site_folder` | safe access to system files, by root, and to files of sites |
//! | `instance`, `server_selection`, `servers`, `port_holder` | running servers, and the processes that hold ports |
//! | `admin` | commands that query a running server |
//! | `apache` | translation of Apache's rules to nginx configuration |
//! | `wordpress` | the presets: `myriad wordpress`, `myriad php` |
//! | `explain` | `-t --explain` |
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
pub mod version;
pub mod web;
pub mod wordpress;
