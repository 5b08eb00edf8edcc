//! The URL of `proxy_pass` where variables make it: once for each request, before anything asks for it.

use myriad_log::Level;

use super::Step;
use crate::exchange::Exchange;
use crate::runtime::{OriginPlace, PassUrl, Target};

/// Makes the URL; the step is the answer where there is none to be made.
pub(crate) fn resolve(exchange: &mut Exchange, origin: &OriginPlace) -> Option<Step> {
    let (Some(_), Target::Variable(template)) = (&origin.http, &origin.target) else { return None };
    let Exchange { request, frame } = exchange;
    let mut text = Vec::new();
    if let Err(error) = template.eval(request, frame, &mut text) {
        request.log(Level::Error, format_args!("{error}"));
        return Some(Step::Error(500));
    }
    match PassUrl::parse(&text) {
        Ok(url) => {
            request.origin_mut().url = Some(url);
            None
        }
        Err(error) => {
            let text = String::from_utf8_lossy(&text);
            request.log(Level::Error, format_args!("{error} in \"{text}\""));
            Some(Step::Error(500))
        }
    }
}
