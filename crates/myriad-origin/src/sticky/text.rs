//! Evaluation of the variables of `sticky`.

use myriad_exchange::exchange::Exchange;
use myriad_script::Template;

/// Returns the first non-empty value of the templates; `None` if all are empty or fail.
pub(super) fn first(exchange: &mut Exchange, templates: &[Template]) -> Option<Vec<u8>> {
    templates.iter().find_map(|template| text(exchange, template))
}

/// Returns the value of a template; `None` if it is empty or fails.
pub(super) fn text(exchange: &mut Exchange, template: &Template) -> Option<Vec<u8>> {
    let Exchange { request, frame } = exchange;
    let mut text = Vec::new();
    template.eval(request, frame, &mut text).ok()?;
    (!text.is_empty()).then_some(text)
}
