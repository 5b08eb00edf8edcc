//! Text of built-in parameter files (`scgi_params` and similar), used if the machine has no such file.

use std::fmt::Write as _;

/// Returns the text of a built-in parameter file (such as `fastcgi_params`): one line with `directive` for each name
/// and value.
pub(crate) fn table(directive: &str, params: &[(&str, &str)]) -> String {
    params.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{directive} {name} {value};");
        text
    })
}
