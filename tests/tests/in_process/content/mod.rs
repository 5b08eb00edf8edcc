//! Tests of the content handlers with complete configurations.

mod autoindex;
mod dav;
mod echo;
mod echo_variables;
mod empty_gif;
mod fancyindex;
mod files;
mod precompressed;
mod static_file;
mod stub_status;
mod stub_status_variables;
