//! Registry rows of `*_pass` and `*_param` (such as `fastcgi_pass`), common to all origin protocols. Each protocol adds
//! them to its own directives; the parser is the same for all.

use super::{Arguments, Contexts, Directive, FamilyRow, ONE, Set, SetterResult, between};
use crate::{
    settings::{Handler, OriginSettings, Parameter, Settings},
    text::Text,
};

/// Contexts in which nginx allows `*_pass` directives, such as `fastcgi_pass`.
const WHERE: Contexts = Contexts::LOCATION.or(Contexts::LOCATION_IF);

/// Creates the registry row of a `*_pass`, which makes an origin the handler of a location.
pub const fn pass(doc: &'static str) -> Directive {
    pass_in(WHERE, doc)
}

/// Creates the registry row of a `*_pass` that is also allowed in `limit_except`, such as `proxy_pass`.
pub const fn pass_with_methods(doc: &'static str) -> Directive {
    pass_in(WHERE.or(Contexts::LIMIT_EXCEPT), doc)
}

const fn pass_in(contexts: Contexts, doc: &'static str) -> Directive {
    Directive::new("pass", contexts, ONE, Set::Settings(set_pass), doc)
}

/// Registry row of `*_param`, such as `fastcgi_param`, for protocols with a CGI environment.
pub const PARAM: FamilyRow = FamilyRow::new(
    Directive::new(
        "param",
        Contexts::HSL,
        between(2, 3),
        Set::Origin(param),
        "Sets a parameter that is sent to the upstream server.",
    )
    .repeats(),
);

fn set_pass(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let protocol = args.protocol();
    let target = args.text(0)?;
    if target.is_empty() {
        return Err(args.error(0, format!("empty \"{}\"", args.directive.name)));
    }
    if !target.has_variables() {
        let text = target.lossy();
        let Some((scheme, rest)) = protocol.split(&text) else {
            let schemes: Vec<&str> = protocol.schemes().iter().map(|scheme| scheme.text).collect();
            let help = format!("it starts with {}", schemes.join(" or "));
            return Err(args.error(0, "invalid URL prefix").help(help));
        };
        if scheme.is_some() && (rest.is_empty() || rest.starts_with(['/', ':', '?'])) {
            return Err(args.error(0, format!("no host in \"{}\"", args.directive.name)));
        }
    }
    // The prefix is not known here. The builder sets it for the location that contains the directive.
    settings.handler = Some(Handler::Origin { protocol, target, prefix: Text::default() });
    Ok(())
}

fn param(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut origin.request.parameters);
    let if_not_empty = args.len() > 2;
    if if_not_empty {
        args.choice(2, &[("if_not_empty", ())])?;
    }
    origin.request.parameters.push(Parameter { name: args.text(0)?, value: args.text(1)?, if_not_empty });
    Ok(())
}
