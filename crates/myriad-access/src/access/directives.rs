//! Directives `allow`, `deny` and `satisfy`, and parsers of their arguments.

use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult, network};
use myriad_conf::settings::Settings;

use super::settings::{AccessRule, AccessSettings, Satisfy};

const WHERE: Contexts = Contexts::HSL.or(Contexts::LIMIT_EXCEPT).or(Contexts::STREAM_LEVELS);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "allow",
        WHERE,
        ONE,
        Set::Settings(|s, a| rule(s, a, true)),
        "Allows access from an address or network.",
    )
    .repeats()
    .group("allow and deny"),
    Directive::new(
        "deny",
        WHERE,
        ONE,
        Set::Settings(|s, a| rule(s, a, false)),
        "Denies access from an address or network.",
    )
    .repeats()
    .group("allow and deny"),
    Directive::new(
        "satisfy",
        Contexts::HSL,
        ONE,
        Set::Settings(satisfy),
        "Requires all access checks to succeed (`all`), or one of them (`any`).",
    )
    .default("all"),
];

fn rule(settings: &mut Settings, args: &mut Arguments<'_>, allow: bool) -> SetterResult {
    let rules = &mut settings.feature_mut::<AccessSettings>().rules;
    args.start(rules);
    let network = network(args, 0, args.bytes(0))?;
    rules.push(AccessRule { allow, network });
    Ok(())
}

fn satisfy(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<AccessSettings>().satisfy =
        args.choice(0, &[("all", Satisfy::All), ("any", Satisfy::Any)])?;
    Ok(())
}
