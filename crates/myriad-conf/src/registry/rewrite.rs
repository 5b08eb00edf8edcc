//! Directives of nginx's rewrite module.

use super::{Arguments, BlockKind, Contexts, Directive, FLAG, Set, TWO, between, block, exactly, set};
use crate::{
    diagnostic::Diagnostic,
    model::{MakeFunction, RewriteFlag, RewriteStep},
    number::parse_number,
};

const REWRITE: Contexts = Contexts::REWRITE;
const HSL: Contexts = Contexts::HSL.or(Contexts::SERVER_IF).or(Contexts::LOCATION_IF);
const BLOCK_WHERE: Contexts = Contexts::SERVER.or(Contexts::LOCATION);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "if",
        BLOCK_WHERE,
        block(1, usize::MAX),
        Set::Block(BlockKind::If),
        "Applies directives if a condition is true.",
    )
    .repeats(),
    Directive::new("set", REWRITE, TWO, Set::Rewrite(set_variable), "Sets a variable.").repeats(),
    Directive::new(
        "rewrite",
        REWRITE,
        between(2, 3),
        Set::Rewrite(rewrite),
        "Changes the URI with a regular expression.",
    )
    .repeats(),
    Directive::new(
        "return",
        REWRITE,
        between(1, 2),
        Set::Rewrite(return_),
        "Returns a response or redirect immediately.",
    )
    .repeats(),
    Directive::new(
        "break",
        REWRITE,
        exactly(0),
        Set::Rewrite(break_),
        "Stops the processing of rewrite directives.",
    )
    .repeats(),
    Directive::new(
        "rewrite_log",
        HSL,
        FLAG,
        set!(Settings.flag => log.rewrite),
        "Logs rewrites to the error log.",
    )
    .default("off"),
    Directive::new(
        "uninitialized_variable_warn",
        HSL,
        FLAG,
        set!(Settings.flag => log.uninitialized_variable_warn),
        "Logs a warning if an uninitialized variable is read.",
    )
    .default("on"),
];

type StepResult = Result<RewriteStep, Diagnostic>;

fn set_variable(args: &mut Arguments<'_>) -> StepResult {
    Ok(RewriteStep::Set { variable: args.variable(0)?, value: args.text(1)? })
}

/// Creates the rewrite step of a directive such as `set_md5`, which sets the variable in argument 0 to the result of a
/// function of the arguments from index `first` on. If `first` is 0, the function also receives the variable itself.
///
/// # Errors
/// Returns an error if the first argument is not a variable.
pub fn call(
    args: &mut Arguments<'_>,
    first: usize,
    function: MakeFunction,
) -> Result<RewriteStep, Diagnostic> {
    let variable = args.variable(0)?;
    let arguments = (first..args.len()).map(|index| args.text(index)).collect::<Result<_, _>>()?;
    let name = format!("{} ${}", args.directive.name, variable.lossy());
    Ok(RewriteStep::Call { name, variable, function, arguments, span: args.node.span })
}

fn is_url(text: &[u8]) -> bool {
    [b"http://".as_slice(), b"https://", b"$scheme"].iter().any(|start| text.starts_with(start))
}

fn rewrite(args: &mut Arguments<'_>) -> StepResult {
    let mut flag = RewriteFlag::None;
    if args.len() > 2 {
        flag = args.choice(
            2,
            &[
                ("last", RewriteFlag::Last),
                ("break", RewriteFlag::Break),
                ("redirect", RewriteFlag::Redirect),
                ("permanent", RewriteFlag::Permanent),
            ],
        )?;
    }
    if args.bytes(1).is_empty() {
        return Err(args.error(1, "empty replacement"));
    }
    if is_url(args.bytes(1)) && flag != RewriteFlag::Permanent {
        flag = RewriteFlag::Redirect;
    }
    Ok(RewriteStep::Rewrite {
        pattern: args.text(0)?,
        replacement: args.text(1)?,
        flag,
        span: args.node.span,
    })
}

fn return_(args: &mut Arguments<'_>) -> StepResult {
    let span = args.node.span;
    let text = if args.len() > 1 { Some(args.text(1)?) } else { None };
    match parse_number(args.bytes(0)).ok().and_then(|code| u16::try_from(code).ok()) {
        Some(code @ 0..=999) => Ok(RewriteStep::Return { code, text, span }),
        None if args.len() == 1 && is_url(args.bytes(0)) => {
            Ok(RewriteStep::Return { code: 302, text: Some(args.text(0)?), span })
        }
        _ => {
            let code = String::from_utf8_lossy(args.bytes(0));
            let message = format!("invalid return code \"{code}\"");
            Err(args
                .error(0, message)
                .help("write a status from 0 to 999, or a URL that starts with http://, https:// or $scheme"))
        }
    }
}

fn break_(args: &mut Arguments<'_>) -> StepResult {
    Ok(RewriteStep::Break { span: args.node.span })
}
