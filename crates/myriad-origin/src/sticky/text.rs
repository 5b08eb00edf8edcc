//! What the variables of `sticky` come to.

use myriad_exchange::exchange::Exchange;
use myriad_script::Template;

/// The first of the templates that comes to something.
pub(super) fn first(exchange: &mut Exchange, templates: &[Template]) -> Option<Vec<u8>> {
    templates.iter().find_map(|template| text(exchange, template))
}

/// What a template comes to, where that is not empty.
pub(super) fn text(exchange: &mut Exchange, template: &Template) -> Option<Vec<u8>> {
    let Exchange { request, frame } = exchange;
    let mut text = Vec::new();
    template.eval(request, frame, &mut text).ok()?;
    (!text.is_empty()).then_some(text)
}
