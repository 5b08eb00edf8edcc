//! A realm that asks nobody.

use myriad_conf::Diagnostic;
use myriad_conf::model::LocationConf;

use super::settings::AuthBasicSettings;

/// A realm without a file asks nobody for a password, in nginx too. Said once for each `auth_basic`.
pub(super) fn examine(location: &LocationConf, findings: &mut Vec<Diagnostic>) {
    let settings = location.settings.feature::<AuthBasicSettings>();
    let (Some(realm), None) = (&settings.realm, &settings.user_file) else { return };
    let said = findings.iter().any(|finding| finding.span == realm.span);
    if !said {
        let message = "\"auth_basic\" without \"auth_basic_user_file\" lets everybody in";
        let help = "name the file with the users and their passwords: auth_basic_user_file PATH;";
        findings.push(Diagnostic::warning(realm.span, message).help(help));
    }
}
