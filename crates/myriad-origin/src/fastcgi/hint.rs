//! Configuration hints for FastCGI locations.

use myriad_conf::model::LocationConf;
use myriad_conf::settings::OriginSettings;
use myriad_conf::{Diagnostic, Text};

use super::settings::FastCgiSettings;

const NO_SCRIPT: &str = "PHP does not receive the name of the script: no \"fastcgi_param SCRIPT_FILENAME\" applies to this \"fastcgi_pass\"";

/// Returns a hint for the administrator if a PHP location lacks `SCRIPT_FILENAME`: php-fpm would respond with an empty
/// page or "File not found.". `None` for other locations.
pub(super) fn without_script(
    location: &LocationConf,
    origin: &OriginSettings,
    target: &Text,
) -> Option<Diagnostic> {
    let names_script = origin.request.parameters.iter().any(|param| param.name.bytes() == b"SCRIPT_FILENAME");
    if names_script || !is_php(location, origin.own(), target) {
        return None;
    }
    let help = "write fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; or include fastcgi.conf, which contains it";
    Some(Diagnostic::hint(target.span, NO_SCRIPT).help(help))
}

/// Returns whether the pattern, index file or target of a location indicates PHP.
fn is_php(location: &LocationConf, own: &FastCgiSettings, target: &Text) -> bool {
    let names_php = |text: &Text| text.lossy().to_ascii_lowercase().contains("php");
    names_php(&location.pattern)
        || names_php(target)
        || target.bytes().ends_with(b":9000")
        || own.index.as_ref().is_some_and(names_php)
}
