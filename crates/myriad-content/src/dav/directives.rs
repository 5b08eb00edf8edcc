//! Directives of nginx's dav module, and parsers of their arguments.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, at_least, between, permissions,
};
use myriad_conf::set;
use myriad_conf::settings::Settings;
use myriad_http::{Method, MethodSet};

use super::settings::{DavAccess, DavSettings};

const HSL: Contexts = Contexts::HSL;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "dav_methods",
        HSL,
        at_least(1),
        Set::Settings(dav_methods),
        "Allows clients to change files by the methods PUT, DELETE, MKCOL, COPY and MOVE.",
    )
    .repeats()
    .default("off")
    .differs(
        "symbolic links in the path are followed according to `disable_symlinks`; a file is written under a temporary \
             name and is never visible incomplete; the root itself cannot be deleted, moved or replaced (403); if the \
             directory of a new file does not exist, the response is 409; COPY with `Depth: 0` creates only the directory \
             (RFC 4918); `Destination` may use https if a trusted proxy reports https",
    ),
    Directive::new(
        "create_full_put_path",
        HSL,
        FLAG,
        set!(Feature<DavSettings>.flag => full_path),
        "Creates missing directories on PUT.",
    )
    .default("off")
    .differs("at most 32 directories"),
    Directive::new(
        "min_delete_depth",
        HSL,
        ONE,
        set!(Feature<DavSettings>.number => min_delete_depth),
        "Minimum number of path elements that DELETE requires.",
    )
    .default("0"),
    Directive::new(
        "dav_access",
        HSL,
        between(1, 3),
        Set::Settings(dav_access),
        "Permissions of new files and directories.",
    )
    .default("user:rw"),
];

fn dav_methods(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let choices = [
        ("off", MethodSet::default()),
        ("PUT", MethodSet::of(&[Method::Put])),
        ("DELETE", MethodSet::of(&[Method::Delete])),
        ("MKCOL", MethodSet::of(&[Method::Mkcol])),
        ("COPY", MethodSet::of(&[Method::Copy])),
        ("MOVE", MethodSet::of(&[Method::Move])),
    ];
    let mut methods =
        if args.first { MethodSet::default() } else { settings.feature::<DavSettings>().methods };
    for index in 0..args.len() {
        methods = methods.union(args.choice(index, &choices)?);
    }
    settings.feature_mut::<DavSettings>().methods = methods;
    Ok(())
}

fn dav_access(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<DavSettings>().access = DavAccess(permissions(args)?);
    Ok(())
}
