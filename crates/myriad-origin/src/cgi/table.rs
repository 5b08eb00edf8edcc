//! Files of parameters that configurations include (`fastcgi_params` and its like), where a machine lacks them.

use std::fmt::Write as _;

/// The text of such a file: the directive, once for each name and value.
pub(crate) fn table(directive: &str, params: &[(&str, &str)]) -> String {
    params.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{directive} {name} {value};");
        text
    })
}
