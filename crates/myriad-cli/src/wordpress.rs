//! `myriad wordpress` and `myriad php`: generate a configuration from a built-in preset, the folder of a site and the
//! address of php-fpm.
//!
//! ```text
//! arguments -> SiteOptions -> CheckedSites -> template, filled in -> PresetSite -> Preset
//!                  ^------------------------- reload ----------------------------'
//! ```

mod arguments;
mod authorities;
mod cache_plugin_files;
mod checked_site;
mod cluster;
mod dashboard;
mod dashboard_access;
mod denied_paths;
mod https;
mod instance_command;
mod layout;
mod network;
mod object_cache;
mod object_cache_change;
mod options;
mod php_children;
mod php_code;
mod php_listener;
mod php_name;
mod plugin;
mod plugin_placement;
mod pool;
mod prefix;
mod preset;
mod proxies;
mod punycode;
mod quoting;
mod settings;
mod site;
mod site_files;
mod site_kind;
mod sites;
mod template;
mod user;
mod values;

pub use arguments::parse;
pub use dashboard_access::ConfigurationPurpose;
pub use denied_paths::DeniedSitePaths;
pub use https::SelfSigned;
pub use instance_command::{InstanceCommand, USAGE as RUNNING_USAGE, facts, greeting};
pub use layout::SiteLayout;
pub use options::SiteOptions;
pub use php_children::of_running as children_of_running;
pub use php_listener::php_complaint;
pub use prefix::{ACCESS_LOG, logs, name, pid_file, prefix, prefix_of_system, prepare};
pub use preset::Preset;
pub use proxies::option_for as trusted_proxy_option;
pub use settings::largest_upload;
pub use site_kind::SiteKind;
pub use sites::{SiteLine, read as read_sites};
