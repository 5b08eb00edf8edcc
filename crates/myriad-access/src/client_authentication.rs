//! Test whether a level authenticates every client.

use myriad_conf::settings::Settings;

use crate::access::{AccessSettings, Satisfy};
use crate::auth_basic::AuthBasicSettings;
use crate::auth_request::AuthRequestSettings;

/// Returns whether a level admits only authenticated clients, by a password or by `auth_request`. With `satisfy any`
/// and address rules an address may suffice.
pub fn identifies_client(settings: &Settings) -> bool {
    let access = settings.feature::<AccessSettings>();
    let basic = settings.feature::<AuthBasicSettings>();
    let requires_password = basic.user_file.is_some()
        && basic.realm.as_ref().is_some_and(|realm| !realm.has_variables() && realm.bytes() != b"off");
    let requires_login = requires_password || settings.feature::<AuthRequestSettings>().uri.is_some();
    requires_login && (access.satisfy == Satisfy::All || access.rules.is_empty())
}
