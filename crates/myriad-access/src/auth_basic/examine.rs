//! Warning about `auth_basic` without a password file.

use myriad_conf::Diagnostic;
use myriad_conf::model::LocationConf;

use super::settings::AuthBasicSettings;

/// Warns about `auth_basic` without `auth_basic_user_file`, which admits every client, as in nginx. Each `auth_basic`
/// is reported once.
pub(super) fn examine(location: &LocationConf, findings: &mut Vec<Diagnostic>) {
    let settings = location.settings.feature::<AuthBasicSettings>();
    let (Some(realm), None) = (&settings.realm, &settings.user_file) else { return };
    let is_reported = findings.iter().any(|finding| finding.span == realm.span);
    if !is_reported {
        let message = "\"auth_basic\" without \"auth_basic_user_file\" allows all requests";
        let help = "set the file with user names and password hashes: auth_basic_user_file PATH;";
        findings.push(Diagnostic::warning(realm.span, message).help(help));
    }
}
