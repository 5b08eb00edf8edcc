//! `auth_basic` and `auth_basic_user_file` of a place, compiled.

use std::path::Path;
use std::sync::Arc;

use myriad_conf::settings::AccessSettings;

use super::check::AuthBasic;
use super::passwords::Passwords;
use myriad_exchange::exchange::Check;
use myriad_exchange::runtime::SettingsCompiler;

/// The check of a place; none where one of the two directives is missing, as in nginx. Relative names of files start from
/// `folder`.
pub(crate) fn check(
    settings: &AccessSettings,
    folder: &Path,
    passwords: &Arc<Passwords>,
    compile: &mut dyn SettingsCompiler,
) -> Option<Box<dyn Check>> {
    let (realm, file) = (settings.basic.as_ref()?, settings.user_file.as_ref()?);
    Some(Box::new(AuthBasic {
        realm: compile.template(realm),
        file: compile.template(file),
        folder: folder.as_os_str().as_encoded_bytes().into(),
        passwords: Arc::clone(passwords),
    }))
}
