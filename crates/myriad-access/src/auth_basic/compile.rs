//! Compilation of `auth_basic` and `auth_basic_user_file`.

use std::path::Path;
use std::sync::Arc;

use myriad_conf::Text;
use myriad_conf::settings::Settings;

use super::check::AuthBasic;
use super::passwords::PasswordVerifier;
use super::settings::AuthBasicSettings;
use myriad_exchange::exchange::Check;
use myriad_exchange::runtime::SettingsCompiler;

/// Returns the realm and the file name of a level, whose variables must be known even if one of the directives is
/// missing and no password is required.
pub fn variable_texts(settings: &Settings) -> impl Iterator<Item = &Text> {
    let settings = settings.feature::<AuthBasicSettings>();
    settings.realm.iter().chain(&settings.user_file)
}

/// Returns the password check of a location; `None` if one of the two directives is missing or `auth_basic` is `off`,
/// as in nginx. Relative file names are resolved against `folder`.
pub(crate) fn check(
    settings: &Settings,
    folder: &Path,
    passwords: &Arc<PasswordVerifier>,
    compile: &mut dyn SettingsCompiler,
) -> Option<Box<dyn Check>> {
    let settings = settings.feature::<AuthBasicSettings>();
    let (realm, file) = (settings.realm.as_ref()?, settings.user_file.as_ref()?);
    Some(Box::new(AuthBasic {
        realm: compile.template(realm),
        file: compile.template(file),
        folder: folder.as_os_str().as_encoded_bytes().into(),
        passwords: Arc::clone(passwords),
    }))
}
