//! Directives and settings of `*_store`.

use myriad_conf::Text;
use myriad_conf::registry::{
    Arguments, Contexts, Directive, FamilyRow, ONE, Set, SetterResult, between, permissions,
};
use myriad_conf::settings::OriginSettings;
use myriad_exchange::runtime::StoreRules;

use crate::OriginCompiler;

/// Settings of `*_store` and `*_store_access` for one protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StoreSettings {
    /// Path of the file to which a response is stored; may contain variables. `None` if nothing is stored.
    pub path: Option<Text>,
    /// Permissions of new files (`*_store_access`).
    pub mode: u32,
}

myriad_conf::feature_settings!(StoreSettings);

const HSL: Contexts = Contexts::HSL;

pub(super) static ROWS: &[FamilyRow] = &[
    FamilyRow::new(
        Directive::new("store", HSL, ONE, Set::Origin(store), "Stores responses as files.")
            .default("off")
            .differs(
                "only 200 responses to GET are stored: none with `Set-Cookie`, `private` or `no-store`, with `Authorization` in \
                     the request only if `public`, and compressed responses only if the file name has the matching extension (`.gz`, \
                     `.br`, `.zst`); a path that contains `..` is not stored; the temporary file is in the folder of the final file, \
                     regardless of `*_temp_path`",
            ),
    ),
    FamilyRow::new(
        Directive::new("store_access", HSL, between(1, 3), Set::Origin(access), "Permissions of stored files.")
            .default("user:rw"),
    ),
];

fn store(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let path = match args.bytes(0) {
        b"off" => None,
        b"on" => Some(Text::new("$request_filename", args.node.span)),
        _ => Some(args.text(0)?),
    };
    origin.own_mut::<StoreSettings>().path = path;
    Ok(())
}

fn access(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    origin.own_mut::<StoreSettings>().mode = permissions(args)?;
    Ok(())
}

/// Returns the rules for storing responses of a location; `None` if nothing is stored.
pub fn rules(compile: &mut dyn OriginCompiler, origin: &OriginSettings) -> Option<StoreRules> {
    let StoreSettings { path, mode } = origin.own();
    let path = path.as_ref()?;
    Some(StoreRules { path: compile.origin_template(path), mode: *mode, written: path.span })
}
