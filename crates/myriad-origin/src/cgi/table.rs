//! Built-in parameter files (`fastcgi_params` and similar) for machines that lack them.

use std::fmt::Write as _;

/// Returns the text of such a file: the directive, repeated for each name and value.
pub(crate) fn table(directive: &str, params: &[(&str, &str)]) -> String {
    params.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{directive} {name} {value};");
        text
    })
}
