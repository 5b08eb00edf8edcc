//! Settings specific to FastCGI.

use myriad_conf::Text;

/// `fastcgi_*` of a level that is not common to all protocols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FastCgiSettings {
    /// `fastcgi_keep_conn`.
    pub keep_conn: bool,
    /// `fastcgi_index`.
    pub index: Option<Text>,
    /// `fastcgi_split_path_info`: a regular expression with two captures.
    pub split_path_info: Option<Text>,
    /// `fastcgi_catch_stderr`: words that turn a response into an error.
    pub catch_stderr: Vec<Text>,
}

myriad_conf::feature_settings!(FastCgiSettings);
