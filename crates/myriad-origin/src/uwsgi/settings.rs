//! `uwsgi_modifier1` and `uwsgi_modifier2`: kind of a packet, and the plugin of the uwsgi server that processes it.

use myriad_conf::registry::{Contexts, Directive, ONE, Set};

/// Modifier bytes of a packet; both are 0 for a WSGI request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Modifiers {
    /// First modifier byte (`uwsgi_modifier1`).
    pub first: u8,
    /// Second modifier byte (`uwsgi_modifier2`).
    pub second: u8,
}

myriad_conf::feature_settings!(Modifiers);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "uwsgi_modifier1",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            settings.feature_mut::<Modifiers>().first = args.within(0, 0, u8::MAX)?;
            Ok(())
        }),
        "Type of a uwsgi packet (modifier1), from 0 to 255.",
    )
    .default("0"),
    Directive::new(
        "uwsgi_modifier2",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            settings.feature_mut::<Modifiers>().second = args.within(0, 0, u8::MAX)?;
            Ok(())
        }),
        "Variant of a uwsgi packet of this type (modifier2), from 0 to 255.",
    )
    .default("0"),
];
