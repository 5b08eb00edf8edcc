//! Rows and parsers of the directives.

use myriad_conf::registry::{Arguments, Contexts, Directive, Done, ONE, Set};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::settings::AuthBasicSettings;

const WHERE: Contexts = Contexts::HSL.or(Contexts::LIMIT_EXCEPT);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "auth_basic",
        WHERE,
        ONE,
        Set::Settings(auth_basic),
        "Asks for a user and a password; the realm that is shown.",
    )
    .default("off"),
    Directive::new(
        "auth_basic_user_file",
        WHERE,
        ONE,
        set!(Feature<AuthBasicSettings>.text => Some user_file),
        "The file with the users and their passwords.",
    )
    .differs(
        "`crypt` kinds other than DES, `$1$`, `$apr1$`, `$5$`, `$6$` and `$2y$` match nobody; passwords above 512 bytes match \
         no `crypt`; slow hashes wait for their turn, and when 128 wait the next gets 503; below the `from=` part of \
         `disable_symlinks` links are checked as for other files; anything but a regular file, and more than 64 MB, gets 500",
    ),
    Directive::new(
        "auth_delay",
        Contexts::HSL,
        ONE,
        set!(Feature<AuthBasicSettings>.millis => delay),
        "Holds answers of 401 back, so that passwords are not guessed fast.",
    )
    .default("0s"),
];

fn auth_basic(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let realm = args.text(0)?;
    settings.feature_mut::<AuthBasicSettings>().realm = (realm.bytes() != b"off").then_some(realm);
    Ok(())
}
