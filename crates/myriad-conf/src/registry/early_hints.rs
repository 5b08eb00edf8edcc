//! `early_hints`: 103 of an origin for the client.

use super::{Arguments, Contexts, Directive, Done, Set, at_least};
use crate::settings::Settings;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "early_hints",
    Contexts::HSL,
    at_least(1),
    Set::Settings(early_hints),
    "When 103 (Early Hints) of an HTTP origin is passed on: if one of the values is neither empty nor 0.",
)];

fn early_hints(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.early_hints = (0..args.len()).map(|index| args.text(index)).collect::<Result<_, _>>()?;
    Ok(())
}
