//! Content handler of `vhost_traffic_status_display`.

use std::borrow::Cow;

use bytes::Bytes;
use myriad_http::Known;
use myriad_net::ResponseBody;

use super::display_settings::DisplaySettings;
use super::report::TrafficReport;
use super::settings::DisplayFormat;
use super::{control, json, prometheus};
use myriad_exchange::exchange::{ContentResponse, Exchange, GET_HEAD, Handler, PhaseStep};
use myriad_exchange::feature::PlannedHandler;
use myriad_exchange::runtime::SettingsCompiler;

const PAGE: &[u8] = include_bytes!("page.html");

/// Content handler of `vhost_traffic_status_display`.
#[derive(Debug)]
pub(super) struct DisplayHandler;

impl PlannedHandler for DisplayHandler {
    fn make(&self, _: &mut dyn SettingsCompiler, _: &[u8]) -> Option<Box<dyn Handler>> {
        Some(Box::new(Self))
    }
}

impl Handler for DisplayHandler {
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        if !GET_HEAD.contains(exchange.request.received.head.method()) {
            return PhaseStep::method_not_allowed(&mut exchange.request, GET_HEAD);
        }
        let request = &exchange.request;
        // Without `vhost_traffic_status_zone` nothing is counted; the status is that of the module.
        let Some(shown) = request.place().features.get::<DisplaySettings>() else {
            return PhaseStep::Error(501);
        };
        let report = TrafficReport::of(request, shown);
        if request.route.uri.ends_with(b"/control") {
            if request
                .received
                .head
                .known(Known::SecFetchSite)
                .is_some_and(|site| site != b"same-origin" && site != b"none")
            {
                // Otherwise a page of another site could reset counts through the browser of a permitted client.
                return PhaseStep::Error(403);
            }
            let text = control::answer(&report, &request.route.args);
            return page(text.into_bytes(), &b"application/json"[..]);
        }
        let formats = [
            (&b"/format/json"[..], DisplayFormat::Json),
            (b"/format/jsonp", DisplayFormat::Jsonp),
            (b"/format/html", DisplayFormat::Html),
            (b"/format/prometheus", DisplayFormat::Prometheus),
        ];
        let named = formats.iter().find(|(end, _)| request.route.uri.ends_with(end));
        match named.map_or(shown.format, |(_, format)| *format) {
            DisplayFormat::Json => {
                page(json::all(&report).to_string().into_bytes(), &b"application/json"[..])
            }
            DisplayFormat::Jsonp => {
                // The comment at the start prevents a chosen function name from being the first bytes of the script.
                let script = format!("/**/{}({});", shown.callback, json::all(&report));
                page(script.into_bytes(), &b"application/javascript"[..])
            }
            DisplayFormat::Html => page(PAGE, &b"text/html; charset=utf-8"[..]),
            DisplayFormat::Prometheus => {
                page(prometheus::text(&report).into_bytes(), &b"text/plain; version=0.0.4; charset=utf-8"[..])
            }
        }
    }
}

fn page(text: impl Into<Bytes>, media_type: impl Into<Cow<'static, [u8]>>) -> PhaseStep {
    let mut answer = ContentResponse::new(200, ResponseBody::Full(text.into()));
    answer.media_type = Some(media_type.into());
    PhaseStep::Answer(answer)
}
