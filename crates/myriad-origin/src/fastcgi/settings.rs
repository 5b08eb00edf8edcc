//! Settings specific to FastCGI.

use myriad_conf::Text;

/// Configured `fastcgi_*` values that other protocols do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FastCgiSettings {
    /// True if persistent connections are requested (`fastcgi_keep_conn`).
    pub keep_conn: bool,
    /// File name that is appended to a script name ending with `/` (`fastcgi_index`); `None` for none.
    pub index: Option<Text>,
    /// Regular expression whose groups are script name and path info (`fastcgi_split_path_info`); `None` if it is not
    /// configured.
    pub split_path_info: Option<Text>,
    /// Texts that make a response invalid if they occur on stderr (`fastcgi_catch_stderr`).
    pub catch_stderr: Vec<Text>,
}

myriad_conf::feature_settings!(FastCgiSettings);
