//! `auth_basic` and `auth_basic_user_file` of a place, compiled.

use std::path::Path;
use std::sync::Arc;

use myriad_conf::Text;
use myriad_conf::settings::Settings;

use super::check::AuthBasic;
use super::passwords::Passwords;
use super::settings::AuthBasicSettings;
use myriad_exchange::exchange::Check;
use myriad_exchange::runtime::SettingsCompiler;

/// The realm and the name of the file that a level says, also where nobody is asked for a password.
pub fn texts(settings: &Settings) -> impl Iterator<Item = &Text> {
    let settings = settings.feature::<AuthBasicSettings>();
    settings.realm.iter().chain(&settings.user_file)
}

/// The check of a place; none where one of the two directives is missing, as in nginx. Relative names of files start from
/// `folder`.
pub(crate) fn check(
    settings: &Settings,
    folder: &Path,
    passwords: &Arc<Passwords>,
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
