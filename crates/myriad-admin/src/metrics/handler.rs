//! Content handler of `metrics`: access control and content negotiation.

use std::sync::Arc;

use bytes::Bytes;
use myriad_http::Known;
use myriad_net::ResponseBody;

use super::text::{MetricsFormat, MetricsPage};
use super::{cluster, memory, origins, site, zones};
use crate::api::{ApiScope, RequestPermit, admit, explained_answer};
use myriad_exchange::exchange::{ContentResponse, Exchange, GET_HEAD, Handler, PhaseStep};
use myriad_exchange::runtime::Runtime;
use myriad_exchange::traffic::TrafficSnapshot;

/// Content handler of the directive `metrics`.
#[derive(Debug)]
pub(super) struct MetricsHandler;

impl Handler for MetricsHandler {
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        let request = &exchange.request;
        if request.received.sink.is_some() {
            return explained_answer(request, "metrics", "response with all metrics");
        }
        if !GET_HEAD.contains(exchange.request.received.head.method()) {
            return PhaseStep::method_not_allowed(&mut exchange.request, GET_HEAD);
        }
        let request = &exchange.request;
        if let Err(refusal) = admit(request, "metrics", &ApiScope::default()) {
            return refusal;
        }
        let form = form(request.received.head.known(Known::Accept).unwrap_or_default());
        PhaseStep::wait(async move |exchange| wait(&exchange.request.site.runtime, form).await)
    }
}

/// Returns the format for a client: OpenMetrics if `Accept` lists it, without a version or with a supported one, and
/// with a weight above 0; otherwise Prometheus text. Other weights are ignored, because a client that lists OpenMetrics
/// can parse it.
fn form(accept: &[u8]) -> MetricsFormat {
    let named = |range: &[u8]| {
        let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let is_it = parts
            .next()
            .is_some_and(|media_type| media_type.eq_ignore_ascii_case(b"application/openmetrics-text"));
        let mut refused = false;
        let mut known = true;
        for part in parts {
            let (name, value) =
                part.split_at(part.iter().position(|byte| *byte == b'=').unwrap_or(part.len()));
            let value = value.strip_prefix(b"=").unwrap_or_default();
            match name {
                b"version" => known = matches!(value, b"1.0.0" | b"0.0.1"),
                b"q" => refused = value.iter().all(|byte| matches!(byte, b'0' | b'.')),
                _ => {}
            }
        }
        is_it && known && !refused
    };
    if accept.split(|byte| *byte == b',').any(named) {
        MetricsFormat::OpenMetrics
    } else {
        MetricsFormat::Prometheus
    }
}

/// Generates the metrics page on a separate thread: with thousands of servers this takes some milliseconds. Returns 503
/// if too many pages and API calls are being processed.
async fn wait(runtime: &Arc<Runtime>, form: MetricsFormat) -> PhaseStep {
    // The number of concurrent requests is limited, because each holds its page in memory.
    let Some(turn) = RequestPermit::try_acquire() else { return PhaseStep::Error(503) };
    let runtime = Arc::clone(runtime);
    let written = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        metrics_page(&runtime, form)
    });
    let Ok(text) = written.await else { return PhaseStep::Error(500) };
    let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::from(text)));
    answer.media_type = Some(form.media_type().into());
    answer.field(b"Cache-Control", b"no-store");
    answer.field(b"X-Content-Type-Options", b"nosniff");
    PhaseStep::Answer(answer)
}

/// Returns the text of the metrics page of a site.
pub fn metrics_page(runtime: &Runtime, form: MetricsFormat) -> String {
    let now = TrafficSnapshot::read(runtime);
    let mut page = MetricsPage::new(form);
    site::write(&now, &mut page);
    memory::write(runtime, &mut page);
    zones::write(&now, runtime, &mut page);
    origins::write(&now, &mut page);
    cluster::write(runtime, &mut page);
    page.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_is_the_one_that_the_client_names() {
        for (accept, expected) in [
            (&b""[..], MetricsFormat::Prometheus),
            (b"*/*", MetricsFormat::Prometheus),
            (b"text/plain;version=0.0.4", MetricsFormat::Prometheus),
            (b"application/openmetrics-text", MetricsFormat::OpenMetrics),
            (
                b"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
                MetricsFormat::OpenMetrics,
            ),
            (b"text/plain, Application/OpenMetrics-Text; version=0.0.1; charset=utf-8", MetricsFormat::OpenMetrics),
            (b"application/openmetrics-text;version=2.0.0,text/plain", MetricsFormat::Prometheus),
            (b"application/openmetrics-text;q=0,text/plain", MetricsFormat::Prometheus),
        ] {
            assert_eq!(form(accept), expected, "{}", String::from_utf8_lossy(accept));
        }
    }
}
