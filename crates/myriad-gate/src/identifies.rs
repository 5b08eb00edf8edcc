//! Whether a level asks every visitor who they are.

use myriad_conf::settings::Settings;

use crate::access::{AccessSettings, Satisfy};
use crate::auth_basic::AuthBasicSettings;
use crate::auth_request::AuthRequestSettings;

/// Whether nobody comes in at a level without having said who they are, by a password or to whom `auth_request` asks. With `satisfy any`
/// an address may be enough.
pub fn identifies(settings: &Settings) -> bool {
    let access = settings.feature::<AccessSettings>();
    let basic = settings.feature::<AuthBasicSettings>();
    let asks_password = basic.user_file.is_some()
        && basic.realm.as_ref().is_some_and(|realm| !realm.has_variables() && realm.bytes() != b"off");
    let asks = asks_password || settings.feature::<AuthRequestSettings>().uri.is_some();
    asks && (access.satisfy == Satisfy::All || access.rules.is_empty())
}
