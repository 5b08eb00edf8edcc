//! Directives specific to FastCGI.

use myriad_conf::registry::{
    Arguments, Arity, Contexts, Directive, Done, FLAG, FamilyRow, ONE, PARAM, Set, pass,
};
use myriad_conf::set;
use myriad_conf::settings::OriginSettings;

use super::settings::FastCgiSettings;

const fn row(name: &'static str, arity: Arity, set: Set, doc: &'static str) -> Directive {
    Directive::new(name, Contexts::HSL, arity, set, doc)
}

pub(super) static ROWS: &[FamilyRow] = &[
    FamilyRow::new(pass("The FastCGI server that makes the content.")),
    PARAM,
    FamilyRow::new(row(
        "index",
        ONE,
        set!(Own<FastCgiSettings>.text => Some index),
        "What is added to a script name that ends with a slash.",
    )),
    FamilyRow::new(
        row(
            "split_path_info",
            ONE,
            set!(Own<FastCgiSettings>.text => Some split_path_info),
            "A regex that takes script name and path info apart.",
        )
        .repeats(),
    ),
    FamilyRow::new(
        row(
            "catch_stderr",
            ONE,
            Set::Origin(catch_stderr),
            "Words on the error stream that spoil an answer.",
        )
        .repeats(),
    ),
    FamilyRow::new(
        row(
            "keep_conn",
            FLAG,
            set!(Own<FastCgiSettings>.flag => keep_conn),
            "Whether connections are kept open.",
        )
        .default("off")
        .differs("one pool for the whole process, at most half of php-fpm's children, one second"),
    ),
];

fn catch_stderr(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let words = &mut origin.own_mut::<FastCgiSettings>().catch_stderr;
    args.start(words);
    words.push(args.text(0)?);
    Ok(())
}
