//! `myriad wordpress` and `myriad php`: generate the built-in preset from the folder of a site and the address of
//! php-fpm.
//!
//! ```text
//! arguments -> Options -> Checked, each site -> template, filled in -> Site -> Preset
//!                 ^------------------------- reload ----------------------------'
//! ```

mod arguments;
mod authorities;
mod checked;
mod children;
mod dashboard;
mod dashboard_place;
mod denied;
mod https;
mod kind;
mod layout;
mod network;
mod object_cache;
mod object_cache_change;
mod options;
mod php_code;
mod php_listener;
mod php_name;
mod placement;
mod plugin;
mod pool;
mod prefix;
mod preset;
mod proxies;
mod punycode;
mod quoting;
mod running;
mod settings;
mod site;
mod site_files;
mod sites;
mod template;
mod user;
mod values;
mod written_pages;

pub use arguments::parse;
pub use children::of_running as children_of_running;
pub use dashboard_place::ConfigurationPurpose;
pub use denied::DeniedSitePaths;
pub use https::SelfSigned;
pub use kind::SiteKind;
pub use layout::SiteLayout;
pub use options::SiteOptions;
pub use php_listener::php_complaint;
pub use prefix::{ACCESS_LOG, logs, name, pid_file, prefix, prefix_of_system, prepare};
pub use preset::Preset;
pub use proxies::option_for as trusted_proxy_option;
pub use running::{InstanceCommand, USAGE as RUNNING_USAGE, facts, greeting};
pub use settings::largest_upload;
pub use sites::{SiteLine, read as read_sites};
