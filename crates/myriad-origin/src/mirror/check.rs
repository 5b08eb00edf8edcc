//! Access check that sends mirrored requests. It is the last check of a location, so that only admitted requests are
//! mirrored.

use std::future::poll_fn;
use std::rc::Rc;

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::{Check, CheckVerdict, Exchange, Request};
use myriad_exchange::subrequest;
use myriad_log::LogLevel;

use super::directives::MirrorSettings;
use crate::background_requests::{BackgroundRequests, MAX_CONCURRENT};
use crate::upload;

thread_local! {
    /// Counter of the mirrored requests of this worker.
    static MIRRORED: Rc<BackgroundRequests> = Rc::default();
}

/// Compiled `mirror` of a location.
struct Mirror {
    /// URIs to which requests are mirrored.
    uris: Box<[Box<[u8]>]>,
    /// `mirror_request_body`: true if the request body is mirrored.
    body: bool,
}

/// Returns the check that starts the mirrored requests of a location; `None` without `mirror`.
pub fn check(settings: &Settings) -> Option<Box<dyn Check>> {
    let settings = settings.feature::<MirrorSettings>();
    if settings.uris.is_empty() {
        return None;
    }
    let uris = settings.uris.iter().map(|uri| uri.bytes().into()).collect();
    Some(Box::new(Mirror { uris, body: settings.body }))
}

impl Check for Mirror {
    fn name(&self) -> &'static str {
        "mirror"
    }

    fn judge(&self, exchange: &mut Exchange) -> CheckVerdict {
        let upload = &mut exchange.request.upload;
        if !self.body || upload.buffered.is_some() || upload.body.is_empty() {
            return self.send(exchange);
        }
        let Self { uris, body } = self;
        let mirror = Self { uris: uris.clone(), body: *body };
        CheckVerdict::wait(async move |exchange| {
            exchange.request.upload.body.send_continue();
            match upload::gather(exchange).await {
                Ok(()) => mirror.send(exchange),
                Err(status) => CheckVerdict::Fail(status),
            }
        })
    }

    fn explain(&self, _: &Request) -> (String, CheckVerdict) {
        let uris: Vec<_> = self.uris.iter().map(|uri| String::from_utf8_lossy(uri)).collect();
        (format!("would also send the request to {}", uris.join(", ")), CheckVerdict::Pass)
    }

    fn observes_admitted(&self) -> bool {
        true
    }
}

impl Mirror {
    fn send(&self, exchange: &mut Exchange) -> CheckVerdict {
        for uri in &self.uris {
            let Some(turn) = MIRRORED.with(BackgroundRequests::begin) else {
                let uri = String::from_utf8_lossy(uri);
                exchange.request.log(
                    LogLevel::Warn,
                    format_args!(
                        "not mirrored to \"{uri}\": {MAX_CONCURRENT} mirrored requests are in flight"
                    ),
                );
                continue;
            };
            let args = exchange.request.route.args.clone();
            let Ok(mut child) = subrequest::begin(exchange, uri, &args) else { continue };
            child.copy_client_request(exchange, self.body);
            child.go_to_background();
            tokio::task::spawn_local(async move {
                let _turn = turn;
                let mut body = subrequest::execute(child).await.into_plain_body();
                while let Some(Ok(_)) = poll_fn(|cx| body.as_mut().poll_data(cx)).await {}
            });
        }
        CheckVerdict::Pass
    }
}
