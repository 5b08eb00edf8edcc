//! Warning about a location that denies every request by mistake.

use myriad_conf::Diagnostic;
use myriad_conf::model::{LocationConf, Matcher};
use myriad_conf::settings::Network;

use super::settings::{AccessRule, AccessSettings};

/// Warns about a location with a regex that matches every URI, such as `location ~ /.` (the backslash before the dot
/// is missing), if the first address rule of the location is `deny all`.
pub(super) fn examine(location: &LocationConf, findings: &mut Vec<Diagnostic>) {
    let deny_all = AccessRule { allow: false, network: Network::All };
    let matches_all = matches!(
        location.pattern.value.as_slice(),
        b"/." | b"/.*" | b"." | b".*" | b"/" | b"^/" | b"^/." | b"^/.*"
    );
    if matches!(location.matcher, Matcher::Regex { .. })
        && matches_all
        && location.settings.feature::<AccessSettings>().rules.first() == Some(&deny_all)
    {
        let message = format!(
            "the regex \"{}\" matches every URI, and this location denies all requests",
            location.pattern.lossy()
        );
        findings.push(
            Diagnostic::warning(location.span, message).help(
                "in a regex, a dot matches any character; to match hidden files, write `location ~ /\\.`",
            ),
        );
    }
}
