//! Implementation of [`Service`], by which the protocol drivers use the site.

use crate::handshake_certificates::certificates;
use std::cell::RefCell;
use std::fmt::{Arguments, Display};
use std::rc::Rc;
use std::sync::Arc;

use crate::streams::WorkerStreams;
use myriad_http::RequestHead;
use myriad_log::LogLevel;
use myriad_net::service::{ConnectionEvent, PostResponseWork, Rejection};
use myriad_net::{
    Connection, HandshakeFailure, Http2Limits, PreRoutingLimits, QuicSettings, RawDriver, RequestBody,
    SentReport, Service, ServiceOutcome,
};
use myriad_tls::with_certificates;
use rustls::ServerConfig;
use rustls::server::ClientHello;

use crate::phases::{self, PhaseDecision};
use myriad_exchange::counters::Counters;
use myriad_exchange::exchange::{ContentResponse, Exchange, PendingStep, exchange_buffers};
use myriad_exchange::runtime::Generation;
use myriad_exchange::traffic::TlsEnd;
use myriad_exchange::worker::WorkerState;
use myriad_exchange::{access_log, after_sent, counting, observation, tracing};

/// Request handling of one worker thread, with its current configuration.
pub(crate) struct SiteService {
    /// State of the worker thread that all its configurations share.
    worker: Rc<WorkerState>,
    current: RefCell<Rc<Generation>>,
    /// `stream` block of the current configuration, for this worker; `None` if the configuration has none.
    streams: RefCell<Option<Rc<WorkerStreams>>>,
}

impl SiteService {
    /// Creates a service with a first configuration.
    pub(crate) fn new(site: Rc<Generation>, streams: Option<Rc<WorkerStreams>>) -> Self {
        crate::quic::shake_hands_for(&site);
        Self { worker: Rc::clone(&site.worker), current: RefCell::new(site), streams: RefCell::new(streams) }
    }

    /// Replaces the configuration. Requests in progress finish with the previous one.
    pub(crate) fn replace(&self, site: Rc<Generation>, streams: Option<Rc<WorkerStreams>>) {
        crate::quic::shake_hands_for(&site);
        *self.current.borrow_mut() = site;
        *self.streams.borrow_mut() = streams;
        exchange_buffers::clear_pool();
    }

    /// Returns the current generation, the worker's instance of the running configuration.
    pub(crate) fn current(&self) -> Rc<Generation> {
        Rc::clone(&self.current.borrow())
    }

    /// Writes a message about a client, at level `info`, to the error log of its listener's default server.
    fn log_client(&self, connection: &Connection, what: Arguments<'_>) {
        let current = self.current.borrow();
        let runtime = &current.runtime;
        let server = runtime.hosts(connection).map_or(0, |hosts| hosts.default);
        let client = connection.peer.ip().map_or_else(|| "unix:".to_owned(), |address| address.to_string());
        runtime.place(runtime.server(server).place).logs.errors.write(
            LogLevel::Info,
            Some(connection.id),
            format_args!("{what}, client: {client}"),
        );
    }
}

fn outcome(exchange: Box<Exchange>, decision: PhaseDecision) -> ServiceOutcome<Box<Exchange>> {
    match decision {
        PhaseDecision::Ready(answer) => ServiceOutcome::Ready(myriad_output::send(exchange, answer)),
        PhaseDecision::Wait(pending) => ServiceOutcome::Later(Box::pin(async move {
            let mut waiting = WaitingExchange(Some(exchange));
            let answer = waiting.wait_for_answer(pending).await;
            myriad_output::send(waiting.into_exchange(), answer)
        })),
    }
}

/// Guard for a request that was counted as started. If it is dropped before it is disarmed, for example by a panic in
/// the rules, the request is also counted as finished.
struct StartedExchange<'a>(Option<&'a Counters>);

impl<'a> StartedExchange<'a> {
    fn new(counters: &'a Counters) -> Self {
        counters.begun.add(1);
        Self(Some(counters))
    }

    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for StartedExchange<'_> {
    fn drop(&mut self) {
        if let Some(counters) = self.0 {
            counters.requests.add(1);
        }
    }
}

/// Request (with its state) that waits for its response. If this is dropped first, for example because the client has
/// closed the connection, the request is logged and counted with nginx's status 499.
struct WaitingExchange(Option<Box<Exchange>>);

impl WaitingExchange {
    async fn wait_for_answer(&mut self, pending: Box<dyn PendingStep>) -> ContentResponse {
        phases::wait(self.0.as_mut().expect("only `into_exchange` takes it"), pending).await
    }

    fn into_exchange(mut self) -> Box<Exchange> {
        self.0.take().expect("only this function takes it")
    }
}

impl Drop for WaitingExchange {
    fn drop(&mut self) {
        if let Some(mut exchange) = self.0.take() {
            exchange
                .request
                .log(LogLevel::Info, format_args!("the connection was closed while the request was waiting"));
            exchange.request.outcome.head.status = 499;
            exchange.request.outcome.end();
            exchange.request.site.worker.counters.requests.add(1);
            counting::end(&mut exchange);
            tracing::end(&mut exchange);
            access_log::write(&mut exchange);
        }
    }
}

impl Service for SiteService {
    type ExchangeState = Box<Exchange>;

    fn limits(&self, connection: &Connection) -> PreRoutingLimits {
        let current = self.current.borrow();
        let runtime = &current.runtime;
        let server = runtime.hosts(connection).map_or(0, |hosts| hosts.default);
        runtime.server(server).limits
    }

    fn count_event(&self, event: ConnectionEvent) {
        let counters = &self.worker.counters;
        match event {
            ConnectionEvent::Accepted => counters.accepted.add(1),
            ConnectionEvent::Closed => counters.closed.add(1),
            ConnectionEvent::HeadBegan => counters.reading.add(1),
            ConnectionEvent::HeadEnded => counters.reading.subtract(1),
        }
    }

    fn raw(&self, connection: &Rc<Connection>) -> Option<RawDriver> {
        self.streams.borrow().as_ref()?.driver_for(connection)
    }

    fn expects_proxy_header(&self, connection: &Connection) -> bool {
        self.current.borrow().runtime.hosts(connection).is_some_and(|hosts| hosts.proxy_protocol)
    }

    fn proxy_header_failed(&self, connection: &Connection) {
        let current = self.current.borrow();
        let runtime = &current.runtime;
        let Some(hosts) = runtime.hosts(connection) else { return };
        let log = &runtime.place(runtime.server(hosts.default).place).logs.errors;
        let client = connection.peer.ip().map_or_else(|| "unix:".to_owned(), |ip| ip.to_string());
        log.write(
            LogLevel::Error,
            Some(connection.id),
            format_args!("broken header while reading PROXY protocol, client: {client}"),
        );
    }

    fn is_secure(&self, connection: &Connection) -> bool {
        self.current.borrow().runtime.is_secure(connection)
    }

    fn quic(&self, connection: &Connection) -> Option<QuicSettings> {
        crate::quic::settings(&self.current.borrow().runtime, connection)
    }

    fn http2(&self, connection: &Connection) -> Option<Http2Limits> {
        self.current.borrow().runtime.http2(connection)
    }

    fn http2_failed(&self, connection: &Connection, reason: &str) {
        self.log_client(connection, format_args!("{reason} while processing HTTP/2 connection"));
    }

    fn http3_failed(&self, connection: &Connection, reason: &dyn Display) {
        self.log_client(connection, format_args!("{reason} while processing HTTP/3 connection"));
    }

    fn client_too_slow(&self, connection: &Connection) {
        self.log_client(
            connection,
            format_args!("client was slower than \"client_min_rate\" while sending to client"),
        );
    }

    fn connection_lost(&self, connection: &Connection, panic: &str) {
        let log = &self.current().runtime.zone_log;
        log.write(
            LogLevel::Alert,
            Some(connection.id),
            format_args!("panic while processing a connection: {panic}"),
        );
    }

    fn task_lost(&self, task: &'static str, panic: &str) {
        let log = &self.current().runtime.zone_log;
        log.write(
            LogLevel::Alert,
            None,
            format_args!("panic in the worker task \"{task}\", the worker process is restarted: {panic}"),
        );
        self.worker.logs.flush(true);
        self.worker.failure.end_process();
    }

    fn tls(&self, connection: &Connection, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let current = self.current();
        if let Some(challenge) = current.runtime.acme.as_ref().and_then(|plan| plan.handshake(hello)) {
            return Some(challenge);
        }
        let name = hello.server_name();
        let (server, config) = current.runtime.tls(connection, name)?;
        let Some(pair) = current.runtime.server(server).named.first() else { return Some(config) };
        let greeting = connection.handshake_placeholder(name);
        let mut exchange =
            Exchange::begin(&current, &mut RequestHead::default(), &greeting, RequestBody::empty());
        certificates(&mut exchange, server)
            .map(|certificates| with_certificates(&config, certificates, pair.is_clients))
    }

    fn stores_offers(&self) -> bool {
        self.current.borrow().runtime.reads_tls_offer
    }

    fn handshake_over(&self, connection: &Connection, failure: Option<HandshakeFailure>) {
        let end = match (failure, connection.tls()) {
            (Some(why), _) => TlsEnd::Failed(why),
            (None, facts) => TlsEnd::Done { resumed: facts.is_some_and(|facts| facts.resumed) },
        };
        counting::handshake(&self.current.borrow(), connection, end);
    }

    fn tls_failed(&self, connection: &Connection, why: &dyn Display) {
        self.log_client(connection, format_args!("SSL_do_handshake() failed ({why}) while SSL handshaking"));
    }

    fn logged(&self) -> Option<PostResponseWork> {
        Some(Box::pin(self.worker.logs_written()?))
    }

    fn begin(
        &self,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        body: RequestBody,
    ) -> ServiceOutcome<Box<Exchange>> {
        let begun = StartedExchange::new(&self.worker.counters);
        let mut exchange = Exchange::begin(&self.current(), head, connection, body);
        let decision = phases::begin(&mut exchange);
        begun.disarm();
        outcome(exchange, decision)
    }

    fn reject(
        &self,
        error: Rejection,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
    ) -> ServiceOutcome<Box<Exchange>> {
        let begun = StartedExchange::new(&self.worker.counters);
        let mut exchange = Exchange::begin(&self.current(), head, connection, RequestBody::empty());
        let decision = phases::reject(&mut exchange, &error);
        begun.disarm();
        outcome(exchange, decision)
    }

    fn finish(
        &self,
        _: &RequestHead,
        _: &Rc<Connection>,
        mut exchange: Box<Exchange>,
        sent: &SentReport,
    ) -> Option<PostResponseWork> {
        let counters = &self.worker.counters;
        counters.requests.add(1);
        counters.bytes.add(sent.bytes);
        exchange.request.outcome.sent = *sent;
        let follows = after_sent::begin(&mut exchange);
        exchange.request.outcome.end();
        if !follows {
            access_log::write(&mut exchange);
        }
        counting::end(&mut exchange);
        tracing::end(&mut exchange);
        observation::note(&exchange.request);
        let refresh = exchange.request.cache.refresh.take();
        exchange.recycle();
        refresh.map(|refresh| Box::pin(async { _ = refresh.await }) as PostResponseWork)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestSite;
    use myriad_exchange::exchange::PhaseStep;

    fn exchange() -> Box<Exchange> {
        TestSite::new("access_log off;", "").exchange("/", &[])
    }

    #[test]
    fn panic_in_the_rules_leaves_no_exchange_under_way() {
        let counters = Counters::default();
        drop(StartedExchange::new(&counters));
        assert_eq!((counters.begun.get(), counters.requests.get()), (1, 1));
        StartedExchange::new(&counters).disarm();
        assert_eq!(
            (counters.begun.get(), counters.requests.get()),
            (2, 1),
            "a request in progress is counted when it ends"
        );
    }

    #[test]
    fn exchange_cancelled_while_waiting_counts_as_finished() {
        let exchange = exchange();
        let worker = Rc::clone(&exchange.request.site.worker);
        drop(WaitingExchange(Some(exchange)));
        assert_eq!(worker.counters.requests.get(), 1);
    }

    #[test]
    fn exchange_that_was_waited_for_is_not_counted_twice() {
        let exchange = exchange();
        let worker = Rc::clone(&exchange.request.site.worker);
        let mut waiting = WaitingExchange(Some(exchange));
        let pending: Box<dyn PendingStep> = Box::new(async |_: &mut Exchange| PhaseStep::Error(404));
        let answer = crate::testing::block_on(waiting.wait_for_answer(pending));
        assert_eq!(answer.status, 404);
        assert!(waiting.into_exchange().request.outcome.waited);
        assert_eq!(worker.counters.requests.get(), 0);
    }

    #[test]
    fn connections_are_counted_as_they_come_and_go() {
        let service = SiteService::new(Rc::clone(&exchange().request.site), None);
        for event in [
            ConnectionEvent::Accepted,
            ConnectionEvent::Accepted,
            ConnectionEvent::HeadBegan,
            ConnectionEvent::HeadEnded,
            ConnectionEvent::HeadBegan,
            ConnectionEvent::Closed,
        ] {
            service.count_event(event);
        }
        let now = service.worker.counters.snapshot();
        assert_eq!((now.accepted, now.closed, now.reading), (2, 1, 1));
    }

    #[test]
    fn site_that_is_replaced_serves_what_began_with_it() {
        let before = exchange();
        let service = SiteService::new(Rc::clone(&before.request.site), None);
        let after = exchange();
        service.replace(Rc::clone(&after.request.site), None);
        assert!(Rc::ptr_eq(&service.current(), &after.request.site));
        assert!(!Rc::ptr_eq(&before.request.site, &after.request.site));
    }
}
